#!/bin/sh
# Builds everything with a sanitizer and runs every test.
#
#   scripts/test_sanitized.sh asan-ubsan|tsan
set -eu
cd "$(dirname "$0")/.."
cmake --preset "$1" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset "$1" --parallel "${JOBS:-$(nproc)}"
run_tests() {
  ctest --preset "$@" --parallel "${JOBS:-$(nproc)}" --progress
}
if ! run_tests "$1"; then
  # LeakSanitizer may crash itself where a thread ends while it looks for leaks, behind a test that
  # has passed. Then, and only then, what failed runs once more.
  grep -q "LeakSanitizer has encountered a fatal error" "build/${1%-ubsan}/Testing/Temporary/LastTest.log"
  run_tests "$1" --rerun-failed
fi
