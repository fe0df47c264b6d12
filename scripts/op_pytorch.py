"""PyTorch's operators by their schemas: what they take, and what they answer."""

import copy
import math
import re

import torch

from op_values import Call

SEED = 1  # of PyTorch's generator before each call
OPERATORS = {}  # by name; whoever calls some fills it


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


def trimmed(op, args):
    """Without the last arguments that are defaults."""
    args = list(args)
    while len(args) <= len(op.parameters) and args and op.parameters[len(args) - 1].has_default:
        default = op.parameters[len(args) - 1].default
        if isinstance(args[-1], (torch.Tensor, Call)) or type(args[-1]) is not type(default) or args[-1] != default:
            break
        args.pop()
    return args


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
