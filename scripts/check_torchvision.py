#!/usr/bin/python3
"""Compares what libtorchlet.so makes of random pictures with torchvision.

    apt-get install python3-torch python3-torchvision
    scripts/check_torchvision.py [LIBRARY [COUNT]]

PNG and JPEG of many kinds and odd sizes, with random steps of preprocessing: PIL images with antialias, contiguous
uint8 tensors without. Says how many pictures are equal to the bit, and fails if a number differs by more than 1e-5 with
antialias, or by more than one step of a byte without.
"""

import ctypes
import io
import json
import os
import sys

import numpy
import torch
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import functional

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


class Library:
    def __init__(self, path: str):
        self.c = ctypes.CDLL(path)
        self.c.torchlet_last_error.restype = ctypes.c_char_p
        self.c.torchlet_tensor_data.restype = ctypes.c_void_p
        self.c.torchlet_tensor_sizes.restype = ctypes.POINTER(ctypes.c_int64)
        for name in "image", "preprocess", "tensor":
            getattr(self.c, f"torchlet_{name}_free").argtypes = [ctypes.c_void_p]

    def made(self, function: str, *arguments) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if getattr(self.c, function)(*arguments, ctypes.byref(handle)):
            raise RuntimeError(self.c.torchlet_last_error().decode())
        return handle

    def prepared(self, picture: bytes, record: dict) -> numpy.ndarray:
        image = self.made("torchlet_image_decode", picture, ctypes.c_size_t(len(picture)))
        steps = self.made("torchlet_preprocess_new", json.dumps(record).encode())
        tensor = self.made("torchlet_preprocess_run", steps, image)
        sizes = self.c.torchlet_tensor_sizes(tensor)[1:4]
        data = ctypes.cast(self.c.torchlet_tensor_data(tensor), ctypes.POINTER(ctypes.c_float))
        result = numpy.ctypeslib.as_array(data, sizes).copy()
        self.c.torchlet_image_free(image)
        self.c.torchlet_preprocess_free(steps)
        self.c.torchlet_tensor_free(tensor)
        return result


def random_file(random: numpy.random.Generator) -> bytes:
    """Noise upon smooth colours: what JPEG keeps, and what clips."""
    height, width = (int(side) for side in random.integers(5, 400, 2))
    small = random.integers(0, 256, (7, 9, 3), numpy.uint8)
    smooth = numpy.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))
    pixels = numpy.clip(smooth + random.normal(0, 25, (height, width, 3)), 0, 255).astype(numpy.uint8)
    image = Image.fromarray(pixels)
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = int(random.integers(1, 9))
    kind = random.integers(0, 8)
    if kind < 4:
        modes = ["RGB", "L", "CMYK", "RGB"]
        image.convert(modes[kind]).save(file, "JPEG", quality=int(random.integers(20, 100)), exif=exif,
                                        subsampling=int(random.integers(0, 3)), progressive=bool(random.integers(0, 2)))
    elif kind < 7:
        if kind == 4:
            image.putalpha(image.convert("L"))
        image.convert(["RGBA", "L", "RGB"][kind - 4]).save(file, "PNG", exif=exif)
    else:
        image.quantize(int(random.integers(2, 257))).save(file, "PNG")
    return file.getvalue()


def expected(picture: bytes, record: dict) -> numpy.ndarray:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(picture))).convert("RGB")
    if record["antialias"]:
        image = transforms.Resize(record["resize"])(image)
    else:
        image = functional.resize(functional.pil_to_tensor(image).contiguous(), record["resize"])
    image = transforms.CenterCrop(record["crop"])(image)
    tensor = transforms.ToTensor()(image) if record["antialias"] else image.to(torch.float32).div(255)
    return transforms.Normalize(record["mean"], record["std"])(tensor).numpy()


def main() -> None:
    library = Library(sys.argv[1] if len(sys.argv) > 1 else f"{ROOT}/build/release/libtorchlet.so")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    random = numpy.random.default_rng(0)
    wrong = False
    for antialias in True, False:
        equal, numbers, unequal, largest = 0, 0, 0, 0.0
        for _ in range(count):
            picture = random_file(random)
            sides = [int(side) for side in random.integers(8, 300, 4)]
            record = {"resize": sides[0] if random.integers(0, 2) else sides[:2],
                      "crop": sides[2] if random.integers(0, 2) else sides[2:], "antialias": antialias,
                      "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
            got, want = library.prepared(picture, record), expected(picture, record)
            assert got.shape == want.shape, (record, got.shape, want.shape)
            equal += bool((got == want).all())
            numbers += got.size
            unequal += int((got != want).sum())
            largest = max(largest, float(numpy.abs(got - want).max()))
        print(f"{'with' if antialias else 'without'} antialias: {equal} of {count} pictures equal to the bit, "
              f"{unequal} of {numbers} numbers differ, by {largest:.3g} at most")
        wrong |= largest > (1e-5 if antialias else 1.01 / 255 / 0.224)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
