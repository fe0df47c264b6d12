#!/usr/bin/python3
"""What `torchlet quantize --equalize` gains: the SQNR on held-out inputs with one scale for a weight, and with one for each channel.

    apt-get install python3-torch python3-torchvision
    bench/quantize_equalize.py build/release/torchlet model.pt:1,3,96,96 digits.pt:digits.npy ...

Behind the colon is the shape of normal random inputs, or a .npy file of single inputs. "uneven" as a model stands for two
MobileNetV2s whose batch norms differ by channel, as those of trained ones do.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

CALIBRATION, TEST = 16, 64


def make_uneven(folder):
    import torch
    import torchvision

    for seed, spread in (1, 0.5), (2, 1.0):
        torch.manual_seed(seed)
        model = torchvision.models.mobilenet_v2(weights=None, width_mult=0.35, num_classes=10)
        norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        for norm in norms:
            norm.weight.data = torch.exp(spread * torch.randn_like(norm.weight))
            norm.bias.data = 0.5 * torch.randn_like(norm.bias)
            norm.momentum = None
        with torch.no_grad():
            for _ in range(8):
                model(torch.randn(16, 3, 96, 96))
        path = f"{folder}/uneven_{spread}.pt"
        torch.jit.script(model.eval()).save(path)
        yield f"{path}:1,3,96,96"


def write_inputs(source, folder):
    if source.endswith(".npy"):
        inputs = [x[None] for x in np.load(source)[:CALIBRATION + TEST]]
    else:
        shape = [int(n) for n in source.split(",")]
        random = np.random.RandomState(0)
        inputs = [random.randn(*shape).astype(np.float32) for _ in range(CALIBRATION + TEST)]
    for i, x in enumerate(inputs):
        part = folder / ("calibration" if i < CALIBRATION else "test")
        part.mkdir(exist_ok=True)
        np.save(part / f"{i:03}.npy", x)


def sqnr(torchlet, model, folder, *flags):
    done = subprocess.run([torchlet, "quantize", model, "--calibration", folder / "calibration", "--test", folder / "test",
                           "-o", folder / "out.pt", "--json", *flags], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["model"]["sqnr_db"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("torchlet")
    parser.add_argument("models", nargs="+", metavar="MODEL:INPUTS|uneven")
    arguments = parser.parse_args()
    print("| model | `--per-tensor` | with `--equalize` | a scale for each channel | with `--equalize` |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        models = [m for text in arguments.models for m in (make_uneven(temporary) if text == "uneven" else [text])]
        for i, text in enumerate(models):
            model, _, source = text.rpartition(":")
            folder = pathlib.Path(temporary, str(i))
            folder.mkdir()
            write_inputs(source, folder)
            found = [sqnr(arguments.torchlet, model, folder, *scales, *flags)
                     for scales in (["--per-tensor"], []) for flags in ([], ["--equalize"])]
            print(f"| {model} | " + " | ".join(f"{x:.2f} dB" for x in found) + " |", flush=True)


if __name__ == "__main__":
    main()
