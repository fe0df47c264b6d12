"""Converts a model of make_models.py by LiteRT's own tools: make_tflite.py FOLDER MODEL PRECISION OUT, by the "venv" Python.

Pictures go in as [batch, height, width, channels], XNNPACK's order. int8 is quantized from the pictures that ONNX Runtime's file
is quantized with, one scale a channel; linear and recurrent layers alone: dynamically. Inputs and outputs stay float32, and so do
hardswishes: XNNPACK has none of integers, and the interpreter's own would cut the network into parts (MobileNetV3 took 3 times as long).
"""

import os
import sys
import tempfile

import numpy
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import make_models


def convert(folder: str, model: str, out: str) -> None:
    import litert_torch

    base = os.path.join(folder, model)
    network = make_models.make(model.partition("@")[0])
    network.load_state_dict(torch.jit.load(base + ".fp32.pt").state_dict())
    network.eval()
    x = torch.from_numpy(numpy.load(base + ".input.npy"))
    if x.dim() == 4:
        network, x = litert_torch.to_channel_last_io(network, args=[0]), x.permute(0, 2, 3, 1).contiguous()
    litert_torch.convert(network, (x,)).export(out)


def quantize(folder: str, model: str, source: str, out: str) -> None:
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    quantizing = quantizer.Quantizer(source)
    if model in make_models.DENSE:
        quantizing.load_quantization_recipe(recipe.dynamic_wi8_afp32())
        quantizing.quantize(serialize_to_path=out)
        return
    quantizing.load_quantization_recipe(recipe.static_wi8_ai8())
    for kept in ("INPUT", "OUTPUT", "HARD_SWISH"):
        quantizing.update_quantization_recipe(".*", kept, algorithm_key="no_quantize")
    (signature, names), = Interpreter(source).get_signature_list().items()
    pictures = numpy.load(os.path.join(folder, f"{model}.calibration.npy")).transpose(0, 2, 3, 1)
    ranges = quantizing.calibrate({signature: [{names["inputs"][0]: numpy.ascontiguousarray(x[None])} for x in pictures]})
    quantizing.quantize(ranges, out)


def main() -> None:
    folder, model, precision, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source = os.path.join(work, "fp32.tflite")
        convert(folder, model, source)
        made = source
        if precision == "int8":
            made = os.path.join(work, "int8.tflite")
            quantize(folder, model, source, made)
        os.rename(made, out)


main()
