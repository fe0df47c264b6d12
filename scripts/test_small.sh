#!/bin/sh
# Holds small builds for 64-bit Arm to their bounds, and runs the models that they were made for under QEMU: the answers are
# those of the command. Other models are refused with what to do.
#
#   scripts/test_small.sh     exits with 77 if the compiler, QEMU or the libraries cannot be had
set -eu
cd "$(dirname "$0")/.."
scripts/install_deps.sh g++-aarch64-linux-gnu qemu-user-static || exit 77
sizes=$(scripts/small_builds.sh arm64) || exit $?
echo "$sizes" | while read -r _ name bytes; do
  case "$name" in whole) limit=4500000 ;; float) limit=700000 ;; int8) limit=900000 ;; esac
  echo "$name: $bytes bytes, $limit allowed"
  [ "$bytes" -le "$limit" ]
done

system=$PWD/build/debian/sysroot-arm64/lib/aarch64-linux-gnu # zlib
program() {
  aarch64-linux-gnu-gcc -std=c99 -Wall -Werror -O1 -Iinclude -o "build/small-arm64-$1/run_model" tests/small/run_model.c \
    -L"build/small-arm64-$1" -ltorchlet -Wl,-rpath,"$PWD/build/small-arm64-$1" -Wl,-rpath-link,"$system"
}
run() {
  folder=build/small-arm64-$1 && shift
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$system" "$folder/run_model" "$@"
}
refuses() {
  if error=$(run "$@" 2>&1); then
    echo "$1: took $2" >&2
    exit 1
  fi
  echo "$1: $error" | head -1
  case "$error" in *TORCHLET_*) ;; *) exit 1 ;; esac
}
for name in whole float int8; do program "$name"; done
for digit in 0 2 3 4 7 9; do
  picture=models/samples/digit_$digit.png pixels=build/small/digit_$digit.f32
  run whole --pixels "$picture" "$pixels"
  for pair in whole:float whole:int8 float:float int8:float int8:int8; do
    scores=$(run "${pair%:*}" "build/small/${pair#*:}.ptl" "$pixels" 128 128)
    best=$(echo "$scores" | awk 'NR == 1 || $1 > most {most = $1; best = NR - 1} END {print best}')
    [ "$best" = "$digit" ] || { echo "${pair%:*}: $picture with ${pair#*:}.ptl: $best" >&2 && exit 1; }
    # To the last bit: what is left out changes nothing.
    case "$pair" in
    whole:*) echo "$scores" >"build/small/${pair#*:}.scores" ;;
    *) echo "$scores" | cmp - "build/small/${pair#*:}.scores" ;;
    esac
  done
done
refuses float build/small/int8.ptl build/small/digit_7.f32 128 128
refuses float models/digits_mobilenet_v2.pt build/small/digit_7.f32 128 128
refuses float --pixels models/samples/digit_7.png build/small/none.f32
refuses int8 tests/fixtures/recurrent.pt build/small/digit_7.f32 128 128
echo "test_small: 30 answers and 4 refusals as they should be"
