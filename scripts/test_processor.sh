#!/bin/sh
# Cross-compiles for another processor and tests what is particular to one: the kernels, the threads, the sample model from its
# file to its answer, and the libraries that an app on Android gets (test_android.sh). Arm runs under QEMU; x86 of 32 bits, one of Android's ABIs, by this processor.
#
#   scripts/test_processor.sh arm64|armv7|x86     exits with 77 if the compiler, QEMU or the libraries cannot be had
set -eu
cd "$(dirname "$0")/.."
case "${1-}" in
arm64) debian=arm64 abi=arm64-v8a packages="g++-aarch64-linux-gnu qemu-user-static" emulator=qemu-aarch64-static ;;
armv7) debian=armhf abi=armeabi-v7a packages="g++-arm-linux-gnueabihf qemu-user-static" emulator=qemu-arm-static ;;
x86) debian=i386 abi=x86 packages=g++-i686-linux-gnu emulator= ;;
*) echo "usage: test_processor.sh arm64|armv7|x86" >&2 && exit 2 ;;
esac
scripts/install_deps.sh $packages && scripts/debian_files.sh sysroot "$debian" || exit 77
cmake --preset "$1" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
cmake --build --preset "$1" --parallel "${JOBS:-$(nproc)}" --target kernels_test base_test torchlet_cli
$emulator "build/$1/base_test" --gtest_brief=1
$emulator "build/$1/kernels_test" --gtest_brief=1
if [ "$1" = x86 ]; then
  # It runs at full speed, so more of what 32 bits may break.
  cmake --build --preset x86 --parallel "${JOBS:-$(nproc)}" --target tensor_test archive_test c_api_test op_cases
  for test in tensor_test archive_test c_api_test op_cases; do "build/x86/$test" --gtest_brief=1; done
fi
if [ "$1" = arm64 ]; then
  # With the dot product of bytes and their matrix product, without the second, without both.
  for cpu in max neoverse-n1 cortex-a53; do
    QEMU_CPU=$cpu $emulator "build/$1/kernels_test" --gtest_brief=1 --gtest_filter='*Q8.*'
  done
fi
for digit in 0:zero 2:two 3:three 4:four 7:seven 9:nine; do
  picture=models/samples/digit_${digit%:*}.png word=${digit#*:}
  answer=$($emulator "build/$1/torchlet" run models/digits_mobilenet_v2.pt --image "$picture" \
    --labels models/digits_labels.txt --top 1)
  case "$answer" in
  *" $word"*) echo "$1: $picture: $word" ;;
  *) echo "$1: $picture: $answer, not $word" >&2 && exit 1 ;;
  esac
done
scripts/test_android.sh "$abi"
