#!/usr/bin/env python3
"""Finds the things in a picture and colours them.

    image_segmentation.py models/scenes_deeplabv3.ptl models/scenes/meadow.png overlay.png
"""

import sys

import numpy
import torchlet
from PIL import Image

# Of class 1, 2, ...; class 0 is the background and stays as it is.
COLOURS = (("blue", (0, 90, 255)), ("orange", (255, 140, 0)), ("magenta", (255, 0, 200)), ("yellow", (255, 230, 0)),
           ("cyan", (0, 220, 255)), ("red", (230, 0, 0)), ("green", (0, 160, 60)), ("violet", (120, 0, 220)))


def colour_of(label: int):
    return COLOURS[(label - 1) % len(COLOURS)]


def draw(classes: numpy.ndarray, picture: numpy.ndarray) -> Image.Image:
    """Three parts of the class's colour to two of the picture."""
    pixels = picture.astype(numpy.uint16)
    for label in range(1, classes.max() + 1):
        there = classes == label
        pixels[there] = (2 * pixels[there] + 3 * numpy.uint16(colour_of(label)[1])) // 5
    return Image.fromarray(pixels.astype(numpy.uint8))


def main() -> None:
    if len(sys.argv) < 4:
        sys.exit("usage: image_segmentation.py MODEL PICTURE OVERLAY.png [LABELS.txt]")
    try:
        model = torchlet.load(sys.argv[1])
        labels = torchlet.read_labels(sys.argv[4]) if len(sys.argv) > 4 else torchlet.labels_of(model)
        picture = torchlet.Image.read(sys.argv[2])
        # As the model says, else as for ImageNet; in either case all of the picture.
        scores = model(torchlet.load_image(picture, model, crop=0))["out"][0]  # [classes, height, width]
    except torchlet.Error as error:
        sys.exit(str(error))

    classes = scores.argmax(axis=0)
    draw(classes, picture.resize(*classes.shape).numpy()).save(sys.argv[3])
    for label in range(1, classes.max() + 1):
        if (part := (classes == label).mean()) > 0:
            print(f"{100 * part:5.1f} %  {colour_of(label)[0]:<8} {labels[label] if label < len(labels) else label}")


if __name__ == "__main__":
    main()
