#!/usr/bin/env python3
"""Compares what `torchlet quantize --mode core` and PyTorch's own quantization make of a TorchScript file.

    bench/quantize_accuracy.py MODEL.pt:1,3,224,224 ... [--torchlet FILE] [--data FOLDER] [--calibration 16] [--test 64] [--seeds 1]

PyTorch's counterpart, from the file alone as well, is torch.ao.quantization.quantize_jit with the qconfig of qnnpack.
Both see the same calibration inputs, and real PyTorch runs both on other inputs, with qnnpack. SQNR is ten times the
decimal logarithm of the power of the float model's outputs to that of the differences; agreement is how often the
largest output is the same, for outputs of two dimensions. The inputs are normal random numbers of the shape that is given, or
the arrays [N, ...] of FOLDER/NAME.npy for MODEL = NAME.pt. With --seeds N all of it, calibration included, happens N times
with other numbers, and what is printed is over all of them.

The last column counts the rows where one of the two has the same largest output as the float model and the other one has not,
PyTorch's first. By chance alone the two counts differ by about the square root of their sum.
"""

import argparse
import contextlib
import io
import json
import math
import pathlib
import subprocess
import tempfile
import warnings

import numpy as np
import torch
from torch.ao.quantization import get_default_qconfig
from torch.ao.quantization.quantize_jit import quantize_jit


def tensors(output):
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        return [t for value in output.values() for t in tensors(value)]
    return [t for value in output for t in tensors(value)]


class Score:
    def __init__(self):
        self.signal = self.error = 0.0
        self.same = []  # of each row of scores

    def add(self, exact, other):
        for a, b in zip(tensors(exact), tensors(other)):
            a, b = a.double(), b.dequantize().double() if b.is_quantized else b.double()
            self.signal += float((a * a).sum())
            self.error += float(((a - b) ** 2).sum())
            if a.dim() == 2 and a.shape[1] > 1:
                self.same += (a.argmax(1) == b.argmax(1)).tolist()

    def join(self, other):
        self.signal += other.signal
        self.error += other.error
        self.same += other.same

    def sqnr(self):
        if self.signal == 0:
            return None
        return 10 * math.log10(self.signal / self.error) if self.error else 200.0

    def agreement(self):
        return 100 * sum(self.same) / len(self.same) if self.same else None


def disputed(theirs, ours):
    """Rows that only PyTorch and that only Torchlet answers as the float model does."""
    pairs = list(zip(theirs.same, ours.same))
    return f"{sum(a and not b for a, b in pairs)} : {sum(b and not a for a, b in pairs)}" if pairs else "-"


def score(exact_model, model, inputs):
    result = Score()
    with torch.no_grad():
        for x in inputs:
            result.add(exact_model(x), model(x))
    return result


def by_pytorch(path, calibration):
    model = torch.jit.load(path).eval()

    def run(m, inputs):
        for x in inputs:
            m(x)

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return quantize_jit(model, {"": get_default_qconfig("qnnpack")}, run, [calibration])


def by_torchlet(program, path, calibration, options):
    with tempfile.TemporaryDirectory() as folder:
        inputs = []
        for i, x in enumerate(calibration):
            inputs.append(f"{folder}/{i:04}.npy")
            np.save(inputs[-1], x.numpy())
        output = f"{folder}/out.pt"
        done = subprocess.run([program, "quantize", path, "--calibration", *inputs, "-o", output, "--json", *options],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return torch.jit.load(output), json.loads(done.stdout)


def data_of(path, shape, folder, count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    if folder and (pathlib.Path(folder) / (path.stem + ".npy")).exists():
        array = torch.from_numpy(np.load(pathlib.Path(folder) / (path.stem + ".npy"))).float()
        order = torch.randperm(len(array), generator=generator).tolist()
        return [array[i:i + 1] for i in order[:count]]
    return [torch.randn(shape, generator=generator) for _ in range(count)]


def attempt(make):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return make(), None
    except Exception as error:  # the table says what went wrong, and goes on
        return None, str(error).strip().splitlines()[0][:150]


def cell(value, form):
    return "-" if value is None else form.format(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.pt:SHAPE")
    parser.add_argument("--torchlet", default="build/release/torchlet")
    parser.add_argument("--data", help="a folder of inputs")
    parser.add_argument("--calibration", type=int, default=16)
    parser.add_argument("--test", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=1, help="how often, each time with other inputs")
    parser.add_argument("--options", default="", help="more options for torchlet quantize")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "qnnpack"

    print("| model | SQNR PyTorch | SQNR Torchlet | same top 1 PyTorch | same top 1 Torchlet | only one has it |")
    print("|---|---|---|---|---|---|")
    gains, notes = [], []
    for text in arguments.models:
        file, _, shape = text.partition(":")
        path = pathlib.Path(file)
        name = f"{path.parent.name}/{path.stem}"
        exact = torch.jit.load(file).eval()
        theirs, ours = Score(), Score()
        for seed in range(1, arguments.seeds + 1):
            data = data_of(path, [int(n) for n in shape.split(",")], arguments.data,
                           arguments.calibration + arguments.test, seed)
            calibration, test = data[:arguments.calibration], data[arguments.calibration:]
            for who, total, make in (
                    ("PyTorch", theirs, lambda: by_pytorch(file, calibration)),
                    ("Torchlet", ours, lambda: by_torchlet(arguments.torchlet, file, calibration,
                                                           arguments.options.split())[0])):
                result, error = attempt(lambda: score(exact, make(), test))
                if error:
                    notes.append(f"{name}, {who}, seed {seed}: {error}")
                else:
                    total.join(result)
        has_both = theirs.signal > 0 and ours.signal > 0
        print(f"| {name} | {cell(theirs.sqnr(), '{:.2f} dB')} | {cell(ours.sqnr(), '{:.2f} dB')} "
              f"| {cell(theirs.agreement(), '{:.2f} %')} | {cell(ours.agreement(), '{:.2f} %')} "
              f"| {disputed(theirs, ours)} |", flush=True)
        if has_both:
            gains.append(ours.sqnr() - theirs.sqnr())
    if gains:
        print(f"\nTorchlet's SQNR is {sum(gains) / len(gains):+.2f} dB on average, {min(gains):+.2f} dB at least.")
    for note in notes:
        print("-", note)


if __name__ == "__main__":
    main()
