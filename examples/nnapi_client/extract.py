#!/usr/bin/env python3
"""Takes an NNAPI model out of a TorchScript file, for a program that knows NNAPI alone.

    extract.py MODEL.pt OUT.nnapi [--input X.npy OUT.input]

MODEL.pt is what `torchlet convert --to nnapi` or PyTorch's convert_model_to_nnapi wrote. OUT.nnapi is the serialized model
in it, whose format src/nnapi/serialized_model.h tells, and the weights behind that: a value that is a weight (source 2)
names its offset in OUT.nnapi and its length. OUT.input has the bytes of an input as the model wants them.
"""

import argparse
import array
import ast
import pickle
import struct
import zipfile

ELEMENT_SIZES = {"ByteStorage": 1, "CharStorage": 1, "BoolStorage": 1, "QUInt8Storage": 1, "QInt8Storage": 1,
                 "HalfStorage": 2, "ShortStorage": 2, "FloatStorage": 4, "IntStorage": 4, "QInt32Storage": 4,
                 "LongStorage": 8, "DoubleStorage": 8}
FLOAT32, QUANT8_ASYMM, QUANT8_ASYMM_SIGNED = 3, 5, 14
NCHW_TO_NHWC = 1  # of inp_mem_fmts


class Instance:
    """An object of any class of the program, or of PyTorch."""

    def __init__(self, *_):
        pass

    def __setstate__(self, state):
        self.state = state


class Tensor:
    def __init__(self, storage, offset, sizes, strides, *_):
        (self.bytes, self.element_size), self.offset, self.sizes, self.strides = storage, offset, sizes, strides

    def dense(self) -> bytes:
        places = [self.offset]
        for size, stride in zip(self.sizes, self.strides):
            places = [place + i * stride for place in places for i in range(size)]
        size = self.element_size
        if places == list(range(self.offset, self.offset + len(places))):
            return self.bytes[self.offset * size:(self.offset + len(places)) * size]
        return b"".join(self.bytes[place * size:(place + 1) * size] for place in places)


class Objects(pickle.Unpickler):
    """Calls nothing that the file names."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        record = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        self.folder = record.removesuffix(".pkl")
        super().__init__(archive.open(record))

    def find_class(self, module, name):
        if name in ("_rebuild_tensor_v2", "_rebuild_qtensor"):
            return Tensor
        if name in ELEMENT_SIZES:
            return ELEMENT_SIZES[name]
        if module == "torch.jit._pickle":  # lists with the types of their elements
            return lambda value, *_: value
        return Instance

    def persistent_load(self, pid):
        _, element_size, key, *_ = pid
        return self.archive.read(f"{self.folder}/{key}"), element_size


def nnapi_modules(value) -> list:
    if isinstance(value, (list, tuple)):
        return [found for element in value for found in nnapi_modules(element)]
    state = getattr(value, "state", None)
    if not isinstance(state, dict):
        return []
    return [state] if "ser_model" in state else nnapi_modules(list(state.values()))


class Model:
    """The serialized model, as numbers; see src/nnapi/serialized_model.h."""

    def __init__(self, words: bytes):
        self.words = array.array("I", words)
        _, operands, values, operations, inputs, outputs = self.words[:6]
        if (inputs, outputs) != (1, 1):
            raise SystemExit(f"extract.py: the model has {inputs} inputs and {outputs} outputs, not one of each")
        self.values_at = 6 + 4 * operands
        self.values_end = self.values_at + 3 * values
        self.rest_at = self.values_end + 3 * operations
        ranks = self.words[7:self.values_at:4]
        at = self.rest_at + sum(ranks)
        self.weights_at = []  # where buffer, offset and length of each are
        for i in range(self.values_at, self.values_end, 3):
            if self.words[i + 1] == 2:
                self.weights_at.append(at)
            at += (self.words[i + 2] + 3) // 4
        self.operands = []
        dims_at = self.rest_at
        for i, rank in enumerate(ranks):
            kind, _, scale, zero_point = struct.unpack("iIfi", self.words[6 + 4 * i:10 + 4 * i].tobytes())
            self.operands.append((kind, list(self.words[dims_at:dims_at + rank]), scale, zero_point))
            dims_at += rank
        self.input, self.output = self.operands[self.words[-2]], self.operands[self.words[-1]]
        for _, sizes, *_ in (self.input, self.output):
            if 0 in sizes:
                raise SystemExit(f"extract.py: the sizes {sizes} are open; convert the model for those of one input")


def flat(model: Model, weights: list) -> bytes:
    """The file: words, then weights, each at a multiple of 64 bytes."""
    size = 4 * len(model.words)
    parts, offsets = [], []
    for weight in weights:
        padding = -size % 64
        parts += [bytes(padding), weight.dense()]
        offsets.append(size + padding)
        size += padding + len(parts[-1])
    for at in model.weights_at:
        buffer, offset, _ = model.words[at:at + 3]
        model.words[at], model.words[at + 1] = 0, offsets[buffer] + offset
    return b"".join([model.words.tobytes(), *parts])


def read_npy(path: str):
    with open(path, "rb") as file:
        data = file.read()
    version = data[6]
    start = 10 if version == 1 else 12
    length = struct.unpack("<H" if version == 1 else "<I", data[8:start])[0]
    header = ast.literal_eval(data[start:start + length].decode())
    if header["descr"] != "<f4" or header["fortran_order"]:
        raise SystemExit(f"extract.py: {path} is no float32 array in C order")
    return list(header["shape"]), array.array("f", data[start + length:])


def input_bytes(path: str, model: Model, to_nhwc: bool) -> bytes:
    kind, wanted, scale, zero_point = model.input
    sizes, values = read_npy(path)
    if to_nhwc and len(sizes) == 4:
        n, c, h, w = sizes
        sizes = [n, h, w, c]
        image = c * h * w
        values = array.array("f", (values[i * image + k * h * w + j]
                                   for i in range(n) for j in range(h * w) for k in range(c)))
    if sizes != wanted:
        raise SystemExit(f"extract.py: {path} gives sizes {sizes}, and the model takes {wanted}")
    if kind == FLOAT32:
        return values.tobytes()
    low, code = {QUANT8_ASYMM: (0, "B"), QUANT8_ASYMM_SIGNED: (-128, "b")}[kind]
    steps = (round(value / scale) + zero_point for value in values)
    return array.array(code, (min(max(step, low), low + 255) for step in steps)).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--input", nargs=2, metavar=("X.npy", "OUT.input"))
    options = parser.parse_args()
    with zipfile.ZipFile(options.model) as archive:
        found = nnapi_modules(Objects(archive).load())
    if len(found) != 1:
        raise SystemExit(f"extract.py: {options.model} has {len(found)} parts for NNAPI, and one is wanted")
    module = found[0]
    model = Model(module["ser_model"].dense())
    data = flat(model, module["weights"])
    with open(options.out, "wb") as file:
        file.write(data)
    if options.input:
        with open(options.input[1], "wb") as file:
            file.write(input_bytes(options.input[0], model, module["inp_mem_fmts"][0] == NCHW_TO_NHWC))


if __name__ == "__main__":
    main()
