#!/usr/bin/python3
"""Regenerates tests/fixtures/examples: what PyTorch answers to the pictures that the demo apps are tested with.

    apt-get install python3-torch python3-torchvision
    /usr/bin/python3 scripts/make_example_fixtures.py
"""

import os
import pathlib

import numpy
import torch
from PIL import Image
from torch.jit.mobile import _load_for_lite_interpreter
from torchvision import transforms

MODELS, OUT = pathlib.Path("models"), pathlib.Path("tests/fixtures/examples")
NORMALIZE = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def read(path: pathlib.Path, *steps) -> torch.Tensor:
    return transforms.Compose([*steps, transforms.ToTensor(), NORMALIZE])(Image.open(path).convert("RGB"))[None]


def main() -> None:
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    OUT.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    with torch.no_grad():
        # The class of each pixel as a grey picture.
        scenes = _load_for_lite_interpreter(str(MODELS / "scenes_deeplabv3.ptl"))
        for path in sorted((MODELS / "scenes").glob("*.png")):
            if path.stem.endswith("_overlay"):
                continue
            classes = scenes(read(path, transforms.Resize(240)))["out"][0].argmax(0)
            Image.fromarray(classes.numpy().astype(numpy.uint8)).save(OUT / f"{path.stem}_classes.png", optimize=True)
        # The three best classes of each digit, resized to 256 and cropped to 224.
        digits = torch.jit.load(str(MODELS / "digits_mobilenet_v2.pt")).eval()
        labels = (MODELS / "digits_labels.txt").read_text().split()
        with open(OUT / "digits_224.txt", "w") as file:
            for path in sorted((MODELS / "samples").glob("digit_*.png")):
                best = digits(read(path, transforms.Resize(256), transforms.CenterCrop(224)))[0].softmax(0).topk(3)
                answer = ", ".join(f"{100 * p:.1f} % {labels[i]}" for p, i in zip(*map(torch.Tensor.tolist, best)))
                file.write(f"{path.name}: {answer}\n")


if __name__ == "__main__":
    main()
