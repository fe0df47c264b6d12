"""Arguments of operators: at random, by the types of a schema, or as op_calls.txt has them."""

import math
import pathlib
import re

import numpy
import torch

from op_pytorch import VARIABLES, split_commas
from op_values import Call


class Theme:
    """What tensors look like: a dtype, sizes that vary or not, what they hold."""

    def __init__(self, dtype=torch.float32, sizes=((2, 3),), optional=False, values="plain"):
        self.dtype, self.sizes, self.optional, self.values = dtype, sizes, optional, values


THEMES = [
    Theme(),
    Theme(sizes=((3, 3), (3, 3), (2, 3, 2), (3,), (1, 2, 3, 3)), optional=True),
    Theme(sizes=((1, 2, 2, 4), (1, 2, 1, 3, 2), (4, 4)), optional=True),
    Theme(sizes=((),)),
    Theme(sizes=((0, 3), (2, 0), (0,))),
    Theme(torch.float64, ((2, 1, 3), (2, 3), (1, 3), (2, 2, 3)), optional=True),
    Theme(torch.int64, ((2, 3), (3,)), optional=True),
    Theme(torch.uint8),
    Theme(torch.bool, ((3, 2), (3,))),
    Theme(torch.float16, ((2, 2),)),
    Theme(torch.bfloat16, ((2, 2),)),
    Theme(torch.complex64, ((2, 2), (2,))),
    Theme(sizes=((2, 2, 3), (2, 3), (4, 3)), values="rows"),
    Theme(sizes=((2, 4), (8,)), values="special"),
    Theme(torch.quint8, ((2, 3), (1, 2, 3, 3))),
]
INTS = [1, 0, 2, -1, 3, 1]


class Filler:
    """Arguments of one call."""

    def __init__(self, rng, theme):
        self.rng, self.theme = rng, theme
        self.sizes = rng.choice(theme.sizes)

    def pick(self, items):
        return items[self.rng.randrange(len(items))]

    def tensor(self, sizes=None, dtype=None, low=-2.0, high=2.0):
        if sizes is None:
            sizes = self.pick(self.theme.sizes) if self.rng.random() < 0.3 else self.sizes
        if dtype is None:
            dtype = self.theme.dtype
            if self.rng.random() < 0.15:
                dtype = torch.int64
        count = math.prod(sizes)
        if self.theme.values == "rows" and len(sizes) > 0:
            inner = self.tensor_of(sizes[1:], dtype, low, high, math.prod(sizes[1:]))
            return inner.expand(sizes).contiguous()
        return self.tensor_of(sizes, dtype, low, high, count)

    def tensor_of(self, sizes, dtype, low, high, count):
        if dtype == torch.bool:
            numbers = [self.rng.randrange(2) for _ in range(count)]
        elif dtype == torch.uint8:
            numbers = [self.rng.choice((0, 1, 2, 3, 7, 100, 255)) for _ in range(count)]
        elif dtype in (torch.quint8, torch.qint8, torch.qint32):
            numbers = [self.rng.randrange(0, 100) for _ in range(count)]
            integers = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}[dtype]
            return torch._make_per_tensor_quantized_tensor(
                torch.tensor(numbers, dtype=integers).reshape(sizes), 0.05, 30 if dtype == torch.quint8 else 5
            )
        elif not dtype.is_floating_point and not dtype.is_complex:
            numbers = [self.rng.choice((0, 1, 2, -1, 3, 1, -2)) for _ in range(count)]
        elif self.theme.values == "special":
            numbers = [self.pick((math.nan, math.inf, -math.inf, -0.0, 0.0, -1.0, 0.5, 2.0)) for _ in range(count)]
        else:
            numbers = [self.rng.randrange(round(low * 8), round(high * 8)) / 8 for _ in range(count)]
            if dtype.is_complex:
                numbers = [complex(x, self.rng.randrange(-16, 16) / 8) for x in numbers]
        return torch.tensor(numbers, dtype=dtype).reshape(sizes)

    def of(self, p):
        ir = p.ir
        if p.has_default and (not self.theme.optional or self.rng.random() < 0.5):
            return p.default
        if ir.endswith("?") and self.rng.random() < 0.3:
            return None
        ir = ir.rstrip("?")
        if ir == "ScalarType":
            return self.pick((6, 7, 4))
        if ir in ("Layout", "MemoryFormat"):
            return p.default if p.has_default else 0
        return self.of_type(ir, p)

    def of_type(self, ir, p=None):
        rng = self.rng
        ir = ir.rstrip("?")
        if ir == "Tensor":
            return self.tensor()
        if ir in ("int", "SymInt"):
            return self.pick(INTS)
        if ir == "float":
            return self.pick((0.5, 0.0, 1.0, 2.5, -1.25, 1e-5))
        if ir == "bool":
            return rng.random() < 0.5
        if ir in ("Scalar", "number"):
            return self.pick((2, 0.5, 1, -1.5, 3))
        if ir == "complex":
            return complex(self.pick((1.0, 0.5, -2.0)), self.pick((0.0, 1.5, -1.0)))
        if ir == "str":
            return self.pick(
                (
                    "none",
                    "mean",
                    "sum",
                    "ab c",
                    "Abc",
                    "a",
                    "",
                    "12",
                    "constant",
                    "bilinear",
                    "floor",
                    "trunc",
                    "hello world\t",
                    "x,y,z",
                )
            )
        if ir == "Device":
            return torch.device("cpu")
        if ir in VARIABLES or ir == "Any":
            return self.pick((1, 2, 3))
        if ir == "Generator":
            return None
        if ir.startswith("Dict("):
            key, item = split_commas(ir[5:-1])
            return {self.of_type(key.strip()): self.of_type(item.strip()) for _ in range(rng.randrange(1, 4))}
        if ir.startswith("("):
            return tuple(self.of_type(part.strip()) for part in split_commas(ir[1:-1]))
        if ir.endswith("[]"):
            return [self.of_type(ir[:-2]) for _ in range(rng.choice((2, 1, 2, 3, 4, 0)))]
        raise LookupError(f"no values of {ir}")


def evaluator(rng, theme):
    """The names that the calls of op_calls.txt are written with."""
    filler = Filler(rng, theme)

    def ints(*sizes, low=0, high=5, dtype=torch.int64):
        return torch.tensor([rng.randrange(low, high) for _ in range(math.prod(sizes))], dtype=dtype).reshape(sizes)

    def floats(*sizes, low=-2.0, high=2.0, dtype=None):
        return filler.tensor(sizes, dtype or theme.dtype, low, high)

    def real(*sizes, low=-2.0, high=2.0):
        return filler.tensor(sizes, torch.float32, low, high)

    def complexes(*sizes):
        return filler.tensor(sizes, torch.complex64)

    def bools(*sizes):
        return filler.tensor(sizes, torch.bool)

    def quantized(*sizes, dtype=torch.quint8):
        return filler.tensor(sizes, dtype)

    def per_channel(*sizes, axis=0):
        scales = torch.tensor([0.02 + 0.01 * i for i in range(sizes[axis])], dtype=torch.float64)
        return torch._make_per_channel_quantized_tensor(
            ints(*sizes, low=-50, high=50, dtype=torch.int8), scales, torch.zeros(sizes[axis], dtype=torch.int64), axis
        )

    def spd(n, *batch):
        a = floats(*batch, n, n)
        return a @ a.mT.conj() + n * torch.eye(n, dtype=a.dtype)

    def tensor(data, dtype=None):
        return torch.tensor(
            data, dtype=dtype or (theme.dtype if isinstance(numpy.array(data).flat[0], numpy.floating) else None)
        )

    return dict(
        f=floats,
        r=real,
        z=complexes,
        i=ints,
        b=bools,
        q=quantized,
        qc=per_channel,
        spd=spd,
        t=tensor,
        torch=torch,
        math=math,
        C=lambda name, *args: Call(name if "::" in name else "aten::" + name, list(args)),
        D=torch.device,
        inf=math.inf,
        nan=math.nan,
    )


def read_calls():
    """The calls of op_calls.txt by name."""
    words, calls, names = {}, {}, []
    for text in pathlib.Path(__file__).with_name("op_calls.txt").read_text(encoding="utf-8").splitlines():
        text, is_call = text.rstrip(), text.startswith(" ")
        if not text or text.startswith("#"):
            continue
        whole = re.sub(r"\$(\w+)", lambda match: words.get(match[1], match[0]), text)
        if is_call:
            for name in names:
                calls[name].append(whole.strip())
        elif text.startswith("$"):
            words[text[1:].split(" = ")[0]] = whole.split(" = ", 1)[1]
        else:
            names = text.split() if not names or calls[names[-1]] else names + text.split()
            for name in text.split():
                if name in calls:
                    raise LookupError(f"op_calls.txt has {name} twice")
                calls[name] = []
    return calls


def given_calls(op):
    short = op.name.removeprefix("aten::")
    return next((CALLS[key] for key in (op.name, short, short.split(".")[0]) if key in CALLS), None)


def bind(op, args, keywords):
    bound = list(args)
    names = [p.name for p in op.parameters]
    for name, value in keywords.items():
        place = names.index(name)
        while len(bound) <= place:
            bound.append(op.parameters[len(bound)].default)
        bound[place] = value
    return [
        float(v) if p and p.ir.rstrip("?") == "float" and isinstance(v, int) and not isinstance(v, bool) else v
        for v, p in zip(bound, op.parameters + [None] * len(bound))
    ]


CALLS = read_calls()
