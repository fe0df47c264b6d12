#!/bin/sh
# Builds the static command, shows the room that each part takes and fails if the stripped file has grown too large; exits
# with 77 if the source of Highway cannot be had.
set -eu
cd "$(dirname "$0")/.."
limit=4000000 # bytes; docs/size.md says what brings it down

scripts/debian_files.sh highway || exit 77
cmake --preset static --log-level=WARNING >/dev/null
cmake --build --preset static --parallel "${1:-$(nproc)}" --target torchlet_cli
strip -o build/static/torchlet.stripped build/static/torchlet
scripts/size_table.py build/static/torchlet.map
size=$(stat -c %s build/static/torchlet.stripped)
echo "build/static/torchlet.stripped: $size bytes, $limit allowed"
[ "$size" -le "$limit" ]
