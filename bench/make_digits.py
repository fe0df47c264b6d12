#!/usr/bin/env python3
"""Makes inputs for the sample model: its sample pictures, shifted and turned, as FOLDER/digits_mobilenet_v2.npy.

    bench/make_digits.py FOLDER [--count 272]

bench/quantize_accuracy.py takes the folder by --data.
"""

import argparse
import pathlib
import random

import numpy as np
from PIL import Image

SAMPLES = sorted((pathlib.Path(__file__).parent.parent / "models/samples").glob("*.png"))
MEAN = np.array([0.485, 0.456, 0.406], np.float32)[:, None, None]
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)[:, None, None]


def variant(path):
    """A float32 array [3, 224, 224], normalised as for ImageNet."""
    picture = Image.open(path).convert("RGB").resize((224, 224), Image.BILINEAR)
    shift = random.randint(-20, 20), random.randint(-20, 20)
    picture = picture.rotate(random.uniform(-15, 15), Image.BILINEAR, translate=shift,
                             fillcolor=picture.getpixel((0, 0)))
    return (np.asarray(picture, np.float32).transpose(2, 0, 1) / 255 - MEAN) / DEVIATION


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=272)
    arguments = parser.parse_args()
    random.seed(0)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    array = np.stack([variant(SAMPLES[i % len(SAMPLES)]) for i in range(arguments.count)])
    np.save(arguments.folder / "digits_mobilenet_v2.npy", array.astype(np.float32))


if __name__ == "__main__":
    main()
