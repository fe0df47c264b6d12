#!/bin/sh
# Builds everything with a sanitizer and runs every test.
#
#   scripts/test_sanitized.sh asan-ubsan|tsan
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset "$1" --parallel "${JOBS:-$(nproc)}"
ctest --preset "$1" --parallel "${JOBS:-$(nproc)}" --progress
