#!/bin/sh
# Builds everything with a sanitizer and runs every test.
#
#   scripts/test_sanitized.sh asan-ubsan|tsan
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset "$1" --parallel "${JOBS:-$(nproc)}"
# What GCC 12's LeakSanitizer notes of memory that threads have in libraries which were opened
# later, it may read when a library is closed, and crash behind a test that has passed.
export ASAN_OPTIONS="intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
ctest --preset "$1" --parallel "${JOBS:-$(nproc)}" --progress
