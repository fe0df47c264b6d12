#!/bin/sh
# A table of libtorchlet.so, stripped: all of it, and what a MobileNetV2 needs, float and quantized, for each processor that
# there is a compiler for.
#
#   scripts/size_report.sh [ABI ...]     of x86_64 arm64 armv7
set -eu
cd "$(dirname "$0")/.."
echo '| KB, stripped | whole | MobileNetV2, float | MobileNetV2, float and int8 |'
echo '|---|---|---|---|'
for abi in ${*:-x86_64 arm64 armv7}; do
  status=0
  sizes=$(scripts/small_builds.sh "$abi") || status=$?
  if [ "$status" = 77 ]; then
    echo "| $abi | no compiler | | |"
  else
    [ "$status" = 0 ] || exit "$status"
    echo "$sizes" | awk -v abi="$abi" '{row = row sprintf(" %.0f |", $3 / 1000)} END {print "| " abi " |" row}'
  fi
done
