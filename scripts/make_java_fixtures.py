#!/usr/bin/env python3
"""Writes tests/fixtures/recipe_scores.txt: for each digit among models/samples, the scores that PyTorch gives for the picture as
it is, which the recipe's Java has to give (bindings/java). A line each: the file and ten numbers, in hexadecimal to be exact.

    /usr/bin/python3 scripts/make_java_fixtures.py      needs python3-torch and python3-torchvision"""

import pathlib

import torch
from PIL import Image
from torchvision import transforms

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main() -> None:
    model = torch.jit.load(str(ROOT / "models/digits_mobilenet_v2.pt")).eval()
    prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    lines = []
    for path in sorted((ROOT / "models/samples").glob("digit_*.png")):
        with torch.no_grad():
            scores = model(prepare(Image.open(path).convert("RGB"))[None])[0]
        lines.append(" ".join([path.name, *(float(score).hex() for score in scores)]))
    (ROOT / "tests/fixtures/recipe_scores.txt").write_text("\n".join(lines) + "\n")


main()
