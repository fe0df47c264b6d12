#!/usr/bin/python3
"""Regenerates tests/cases/ops: calls of every operator of Torchlet, and what PyTorch answers to them.

    apt-get install python3-torch python3-torchvision
    ninja -C build/release op_cases
    /usr/bin/python3 scripts/make_op_cases.py                     # all
    /usr/bin/python3 scripts/make_op_cases.py pooling sort        # the families of src/ops/{pooling,sort}_ops.cc

An operator is called with arguments that fit the types of its schema, tried at random until PyTorch takes them, for a
number of themes: dtypes, empty and 0-d tensors, broadcasting and so on. One that needs arguments that fit each other is
in op_calls.txt. tests/cases/ops/README.md says what the files hold. Seeds are fixed: a second run changes no byte.
"""

import copy
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import warnings
import zlib

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
import torch

from op_answers import ANY, FINITE, FIXED, KNOWN, MAGNITUDE, NO_CASE, OWN_LAYOUT, any_of
from op_arguments import CALLS, THEMES, Filler, Theme, bind, evaluator, given_calls
from op_pytorch import OPERATORS, SEED, Operator, answer, copied, run_graph, run_overload, same, schemas, trimmed
from op_values import Call, blank, write

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "tests/cases/ops"
COMMAND = ROOT / "build/release/op_cases"
TRIES = 12  # of a theme
MOST_TEXT = 4000  # of a case


def transposed(t):
    order = list(range(t.dim()))[::-1]
    return t.permute(order).contiguous().permute(order)


def with_gaps(t):
    wide = torch.empty([n * 2 for n in t.shape] + [2], dtype=t.dtype).zero_()
    view = wide[tuple(slice(None, None, 2) for _ in t.shape) + (1,)]
    view.copy_(t)
    return view


def laid(value, layout):
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_nested:
            return value
        if value.is_quantized:
            return value
        return layout(value)
    return [laid(item, layout) for item in value] if isinstance(value, list) else value


def has_fixed_layout(op, args, expected):
    if not op.tensors():
        return False
    for layout in (transposed, with_gaps):
        given = [laid(copied(a) if isinstance(a, torch.Tensor) else a, layout) for a in args]
        given += [p.default for p in op.parameters[len(given) :]]
        torch.manual_seed(SEED)
        given = [
            copied(a) if isinstance(a, Call) else copy.deepcopy(a) if not isinstance(a, torch.Tensor) else a
            for a in given
        ]
        try:
            results, _ = run_graph(op, given) if op.as_graph else run_overload(op, given)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return True
        if not same(results, expected):
            return True
    return False


def line(op, args, results, after):
    case = {"op": op.name, "in": [write(arg) for arg in trimmed(op, args)]}
    if results is None:
        case["raises"] = True
    else:
        case["out"] = [write(r) for r in results]
        if after:
            case["after"] = {str(i): write(value) for i, value in after.items()}
        if any_of(ANY, op.name):
            case["compare"] = "shape"
            case["out"] = [blank(text) for text in case["out"]]
        elif any_of(MAGNITUDE, op.name):
            case["compare"] = "magnitude"
        if any_of(OWN_LAYOUT, op.name):
            case["own layout"] = True
        if any_of(FIXED | ANY, op.name) or has_fixed_layout(op, args, results):
            case["fixed"] = True
    for pattern, reason in KNOWN.items():
        name, _, part = pattern.partition(" ")
        if re.fullmatch(name, op.name.removeprefix("aten::")) and re.search(
            part, json.dumps(case, separators=(",", ":"))
        ):
            case["known"] = reason
    return json.dumps(case, separators=(",", ":"), ensure_ascii=True)


def cases_of(op):
    """Lines of the file, and why PyTorch refused arguments, if it did."""
    rng = random.Random(zlib.crc32(op.name.encode()))
    lines = []

    def add(args):
        try:
            results, after = answer(op, args)
            text = line(op, args, results, after)
        except Exception as error:  # whatever way PyTorch has of refusing arguments
            return error
        if len(text) > MOST_TEXT:
            return ValueError("too long")
        if text not in lines:
            lines.append(text)
        return None

    calls = given_calls(op)
    return lines, make_given(op, calls, rng, lines, add) if calls else find(op, rng, lines, add)


def make_given(op, calls, rng, lines, add):
    problem = None
    for theme in [Theme(), Theme(torch.float64), Theme(torch.complex64)]:
        for text in calls:
            if theme.dtype != torch.float32 and (not re.search(r"\b(f|spd)\(", text) or len(lines) > 8):
                continue
            names = {**evaluator(rng, theme), "call": lambda *args, **keywords: (args, keywords)}
            error = add(bind(op, *eval(f"call({text})", names)))
            if error and theme.dtype == torch.float32:
                problem = error
                print(f"{op.name}({text}): {type(error).__name__}: {error}".split("\n")[0][:240], file=sys.stderr)
    return problem


def find(op, rng, lines, add):
    first = problem = None
    themes = THEMES if op.tensors() else [Theme(optional=k % 2 > 0) for k in range(6)]
    for k, theme in enumerate(themes):
        if k == 9 and not first:
            break
        if theme.values == "special" and re.search(FINITE, op.name):
            continue
        for _ in range(TRIES):
            filler = Filler(rng, theme)
            try:
                args = [filler.of(p) for p in op.parameters]
            except LookupError as error:
                return error
            error = add(args)
            if error is None:
                first = first or args
                break
            problem = error
            if "not implemented for" in str(error):
                break
    wrong = first and wrong_arguments(op, first)
    if wrong:
        lines.append(wrong)
    return problem


def wrong_arguments(op, args):
    """A call that PyTorch refuses: a dimension that is not there, sizes that do not fit."""
    for i, p in enumerate(op.parameters):
        if p.name == "dim" and p.type == "int":
            wrong = 9
        elif i > 0 and p.type == "Tensor" and not p.written and isinstance(args[0], torch.Tensor):
            wrong = torch.ones(4, 5, dtype=args[i].dtype) if not args[i].is_quantized else None
        else:
            continue
        given = list(args)
        given[i] = wrong
        try:
            if wrong is not None:
                answer(op, given)
        except (RuntimeError, IndexError) as error:
            if not re.search("not implemented|expected scalar type|INTERNAL|must be|expected", str(error), re.I):
                return line(op, given, None, {})
    return None


def start(op):
    """cases_of() in a process of its own: PyTorch may crash, and some operators change its state."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(60)
        lines, problem = cases_of(op)
        message = "" if lines else f"{type(problem).__name__}: {problem}".split("\n")[0]
        with os.fdopen(written, "w") as stream:
            json.dump([lines, message], stream)
        os._exit(0)
    os.close(written)
    return read, child


def finish(started):
    with os.fdopen(started[0]) as stream:
        text = stream.read()
    _, status = os.waitpid(started[1], 0)
    return json.loads(text) if text else ([], f"crashed with status {status}")


def families(names):
    """Which file of src/ops declares an operator."""
    listed = re.findall(r"^// (?:.*/)?(\w+)\.cc", (ROOT / "src/ops/op_list.inc").read_text(encoding="utf-8"), re.M)
    by_name, by_template, by_id = {}, [], {}
    for text in (ROOT / "src/ops/op_list.inc").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"// (?:.*/)?(\w+)\.cc", text):
            family = re.sub("_ops$", "", match[1])
        if match := re.match(r"TORCHLET_OP_ENTRY\((\w+)\)", text):
            by_id[match[1]] = family
    for path in sorted((ROOT / "src/ops").rglob("*.cc")):
        if path.stem not in listed:
            continue
        family = re.sub("_ops$", "", path.stem)
        for name in re.findall(r'"(\w+::[\w.$]+)\(', path.read_text(encoding="utf-8")):
            if "$" in name:
                by_template.append((re.compile(re.escape(name).replace(r"\$", r"\w+")), family))
            else:
                by_name.setdefault(name, family)

    def family_of(name):
        templates = [family for pattern, family in by_template if pattern.fullmatch(name)]
        whole = re.sub(r"\W+", "_", name)  # macros declare some
        ids = [by_id[i] for i in (whole, whole.split("_", 1)[1]) if i in by_id]
        return by_name.get(name) or (templates + ids + ["quantized_conv" if "conv" in name else "number"])[0]

    return {name: family_of(name) for name in names}


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "qnnpack"
    torch._C._jit_set_profiling_executor(False)
    torch._C._jit_set_profiling_mode(False)
    try:
        import torchvision  # noqa: F401, its operators
    except ImportError:
        print("without torchvision", file=sys.stderr)
    names = subprocess.run([COMMAND, "--list"], check=True, capture_output=True, text=True).stdout.split()
    wanted = set(sys.argv[1:])
    all_schemas = schemas()
    for name in names:
        if name in all_schemas:
            OPERATORS[name] = Operator(name, all_schemas[name])
    family_of = families(names)
    chosen = [name for name in names if not wanted or family_of[name] in wanted or name in wanted]
    for name in chosen:
        if name not in all_schemas and name not in NO_CASE:
            raise LookupError(f"PyTorch has no {name}")
    known = {name.removeprefix("aten::") for name in names} | set(names)
    for name in CALLS:
        if name not in known and not any(each.startswith(name + ".") for each in known):
            raise LookupError(f"op_calls.txt has {name}, which is no operator")
    missing = []
    waiting = [name for name in chosen if name not in NO_CASE]
    running, made = {}, {
        name: [json.dumps({"op": name, "no case": NO_CASE[name]})] for name in chosen if name in NO_CASE
    }
    while waiting or running:
        while waiting and len(running) < os.cpu_count():
            name = waiting.pop(0)
            running[name] = start(OPERATORS[name])
        name = next(iter(running))
        made[name], problem = finish(running.pop(name))
        if not made[name]:
            missing.append(f"{name}: {problem}")
    by_family = {}
    for name in chosen:
        by_family.setdefault(family_of[name], []).extend(made[name])
    OUT.mkdir(parents=True, exist_ok=True)
    for path in OUT.glob("*.jsonl") if not wanted else ():
        path.unlink()
    for family, lines in by_family.items():
        text = "".join(text + "\n" for text in lines)
        if any("::" in name for name in wanted):
            print(text, end="")
        else:
            (OUT / f"{family}.jsonl").write_text(text, encoding="utf-8")
    for text in missing:
        print("no case:", text, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
