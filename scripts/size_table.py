#!/usr/bin/env python3
"""What takes the room in a library: size_table.py LINKER_MAP FILE [--files N]. The map is what -Wl,-Map writes, of GNU ld or
lld; FILE is the stripped library.

Prints bytes per folder of src/, code and constants apart from tables for exceptions.
"""

import collections
import os
import re
import sys

KINDS = ("text", "rodata", "data", "eh_frame", "gcc_except_table", "init_array", "tdata")
GNU = re.compile(r"^ \.(\w+)\S*\s+0x[0-9a-f]+ +0x([0-9a-f]+) (\S+)$", re.M)
LLD = re.compile(r"^ *[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) +\d+ +(\S+):\(\.(\w+)\S*\)$", re.M)


def sections(text: str):
    """(kind, bytes, object) of each piece of an object that the linker took."""
    if "emory map" in text:
        return [(kind, int(size, 16), path) for kind, size, path in GNU.findall(text[text.index("emory map"):])]
    return [(kind, int(size, 16), path) for size, path, kind in LLD.findall(text)]


def part_of(path: str) -> str:
    stage = re.search(r"torchlet\.dir/src/(\w+)/", path)
    return "src/" + stage[1] if stage else "what the compiler adds"


def main() -> None:
    with open(sys.argv[1]) as file:
        text = file.read()
    parts, files = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for kind, size, path in sections(text):
        if kind in KINDS:
            parts[part_of(path)][kind in ("eh_frame", "gcc_except_table")] += size
            files[path.split("/")[-1]] += size
    print("| part | code and constants, KB | exception tables, KB |\n|---|---|---|")
    for part, (code, unwind) in sorted(parts.items(), key=lambda item: -sum(item[1])):
        if code + unwind >= 500:
            print(f"| {part} | {code / 1000:.0f} | {unwind / 1000:.0f} |")
    total = [sum(column) for column in zip(*parts.values())]
    print(f"| for the loader: symbols, relocations, headers | {(os.path.getsize(sys.argv[2]) - sum(total)) / 1000:.0f} | |")
    if "--files" in sys.argv:
        for name, size in files.most_common(int(sys.argv[sys.argv.index("--files") + 1])):
            print(f"{size / 1000:8.0f} {name}")


main()
