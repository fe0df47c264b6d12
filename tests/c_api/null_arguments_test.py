#!/usr/bin/env python3
"""Calls every function of the C interface with NULL for each of its pointers in turn, and for all at once:
null_arguments_test.py LIBRARY. What returns a status must return TORCHLET_INVALID_ARGUMENT and leave a message, unless
MAY_BE_NULL says that NULL means something; nothing may crash."""

import ctypes
import os
import re
import sys

import header

MODEL = b"tests/fixtures/values.pt"
PICTURE = b"models/samples/digit_7.png"
INVALID_ARGUMENT = 1

# Pointers for which NULL is an answer: function and place, counted from 0.
MAY_BE_NULL = {
    ("torchlet_module_load", 1),  # options
    ("torchlet_module_load_fd", 3),
    ("torchlet_module_load_memory", 2),
    ("torchlet_value_from_string", 0),  # with size 0
    ("torchlet_value_to_ints", 1),  # with capacity 0
    ("torchlet_value_to_floats", 1),
    ("torchlet_tensor_from_memory", 3),  # strides
    ("torchlet_tensor_from_memory", 5),  # release
    ("torchlet_tensor_from_memory", 6),  # context
    ("torchlet_image_to_tensor", 3),  # mean
    ("torchlet_image_to_tensor", 4),  # std
}
# Arrays are given with a count of 0, so that NULL is right there, too.
ARRAY = re.compile(r"\* const\*$|^const (int64_t|double|char\* const)\*$")

library = ctypes.CDLL(sys.argv[1])
library.torchlet_last_error.restype = ctypes.c_char_p


def made(function: str, *arguments) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    status = getattr(library, function)(*arguments, ctypes.byref(handle))
    assert status == 0, library.torchlet_last_error()
    return handle


def handles() -> dict:
    with open(PICTURE, "rb") as file:
        picture = file.read()
    sizes = (ctypes.c_int64 * 2)(2, 3)
    tensor = made("torchlet_tensor_new", 6, sizes, ctypes.c_size_t(2), 0)
    return {
        "torchlet_options*": made("torchlet_options_new"),
        "torchlet_module*": made("torchlet_module_load", MODEL, None),
        "torchlet_tensor*": tensor,
        "torchlet_value*": made("torchlet_value_from_tensor", tensor),
        "torchlet_image*": made("torchlet_image_decode", picture, ctypes.c_size_t(len(picture))),
        "torchlet_profiler*": made("torchlet_profiler_new"),
        "torchlet_preprocess*": made("torchlet_preprocess_new", b"{}"),
    }


def argument(kind: str, valid: dict) -> object:
    """Something that is right for most functions: what is wrong all the same is an error and no crash."""
    handle = kind.replace("const ", "")
    if handle in valid:
        return valid[handle]
    if kind == "const char*":
        return ctypes.c_char_p(b"forward")
    if "(" in kind:
        return ctypes.c_void_p()
    if kind.endswith("*"):
        return ctypes.cast(ctypes.create_string_buffer(64), ctypes.c_void_p)
    return {"size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "double": ctypes.c_double}.get(kind, ctypes.c_int)(0)


def call(function: header.Function, null: set, valid: dict) -> str:
    arguments = [ctypes.c_void_p() if i in null else argument(kind, valid) for i, kind in enumerate(function.parameters)]
    entry = getattr(library, function.name)
    entry.restype = ctypes.c_int if function.result == "torchlet_status" else ctypes.c_void_p
    result = entry(*arguments)
    where = f"{function.name}, NULL for {sorted(null)}"
    if function.result == "torchlet_status":
        if result != INVALID_ARGUMENT:
            return f"{where}: status {result}, not {INVALID_ARGUMENT}"
        if b"NULL" not in library.torchlet_last_error():
            return f"{where}: {library.torchlet_last_error()}"
    return ""


def main() -> None:
    wrong, calls = [], 0
    valid = handles()
    for function in header.functions():
        pointers = [i for i, kind in enumerate(function.parameters) if kind.endswith("*") or "(" in kind]
        if not pointers:
            continue
        if function.result == "torchlet_status":
            cases = [{i} for i in pointers
                     if (function.name, i) not in MAY_BE_NULL and not ARRAY.search(function.parameters[i])]
        else:
            cases = []
        for null in [*cases, set(pointers)]:
            wrong.append(call(function, null, valid))
            calls += 1
    wrong = [line for line in wrong if line]
    print("\n".join([*wrong, f"{calls} calls, {len(wrong)} wrong"]))
    sys.exit(bool(wrong) or calls < 100)


os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
main()
