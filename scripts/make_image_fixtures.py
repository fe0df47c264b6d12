#!/usr/bin/python3
"""Regenerates tests/fixtures/image: small pictures and what PIL and torchvision make of them.

    apt-get install python3-torch python3-torchvision
    /usr/bin/python3 scripts/make_image_fixtures.py
"""

import os

import numpy
from PIL import Image
from torchvision import transforms

OUT = "tests/fixtures/image"


def picture(height: int, width: int) -> numpy.ndarray:
    """Waves with some noise: edges in every direction and no two rows alike."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x * a + y * b) for a, b in ((0.9, 0.2), (0.1, 0.7), (0.4, -0.5))]
    noise = numpy.random.default_rng(0).normal(0, 20, (height, width, 3))
    return numpy.clip(128 + 100 * numpy.stack(waves, -1) + noise, 0, 255).astype(numpy.uint8)


def main() -> None:
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    os.makedirs(OUT, exist_ok=True)
    rgb = picture(37, 53)
    Image.fromarray(rgb).save(f"{OUT}/rgb.png", optimize=True)
    Image.fromarray(rgb).save(f"{OUT}/rgb.jpg", quality=90)
    Image.fromarray(rgb[..., 0]).save(f"{OUT}/grey.jpg", quality=90)
    alpha = numpy.dstack([rgb, picture(37, 53)[..., 1]])
    Image.fromarray(alpha).save(f"{OUT}/rgba.png", optimize=True)
    Image.fromarray(rgb).quantize(16).save(f"{OUT}/palette.png", optimize=True)
    for name in "rgb.png", "rgb.jpg", "grey.jpg", "rgba.png", "palette.png":
        numpy.save(f"{OUT}/{name}.npy", numpy.asarray(Image.open(f"{OUT}/{name}").convert("RGB")))

    image = Image.open(f"{OUT}/rgb.png")
    for height, width in (20, 30), (37, 11), (90, 120), (50, 20):
        resized = image.resize((width, height), Image.Resampling.BILINEAR)
        numpy.save(f"{OUT}/resized_{height}x{width}.npy", numpy.asarray(resized))
    for crop in 24, 21, 60:
        steps = transforms.Compose([
            transforms.Resize(32), transforms.CenterCrop(crop), transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
        numpy.save(f"{OUT}/input_{crop}.npy", steps(image)[None].numpy())


if __name__ == "__main__":
    main()
