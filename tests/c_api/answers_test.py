#!/usr/bin/env python3
"""Models answer through the C interface as by the command, to the bit: answers_test.py LIBRARY COMMAND [CASE...]. A case is a
folder with a manifest.json: "models" [{"file"}] and "calls" [{"method", "inputs", "kwargs"}], whose values are written as
cli/calls.h tells. Without cases the fixtures are run, from the root of the checkout."""

import json
import os
import sys

import answers


def tensor(path, dtype, shape, **others):
    return {"t": "tensor", "dtype": dtype, "shape": shape, "npy": path, "offset": 0, **others}


def shape_of(path):
    with open(path, "rb") as file:
        text = file.read(300).split(b"'shape': (")[1].split(b")")[0]
    return [int(size) for size in text.split(b",") if size.strip()]


def fixtures():
    """(model, calls, folder) of each."""
    for name in ("linear", "scripted_convnet", "traced_convnet", "recurrent", "quantized_linear", "quantized_conv_per_channel"):
        path = f"tests/fixtures/{name}.in0.npy"
        calls = [{"method": "forward", "inputs": [tensor(path, "float32", shape_of(path), memory_format=order)]}
                 for order in ("contiguous", "channels_last") if order == "contiguous" or len(shape_of(path)) == 4]
        yield f"tests/fixtures/{name}.pt", calls, "."
    path = "tests/fixtures/bundled.pt"
    yield path, [{"method": "get_all_bundled_inputs", "inputs": []}], "."


def cases(folders):
    for folder in folders:
        with open(f"{folder}/manifest.json") as file:
            manifest = json.load(file)
        for model in manifest["models"]:
            yield f"{folder}/{model['file']}", manifest["calls"], folder


def main() -> None:
    library, command, *folders = sys.argv[1:]
    library = answers.Library(os.path.abspath(library))
    models = calls = wrong = 0
    for model, made, folder in cases(folders) if folders else fixtures():
        got, want = answers.through_c(library, model, made, folder), answers.by_command(command, model, made, folder)
        models, calls = models + 1, calls + len(made)
        for i, (one, other) in enumerate(zip(got, want, strict=True)):
            if one != other:
                wrong += 1
                print(f"{model}: call {i} differs: {str(one)[:200]} instead of {str(other)[:200]}")
    print(f"{calls} calls of {models} models, {wrong} with other answers than the command's")
    sys.exit(bool(wrong or not calls))


if __name__ == "__main__":
    main()
