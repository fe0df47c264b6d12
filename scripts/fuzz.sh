#!/bin/sh
# Builds the fuzzers and runs each for some minutes, on what grew in build/fuzz/corpus before, the seeds and the fixtures.
#
#   scripts/fuzz.sh [MINUTES [TARGET...]]    exits with 77 if Clang cannot be had; a finding ends it, with the file's name
#
# FUZZ_SEED=1 makes the same inputs again, from the same corpus.
set -eu
cd "$(dirname "$0")/.."
minutes=${1:-1}
[ $# -eq 0 ] || shift
# Clang brings libFuzzer, but for the libraries of its own version.
scripts/install_deps.sh clang libclang-rt-14-dev || exit 77
cmake --preset fuzz --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset fuzz --parallel "${JOBS:-$(nproc)}" --target fuzzers
[ $# -gt 0 ] || set -- $(cd build/fuzz && ls -d fuzz_* | sed 's/^fuzz_//')
for target in "$@"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  dictionary=tests/fuzz/dictionaries/$target.dict
  echo "fuzz_$target: $minutes minutes"
  # Larger inputs only make each run longer.
  # What it finds would end it with 77, which says that something cannot be had.
  build/fuzz/fuzz_$target -error_exitcode=1 -timeout_exitcode=1 -max_total_time=$((minutes * 60)) -max_len=65536 -timeout=20 -rss_limit_mb=3000 \
    -print_final_stats=1 -print_funcs=0 -verbosity=0 -seed="${FUZZ_SEED:-0}" -artifact_prefix="build/fuzz/found_$target-" \
    $([ -f "$dictionary" ] && echo "-dict=$dictionary") "$corpus" tests/fixtures tests/fuzz/seeds tests/fuzz/regressions
done
