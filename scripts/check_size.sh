#!/bin/sh
# Builds libtorchlet.so as preset release makes it, shows the room that each part takes and fails if the stripped file has
# grown too large.
set -eu
cd "$(dirname "$0")/.."
limit=6600000 # bytes, a little above what docs/size.md tells

cmake --preset release --log-level=WARNING >/dev/null
cmake --build --preset release --parallel "${1:-$(nproc)}" --target torchlet_shared
strip -o build/release/libtorchlet.stripped.so build/release/libtorchlet.so
scripts/size_table.py build/release/libtorchlet.map build/release/libtorchlet.stripped.so
size=$(stat -c %s build/release/libtorchlet.stripped.so)
echo "libtorchlet.so: $size bytes, $limit allowed"
[ "$size" -le "$limit" ]
