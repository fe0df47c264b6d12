#!/bin/sh
# Makes bindings/apple/CTorchlet.xcframework, the static library for iOS devices and simulators that the Swift package and the
# pod take. Needs a Mac with Xcode and CMake; exits with 77 elsewhere. The third-party sources that it compiles come from
# Debian: run `scripts/debian_files.sh highway && scripts/debian_files.sh headers` on a Debian system or in a container, and
# copy build/debian here.
set -eu
cd "$(dirname "$0")/.."
if [ "$(uname)" != Darwin ] || ! command -v xcodebuild >/dev/null; then
  echo "build_xcframework: this needs a Mac with Xcode (xcodebuild)" >&2
  exit 77
fi
framework=bindings/apple/CTorchlet.xcframework
headers=build/ios-headers
rm -rf "$framework" "$headers"
mkdir -p "$headers/torchlet"
cp include/torchlet/c_api.h include/torchlet/export.h "$headers/torchlet/"
cp bindings/apple/CTorchlet/module.modulemap "$headers/"
libraries=""
for preset in ios-arm64 ios-simulator-arm64; do
  cmake --preset "$preset" --log-level=WARNING >/dev/null
  cmake --build --preset "$preset" --target torchlet torchlet_highway
  libtool -static -o "build/$preset/libCTorchlet.a" "build/$preset/libtorchlet.a" "build/$preset/libtorchlet_highway.a"
  libraries="$libraries -library build/$preset/libCTorchlet.a -headers $headers"
done
xcodebuild -create-xcframework $libraries -output "$framework"
