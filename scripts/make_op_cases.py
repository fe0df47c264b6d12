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
import math
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
import numpy
import torch

from op_answers import ANY, FINITE, FIXED, KNOWN, MAGNITUDE, NO_CASE, OWN_LAYOUT

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "tests/cases/ops"
COMMAND = ROOT / "build/release/op_cases"
SEED = 1  # of PyTorch's generator before each call
TRIES = 12  # of a theme
MOST_TEXT = 4000  # of a case

DTYPES = {
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.bool: "b",
    torch.complex32: "c32",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.qint8: "qi8",
    torch.quint8: "qu8",
    torch.qint32: "qi32",
}


class Call:
    """An argument that an operator makes: packed weights, sparse tensors."""

    def __init__(self, name, args):
        self.name, self.args = name, args

    def __repr__(self):
        return f"{self.name}{self.args}"


# ---------------------------------------------------------------------------------------------------------
# Writing values


def number(x):
    x = float(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == int(x) and abs(x) < 1e15 and not (x == 0 and math.copysign(1, x) < 0):
        return int(x)
    return x


def shortest(x, dtype):
    """The shortest decimal number that is x in that dtype."""
    if dtype != torch.bfloat16:
        return number(str(x))
    for digits in range(1, 10):
        text = f"{float(x):.{digits}g}"
        if torch.tensor(float(text)).bfloat16().item() == x:
            return number(text)
    return number(x)


def nested(x, of):
    return [nested(item, of) for item in x] if isinstance(x, list) else of(x)


def elements(t):
    t = t.detach()
    dtype = t.dtype
    if dtype.is_complex:
        parts = torch.view_as_real(
            t.resolve_conj().to(torch.complex64) if dtype == torch.complex32 else t.resolve_conj()
        )
        return elements(parts)
    if dtype == torch.bool:
        return t.int().tolist()
    if not dtype.is_floating_point:
        return t.tolist()
    if dtype == torch.bfloat16:
        return nested(t.float().tolist(), lambda x: shortest(x, dtype))
    as_numpy = t.contiguous().resolve_neg().numpy()
    flat = numpy.array([None] * as_numpy.size, dtype=object)
    for i, x in enumerate(as_numpy.reshape(-1)):
        flat[i] = shortest(x, dtype)
    return flat.reshape(as_numpy.shape).tolist()


def write_tensor(t):
    if t.is_nested:
        return {"nested": [write_tensor(part) for part in t.unbind()]}
    if t.layout == torch.sparse_csr:
        coo = t.to_sparse_coo().coalesce()
        return {
            "coo": write_tensor(coo.indices()),
            "values": write_tensor(t.values()),
            "sizes": list(t.shape),
            "coalesced": True,
            "csr": True,
        }
    if t.is_sparse:
        return {
            "coo": write_tensor(t._indices()),
            "values": write_tensor(t._values()),
            "sizes": list(t.shape),
            "coalesced": t.is_coalesced(),
            "csr": False,
        }
    plain = t.int_repr() if t.is_quantized else t
    text = {DTYPES[t.dtype]: elements(plain)}
    if 0 in (t.shape if t.is_complex() else t.shape[:-1]):
        text["sizes"] = list(t.shape)
    if t.is_quantized:
        if t.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            text.update(scale=t.q_scale(), zero_point=t.q_zero_point())
        else:
            text.update(
                scales=write_tensor(t.q_per_channel_scales()),
                zero_points=write_tensor(t.q_per_channel_zero_points()),
                axis=t.q_per_channel_axis(),
            )
    if t.numel() > 0 and not t.is_contiguous():
        text["strides"] = list(t.stride())
    return text


def write(value):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": number(value)}
    if isinstance(value, complex):
        return {"complex": [number(value.real), number(value.imag)]}
    if isinstance(value, torch.Tensor):
        return write_tensor(value)
    if isinstance(value, list):
        return [write(item) for item in value] if value else {"list": 0}
    if isinstance(value, tuple):
        return {"tuple": [write(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[write(key), write(item)] for key, item in value.items()]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, Call):
        return {"op": value.name, "in": [write(arg) for arg in value.args]}
    if isinstance(value, torch.dtype):
        return dtype_number(value)
    if isinstance(value, (torch.ScriptObject, torch._C.ScriptObject)):
        return {"object": type(value).__name__}
    raise TypeError(f"no way to write {type(value)}")


def blank(text):
    """What is not compared shall not change from run to run."""
    if not isinstance(text, dict):
        return 0
    return {key: nested(value, lambda _: 0) if key in DTYPES.values() else value for key, value in text.items()}


def dtype_number(dtype):
    return torch._C._get_operation_overload("prim::dtype", "")[0](torch.empty(0, dtype=dtype))


# ---------------------------------------------------------------------------------------------------------
# Calling PyTorch


def schemas():
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        found.setdefault(schema.name + ("." + schema.overload_name if schema.overload_name else ""), schema)
    return found


class Parameter:
    """An argument of a schema: its type as the schema writes it ("ScalarType?"), default and annotations."""

    def __init__(self, argument, text):
        text = text.strip()
        self.default = argument.default_value if argument.has_default_value() else None
        self.has_default = argument.has_default_value()
        self.name, self.keyword = argument.name, argument.kwarg_only
        self.type = str(argument.type)
        annotation = re.search(r"\(([^()>]*?)( -> [^()]*)?\)", re.sub(r"^Dict\([^()]*\)", "Dict", text))
        self.written = bool(annotation and "!" in annotation[1])
        text = re.sub(r"\((?![^()]*,)[a-z*!| ]*( -> [^()]*)?\)", "", text)
        self.ir = re.sub(r"\[\d+\]", "[]", text.split("=")[0].rsplit(" ", 1)[0].strip())


def split_commas(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in parts + [text[start:]] if part.strip()]


class Operator:
    def __init__(self, name, schema):
        self.name = name
        text = str(schema)
        self.text = text
        depth = 0
        start = text.index("(")
        for i in range(start, len(text)):
            depth += (text[i] in "([") - (text[i] in ")]")
            if depth == 0:
                break
        parts = [part for part in split_commas(text[start + 1 : i]) if part.strip() not in ("*", "...")]
        self.vararg = "..." in text[start:i]
        self.parameters = [Parameter(a, part) for a, part in zip(schema.arguments, parts)]
        self.returns = [str(r.type) for r in schema.returns]
        result = text[i + 1 :].replace("->", "", 1).strip()
        if result.startswith("(") and result.endswith(")"):
            result = result[1:-1]
        self.return_ir = [
            re.sub(r"\((?![^()]*,)[a-z*!| ]*( -> [^()]*)?\)", "", part).strip() for part in split_commas(result)
        ]
        self.return_ir = [
            part.rsplit(" ", 1)[0] if re.search(r"[\])a-zA-Z?] \w+$", part) else part for part in self.return_ir
        ]
        containers = [
            p
            for p in self.parameters
            if re.search(r"\bt\d?\b|Dict|tVal|tKey", p.type)
            or p.type.startswith(("List[List", "List[str", "Tuple", "Any"))
            or p.written
            and p.type not in ("Tensor", "Optional[Tensor]")
        ]
        self.as_graph = bool(containers) or self.vararg

    def tensors(self):
        return any("Tensor" in p.type for p in self.parameters)


def type_of(value):
    if value is None:
        return "NoneType"
    for kind, word in (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (complex, "complex"),
        (str, "str"),
        (torch.Tensor, "Tensor"),
        (torch.device, "Device"),
    ):
        if isinstance(value, kind):
            return word
    if isinstance(value, list):
        return (type_of(value[0]) if value else "int") + "[]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(type_of, value)) + ")"
    if isinstance(value, dict):
        key, item = next(iter(value.items())) if value else ("", 0)
        return f"Dict({type_of(key)}, {type_of(item)})"
    raise TypeError(str(type(value)))


def copied(value):
    if isinstance(value, torch.Tensor):
        result = value.clone()
        if (
            not value.is_quantized
            and value.layout == torch.strided
            and not value.is_nested
            and result.stride() != value.stride()
        ):
            result = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
        return result
    if isinstance(value, Call):
        results, _ = answer(OPERATORS[value.name], value.args)
        return results[0] if len(results) == 1 else tuple(results)
    if isinstance(value, (list, tuple)):
        return type(value)(copied(item) for item in value)
    return copy.deepcopy(value)


VARIABLES = ("t", "t1", "t2", "tVal", "tKey", "T")


def free_types(pattern, concrete, bound):
    """Binds the type variables of a schema to what the values are."""
    pattern = pattern.rstrip("?")
    if pattern in VARIABLES:
        bound[pattern] = concrete
    elif pattern.endswith("[]") and concrete.endswith("[]"):
        free_types(pattern[:-2], concrete[:-2], bound)
    elif pattern.startswith("Dict(") and concrete.startswith("Dict("):
        for a, b in zip(split_commas(pattern[5:-1]), split_commas(concrete[5:-1])):
            free_types(a.strip(), b.strip(), bound)
    elif pattern.startswith("(") and concrete.startswith("("):
        for a, b in zip(split_commas(pattern[1:-1]), split_commas(concrete[1:-1])):
            free_types(a.strip(), b.strip(), bound)


def run_graph(op, args):
    bound = {}
    parameters = op.parameters + [None] * (len(args) - len(op.parameters))
    for p, arg in zip(parameters, args):
        if p:
            free_types(p.ir, type_of(arg), bound)

    def concrete(text):
        return re.sub(r"\b(t|t1|t2|tVal|tKey|T)\b", lambda m: bound.get(m[1], m[1]), text)

    types = []
    for p, arg in zip(parameters, args):
        text = concrete(p.ir) if p else type_of(arg)
        types.append(
            type_of(arg)
            if text in ("AnyListType", "Any", "Scalar", "AnyClassType", "AnyTupleType", "t", "AnyEnumType")
            or "tVal" in text
            else text
        )
    given = ", ".join(f"%a{i} : {t}" for i, t in enumerate(types))
    results = [concrete(t) for t in op.return_ir]
    name = op.name.split(".")[0]
    lines = [f"graph({given}):"]
    made = ", ".join(f"%r{i} : {t}" for i, t in enumerate(results))
    used = ", ".join(f"%a{i}" for i in range(len(args)))
    lines.append(f"  {made + ' = ' if made else ''}{name}({used})")
    kept = [f"%r{i}" for i in range(len(results))] + [f"%a{i}" for i, p in enumerate(parameters) if p and p.written]
    kept_types = results + [t for t, p in zip(types, parameters) if p and p.written]
    if not kept:
        lines.append("  %none : NoneType = prim::Constant()")
        kept, kept_types = ["%none"], ["NoneType"]
    lines.append(f"  %all : ({', '.join(kept_types)}) = prim::TupleConstruct({', '.join(kept)})")
    lines.append("  return (%all)")
    graph = torch._C.parse_ir("\n".join(lines))
    node = next(graph.nodes())
    if not op.vararg and node.schema() != op.text:
        raise LookupError(f"{node.schema()} instead of {op.text}")
    everything = list(torch._C._create_function_from_graph("call", graph)(*args))
    after = {}
    rest = everything[len(results) :]
    for i, p in enumerate(parameters):
        if p and p.written:
            after[i] = rest.pop(0)
    return everything[: len(results)], after


def run_overload(op, args):
    name, _, overload = op.name.partition(".")
    call = torch._C._get_operation_overload(name, overload)[0]
    positional = [a for a, p in zip(args, op.parameters) if not p.keyword]
    keywords = {p.name: a for a, p in zip(args, op.parameters) if p.keyword}
    result = call(*positional, **keywords)
    results = [] if not op.returns else [result] if len(op.returns) == 1 else list(result)
    after = {i: args[i] for i, p in enumerate(op.parameters) if p.written and not any(r is args[i] for r in results)}
    return results, after


def answer(op, args):
    """The results, and the values of the arguments that were written and are no results."""
    args = [copied(arg) for arg in args]
    args += [p.default for p in op.parameters[len(args) :]]
    torch.manual_seed(SEED)
    before = {i: copied(arg) for i, arg in enumerate(args) if isinstance(arg, torch.Tensor) and not arg.is_quantized}
    results, after = run_graph(op, args) if op.as_graph else run_overload(op, args)
    for i, old in before.items():  # written although the schema does not say so
        if i not in after and not op.parameters[i].written and not same(old, args[i], exactly=True):
            after[i] = args[i]
    return results, after


def same(a, b, exactly=False):
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.dtype != b.dtype or a.layout != b.layout or a.is_nested != b.is_nested:
            return False
        if a.is_nested:
            return all(same(x, y, exactly) for x, y in zip(a.unbind(), b.unbind()))
        if a.shape != b.shape:
            return False
        if a.layout == torch.sparse_csr:
            return same(a.values(), b.values(), exactly) and same(a.col_indices(), b.col_indices())
        if a.is_sparse:
            return same(a._values(), b._values(), exactly) and same(a._indices(), b._indices())
        if a.is_quantized:
            a, b = a.int_repr(), b.int_repr()
        if not a.dtype.is_floating_point and not a.dtype.is_complex:
            return bool((a == b).all())
        wide = torch.complex128 if a.dtype.is_complex else torch.float64
        return torch.allclose(a.to(wide), b.to(wide), 0 if exactly else 1e-2, 0 if exactly else 1e-3, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, exactly) for x, y in zip(a, b))
    if isinstance(a, float):
        return isinstance(b, float) and (a == b or a != a and b != b or math.isclose(a, b, rel_tol=1e-3))
    if isinstance(a, (torch.ScriptObject, torch._C.ScriptObject)):
        return True
    return a == b


# ---------------------------------------------------------------------------------------------------------
# Cases


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


def trimmed(op, args):
    """Without the last arguments that are defaults."""
    args = list(args)
    while len(args) <= len(op.parameters) and args and op.parameters[len(args) - 1].has_default:
        default = op.parameters[len(args) - 1].default
        if isinstance(args[-1], (torch.Tensor, Call)) or type(args[-1]) is not type(default) or args[-1] != default:
            break
        args.pop()
    return args


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


def any_of(names, name):
    short = name.removeprefix("aten::")
    return short in names or short.split(".")[0] in names


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
    for text in (ROOT / "scripts/op_calls.txt").read_text(encoding="utf-8").splitlines():
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


OPERATORS = {}
CALLS = read_calls()


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
