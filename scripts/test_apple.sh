#!/bin/sh
# Builds the Objective-C half of bindings/apple with GNUstep and runs its tests on libtorchlet.so. Exits with 77 if a package
# cannot be had. Swift and iOS itself cannot be had on Linux: docs/ios.md says what that leaves untested.
#
#   BUILD=build/release                 where libtorchlet.so is built
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
scripts/install_deps.sh gobjc++ libgnustep-base-dev || {
  echo "test_apple: GNUstep is missing: apt-get install gobjc++ libgnustep-base-dev" >&2
  exit 77
}
if [ "$build" = build/release ]; then
  cmake --preset release --log-level=WARNING >/dev/null
  cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target torchlet_shared
fi

sources=bindings/apple/Sources/TorchletObjC
work=$build/apple
mkdir -p "$work"
# As gnustep-config --objc-flags, with our own warnings and GNUstep's headers as a system's.
flags="-std=c++20 -O1 -g -pthread -fPIC -fexceptions -fobjc-exceptions -fno-strict-aliasing
  -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 -DGNU_RUNTIME=1 -D_NATIVE_OBJC_EXCEPTIONS -fconstant-string-class=NSConstantString
  -isystem /usr/include/GNUstep -Iinclude -I$sources -I$sources/include
  -Wall -Wextra -Werror -Wno-subobject-linkage -Wno-unused-parameter"
objects=""
for source in "$sources"/*.mm bindings/apple/Tests/*.mm; do
  object=$work/$(basename "$source" .mm).o
  ${CXX:-g++} $flags -c "$source" -o "$object"
  objects="$objects $object"
done
${CXX:-g++} $objects -o "$work/torchlet_objc_test" -L"$build" -ltorchlet -Wl,-rpath,"$(cd "$build" && pwd)" -lgnustep-base -lobjc \
  -lpthread
# A plain C program sees the same header as the module map.
${CC:-gcc} -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude -include torchlet/c_api.h -x c /dev/null
# As scripts/build_xcframework.sh lays the module out.
if command -v clang >/dev/null; then
  mkdir -p "$work/module/torchlet"
  cp bindings/apple/CTorchlet/module.modulemap "$work/module/"
  cp include/torchlet/c_api.h include/torchlet/export.h "$work/module/torchlet/"
  echo '@import CTorchlet; const char* version(void) { return torchlet_version(); }' |
    clang -fmodules -fmodules-cache-path="$work/modules" -I"$work/module" -fsyntax-only -x objective-c -
fi
rm -rf "$work/mutations"
python3 tests/hostile/mutations.py "$work/mutations" models/*.pt tests/fixtures/*.pt tests/fixtures/lite/*
MUTATIONS=$work/mutations "$work/torchlet_objc_test"
