#!/usr/bin/python3
"""Regenerates tests/fixtures/image: small pictures and what PIL and torchvision make of them.

    apt-get install python3-torch python3-torchvision
    /usr/bin/python3 scripts/make_image_fixtures.py
"""

import io
import json
import os
import struct
import zipfile
import zlib

import numpy
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import functional

OUT = "tests/fixtures/image"


def picture(height: int, width: int, seed: int = 0) -> numpy.ndarray:
    """Waves with some noise: edges in every direction and no two rows alike."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x * a + y * b) for a, b in ((0.9, 0.2), (0.1, 0.7), (0.4, -0.5))]
    noise = numpy.random.default_rng(seed).normal(0, 20, (height, width, 3))
    return numpy.clip(128 + 100 * numpy.stack(waves, -1) + noise, 0, 255).astype(numpy.uint8)


# ---- pictures of every kind ----


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels: numpy.ndarray, color: int, interlaced: bool) -> bytes:
    """Of [height, width, channels] in 8 or 16 bits, which PIL does not write with 16 bits or interlaced."""
    height, width, _ = pixels.shape
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b""
    for y, x, y_step, x_step in passes if interlaced else [(0, 0, 1, 1)]:
        part = pixels[y::y_step, x::x_step].astype(f">u{pixels.dtype.itemsize}")
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, color, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def saved(image: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def oriented(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x010f] = "a camera"
    exif[0x0112] = orientation
    return exif


def adobe(transform: int) -> bytes:
    """A marker APP14 that says how colours are stored."""
    return b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0" + bytes([transform])


def kinds():
    """Name and bytes of each picture."""
    sizes = numpy.random.default_rng(1)
    seed = 0

    def rgb():
        nonlocal seed
        seed += 1
        return picture(*(int(side) for side in sizes.integers(9, 60, 2)), seed)

    def image():
        return Image.fromarray(rgb())

    def deep(channels: int):
        high = rgb()
        low = numpy.random.default_rng(seed).integers(0, 256, (*high.shape[:2], 4))
        high = numpy.dstack([high, high[..., :1]])[..., :channels]
        return (high.astype(numpy.uint16) << 8) + low[..., :channels].astype(numpy.uint16)

    def with_alpha(mode: str):
        picture = image().convert(mode)
        picture.putalpha(image().convert("L").resize(picture.size))
        return picture

    for i in range(5):
        yield f"rgb{i}.png", saved(image(), "PNG", optimize=True)
    yield "grey.png", saved(image().convert("L"), "PNG", optimize=True)
    yield "grey_alpha.png", saved(with_alpha("L"), "PNG", optimize=True)
    yield "rgba.png", saved(with_alpha("RGB"), "PNG", optimize=True)
    yield "bits1.png", saved(image().convert("1"), "PNG")
    for colors in 2, 4, 16, 200:
        yield f"palette{colors}.png", saved(image().quantize(colors), "PNG", optimize=True)
    yield "palette_clear.png", saved(image().quantize(8), "PNG", transparency=bytes([0, 100, 255]))
    yield "rgb_clear.png", saved(image(), "PNG", transparency=(255, 0, 0))
    yield "grey16.png", png(deep(1), 0, False)
    yield "grey_alpha16.png", png(deep(2), 4, False)
    yield "rgb16.png", png(deep(3), 2, False)
    yield "rgba16.png", png(deep(4), 6, False)
    yield "grey_interlaced.png", png(rgb()[..., :1], 0, True)
    yield "rgb_interlaced.png", png(rgb(), 2, True)
    yield "rgb16_interlaced.png", png(deep(3), 2, True)
    yield "thin.png", saved(Image.fromarray(picture(3, 90, 77)), "PNG")
    yield "pixel.png", saved(Image.fromarray(picture(1, 1, 78)), "PNG")
    for orientation in 3, 6:
        yield f"exif{orientation}.png", saved(image(), "PNG", exif=oriented(orientation))

    for sampling in 0, 1, 2:
        yield f"sampled{sampling}.jpg", saved(image(), "JPEG", quality=80, subsampling=sampling)
    yield "grey.jpg", saved(image().convert("L"), "JPEG", quality=80)
    yield "progressive.jpg", saved(image(), "JPEG", progressive=True)
    yield "progressive_grey.jpg", saved(image().convert("L"), "JPEG", progressive=True)
    yield "optimized.jpg", saved(image(), "JPEG", quality=30, optimize=True)
    rough = saved(image(), "JPEG", quality=95, subsampling=0)
    yield "adobe_rgb.jpg", rough[:2] + adobe(0) + rough[2:]
    yield "adobe_ycc.jpg", rough[:2] + adobe(1) + rough[2:]
    for i in range(2):
        cmyk = saved(image().convert("CMYK"), "JPEG", quality=85)
        yield f"cmyk{i}.jpg", cmyk
        yield f"cmyk_progressive{i}.jpg", saved(image().convert("CMYK"), "JPEG", progressive=True)
        at = cmyk.index(b"Adobe") + 11
        yield f"ycck{i}.jpg", cmyk[:at] + b"\2" + cmyk[at + 1:]
    for orientation in range(1, 9):
        order = saved(image(), "JPEG", quality=75, exif=oriented(orientation))
        yield f"exif{orientation}.jpg", order
    yield "exif_none.jpg", saved(image(), "JPEG", exif=oriented(9))


def opened(path: str) -> Image.Image:
    image = Image.open(path)
    if image.mode == "I":  # convert() would make white of all that is above 255
        image = Image.fromarray((numpy.asarray(image) >> 8).astype(numpy.uint8))
    return ImageOps.exif_transpose(image).convert("RGB")


def make_kinds() -> None:
    """The pictures, what Resize(28) and CenterCrop(24) make of them for PIL images and for uint8 tensors, and the
    CRC-32 of what ToTensor and Normalize make of the former."""
    os.makedirs(f"{OUT}/kinds", exist_ok=True)
    lines, pixels = [], []
    normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    for name, data in kinds():
        with open(f"{OUT}/kinds/{name}", "wb") as file:
            file.write(data)
        image = opened(f"{OUT}/kinds/{name}")
        smooth = transforms.CenterCrop(24)(transforms.Resize(28)(image))
        rough = functional.center_crop(functional.resize(functional.pil_to_tensor(image).contiguous(), 28), 24)
        pixels.append(numpy.stack([numpy.asarray(smooth), rough.numpy().transpose(1, 2, 0)]))
        answer = normalize(transforms.ToTensor()(smooth)).numpy()
        lines.append(f"{name} {image.height} {image.width} {zlib.crc32(answer.tobytes())}\n")
    with open(f"{OUT}/kinds.txt", "w") as file:
        file.writelines(lines)
    numpy.save(f"{OUT}/kinds.npy", numpy.stack(pixels))


# ---- YUV ----


def from_yuv(y: numpy.ndarray, u: numpy.ndarray, v: numpy.ndarray, red: float, blue: float,
             limited: bool) -> numpy.ndarray:
    """ITU-R BT.601 and BT.709: the parts of red and blue in luma decide."""
    height, width = y.shape
    u, v = (plane.repeat(2, 0).repeat(2, 1)[:height, :width] - 128.0 for plane in (u, v))
    y = y.astype(float)
    if limited:
        y, u, v = (y - 16) * 255 / 219, u * 255 / 224, v * 255 / 224
    r = y + 2 * (1 - red) * v
    b = y + 2 * (1 - blue) * u
    g = (y - red * r - blue * b) / (1 - red - blue)
    return numpy.clip(numpy.round(numpy.stack([r, g, b], -1)), 0, 255).astype(numpy.uint8)


def make_yuv() -> None:
    random = numpy.random.default_rng(5)
    height, width = 39, 53
    y = random.integers(0, 256, (height, width), numpy.uint8)
    u, v = random.integers(0, 256, (2, (height + 1) // 2, (width + 1) // 2), numpy.uint8)
    numpy.save(f"{OUT}/yuv.npy", numpy.concatenate([y.ravel(), u.ravel(), v.ravel()]))
    matrices = (0.299, 0.114, False), (0.299, 0.114, True), (0.2126, 0.0722, False), (0.2126, 0.0722, True)
    numpy.save(f"{OUT}/yuv_rgb.npy", numpy.stack([from_yuv(y, u, v, *matrix) for matrix in matrices]))


# ---- a model that carries the steps of input_24.npy, and labels ----


def make_model() -> None:
    record = {"resize": 32, "crop": 24, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    with zipfile.ZipFile("tests/fixtures/linear.pt") as source, zipfile.ZipFile(f"{OUT}/carries.pt", "w") as archive:
        for info in source.infolist():
            archive.writestr(zipfile.ZipInfo(info.filename), source.read(info))
        root = source.namelist()[0].split("/")[0]
        archive.writestr(zipfile.ZipInfo(f"{root}/extra/preprocess.json"), json.dumps(record))
        archive.writestr(zipfile.ZipInfo(f"{root}/extra/labels.txt"), "one\nzwölf\n")


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
    for name, method in ("nearest", Image.Resampling.NEAREST), ("bicubic", Image.Resampling.BICUBIC):
        for height, width in (20, 30), (90, 120):
            numpy.save(f"{OUT}/{name}_{height}x{width}.npy", numpy.asarray(image.resize((width, height), method)))
    make_kinds()
    make_yuv()
    make_model()


if __name__ == "__main__":
    main()
