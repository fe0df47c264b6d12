#!/usr/bin/env python3
"""Checks that every #include follows the plan of the house (docs/design.md).

    scripts/check_includes.py [ROOT]

Each folder of src/ is a stage; a stage sees the stages below it and never one above it. neuralnetworks/ stands above the
stages and writes its own includes from the root.
"""

import pathlib
import re
import sys

# What each stage may include besides itself. A stage that is not here does not exist.
LOW = ["base", "tensor"]
SOURCES = [*LOW, "archive", "graph"]
RUNTIME = [*SOURCES, "kernels", "nnapi", "script", "lite", "ops"]
ALLOWED = {
    "base": [],
    "kernels": ["base"],  # pure functions over pointers
    "tensor": ["base", "kernels"],
    "archive": [*LOW, "kernels"],
    "graph": LOW,  # a graph does not know which file it came from
    "image": [*LOW, "kernels"],
    "script": SOURCES,
    "lite": [*SOURCES, "script"],
    "nnapi": LOW,
    "ops": [*LOW, "graph", "kernels", "nnapi"],
    "passes": RUNTIME,
    "interp": [*RUNTIME, "passes"],
    "device": [*RUNTIME, "passes", "interp"],
    "profile": [*RUNTIME, "passes", "interp", "device"],
    "api": [*RUNTIME, "passes", "interp", "device", "profile", "image"],
    "c_api": [*RUNTIME, "passes", "interp", "device", "profile", "api", "image"],
    # What is done to a model before it ships. Not in libtorchlet.so.
    "prepare": [*RUNTIME, "passes", "interp", "device", "api", "image"],
    "quant": [*RUNTIME, "passes", "interp", "device", "api", "prepare"],
}

# What neuralnetworks/ may include besides itself.
NEURALNETWORKS = [*RUNTIME, "passes", "interp", "device", "profile", "api"]

# The public headers that a stage below the API owns and that it and the stages above it therefore see.
PUBLIC_OWNER = {
    "error.h": "base",
    "ref.h": "base",
    "dtype.h": "tensor",
    "tensor.h": "tensor",
    "value.h": "tensor",
    "threads.h": "base",
    "image.h": "image",
    "preprocess.h": "image",
    "c_api.h": "c_api",
    "placement.h": "device",
    "footprint.h": "device",
    "precision.h": "device",
    "preference.h": "device",
    "save.h": "prepare",
    "bundle.h": "prepare",
    "compare.h": "prepare",
    "optimize.h": "prepare",
    "quantize.h": "quant",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".cc", ".h", ".inc"}


def sources(folder: pathlib.Path):
    return sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES)


def includes(path: pathlib.Path):
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match[1] == '"', match[2]


def problem_in_stage(stage: str, src: pathlib.Path, quoted: bool, name: str, allowed: list):
    """Why a file of src/<stage>/, which may include the stages `allowed`, may not include `name`, or None."""
    if name.startswith("torchlet/"):
        owner = PUBLIC_OWNER.get(name.removeprefix("torchlet/"), "api")
        if quoted:
            return f"public headers are included as <{name}>"
    elif quoted:
        owner = name.split("/")[0]
        if owner not in ALLOWED or not (src / name).is_file():
            return f'"{name}" is not a file under src/, from where includes are written'
    else:
        return None  # a system or library header
    if owner == stage or owner in allowed:
        return None
    return f"{stage} may not include {owner}: {name}"


def problem_in_neuralnetworks(root: pathlib.Path, quoted: bool, name: str):
    """Why a file of neuralnetworks/ may not include `name`, or None."""
    if quoted and name.startswith("neuralnetworks/"):
        return None if (root / name).is_file() else f'"{name}" is not a file'
    return problem_in_stage("neuralnetworks", root / "src", quoted, name, NEURALNETWORKS)


def problems(root: pathlib.Path):
    src = root / "src"
    for folder in sorted(p for p in src.iterdir() if p.is_dir()):
        stage = folder.name
        if stage not in ALLOWED:
            yield folder, 1, "no such stage in scripts/check_includes.py"
            continue
        for path in sources(folder):
            for line, quoted, name in includes(path):
                problem = problem_in_stage(stage, src, quoted, name, ALLOWED[stage])
                if problem:
                    yield path, line, problem
    for path in sources(root / "neuralnetworks"):
        for line, quoted, name in includes(path):
            problem = problem_in_neuralnetworks(root, quoted, name)
            if problem:
                yield path, line, problem
    for folder in "include", "examples":
        for path in sources(root / folder):
            for line, quoted, name in includes(path):
                if quoted:
                    yield path, line, f'only public headers, as <torchlet/...>, not "{name}"'


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    found = list(problems(root))
    for path, line, problem in found:
        print(f"{path.relative_to(root)}:{line}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
