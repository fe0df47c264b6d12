#!/usr/bin/python3
"""Makes the models of the comparison with Debian's torchvision: random weights from a fixed seed.

    /usr/bin/python3 bench/make_models.py FOLDER NAME... NAME@16...

Batch normalisation gets its statistics from a few random pictures, so that activations have the size that they have in a
trained network. NAME@16 is the same network with an input of 16 pictures. Every model NAME becomes, in FOLDER,

    NAME.fp32.pt    TorchScript, traced          NAME.fp32.onnx   the same, opset 13
    NAME.int8.pt    statically quantized with QNNPACK's settings, where torchvision has a quantizable version; linear
                    and recurrent layers alone: dynamically
    NAME.input.npy  a picture or a sequence      NAME.output.npy, NAME.int8.output.npy  PyTorch's answers to it
    NAME.calibration.npy   more of them, for quantizing the ONNX file
"""

import copy
import os
import sys
import warnings

import numpy as np
import torch
import torchvision

warnings.filterwarnings("ignore")

MODELS = {
    "mobilenet_v2": torchvision.models.mobilenet_v2,
    "mobilenet_v3_large": torchvision.models.mobilenet_v3_large,
    "resnet18": torchvision.models.resnet18,
    "resnet50": torchvision.models.resnet50,
    "deeplabv3_resnet50": torchvision.models.segmentation.deeplabv3_resnet50,
    "vit_b_16": torchvision.models.vit_b_16,
}
QUANTIZABLE = {
    "mobilenet_v2": torchvision.models.quantization.mobilenet_v2,
    "mobilenet_v3_large": torchvision.models.quantization.mobilenet_v3_large,
    "resnet18": torchvision.models.quantization.resnet18,
    "resnet50": torchvision.models.quantization.resnet50,
}


class Recurrent(torch.nn.Module):
    """A recurrent layer without its last state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def mlp(*sizes: int, activation=torch.nn.ReLU) -> torch.nn.Module:
    layers = []
    for size, following in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(size, following), activation()]
    return torch.nn.Sequential(*layers[:-1])


# Linear and recurrent layers, and the shape of their input.
DENSE = {
    "mlp": (lambda: mlp(784, 2048, 2048, 10), [1, 784]),
    "feed_forward_1": (lambda: mlp(*[768, 3072] * 6, 768, activation=torch.nn.GELU), [1, 768]),
    "feed_forward_128": (lambda: mlp(*[768, 3072] * 6, 768, activation=torch.nn.GELU), [128, 768]),
    "lstm_512x2": (lambda: Recurrent(torch.nn.LSTM(512, 512, 2)), [50, 1, 512]),
    "gru_256": (lambda: Recurrent(torch.nn.GRU(256, 256)), [50, 1, 256]),
    "bilstm_128": (lambda: Recurrent(torch.nn.LSTM(80, 128, bidirectional=True, batch_first=True)), [1, 200, 80]),
}


class OnlyOut(torch.nn.Module):
    """A segmentation network without the dictionary around its result."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)["out"]


def set_statistics(network: torch.nn.Module, pictures: torch.Tensor) -> None:
    norms = [m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = None  # the average of all batches
            norm.reset_running_stats()
        network.train()
        with torch.no_grad():
            network(pictures)
    network.eval()


def make(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    if name in DENSE:
        return DENSE[name][0]()
    options = {"weights_backbone": None} if "deeplab" in name else {}
    network = MODELS[name](weights=None, **options)
    if name.startswith("vit"):  # torchvision starts the last layer with zeros
        torch.nn.init.normal_(network.heads.head.weight, std=0.02)
    return OnlyOut(network) if "deeplab" in name else network


def quantized(name: str, pictures: torch.Tensor) -> torch.nn.Module:
    torch.backends.quantized.engine = "qnnpack"
    if name in DENSE:
        return torch.ao.quantization.quantize_dynamic(make(name).eval())
    torch.manual_seed(0)
    network = QUANTIZABLE[name](weights=None, quantize=False)
    set_statistics(network, pictures)
    network.fuse_model()
    if name.startswith("resnet"):  # one scale a channel, as torchvision's own quantized ResNets have
        ao = torch.ao.quantization
        network.qconfig = ao.QConfig(
            activation=ao.HistogramObserver.with_args(reduce_range=False),
            weight=ao.default_per_channel_weight_observer)
    else:
        network.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    torch.ao.quantization.prepare(network, inplace=True)
    with torch.no_grad():
        for picture in pictures.split(1):
            network(picture)
    return torch.ao.quantization.convert(network)


def write(folder: str, model: str) -> None:
    name, _, batch = model.partition("@")
    generator = torch.Generator().manual_seed(1)
    pictures = torch.randn(4, 3, 224, 224, generator=generator)
    if name in DENSE:
        if batch:
            raise SystemExit(f"{name} has no pictures that could be more")
        pictures = x = torch.randn(DENSE[name][1], generator=generator)
    else:
        batch = int(batch or 1)
        x = torch.cat([pictures, torch.randn(max(0, batch - 4), 3, 224, 224, generator=generator)])[:batch]
    base = os.path.join(folder, model)
    network = make(name)
    set_statistics(network, pictures)
    # With gradients on, attention is traced as the operators that it consists of; ONNX has nothing else for it.
    traced = torch.jit.trace(network, x, check_trace=False)
    np.save(base + ".input.npy", x.numpy())
    np.save(base + ".calibration.npy", pictures.numpy())
    np.save(base + ".output.npy", network(x).detach().numpy())
    torch.onnx.export(traced, x, base + ".fp32.onnx", opset_version=13, input_names=["x"], output_names=["y"])
    with torch.no_grad():
        np.save(base + ".exact.npy", copy.deepcopy(network).double()(x.double()).numpy())
    if name in QUANTIZABLE or name in DENSE:
        with torch.no_grad():
            integers = quantized(name, pictures)
            torch.jit.trace(integers, x).save(base + ".int8.pt")
            np.save(base + ".int8.output.npy", integers(x).numpy())
    traced.save(base + ".fp32.pt")  # last: who finds it finds all


if __name__ == "__main__":
    for model in sys.argv[2:]:
        write(sys.argv[1], model)
