#!/usr/bin/env python3
"""What takes the room in a program: size_table.py LINKER_MAP [--files N]. The map is what -Wl,-Map writes.

Prints bytes per folder of src/ and per library, code and constants apart from tables for exceptions.
"""

import collections
import glob
import os
import re
import sys

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src")
STAGES = {os.path.basename(path): os.path.relpath(path, SRC).split(os.sep)[0]
          for path in glob.glob(f"{SRC}/**/*.cc", recursive=True)}
LIBRARIES = {"libstdc++": "C++ library", "libgcc": "C++ library", "libgcc_eh": "C++ library", "libc": "C library",
             "libpthread": "C library", "libtorchlet_highway": "Highway"}


def part_of(section: str, path: str) -> str:
    """`path` is a linker's name of an object: .../libm.a(sin.o), .../cli/main.cc.o or .../crt1.o.

    What link-time optimisation makes (x.ltrans3.ltrans.o) is told by its function's namespace: .text._ZN8torchlet3ops...
    """
    if ".ltrans" in path:
        if match := re.search(r"8torchlet(\d+)(\w+)", section):
            folder = match[2][:int(match[1])]
            if folder in STAGES.values():
                return "src/" + folder
            return "cli" if folder == "cli" else "src, the namespace of all"
        return "src, templates and texts"
    if match := re.search(r"([^/]+)\.a\((.+)\.o\)$", path):
        library, member = match.groups()
        if library == "libtorchlet":
            return "src/" + STAGES.get(member, "other")
        return "C library" if library.startswith("libm") else LIBRARIES.get(library, library)
    return "cli" if "torchlet_cli.dir" in path else "C library"


def main() -> None:
    with open(sys.argv[1]) as file:
        text = file.read()
    text = text[text.index("emory map"):]
    parts, files = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for section, size, path in re.findall(r"^ (\.\S+)\s+0x[0-9a-f]+ +0x([0-9a-f]+) (\S+)$", text, re.M):
        kind = section.split(".")[1]
        if kind in ("text", "rodata", "data", "eh_frame", "gcc_except_table", "init_array"):
            parts[part_of(section, path)][kind in ("eh_frame", "gcc_except_table")] += int(size, 16)
            files[path.split("/")[-1]] += int(size, 16)
    print("| part | code and constants, KB | exception tables, KB |\n|---|---|---|")
    for part, (code, unwind) in sorted(parts.items(), key=lambda item: -sum(item[1])):
        if code + unwind >= 1000:
            print(f"| {part} | {code / 1000:.0f} | {unwind / 1000:.0f} |")
    total = [sum(column) for column in zip(*parts.values())]
    print(f"| in all | {total[0] / 1000:.0f} | {total[1] / 1000:.0f} |")
    if "--files" in sys.argv:
        for name, size in files.most_common(int(sys.argv[sys.argv.index("--files") + 1])):
            print(f"{size / 1000:8.0f} {name}")


main()
