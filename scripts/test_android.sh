#!/bin/sh
# What can be tested of Torchlet for Android without an NDK and a phone: what the AAR holds is built for Linux on the processors of
# Android's ABIs, from the objects that test_processor.sh tests; its libraries are held to Android's rules (check_elf.py), linked
# and loaded by a C program that classifies pictures, under QEMU or by this processor; and the AAR is assembled and checked.
#
#   scripts/test_android.sh [ABI...]      arm64-v8a armeabi-v7a x86 x86_64; the AAR needs all of them, which is the default
#
# Exits with 77 if a compiler, QEMU or a library cannot be had.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- arm64-v8a armeabi-v7a x86 x86_64
libraries=$PWD/build/aar-libraries
passed=0
targets="torchlet_shared torchlet_jni" names="libtorchlet.so libtorchlet_jni.so"

# Sets what it takes to build for an ABI and to run its programs.
choose() {
  case "$1" in
  arm64-v8a)
    preset=arm64 sysroot=arm64 prefix=aarch64-linux-gnu- root=/usr/aarch64-linux-gnu run="qemu-aarch64-static -L $root"
    packages="g++-aarch64-linux-gnu qemu-user-static"
    ;;
  armeabi-v7a)
    preset=armv7 sysroot=armhf prefix=arm-linux-gnueabihf- root=/usr/arm-linux-gnueabihf run="qemu-arm-static -L $root"
    packages="g++-arm-linux-gnueabihf qemu-user-static"
    ;;
  x86)
    preset=x86 sysroot=i386 prefix=i686-linux-gnu- root=/usr/i686-linux-gnu run="$root/lib/ld-linux.so.2 --library-path $root/lib"
    packages=g++-i686-linux-gnu
    ;;
  x86_64) preset=static sysroot="" prefix="" root="" run="" packages="" ;;
  *) echo "test_android: no ABI of Android: $1" >&2 && exit 2 ;;
  esac
}

test_abi() {
  choose "$1"
  scripts/install_deps.sh $packages || exit 77
  [ -z "$sysroot" ] || scripts/debian_files.sh sysroot "$sysroot" || exit 77
  build=build/$preset
  cmake --preset "$preset" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
  cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}" --target $targets
  mkdir -p "$libraries/$1"
  rm -f "$libraries/$1"/*
  for name in $names; do
    "${prefix}strip" --strip-all -o "$libraries/$1/$name" "$(find "$build" -name "$name" | head -1)"
    python3 scripts/check_elf.py --abi "$1" --stripped "$libraries/$1/$name"
  done
  ln -sf libtorchlet.so "$libraries/$1/libtorchlet.so.0.1" # the SONAME; Android's has no version
  "${prefix}gcc" -std=c11 -O1 -Wall -Wextra -Werror -Iinclude tests/android/classify.c -L"$libraries/$1" -ltorchlet -ldl \
    -Wl,-rpath,"$libraries/$1" -Wl,-rpath-link,"$libraries/$1" -o "$build/classify"
  for digit in 0 2 3 4 7 9; do
    size=$(python3 tests/android/raw_pixels.py "models/samples/digit_$digit.png" "$build/pixels")
    answer=$($run "$build/classify" models/digits_mobilenet_v2.pt $size "$build/pixels" "$libraries/$1/libtorchlet_jni.so")
    if [ "$answer" != "$digit" ]; then
      echo "test_android: $1: digit_$digit.png: $answer" >&2
      exit 1
    fi
    passed=$((passed + 1))
  done
  echo "$1: 6 of 6 digits; loaded: $names"
}

scripts/install_deps.sh default-jdk-headless || exit 77
for abi in "$@"; do test_abi "$abi"; done
if [ $# -eq 4 ]; then
  python3 tests/android/aar_test.py
  scripts/build_aar.sh --abi-dir "$libraries"
  python3 scripts/check_aar.py build/aar/maven/org/torchlet/torchlet-android/*/*.aar
  # The presets for the NDK, as far as a stand-in for its toolchain file can tell.
  scripts/debian_files.sh headers || exit 77
  for abi in "$@"; do
    ANDROID_NDK_HOME=$PWD/tests/android/ndk cmake --preset "android-$abi" --fresh --log-level=WARNING >/dev/null
    rm -r "build/android-$abi"
    echo "preset android-$abi: configured"
  done
fi
echo "test_android: $passed pictures on $# ABIs: passed"
