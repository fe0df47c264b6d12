#!/usr/bin/env python3
"""Checks that what is known of operators stands where they are declared (graph/facts.h, docs/design.md).

    scripts/check_operator_names.py [ROOT]

A pass names the operators that it rewrites or reads; a list of names elsewhere is a fact that the declarations lack. A
device's own tables, which say what it takes, are in its folder lower/.
"""

import pathlib
import re
import sys

MOST_NAMES = 7  # of one file; a pass on ranks reads dim, size, len, flatten and three operators of conditions

NAME = re.compile(r'"((?:aten|prim|quantized|_quantized|torchvision)::\w+)"')
# Names without their namespace, or parts of names, are lists in another dress.
PART = re.compile(r"kind\(\)\.name\(\)|kind\(\)\.str\(\)\s*[.=!]|name\.(?:name|str)\(\)\s*[.=!]")
COMMENT = re.compile(r"//[^\n]*")


def is_table(path: pathlib.Path) -> bool:
    return path.parent.name == "lower"


def problems(root: pathlib.Path):
    for stage in ["passes", "device"]:
        for path in sorted((root / "src" / stage).rglob("*")):
            is_test = path.name.endswith("_test.cc") or path.name.startswith("testing.")
            if path.suffix not in {".cc", ".h"} or is_test or is_table(path):
                continue
            name = path.relative_to(root).as_posix()
            text = COMMENT.sub("", path.read_text(encoding="utf-8"))
            operators = {match[1] for match in NAME.finditer(text)}
            if len(operators) > MOST_NAMES:
                yield f"{name}: names {len(operators)} operators; what they have in common is a fact of each (graph/facts.h)"
            for match in PART.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: looks at a part of an operator's name; compare Symbols, or ask for a fact"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    found = list(problems(root))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
