"""Answers of models through the C interface, and the command's of the same calls: each value as (kind, content), tensors with
their bytes, so that equal means equal to the bit. Values and calls are written as cli/calls.h tells."""

import ast
import ctypes
import json
import math
import os
import struct
import subprocess
import tempfile

P, SIZE, INT64, DOUBLE = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_double
NONE, TENSOR, INT, FLOAT, COMPLEX, BOOL, STRING, LIST, TUPLE, DICT = range(10)
CONTIGUOUS, CHANNELS_LAST = 0, 2
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128",
          "bool", "qint8", "quint8", "qint32", "bfloat16"]
INTEGERS = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}


def read_npy(path, offset):
    """The bytes of the array in C order."""
    with open(path, "rb") as file:
        file.seek(offset)
        magic = file.read(8)
        assert magic[:6] == b"\x93NUMPY", path
        length = struct.unpack("<H" if magic[6] == 1 else "<I", file.read(2 if magic[6] == 1 else 4))[0]
        header = ast.literal_eval(file.read(length).decode("latin-1"))
        assert not header["fortran_order"], path
        return file.read(math.prod(header["shape"]) * int(header["descr"][2:]))


def number(value):
    return struct.pack("<d", float(value))


class Refused(Exception):
    pass


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.torchlet_last_error_message.restype = ctypes.c_char_p
        self.c.torchlet_tensor_sizes.restype = ctypes.POINTER(INT64)
        for name, result in (("tensor_dims", SIZE), ("tensor_numel", INT64), ("tensor_element_size", SIZE), ("tensor_data", P)):
            getattr(self.c, "torchlet_" + name).restype = result

    def call(self, name, *arguments):
        if getattr(self.c, "torchlet_" + name)(*arguments):
            raise Refused(self.c.torchlet_last_error_message().decode())

    def make(self, kind, name, *arguments):
        """What the function gives by its last argument, to be freed as `kind` is."""
        handle = P()
        self.call(name, *arguments, ctypes.byref(handle))
        return Handle(self, kind, handle)

    def read(self, kind, name, *arguments):
        result = kind()
        self.call(name, *arguments, ctypes.byref(result))
        return result.value


class Handle:
    def __init__(self, library, kind, pointer):
        self.library, self.kind, self._as_parameter_ = library, kind, pointer

    def __del__(self):
        getattr(self.library.c, f"torchlet_{self.kind}_free")(self._as_parameter_)


def pointers(handles):
    return (P * max(len(handles), 1))(*[handle._as_parameter_ for handle in handles])


def tensor_of(library, node, folder):
    data = read_npy(os.path.join(folder, node["npy"]), node.get("offset", 0))
    dtype, shape = node["dtype"], node["shape"]
    sizes = (INT64 * max(len(shape), 1))(*shape)
    of = DTYPES.index(INTEGERS.get(dtype, dtype))
    tensor = library.make("tensor", "tensor_new", of, sizes, SIZE(len(shape)), CONTIGUOUS)
    ctypes.memmove(library.c.torchlet_tensor_data(tensor), data, len(data))
    if node.get("memory_format") == "channels_last":
        tensor = library.make("tensor", "tensor_to", tensor, of, CHANNELS_LAST)
    if dtype in INTEGERS:
        tensor = library.make("tensor", "tensor_quantized", tensor, DOUBLE(node["scale"]), INT64(node["zero_point"]))
    return tensor


def value_of(library, node, folder):
    """The value that `node` describes."""
    kind, make = node["t"], lambda name, *arguments: library.make("value", "value_" + name, *arguments)
    if kind == "none":
        return make("none")
    if kind in ("tensor", "qtensor"):
        return make("from_tensor", tensor_of(library, node, folder))
    if kind in ("list", "tuple"):
        items = [value_of(library, item, folder) for item in node["v"]]
        return make("from_items", LIST if kind == "list" else TUPLE, pointers(items), SIZE(len(items)))
    if kind == "dict":
        keys, values = ([value_of(library, pair[i], folder) for pair in node["items"]] for i in (0, 1))
        return make("from_dict", pointers(keys), pointers(values), SIZE(len(keys)))
    held = node["v"]
    if kind == "str":
        text = held.encode()
        return make("from_string", text, SIZE(len(text)))
    return {"int": lambda: make("from_int", INT64(held)), "float": lambda: make("from_float", DOUBLE(float(held))),
            "bool": lambda: make("from_bool", int(held)),
            "complex": lambda: make("from_complex", *(DOUBLE(float(part)) for part in held))}[kind]()


def tensor_content(library, tensor):
    c, dtype = library.c, DTYPES[library.c.torchlet_tensor_dtype(tensor)]
    dense = library.make("tensor", "tensor_to", tensor, DTYPES.index(dtype), CONTIGUOUS)
    shape = list(c.torchlet_tensor_sizes(dense)[: c.torchlet_tensor_dims(dense)])
    count = c.torchlet_tensor_numel(dense) * c.torchlet_tensor_element_size(dense)
    data = ctypes.string_at(c.torchlet_tensor_data(dense), count)
    if dtype not in INTEGERS:
        return ("tensor", (dtype, shape, data))
    scale, zero_point = DOUBLE(), INT64()
    library.call("tensor_quantizer", dense, ctypes.byref(scale), ctypes.byref(zero_point))
    return ("qtensor", (dtype, shape, number(scale.value), zero_point.value, data))


def content(library, value):
    """What the handle holds."""
    kind = library.c.torchlet_value_kind(value)
    if kind == NONE:
        return ("none", None)
    if kind == TENSOR:
        return tensor_content(library, library.make("tensor", "value_to_tensor", value))
    if kind == INT:
        return ("int", library.read(INT64, "value_to_int", value))
    if kind == FLOAT:
        return ("float", number(library.read(DOUBLE, "value_to_float", value)))
    if kind == COMPLEX:
        real, imaginary = DOUBLE(), DOUBLE()
        library.call("value_to_complex", value, ctypes.byref(real), ctypes.byref(imaginary))
        return ("complex", [number(real.value), number(imaginary.value)])
    if kind == BOOL:
        return ("bool", bool(library.read(ctypes.c_int, "value_to_bool", value)))
    if kind == STRING:
        text, size = P(), SIZE()
        library.call("value_to_string", value, ctypes.byref(text), ctypes.byref(size))
        return ("str", ctypes.string_at(text, size.value).decode())
    count = library.read(SIZE, "value_size", value)
    items = [content(library, library.make("value", "value_item", value, SIZE(i))) for i in range(count)]
    if kind != DICT:
        return ("list" if kind == LIST else "tuple", items)
    keys = [content(library, library.make("value", "value_key", value, SIZE(i))) for i in range(count)]
    return ("dict", list(zip(keys, items)))


def told(node, folder):
    """The same of what the command wrote."""
    kind = node["t"]
    if kind in ("tensor", "qtensor"):
        data = read_npy(os.path.join(folder, node["npy"]), node.get("offset", 0))
        scale = (number(node["scale"]), node["zero_point"]) if kind == "qtensor" else ()
        return (kind, (node["dtype"], node["shape"], *scale, data))
    if kind in ("list", "tuple"):
        return (kind, [told(item, folder) for item in node["v"]])
    if kind == "dict":
        return (kind, [(told(key, folder), told(item, folder)) for key, item in node["items"]])
    if kind == "float":
        return (kind, number(node["v"]))
    if kind == "complex":
        return (kind, [number(part) for part in node["v"]])
    return (kind, node.get("v"))


def through_c(library, model, calls, folder):
    """The answer to each call, all on one module."""
    module = library.make("module", "module_load", model.encode(), None)
    answers = []
    for call in calls:
        inputs = [value_of(library, node, folder) for node in call["inputs"]]
        names = [name.encode() for name in call.get("kwargs", {})]
        keywords = [value_of(library, node, folder) for node in call.get("kwargs", {}).values()]
        answer = library.make("value", "module_run", module, call["method"].encode(), pointers(inputs), SIZE(len(inputs)),
                              (ctypes.c_char_p * max(len(names), 1))(*names), pointers(keywords), SIZE(len(keywords)))
        answers.append(content(library, answer))
    return answers


def by_command(command, model, calls, folder):
    with tempfile.TemporaryDirectory() as out:
        with open(f"{out}/calls.json", "w") as file:
            json.dump({"calls": [located(call, os.path.relpath(folder, out)) for call in calls], "stateful": True}, file)
        done = subprocess.run([command, "run", model, "--calls", f"{out}/calls.json", "--save", f"{out}/saved"],
                              capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stderr)
        with open(f"{out}/saved/results.json") as file:
            results = json.load(file)["results"]
        return [told(result["output"], f"{out}/saved") if result["status"] == "ok" else result for result in results]


def located(node, folder):
    """The same node with its arrays in `folder`."""
    if isinstance(node, list):
        return [located(item, folder) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: os.path.join(folder, item) if key == "npy" else located(item, folder)
            for key, item in node.items()}
