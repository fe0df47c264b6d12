#!/usr/bin/python3
"""Times every operator that takes tensors next to PyTorch, on one thread, and tells which are slower.

    apt-get install python3-torch python3-torchvision
    cmake --build --preset release --target torchlet
    /usr/bin/python3 bench/operators.py                       # all that build/operators.json lacks, and docs/operators_speed.md
    /usr/bin/python3 bench/operators.py --filter 'aten::sort' # these once more

A program of one call is made for each operator, and for each dtype it takes; both run the same file with the same tensors, in
one process and in turns. Arguments are those of scripts/make_op_cases.py with larger tensors: a sample's sizes grow, and
equal sizes grow alike.

Sizes are numbers of elements: 1 K, 256 K (1 MB of float32) and 2 M. Contiguous tensors, all of them with their last two
dimensions swapped in memory, and channels last; with `dim` at the end and at another place. Times are the thread's on the
processor. Left out, by the schema: what takes no tensor or takes an object, what writes its arguments and has a form that
does not, what draws random numbers.

PyTorch multiplies and factors matrices by libblas.so.3 and liblapack.so.3: bench/sweep.py says which is fair.
"""

import argparse
import ctypes
import json
import math
import os
import pathlib
import random
import re
import resource
import signal
import statistics
import sys
import tempfile
import time
import warnings
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"

import op_arguments  # noqa: E402, it needs the path
import op_pytorch  # noqa: E402
import torch  # noqa: E402
from op_answers import ANY, any_of  # noqa: E402
from op_values import dtype_number  # noqa: E402

SMALL, MIDDLE, LARGE = 1 << 10, 1 << 18, 1 << 21
SHAPES = {SMALL: ((4, 16, 4, 4), (32, 32), (SMALL,), (16, 8, 8))}
SHAPES[MIDDLE] = ((4, 64, 32, 32), (512, 512), (MIDDLE,), (64, 64, 64))
SHAPES[LARGE] = ((32, 64, 32, 32), (2048, 1024), (LARGE,), (128, 128, 128))
DTYPES = {"f32": torch.float32, "i64": torch.int64, "b": torch.bool, "f16": torch.float16}
CODES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5, torch.float32: 6,
         torch.float64: 7, torch.complex64: 9, torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15}
LAYOUTS = ("contiguous", "transposed", "channels last")
SLOW = 0.1  # seconds of a call: another way to grow the sample is tried
TURN, ROUNDS = 0.001, 6
WORTH = 15e-6  # seconds: what Torchlet does in less is the cost of a call
MOST_SECONDS = 60  # of an operator
# Which pages of memory a result gets can be half of a time, and PyTorch gets new ones at each call. A call that seems slower is
# measured with tensors at other places, too; both keep their smallest.
DOUBTFUL, PLACES = 1.4, 8
# Calls that say nothing about an operator: name -> why.
MEANINGLESS = {
    "aten::_conj": "PyTorch gives a view that says so",
    "aten::conj": "the same",
    "aten::adjoint": "the same",
    "aten::_neg_view": "the same",
    "aten::conj_physical": "PyTorch gives real numbers back as they are",
    "aten::resize_": "the memory it shows is not initialised",
    "aten::set_.source_Tensor": "gives the tensor another storage",
    "aten::_saturate_weight_to_fp16": "PyTorch looks at no more elements than a matrix of the first two sizes has",
    "aten::slow_conv3d": "PyTorch believes the kernel's size that it is told, which grown weights no longer have",
    "aten::slow_conv3d_forward": "the same",
}


# ---------------------------------------------------------------------------------------------------------
# Arguments


class Filler(op_arguments.Filler):
    """Tensors of one shape and dtype, quickly. `wild`: integers that may be values, not positions; mixed dtypes otherwise."""

    def __init__(self, rng, theme, wild):
        super().__init__(rng, theme)
        self.wild = wild

    def tensor(self, sizes=None, dtype=None, low=-2.0, high=2.0):
        if self.wild:
            return drawn(self.sizes, self.theme.dtype, 1, 100)
        return super().tensor(sizes, dtype, low, high)

    def tensor_of(self, sizes, dtype, low, high, count):
        return drawn(sizes, dtype, 0, 3)


def drawn(sizes, dtype, low, high):
    if dtype.is_floating_point or dtype.is_complex:
        return (torch.rand(sizes, dtype=torch.float64) * 1.9 + 0.05).to(dtype)
    return torch.randint(low, high, sizes).to(dtype)


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in tensors_of(item)] if isinstance(value, list) else []


def mapped(value, of):
    """`of` each tensor."""
    if isinstance(value, torch.Tensor):
        return of(value)
    return [mapped(item, of) for item in value] if isinstance(value, list) else value


def largest(args):
    return max(tensors_of(args), key=lambda t: t.numel())


def grown(op, args, elements, which, positions):
    """The sample with about so many elements in its largest tensor: sizes that are equal to one of `which` dimensions of it
    grow alike, and with `positions` integers grow with them. What is resized to a size is so to one that grows, too; the
    windows of convolutions stay as they are."""
    filters = [id(a) for p, a in zip(op.parameters, args) if p.name == "weight" and "conv" in op.name]
    others = [a for a in args if id(a) not in filters]
    big = largest(others if tensors_of(others) else args)
    sizes = {big.shape[k] for k in range(big.dim())[which] if big.shape[k] > 1} or {1}
    power = max(1, sum(n in sizes for n in big.shape))
    factor = max(1, round((elements / max(1, big.numel())) ** (1 / power)))

    def of(t):
        shape = [n * factor if n in sizes and (k < 2 or id(t) not in filters) else n for k, n in enumerate(t.shape)]
        if t.numel() == 0 or t.dtype == torch.bool or t.is_complex():
            return drawn(shape, t.dtype, 0, 2)
        low, high = t.min().item(), t.max().item()
        if t.dtype.is_floating_point:
            return (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(t.dtype)
        return torch.randint(low, (high + 1) * (factor if positions else 1), shape).to(t.dtype)

    def resized(p, value):
        is_size = p.name in ("size", "output_size") and re.search("sample|interpolate", op.name)
        if not is_size or value is None or isinstance(value, torch.Tensor):
            return value
        lasts = [n * (factor if m in sizes else 1) for n, m in zip(reversed(value), reversed(big.shape))] \
            if isinstance(value, list) else value * factor
        return lasts[::-1] if isinstance(value, list) else lasts

    return [resized(p, value) for p, value in zip(op.parameters, mapped(args, of))]


def script(op, args):
    """The operator's call as a function, whose arguments are the tensors of the call."""
    names = iter(range(99))

    def text(value, p):
        if isinstance(value, torch.Tensor):
            return f"a{next(names)}"
        if isinstance(value, list):
            inner = ", ".join(text(item, p) for item in value)
            kind = {"Tensor": "Tensor", "float": "float", "Scalar": "float"}.get(p.ir.rstrip("?")[:-2], "int")
            return f"[{inner}]" if value else f"annotate(List[{kind}], [])"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if isinstance(value, complex):
            return f"complex({value.real}, {value.imag})"
        if isinstance(value, torch.device):
            return "torch.device('cpu')"
        if isinstance(value, torch.dtype):
            return str(dtype_number(value))
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        raise TypeError(f"no way to write {type(value)}")

    args = op_pytorch.trimmed(op, args)
    words = [f"{p.name}={text(a, p)}" if p.keyword else text(a, p) for a, p in zip(args, op.parameters)]
    space, name = op.name.split(".")[0].split("::")
    given = ", ".join(f"a{i}" for i in range(next(names)))
    unit = torch.jit.CompilationUnit(f"def call({given}):\n    return torch.ops.{space}.{name}({', '.join(words)})\n")
    found = unit.call.graph.findNode(f"{space}::{name}")
    if not found or found.schema() != op.text:
        raise LookupError(f"{op.name} is not what a program calls")
    return unit.call


def seconds(call, args):
    given = tensors_of(args)
    call(*given)
    start = time.perf_counter()
    call(*given)
    return time.perf_counter() - start


class Sample:
    """How an operator is called: arguments for any number of elements."""

    def __init__(self, op):
        self.op, self.make, problem = op, None, LookupError("no arguments")
        best = math.inf
        for make in self.ways():
            try:
                args = make(MIDDLE)
                if not MIDDLE // 2 <= largest(args).numel() <= 4 * MIDDLE:
                    raise LookupError("its tensors do not grow")
                took = seconds(script(op, args), args)
            except Exception as error:  # whatever way PyTorch has of refusing arguments
                problem = error
                continue
            if took < best:
                best, self.make = took, make
            if took < SLOW:
                return
        if not self.make:
            raise problem

    def ways(self):
        op = self.op
        if calls := op_arguments.given_calls(op):
            for text in calls[:6]:
                rng = random.Random(zlib.crc32(op.name.encode()))
                names = {**op_arguments.evaluator(rng, op_arguments.Theme()), "call": lambda *args, **keywords: (args, keywords)}
                args = op_arguments.bind(op, *eval(f"call({text})", names))
                args = [op_pytorch.copied(a) for a in args]
                for which in (slice(None), slice(-2, None), slice(-1, None), slice(0, 1)):
                    for positions in (True, False):
                        yield lambda n, a=args, w=which, p=positions: grown(op, a, n, w, p)
            return
        for dtype in DTYPES.values():
            for attempt in range(8):
                for k in range(4):
                    def make(n, k=k, seed=zlib.crc32(op.name.encode()) + attempt, wild=attempt < 3, dtype=dtype):
                        filler = Filler(random.Random(seed), op_arguments.Theme(dtype, (SHAPES[n][k],)), wild)
                        return [filler.of(p) for p in op.parameters]
                    yield make


def with_dim(op, args, dim):
    """With that dimension, or nothing if there is no such parameter."""
    for i, p in enumerate(op.parameters):
        if p.name == "dim" and p.ir.rstrip("?") in ("int", "int[]"):
            args = list(args) + [q.default for q in op.parameters[len(args) : i + 1]]
            args[i] = [dim] if p.ir.rstrip("?") == "int[]" else dim
            return args
    return None


def laid(args, layout):
    """With the large tensors so in memory; nothing if there are none that can be."""
    least = largest(args).numel() // 2
    changed = False

    def of(t):
        nonlocal changed
        if t.numel() < least or t.dim() < 2 or layout == "contiguous" or layout == "channels last" and t.dim() != 4:
            return t
        changed = True
        if layout == "channels last":
            return t.contiguous(memory_format=torch.channels_last)
        return t.mT.contiguous().mT

    args = mapped(args, of)
    return args if changed or layout == "contiguous" else None


def searchable(op, args):
    """What a search finds depends on it: the tensor that it takes for sorted is, and what it looks for lies all over its range."""
    given = dict(zip((p.name for p in op.parameters), args))
    lines = [given[name] for name in ("sorted_sequence", "boundaries") if isinstance(given.get(name), torch.Tensor)]
    if not lines:
        return args
    low, high = lines[0].min().item(), lines[0].max().item()
    for name, t in given.items():
        if isinstance(t, torch.Tensor) and name == "self":
            given[name] = (torch.rand(t.shape, dtype=torch.float64) * (high - low) + low).to(t.dtype)
        elif t is lines[0]:
            given[name] = t.sort()[0]
    return list(given.values())


def rows(op):
    """(what it is, arguments) of all rows of the operator."""
    sample = Sample(op)

    def row(args, elements, dtype, layout="contiguous", dim=None):
        args = args and laid(searchable(op, args), layout)
        if args:
            name = {"elements": elements, "dtype": dtype, "layout": layout, "shape": list(largest(args).shape)}
            yield {**name, "dim": dim} if dim is not None else name, args

    middle = sample.make(MIDDLE)
    rank = largest(middle).dim()
    kind = next((kind for kind, dtype in DTYPES.items() if any(t.dtype == dtype for t in tensors_of(middle))), "other")
    yield from row(sample.make(SMALL), SMALL, kind)
    for layout in LAYOUTS:
        if not with_dim(op, middle, 0):
            yield from row(middle, MIDDLE, kind, layout)
            continue
        for dim in (-1, 1 if rank > 2 else 0):
            yield from row(with_dim(op, middle, dim), MIDDLE, kind, layout, dim)
    yield from row(sample.make(LARGE), LARGE, kind)
    for dtype in list(DTYPES)[1:] if kind == "f32" else ():
        other = mapped(middle, lambda t: t.to(DTYPES[dtype]) if t.dtype == torch.float32 else t)
        for layout in LAYOUTS[:2]:
            yield from row(other, MIDDLE, dtype, layout)


# ---------------------------------------------------------------------------------------------------------
# Torchlet, by its C interface


class Torchlet:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.torchlet_last_error.restype = ctypes.c_char_p
        self.library.torchlet_value_free.argtypes = [ctypes.c_void_p]
        self.library.torchlet_tensor_free.argtypes = [ctypes.c_void_p]
        self.library.torchlet_set_num_threads(1)

    def ask(self, name, *args):
        result = ctypes.c_void_p()
        if getattr(self.library, f"torchlet_{name}")(*args, ctypes.byref(result)):
            raise RuntimeError(self.library.torchlet_last_error().decode())
        return result

    def value(self, t):
        sizes = (ctypes.c_int64 * max(1, t.dim()))(*t.shape)
        strides = (ctypes.c_int64 * max(1, t.dim()))(*t.stride())
        tensor = self.ask("tensor_from_memory", ctypes.c_void_p(t.data_ptr()), CODES[t.dtype], sizes, strides,
                          ctypes.c_size_t(t.dim()), None, None)
        return self.ask("value_from_tensor", tensor)

    def program(self, path, tensors):
        """A function that runs the file with these tensors."""
        module = self.ask("module_load", str(path).encode(), None)
        inputs = (ctypes.c_void_p * max(1, len(tensors)))(*(self.value(t).value for t in tensors))
        count, result = ctypes.c_size_t(len(tensors)), ctypes.c_void_p()
        forward, free, place = self.library.torchlet_module_forward, self.library.torchlet_value_free, ctypes.byref(result)

        def run():
            if forward(module, inputs, count, place):
                raise RuntimeError(self.library.torchlet_last_error().decode())
            free(result)

        return run


# ---------------------------------------------------------------------------------------------------------
# Times


def turn(run, count):
    """Of the processor, so that what else the machine does counts less."""
    start = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - start) / count


def compare(ours, theirs):
    """Seconds of a call, [smallest, median] of turns, for both."""
    runs = (ours, theirs)
    for run in runs:
        run()
    counts = [max(1, round(TURN / min(turn(run, 1), turn(run, 1)))) for run in runs]
    times = [], []
    start = time.thread_time()
    for k in range(ROUNDS):
        for run, count, list_of in zip(runs, counts, times):
            list_of.append(turn(run, count))
        if k > 1 and time.thread_time() - start > 0.3:
            break
    return [[min(t), statistics.median(t)] for t in times]


def compare_at_places(torchlet, path, call, tensors):
    """compare()'s, of the file by Torchlet and of the call by PyTorch; again elsewhere in memory if we seem slow."""
    found, moved = [], []
    for _ in range(PLACES):
        run = torchlet.program(path, tensors)
        run()
        found.append(compare(run, lambda tensors=tensors: call(*tensors)))
        if found[-1][0][0] <= DOUBTFUL * found[-1][1][0]:
            break
        moved.append(tensors)  # kept, so that the copies get other pages
        tensors = [t.clone() for t in tensors]
    return [min(times) for times in zip(*found)]


def measure(op, torchlet, folder, tell):
    for name, args in rows(op):
        tensors = tensors_of(args)
        try:
            call = script(op, args)
            call(*tensors)
        except Exception:  # PyTorch has it not for this dtype, layout or dimension
            continue
        path = pathlib.Path(folder) / "call.pt"
        call.save(str(path))
        try:
            ours, theirs = compare_at_places(torchlet, path, call, tensors)
        except (RuntimeError, KeyError) as error:
            tell({**name, "error": str(error)})
            continue
        tell({**name, "torchlet": ours, "pytorch": theirs})


def measured(op, torchlet):
    """The rows of an operator, by a process of its own: PyTorch may crash, and calls may need too much."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(MOST_SECONDS)
        resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
        with os.fdopen(written, "w", buffering=1) as stream, tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(1)
            try:
                measure(op, torchlet, folder, lambda row: print(json.dumps(row), file=stream))
            except Exception as error:
                print(json.dumps({"not measured": f"{type(error).__name__}: {error}".split("\n")[0][:200]}), file=stream)
        os._exit(0)
    os.close(written)
    with os.fdopen(read) as stream:
        found = [json.loads(text) for text in stream if text.endswith("\n")]
    _, status = os.waitpid(child, 0)
    if status:
        found.append({"not measured": f"ended by signal {status}"})
    return found


def operators():
    """Those that take tensors, draw nothing, and write none of their arguments if there is a form that does not."""
    listed = set()
    for path in (ROOT / "tests/cases/ops").glob("*.jsonl"):
        listed |= {json.loads(text)["op"] for text in path.read_text(encoding="utf-8").splitlines()}
    schemas = op_pytorch.schemas()
    op_pytorch.OPERATORS.update({name: op_pytorch.Operator(name, schemas[name]) for name in sorted(listed) if name in schemas})
    bases = {name.split(".")[0] for name in op_pytorch.OPERATORS}
    for name, op in op_pytorch.OPERATORS.items():
        base = name.split(".")[0]
        writes = any(p.written for p in op.parameters)
        plain = base.removesuffix("_") in bases and base.endswith("_") or ".out" in name or name.endswith("_out")
        random_numbers = any("Generator" in p.type for p in op.parameters)
        objects = any("__torch__" in p.type or re.search("Stream|Storage", p.type) for p in op.parameters)
        if not op.tensors() or op.as_graph or random_numbers or objects or writes and plain or name in MEANINGLESS:
            continue
        if any_of(ANY, name) or any("out" == p.name and p.written for p in op.parameters):
            continue
        yield op


# ---------------------------------------------------------------------------------------------------------
# The table


def ratio(row):
    return row["torchlet"][0] / row["pytorch"][0]


def counted(row):
    """What the goal speaks of: at least 1 MB of float32 data's elements, and more than the cost of a call."""
    return "torchlet" in row and row["elements"] >= MIDDLE and row["torchlet"][0] > WORTH


def place(row):
    words = [row["dtype"], "x".join(map(str, row["shape"])), row["layout"]]
    return ", ".join(words + ([f"dim {row['dim']}"] if "dim" in row else []))


def table(results, limit, total):
    every = [(name, row) for name, found in results.items() for row in found if counted(row)]
    slow = [(name, row) for name, row in every if ratio(row) > limit]
    worst = {}
    for name, row in sorted(slow, key=lambda pair: -ratio(pair[1])):
        worst.setdefault(name, []).append(row)
    small = [ratio(row) for found in results.values() for row in found if "torchlet" in row and row["elements"] == SMALL]
    failed = sum("error" in row for found in results.values() for row in found)
    ratios = sorted(ratio(row) for _, row in every)
    middle = statistics.median(ratios) if ratios else 0
    lines = [
        "# How fast operators are",
        "",
        "`bench/operators.py` times one operator at a time next to PyTorch 1.13: one thread, in turns, the same tensors.",
        "",
        "| what | figure |",
        "|---|---|",
        f"| operators measured | {sum(any('torchlet' in row for row in found) for found in results.values())} of {total} |",
        f"| calls of 1 MB of float32's elements and more | {len(every)} |",
        f"| of these, median of Torchlet's time over PyTorch's | {middle:.2f} |",
        f"| of these, over {limit:g} times PyTorch's | {len(slow)}, of {len(worst)} operators |",
        f"| calls of 4 KB, where the cost of a call counts: median | {statistics.median(small) if small else 0:.2f} |",
        f"| calls that PyTorch takes and Torchlet does not | {failed} |",
        "",
        f"Operators with a call of 1 MB or more over {limit:g}: the worst call, smallest milliseconds.",
        "",
        "| operator | calls over | Torchlet | PyTorch | ratio | where |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in worst.items():
        row = found[0]
        lines.append(f"| {name.removeprefix('aten::')} | {len(found)} | {row['torchlet'][0] * 1e3:.3f} | "
                     f"{row['pytorch'][0] * 1e3:.3f} | {ratio(row):.1f} | {place(row)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", help="measure the operators that this finds, even if they have been")
    parser.add_argument("--library", default=str(ROOT / "build/release/libtorchlet.so"))
    parser.add_argument("--results", default=str(ROOT / "build/operators.json"))
    parser.add_argument("--table", default=str(ROOT / "docs/operators_speed.md"), help="where to; - for standard output")
    parser.add_argument("--limit", type=float, default=1.5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch._C._jit_set_profiling_executor(False)
    torch._C._jit_set_profiling_mode(False)
    try:
        import torchvision  # noqa: F401, its operators
    except ImportError:
        print("without torchvision", file=sys.stderr)
    torchlet = Torchlet(options.library)
    path = pathlib.Path(options.results)
    results = json.loads(path.read_text()) if path.exists() else {}
    every = list(operators())
    for op in every:
        if not re.search(options.filter, op.name) if options.filter else op.name in results:
            continue
        results[op.name] = measured(op, torchlet)
        for row in results[op.name]:
            if "torchlet" not in row:
                print(f"{op.name}: {row.get('error') or row['not measured']}".split("\n")[0], file=sys.stderr)
            elif options.filter or counted(row) and ratio(row) > options.limit:
                ours, theirs = row["torchlet"][0] * 1e3, row["pytorch"][0] * 1e3
                print(f"{op.name:40} {place(row):50} {ours:9.4f} {theirs:9.4f} {ratio(row):6.2f}", flush=True)
        path.write_text(json.dumps(results))
    text = table(results, options.limit, len(every))
    if options.table == "-":
        print(text, end="")
    else:
        pathlib.Path(options.table).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
