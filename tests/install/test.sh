#!/bin/sh
# Installs the build tree $1 into a prefix of its own and builds consumer.cc with compiler $2 against that
# prefix, once through find_package and once through pkg-config. Both programs must give the same answer.
set -eu
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../../models/digits_mobilenet_v2.pt
work=$build/install_test
rm -rf "$work"

mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >"$work/log"
# Moved after the installation: nothing in it may depend on where it was put first.
mkdir "$work/elsewhere" && mv "$work/installed" "$work/elsewhere/prefix"
prefix=$work/elsewhere/prefix

cmake -S "$here" -B "$work/cmake" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >>"$work/log"
cmake --build "$work/cmake" >>"$work/log"
by_cmake=$("$work/cmake/consumer" "$model")

export PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name torchlet.pc)")"
"$compiler" -std=c++20 "$here/consumer.cc" $(pkg-config --cflags --libs torchlet) -o "$work/consumer"
by_pkg_config=$(LD_LIBRARY_PATH="$(dirname "$PKG_CONFIG_PATH")" "$work/consumer" "$model")

echo "find_package: $by_cmake, pkg-config: $by_pkg_config"
case $by_cmake in [0-9]) ;; *) exit 1 ;; esac
[ "$by_cmake" = "$by_pkg_config" ]
