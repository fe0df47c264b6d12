#!/usr/bin/env python3
"""Writes the header that tells a build of some operators what it holds (src/base/selection.h, docs/small.md).

    select_operators.py --operators FILE|NAMES --cxx COMPILER [--devices cpu,nnapi] [--containers pt,ptl,ff]
                        [--features FEATURE,...] [--passes PASS,...] --output selection.inc

The declarations in src/ops are the only list of operators: the compiler expands their macros, and what they say of themselves
(schemas, overloads by type, derived variants) tells which of them an operator needs. Which sources read the header, and so differ
between builds, goes to selection.sources beside it.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

OPS = pathlib.Path(__file__).resolve().parents[1] / "src/ops"
PASSES = OPS.parent / "passes/pass_list.cc"
CHOICES = {
    "devices": ["cpu", "nnapi"],
    "containers": ["pt", "ptl", "ff"],
    "features": ["float16", "float64", "complex", "sparse", "quantized", "winograd", "rare_convolutions", "volumes", "conversions",
                 "pictures", "places", "reports"],
}

MARKS = "".join(
    f"#define {macro}(id, {traits}schema, ...) @operator id @ {traits.rstrip(', ')} @ schema @end\n"
    for macro, traits in [("TORCHLET_OP", ""), ("TORCHLET_OP_WITH", "traits, "), ("TORCHLET_OP_BOXED", ""),
                          ("TORCHLET_OP_BOXED_WITH", "traits, ")])
INCLUDE = re.compile(r'^\s*#\s*include\s*"?([^"\n]*)"?.*$', re.M)
MARK = re.compile(r"@operator (\w+) @(.*?)@(.*?)@end", re.S)
CALL = re.compile(r'\b(?:find_operators?|call\w*)\([^";]*"((?:aten|prim|quantized)::\w+)"')
# Sources of operators that say so compute with tensors that a model's own need not be. Memory that is merely held is told as
# DTypeOf<double>::value.
MADE_BY = {"float64": "DType::kFloat64", "complex": "DType::kComplex", "sparse": '"ops/sparse/'}
CLASS = re.compile(r"\bconst CustomClassDef class_(\w+) =")


def text_of(literals: str) -> str:
    return "".join(re.findall(r'"([^"]*)"', literals))


class Operator:
    """A declaration: TORCHLET_OP(id, "schema", ...)."""

    def __init__(self, match, file: str):
        self.id, self.traits, self.file = match[1], re.sub(r"\s+", " ", match[2]), file
        name = text_of(match[3]).split("(")[0]
        self.name, _, self.overload = name.partition(".")
        if "$" in self.name:
            raise ValueError(f"{file}: a type in the name '{self.name}' of {self.id}")

    def has(self, trait: str) -> bool:
        return bool(re.search(rf"\b{trait}\(|\.has_{trait} = true", self.traits))

    def is_named(self, overload: str) -> bool:
        """A declaration for several types (per_type("int float")) has $ where an overload has one of them."""
        pattern = re.escape(self.overload).replace(r"\$", "(.+)")
        types = re.search(r'per_type\(((?:\s*"[^"]*")+)', self.traits)
        found = re.fullmatch(pattern, overload)
        return bool(found) and set(found.groups()) <= set(text_of(types[1]).split() if types else ())

    def names(self):
        """The operators, without overloads, that the declaration stands for."""
        yield self.name
        # Named constants of traits (kComparison) hide what they hold, so what could be is taken for what is.
        if not self.name.endswith("_"):
            yield self.name + "_"
        if self.has("copied"):
            yield self.name + "_copy"
        if self.has("functional"):
            yield self.name.removesuffix("_")


class Declarations:
    def __init__(self, cxx: str):
        self.operators, self.classes, self.includes, self.called, self.features = [], {}, {}, {}, {}
        files = [path for path in sorted(OPS.rglob("*")) if path.suffix in (".cc", ".h") and not path.stem.endswith("_test")]
        bodies = []
        for path in files:
            name = path.relative_to(OPS.parent).as_posix()
            text = path.read_text(encoding="utf-8")
            self.includes[name] = re.findall(r'^#include "(ops/[^"]+)"', text, re.M)
            self.classes[name] = CLASS.findall(text)
            self.features[name] = {feature for feature, word in MADE_BY.items() if word in text}
            if path.suffix == ".cc":
                macros = re.findall(r"^#define (\w+)", text, re.M)
                bodies += [f"@file {name}@", INCLUDE.sub("", text), *(f"#undef {macro}" for macro in macros)]
            self.called[name] = set(CALL.findall(text))
        expanded = self.expand(cxx, "\n".join(bodies))
        for part in expanded.split("@file ")[1:]:
            file, _, text = part.partition("@")
            found = [Operator(match, file) for match in MARK.finditer(text)]
            self.operators += found
            if "class_##id" in (OPS.parent / file).read_text(encoding="utf-8") or self.classes[file]:
                self.classes[file] = CLASS.findall(text)
        aliases = re.findall(r"^TORCHLET_OP_ALIAS\((\w+), (\w+)\)", (OPS / "alias_list.inc").read_text(), re.M)
        self.aliases = {f"aten::{alias}{end}": f"aten::{name}{end}" for alias, name in aliases for end in ("", "_")}

    @staticmethod
    def expand(cxx: str, text: str) -> str:
        """What the preprocessor makes of all declarations at once; includes are left out, so it takes a moment."""
        run = subprocess.run([*cxx.split(), "-E", "-P", "-w", "-x", "c++", "-"], input=MARKS + text, text=True,
                             capture_output=True)
        if run.returncode:
            sys.exit(f"select_operators.py: {cxx} -E failed: {run.stderr[:1000]}")
        return run.stdout

    def by_name(self):
        found = {}
        for op in self.operators:
            for name in op.names():
                found.setdefault(name, []).append(op)
        return found

    def reached(self, file: str, seen=None) -> set:
        """A file, the headers that it includes, and the sources of these."""
        seen = set() if seen is None else seen
        if file in seen or file not in self.called:
            return seen
        seen.add(file)
        for header in self.includes[file]:
            self.reached(header, seen)
            if not header.startswith("ops/core/") and not header.startswith("ops/sparse/"):
                self.reached(header.removesuffix("h") + "cc", seen)
        return seen

    def calls_of(self, file: str) -> set:
        """Operators that the functions of a file may look up."""
        return set().union(*(self.called[reached] for reached in self.reached(file)))

    def features_of(self, file: str) -> set:
        """What kinds of tensors the functions of a file make of others; the engines make those that they are asked for."""
        return set().union(*(self.features[reached] for reached in self.reached(file)
                             if not reached.startswith("ops/engines/") and reached.endswith(".cc")))


def overloads(found: list, overload: str) -> list:
    """Those that "default", "Tensor" or "int" names; all of them where none is declared by that name (derived ones are not)."""
    overload = "" if overload == "default" else overload
    return [op for op in found if op.is_named(overload)] or found


def selected(declarations: Declarations, wanted: list, by_overload: bool):
    """The declarations of the operators `wanted`, with the overload that is told alone or all, and of what these call by name."""
    by_name, kept, files = declarations.by_name(), {}, set()
    open_names = [(name, "the list") for name in wanted]
    while open_names:
        full, origin = open_names.pop()
        name, _, overload = full.partition(".")
        found = by_name.get(declarations.aliases.get(name, name), [])
        if not found and origin == "the list":
            sys.exit(f"select_operators.py: Torchlet has no operator '{full}'; `torchlet ops MODEL` tells which it lacks")
        if by_overload and overload and origin == "the list":
            found = overloads(found, overload)
        for op in found:
            kept[op.id] = op
            if op.file not in files:
                files.add(op.file)
                open_names += [(called, op.file) for called in sorted(declarations.calls_of(op.file))]
    return kept, files


def words(text: str) -> list:
    return [word for word in re.split(r"[\s;,]+", text) if word]


def chosen(kind: str, text) -> list:
    names = CHOICES[kind] if text in (None, "all") else words(text)
    for name in names:
        if name not in CHOICES[kind] and not (kind == "devices" and name == "reference"):
            sys.exit(f"select_operators.py: TORCHLET_{kind.upper()} has no '{name}'; there are: {', '.join(CHOICES[kind])}")
    return names


def readers_of_selection(src: pathlib.Path):
    """The sources that include base/selection.h, or a header that does."""
    included = {path.relative_to(src).as_posix(): re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
                for path in sorted(src.rglob("*")) if path.suffix in (".cc", ".h")}
    readers, found = set(), {"base/selection.h"}
    while found:
        readers |= found
        found = {name for name, others in included.items() if name not in readers and not readers.isdisjoint(others)}
    return sorted(name for name in readers if name.endswith(".cc"))


def write(output: pathlib.Path, text: str) -> None:
    """Leaves a file alone that says the same, so that nothing is compiled again."""
    if not output.exists() or output.read_text() != text:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)


def array(name: str, items) -> str:
    rows = "".join(f'    "{item}",\n' for item in sorted(items))
    return f"inline constexpr std::string_view {name}[] = {{\n{rows}    \"~\"}};\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators")
    parser.add_argument("--cxx", default="c++")
    for kind in CHOICES:
        parser.add_argument("--" + kind)
    parser.add_argument("--passes", help="none: all of them")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()

    text = ""
    devices = chosen("devices", arguments.devices)
    declarations = Declarations(arguments.cxx)
    everything = sorted({op.name for op in declarations.operators})
    listed = arguments.operators
    if listed and os.path.isfile(listed):
        listed = re.sub(r"#.*", "", pathlib.Path(listed).read_text(encoding="utf-8"))
    # Bytecode names overloads; TorchScript's compiler chooses among all of them.
    by_overload = "pt" not in chosen("containers", arguments.containers)
    kept, files = selected(declarations, words(listed) if listed else everything, by_overload)
    classes = {name for file in files for name in declarations.classes[file]}
    if "nnapi" in devices:
        classes.add("nnapi_compilation")
    names = {name for op in kept.values() for name in op.names()}
    text += array("kDeclarations", kept) + array("kOperators", names) + array("kClasses", classes)
    for kind in CHOICES:
        names = set(chosen(kind, getattr(arguments, kind)))
        if kind == "features":
            names.update(*(declarations.features_of(file) for file in files))
        text += array("k" + kind.capitalize(), names)
    passes = sorted(set(re.findall(r'^    \{"([a-z0-9-]+)",', PASSES.read_text(encoding="utf-8"), re.M)))
    for name in words(arguments.passes or ""):
        if name not in passes:
            sys.exit(f"select_operators.py: TORCHLET_PASSES has no '{name}'; there are: {', '.join(passes)}")
    text += array("kPasses", set(words(arguments.passes or "")) or passes)
    output = pathlib.Path(arguments.output)
    write(output, text)
    write(output.with_suffix(".sources"), "".join(f"{name}\n" for name in readers_of_selection(OPS.parent)))


if __name__ == "__main__":
    main()
