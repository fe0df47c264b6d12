#!/usr/bin/env python3
"""Holds the C interface to abi.txt, so that no change of what programs were compiled for goes unseen: abi_test.py LIBRARY.

Whoever adds to the interface writes the list anew: python3 tests/c_api/header.py > tests/c_api/abi.txt. A line that changes or
goes breaks programs: from version 1.0 on that takes a new major version."""

import difflib
import os
import re
import subprocess
import sys

import header

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abi.txt")


def main() -> None:
    library = sys.argv[1]
    with open(LIST) as file:
        committed = file.read().splitlines()
    declared = [*header.enumerations(), *header.structures(), *(function.prototype() for function in header.functions())]
    changes = list(difflib.unified_diff(committed, declared, "abi.txt", "c_api.h", lineterm="", n=0))

    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = set(re.findall(r" T (torchlet_\w+)", lines))
    names = {function.name for function in header.functions()}
    changes += [f"in the library, but not declared: {name}" for name in sorted(exported - names)]
    changes += [f"declared, but not in the library: {name}" for name in sorted(names - exported)]

    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if not soname or not re.fullmatch(r"libtorchlet\.so\.\d+\.\d+", soname[1]):
        changes.append(f"SONAME: {soname and soname[1]}")
    print("\n".join(changes) or f"{len(names)} functions as in abi.txt")
    sys.exit(bool(changes))


main()
