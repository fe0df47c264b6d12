#!/bin/sh
# Builds libtorchlet_jni.so, the native half of bindings/java, and puts it where its jar takes it from: build/java/natives.
#
#   scripts/java_natives.sh [x86_64] [aarch64]    this machine's by default; exits with 77 if a compiler or a JDK cannot be had
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- "$(uname -m)"
for machine in "$@"; do
  prefix="" preset=static
  if [ "$machine" != "$(uname -m)" ]; then
    [ "$machine" = aarch64 ] || { echo "java_natives: no preset for $machine" >&2 && exit 77; }
    prefix=aarch64-linux-gnu- preset=arm64
    scripts/install_deps.sh g++-aarch64-linux-gnu && scripts/debian_files.sh sysroot arm64 || exit 77
  fi
  scripts/install_deps.sh default-jdk-headless || exit 77
  cmake --preset "$preset" --log-level=WARNING ${CMAKE_ARGS:-} >/dev/null
  cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}" --target torchlet_jni >build/$preset/jni.log ||
    { cat "build/$preset/jni.log" >&2 && exit 1; }
  folder=build/java/natives/org/torchlet/native/linux-$machine
  mkdir -p "$folder"
  "${prefix}strip" --strip-all -o "$folder/new.so" "build/$preset/libtorchlet_jni.so"
  cmp -s "$folder/new.so" "$folder/libtorchlet_jni.so" && rm "$folder/new.so" || mv "$folder/new.so" "$folder/libtorchlet_jni.so"
done
