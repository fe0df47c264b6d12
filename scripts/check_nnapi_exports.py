#!/usr/bin/env python3
"""Holds libneuralnetworks.so to its headers: check_nnapi_exports.py LIBRARY HEADER... Each function, and nothing else."""

import re
import subprocess
import sys


def main() -> None:
    library, *headers = sys.argv[1:]
    declared = set()
    for header in headers:
        with open(header) as file:
            declared.update(re.findall(r"\b((?:ANeuralNetworks|torchlet_nnapi)\w*_\w+)\(", file.read()))
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in lines.splitlines()}
    print(f"{len(exported)} symbols of {len(declared)} declarations")
    for name in sorted(exported - declared):
        print("not public:", name)
    for name in sorted(declared - exported):
        print("not in the library:", name)
    sys.exit(not declared or exported != declared)


main()
