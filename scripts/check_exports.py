#!/usr/bin/env python3
"""Holds a shared library to the public headers: check_exports.py LIBRARY. Fails if it shows a symbol of anything else."""

import glob
import os
import re
import subprocess
import sys

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../include/torchlet/*.h")


def main() -> None:
    declared = set()
    for header in glob.glob(HEADERS):
        with open(header) as file:
            declared |= set(re.findall(r"(?<!#define )TORCHLET_API [^;{(]*?(\w+)(?: : | \{|\()", file.read()))
    lines = subprocess.run(["nm", "-DC", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    # "00012340 T torchlet_version", "... T torchlet::Tensor::dim() const", "... V vtable for torchlet::Error", "... W int torchlet::Tensor::item<int>()"
    names = [re.search(r"^\S* \w (?:[^(]* )?(?:torchlet::|(?=torchlet_))(\w+)", line) for line in lines.splitlines()]
    strangers = [line for line, name in zip(lines.splitlines(), names) if not name or name[1] not in declared]
    missing = declared - {name[1] for name in names if name}
    print(f"{len(names)} symbols of {len(declared)} declarations")
    for symbol in strangers:
        print("not public:", symbol)
    for name in sorted(missing):
        print("not in the library:", name)
    sys.exit(bool(strangers or missing))


main()
