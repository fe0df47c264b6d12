#!/usr/bin/env python3
"""Tells what a picture shows.

    image_classification.py models/digits_mobilenet_v2.pt models/samples/digit_7.png models/digits_labels.txt
"""

import sys

import torchlet


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit("usage: image_classification.py MODEL PICTURE [LABELS.txt]")
    try:
        model = torchlet.load(sys.argv[1])
        labels = torchlet.read_labels(sys.argv[3]) if len(sys.argv) > 3 else torchlet.labels_of(model)
        scores = model(torchlet.load_image(sys.argv[2], model))  # as the model says, else as for ImageNet
        for label, probability in torchlet.top_classes(scores, 3, labels):
            print(f"{100 * probability:5.1f} %  {label}")
    except torchlet.Error as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
