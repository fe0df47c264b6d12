#!/bin/sh
# Installs the build tree $1 into a prefix of its own and builds consumer.cc with compiler $2, and consumer.c with a C
# compiler, against that prefix, once through find_package and once through pkg-config. All must give the same answer.
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
c_by_cmake=$("$work/cmake/c_consumer" "$model")

export PKG_CONFIG_PATH="$(dirname "$(find "$prefix" -name torchlet.pc)")"
"$compiler" -std=c++20 "$here/consumer.cc" $(pkg-config --cflags --libs torchlet) -o "$work/consumer"
by_pkg_config=$(LD_LIBRARY_PATH="$(dirname "$PKG_CONFIG_PATH")" "$work/consumer" "$model")
# A static library takes a C++ compiler to link.
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror -c "$here/consumer.c" $(pkg-config --cflags torchlet) -o "$work/consumer.o"
"$compiler" "$work/consumer.o" $(pkg-config --libs torchlet) -o "$work/c_consumer"
c_by_pkg_config=$(LD_LIBRARY_PATH="$(dirname "$PKG_CONFIG_PATH")" "$work/c_consumer" "$model")

echo "find_package: $by_cmake, pkg-config: $by_pkg_config; from C: $c_by_cmake, $c_by_pkg_config"
case $by_cmake in [0-9]) ;; *) exit 1 ;; esac
[ "$by_cmake $by_cmake $by_cmake" = "$by_pkg_config $c_by_cmake $c_by_pkg_config" ]
