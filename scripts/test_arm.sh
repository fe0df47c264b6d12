#!/bin/sh
exec "$(dirname "$0")/test_processor.sh" "$@"
