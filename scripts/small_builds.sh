#!/bin/sh
# Builds libtorchlet.so for its size (docs/small.md), in build/small-ABI-NAME, and prints the bytes of each stripped:
#
#   small_builds.sh ABI [NAME ...]     ABI: x86_64, arm64, armv7; NAME: whole, float, int8; exits with 77 without a compiler
#
# float and int8 are for the sample MobileNetV2 and its quantized form, optimised, which build/release/torchlet makes as
# build/small/*.ptl. 64-bit Arm is compiled by Clang, the others by GCC.
# The three differ in the few objects that ask src/base/selection.h; ccache has the others.
set -eu
cd "$(dirname "$0")/.."
abi=$1 && shift
case "$abi" in
x86_64) packages= toolchain= prefix= ;;
arm64) packages="g++-aarch64-linux-gnu clang-16 lld-16" toolchain=arm64-clang prefix=aarch64-linux-gnu- debian=arm64 ;;
armv7) packages=g++-arm-linux-gnueabihf toolchain=armv7 prefix=arm-linux-gnueabihf- debian=armhf ;;
*) echo "usage: small_builds.sh x86_64|arm64|armv7 [whole] [float] [int8]" >&2 && exit 2 ;;
esac
{ scripts/install_deps.sh $packages && scripts/debian_files.sh highway; } >&2 || exit 77
[ -z "$toolchain" ] || scripts/debian_files.sh sysroot "$debian" >&2 || exit 77

# Anew each time: an older command may have told other needs.
cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target torchlet_cli >/dev/null
command=build/release/torchlet
mkdir -p build/small
$command optimize models/digits_mobilenet_v2.pt -o build/small/float.ptl >/dev/null
$command quantize models/digits_mobilenet_v2.pt --calibration models/samples -o build/small/int8.pt >/dev/null
$command optimize build/small/int8.pt -o build/small/int8.ptl --no-proof >/dev/null
$command ops build/small/float.ptl --format cmake >build/small/float.cmake
$command ops build/small/float.ptl build/small/int8.ptl --format cmake >build/small/int8.cmake

for name in ${*:-whole float int8}; do
  folder=build/small-$abi-$name
  if [ "$name" = whole ]; then
    set -- -DCMAKE_BUILD_TYPE=MinSizeRel -DTORCHLET_SELF_CONTAINED=ON -DTORCHLET_TESTS=OFF
  else
    set -- -C "build/small/$name.cmake"
  fi
  cmake -G Ninja -B "$folder" "$@" ${toolchain:+-DCMAKE_TOOLCHAIN_FILE=cmake/$toolchain.toolchain.cmake} \
    ${CMAKE_ARGS:-} --no-warn-unused-cli --log-level=WARNING >/dev/null
  cmake --build "$folder" --parallel "${JOBS:-$(nproc)}" --target libtorchlet.so >"$folder/build.log" || {
    cat "$folder/build.log" >&2
    exit 1
  }
  "${prefix}strip" -o "$folder/libtorchlet.stripped.so" "$folder/libtorchlet.so"
  echo "$abi $name $(stat -c %s "$folder/libtorchlet.stripped.so")"
done
