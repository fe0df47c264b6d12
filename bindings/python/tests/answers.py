"""Models answer through the Python package as by the command, to the bit: answers.py COMMAND CASE... Cases are those of
tests/c_api/answers_test.py."""

import os
import pathlib
import sys

import numpy
import torchlet

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tests" / "c_api"))
import answers  # noqa: E402
from answers_test import cases  # noqa: E402


def value_of(node, folder):
    """The value that `node` describes."""
    kind = node["t"]
    if kind in ("tensor", "qtensor"):
        dtype, data = node["dtype"], answers.read_npy(os.path.join(folder, node["npy"]), node.get("offset", 0))
        if dtype == "bfloat16":  # the upper half of a float32
            data, dtype = (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).tobytes(), "float32"
        numbers = numpy.frombuffer(data, answers.INTEGERS.get(dtype, dtype)).reshape(node["shape"])
        if node.get("memory_format") == "channels_last":
            numbers = numpy.ascontiguousarray(numbers.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
        if kind == "qtensor":
            return torchlet.Tensor(numbers.copy(), scale=float(node["scale"]), zero_point=node["zero_point"])
        return torchlet.Tensor(numbers, node["dtype"]) if node["dtype"] == "bfloat16" else numbers
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(value_of(item, folder) for item in node["v"])
    if kind == "dict":
        return {value_of(key, folder): value_of(item, folder) for key, item in node["items"]}
    if kind == "complex":
        return complex(*map(float, node["v"]))
    return {"none": lambda _: None, "int": int, "float": float, "bool": bool, "str": str}[kind](node.get("v"))


def content(value):
    """As answers.content() tells it."""
    if isinstance(value, torchlet.Tensor) and value.is_quantized:
        data = value.contiguous().int_repr()
        return ("qtensor", (value.dtype, list(value.shape), answers.number(value.scale), value.zero_point, data.tobytes()))
    if isinstance(value, torchlet.Tensor) and value.dtype == "bfloat16":
        return ("tensor", ("bfloat16", list(value.shape), (value.numpy().view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()))
    if isinstance(value, numpy.ndarray):
        return ("tensor", (str(value.dtype), list(value.shape), value.tobytes()))
    if isinstance(value, (list, tuple)):
        return ("list" if isinstance(value, list) else "tuple", [content(item) for item in value])
    if isinstance(value, dict):
        return ("dict", [(content(key), content(item)) for key, item in value.items()])
    if isinstance(value, complex):
        return ("complex", [answers.number(value.real), answers.number(value.imag)])
    if isinstance(value, float):
        return ("float", answers.number(value))
    return ({bool: "bool", int: "int", str: "str", type(None): "none"}[type(value)], value)


def main() -> None:
    command, *folders = sys.argv[1:]
    models = calls = wrong = 0
    for model, made, folder in cases(folders):
        module = torchlet.load(model)
        models, calls = models + 1, calls + len(made)
        for i, (call, want) in enumerate(zip(made, answers.by_command(command, model, made, folder))):
            inputs = [value_of(node, folder) for node in call["inputs"]]
            keywords = {name: value_of(node, folder) for name, node in call.get("kwargs", {}).items()}
            if content(module.method(call["method"])(*inputs, **keywords)) != want:
                wrong += 1
                print(f"{model}: call {i} differs")
    print(f"{calls} calls of {models} models, {wrong} with other answers than the command's")
    sys.exit(bool(wrong or not calls))


if __name__ == "__main__":
    main()
