"""Every public function, method and property gets None and what is of a wrong type or size for each of its arguments in turn:
exceptions that name the fault, never a crash. What there is, is found by looking into the package and its stubs."""

import ast
import functools
import inspect
import pathlib

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, FIXTURES, LABELS, SEVEN

LINEAR = FIXTURES / "linear.pt"


class Raises:
    """Whatever it is asked, it raises."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise ZeroDivisionError(name)

    def __fspath__(self):
        raise ZeroDivisionError

    __index__ = __float__ = __bool__ = __iter__ = __len__ = __array__ = __fspath__


def endless():
    items = []
    items.append(items)
    return items


WRONG = {
    "None": None, "True": True, "-1": -1, "0": 0, "2**31": 2**31, "2**70": 2**70, "1.5": 1.5, "nan": float("nan"), "-inf": float("-inf"), "1j": 1j,
    "empty": "", "text": "nowhere", "null": "a\0b", "surrogate": "\udc80", "long": "x" * 5000, "bytes": b"\xff\0", "bytearray": bytearray(3),
    "list": [], "Nones": [None], "endless": endless(), "numbers": [1, -2], "strings": ["a", "\0"], "tuple": (), "set": {1}, "dict": {},
    "odd dict": {1: None, None: 2}, "object": object(), "raises": Raises(), "type": int, "function": len, "module": np, "generator": (i for i in "a"),
    "array": np.zeros((2, 2)), "no array": np.array([None]), "empty array": np.zeros((0, 3), np.float32), "uint16": np.zeros(3, np.uint16),
    "path": pathlib.Path("no/where"), "Tensor": torchlet.Tensor(np.zeros(3, np.float32)), "Tensor()": torchlet.Tensor,
}  # fmt: skip
# What arguments raise, besides torchlet.Error: Python's own for types, and what a hostile object raised itself. Python's
# UnicodeError is a ValueError.
ALLOWED = (torchlet.Error, TypeError, ValueError, ZeroDivisionError)
# Right for their names, whatever takes them.
VALID = {
    "model": LINEAR, "a": LINEAR, "b": LINEAR, "output": "out.pt", "path": str(SEVEN), "data": SEVEN.read_bytes(), "image": SEVEN, "name": "forward",
    "method": "forward", "json": "{}", "count": 2, "shape": [2, 3], "scores": np.arange(5.0), "array": np.zeros((4, 5, 3), np.uint8),
    "y": np.zeros((4, 4), np.uint8), "u": np.zeros((2, 2), np.uint8), "v": np.zeros((2, 2), np.uint8), "value": 1, "memory_format": "contiguous",
    "height": 3, "width": 4, "size": 5, "top": 0, "left": 0, "degrees": 90, "mean": [0.5, 0.5, 0.5], "std": [1.0, 1.0, 1.0], "dtype": "float32",
    "other": None, "seconds": 0.01, "iterations": 1, "inputs": [np.load(FIXTURES / "linear.in0.npy")], "calibration": [np.load(FIXTURES / "linear.in0.npy")],
}  # fmt: skip
OTHERWISE = {
    ("Module.attribute", "path"): "weight",
    ("Module.submodule", "path"): "",
    ("Module.set_attribute", "name"): "training",
    ("read_labels", "path"): str(LABELS),
    ("convert", "inputs"): None,
    ("labels_of", "model"): torchlet.load(LINEAR),
    ("preprocess_of", "model"): torchlet.load(LINEAR),
    ("Preprocess.__call__", "image"): torchlet.Image.read(str(SEVEN)),
    ("Tensor.__init__", "array"): np.zeros(3, np.float32),
}
# Functions that are given no arguments here: they write somewhere, or wait, as they are told.
RECORDS = {"Preprocess.__init__": {"resize": 5, "crop": 4, "channels": "RGB", "mean": [0.5], "std": [1.0]}}


def things():
    """For each class of the extension an object to call methods of."""
    yield "Tensor", torchlet.Tensor(np.zeros((2, 3), np.float32))
    yield "Tensor", torchlet.Tensor(np.zeros((2, 3), np.uint8), scale=0.5, zero_point=3)
    yield "Module", torchlet.load(LINEAR)
    yield "Method", torchlet.load(DIGITS).method("forward")
    yield "Image", torchlet.Image(np.zeros((4, 5, 3), np.uint8))
    yield "Preprocess", torchlet.Preprocess(resize=4, crop=4)
    yield "RandomTensor", torchlet.RandomTensor([2, 3])
    yield "profile", torchlet.profile()


def parameters(arguments):
    """(name, is keyword only, has a default) of each in an ast.arguments; None for *args."""
    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    found = [(a.arg, False, d is not None) for a, d in zip(plain, defaults)]
    found += [(a.arg, True, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return [p for p in found if p[0] != "self"], arguments.vararg is not None


def public():
    """(name, its object or None, the function, parameters, takes any) of all that the stubs and the package show."""
    stub = ast.parse(pathlib.Path(torchlet._core.__file__).with_name("_core.pyi").read_text())
    made = {}
    for name, thing in things():
        made.setdefault(name, []).append(thing)
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.name in torchlet.__all__ and getattr(torchlet._core, node.name) is getattr(torchlet, node.name):
            yield (node.name, getattr(torchlet, node.name), *parameters(node.args))
        if not isinstance(node, ast.ClassDef):
            continue
        for member in [m for m in node.body if isinstance(m, ast.FunctionDef)]:
            marks = [d.id for d in member.decorator_list if isinstance(d, ast.Name)]
            name = f"{node.name}.{member.name}"
            if member.name == "__init__":
                yield (name, getattr(torchlet, node.name), *parameters(member.args))
            elif "staticmethod" in marks:
                yield (name, getattr(getattr(torchlet, node.name), member.name), *parameters(member.args))
            else:
                for thing in made.get(node.name, []):
                    if "property" in marks:
                        yield (name, functools.partial(getattr, thing, member.name), [], False)
                        yield (name + "=", functools.partial(setattr, thing, member.name), [("value", False, False)], False)
                    else:
                        yield (name, getattr(thing, member.name), *parameters(member.args))
    for name in torchlet.__all__:
        function = getattr(torchlet, name)
        if inspect.isfunction(function):
            of = inspect.signature(function).parameters.values()
            named = [(p.name, p.kind is p.KEYWORD_ONLY, p.default is not p.empty) for p in of if p.kind is not p.VAR_POSITIONAL]
            yield name, function, named, len(named) < len(of)


CALLS = list(public())


def valid(name, parameter, has_default):
    """Whether it is to be given, and what."""
    if (name, parameter) in OTHERWISE:
        return True, OTHERWISE[name, parameter]
    if parameter in VALID and (not has_default or parameter in ("iterations", "seconds", "inputs", "calibration")):
        return True, VALID[parameter]
    assert has_default, f"{name} takes {parameter}: give it a valid value here"
    return False, None


def tell(name, function, positional, keywords):
    """Calls it; what may not come out of it, in words."""
    try:
        function(*positional, **keywords)
    except torchlet.InternalError as error:
        return f"{name}: {error}"
    except ALLOWED as error:
        if not str(error) and not isinstance(error, ZeroDivisionError):
            return f"{name}: no message"
    except AttributeError as error:
        if not name.endswith("=") and name != "Module.__getattr__":
            return f"{name}: {error!r}"
    except Exception as error:
        return f"{name}: {error!r}"
    return ""


def test_each_is_found():
    names = {name.split(".")[0].rstrip("=") for name, *_ in CALLS}
    data = (tuple, Exception, torchlet.ErrorCode, torchlet.Object)
    expected = {n for n in torchlet.__all__ if not (inspect.isclass(getattr(torchlet, n)) and issubclass(getattr(torchlet, n), data))}
    assert expected <= names and len(CALLS) > 120


@pytest.mark.parametrize("name, function, named, takes_any", CALLS, ids=[call[0] for call in CALLS])
def test_wrong_arguments(name, function, named, takes_any, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threads, problems = torchlet.num_threads(), []
    given = {parameter: valid(name, parameter, default) for parameter, _, default in named}
    cases = [(parameter, which) for parameter, _, _ in named for which in WRONG] + [(None, "None")]
    for wrong, which in cases:
        positional, keywords = [], {}
        for parameter, by_keyword, _ in named:
            present, value = given[parameter]
            if parameter == wrong:
                present, value = True, WRONG[which]
            if present and not by_keyword and len(positional) == [p for p, k, _ in named if not k].index(parameter):
                positional.append(value)
            elif present:
                keywords[parameter] = value
        if takes_any and wrong is None:
            positional += [None]
        told = tell(name, function, positional, keywords)
        if told:
            problems.append(f"{told} ({wrong}={which})")
    for which, value in WRONG.items():
        told = tell(name, function, [value] * max(len(named), 1), {}) or (takes_any and tell(name, function, [value, value], {"x": value, "": value}))
        if told:
            problems.append(f"{told} (all: {which})")
    torchlet.set_num_threads(threads)
    assert problems == []


def test_none_for_all(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problems = [tell(name, function, [None] * count, {}) for name, function, _, _ in CALLS for count in range(5)]
    assert [problem for problem in problems if problem] == []
