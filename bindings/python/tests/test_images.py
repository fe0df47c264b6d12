"""Pictures as inputs."""

import io

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, LABELS, SEVEN


def test_read():
    image = torchlet.Image.read(str(SEVEN))
    assert (image.height, image.width) == image.numpy().shape[:2] and image.numpy().dtype == np.uint8
    np.testing.assert_array_equal(image.numpy(), torchlet.Image.decode(SEVEN.read_bytes()).numpy())
    with pytest.raises(torchlet.FileFormatError):
        torchlet.Image.decode(b"no picture")
    with pytest.raises(OSError):
        torchlet.Image.read("missing.png")


def test_pixels_are_shared_and_keep_the_picture():
    pixels = torchlet.Image(np.full((4, 5, 3), 7, np.uint8)).numpy()
    assert pixels.shape == (4, 5, 3) and (pixels == 7).all()
    image = torchlet.Image(pixels)
    image.numpy()[0, 0] = 9
    assert np.asarray(image)[0, 0].tolist() == [9, 9, 9] and pixels[0, 0].tolist() == [7, 7, 7]


def test_channels():
    grey = np.arange(20, dtype=np.uint8).reshape(4, 5)
    for array in (grey, grey[..., None], np.stack([grey] * 3, -1), np.stack([grey] * 3 + [grey * 0], -1)):
        np.testing.assert_array_equal(torchlet.Image(array).numpy(), np.stack([grey] * 3, -1))
    for array in (grey.astype(np.float32), grey[None, None], np.zeros((4, 5, 2), np.uint8), np.zeros(3, np.uint8)):
        with pytest.raises(torchlet.InvalidArgumentError):
            torchlet.Image(array)


def test_as_pil():
    from PIL import Image

    picture = Image.open(SEVEN).convert("RGB")
    ours = torchlet.Image.read(str(SEVEN))
    np.testing.assert_array_equal(ours.resize(61, 47).numpy(), np.asarray(picture.resize((47, 61), Image.Resampling.BILINEAR)))
    np.testing.assert_array_equal(torchlet.load_image(picture), torchlet.load_image(SEVEN))
    jpeg = io.BytesIO()
    picture.save(jpeg, "JPEG")
    assert torchlet.load_image(jpeg.getvalue()).shape == (1, 3, 224, 224)


def test_load_image():
    steps = torchlet.Preprocess(resize=40, crop=32, mean=[0.5, 0.25, 0], std=[0.5, 1, 2])
    x = torchlet.load_image(SEVEN, steps)
    assert x.shape == (1, 3, 32, 32) and x.dtype == np.float32
    cropped = torchlet.Image.read(str(SEVEN)).resize_shorter_side(40).center_crop(32, 32)
    np.testing.assert_array_equal(x, cropped.to_tensor((0.5, 0.25, 0), (0.5, 1, 2)))
    scaled = cropped.numpy().transpose(2, 0, 1) / np.float32(255)
    expected = (scaled - np.float32([0.5, 0.25, 0])[:, None, None]) / np.float32([0.5, 1, 2])[:, None, None]
    np.testing.assert_allclose(x[0], expected, atol=1e-6)
    image = torchlet.Image(np.zeros((30, 50, 3), np.uint8))
    assert torchlet.load_image(image, resize=0, crop=0).shape == (1, 3, 30, 50)
    assert torchlet.load_image(image, "imagenet", crop=[20, 30]).shape == (1, 3, 20, 30)
    np.testing.assert_array_equal(torchlet.load_image(SEVEN), torchlet.load_image(SEVEN, steps=torchlet.Preprocess.imagenet()))
    for wrong in (lambda: image.resize(0, 5), lambda: image.center_crop(-1, 5), lambda: image.rotate(45),
                  lambda: image.resize(5, 5, "x"), lambda: torchlet.load_image(image, 7)):  # fmt: skip
        with pytest.raises(torchlet.InvalidArgumentError):
            wrong()


def test_preprocess(tmp_path):
    steps = torchlet.Preprocess(resize=[20, 30], channels="BGR", dtype="uint8", memory_format="channels_last")
    image = torchlet.Image(np.arange(40 * 60 * 3, dtype=np.uint8).reshape(40, 60, 3))
    x = steps(image)
    assert x.dtype == np.uint8 and x.shape == (1, 3, 20, 30) and x.strides[1] == 1
    np.testing.assert_array_equal(x[0].transpose(1, 2, 0), image.resize(20, 30).numpy()[..., ::-1])
    assert torchlet.Preprocess.parse(steps.json()) == steps != torchlet.Preprocess.imagenet()
    assert hash(torchlet.Preprocess.parse(steps.json())) == hash(steps)
    (tmp_path / "steps.json").write_text(steps.json())
    np.testing.assert_array_equal(torchlet.load_image(image, tmp_path / "steps.json"), x)
    for wrong in (lambda: torchlet.Preprocess(sharpen=True), lambda: torchlet.Preprocess(crop="x"),
                  lambda: torchlet.Preprocess.parse("no JSON")):  # fmt: skip
        with pytest.raises(torchlet.InvalidArgumentError):
            wrong()


def test_models_carry_their_steps(tmp_path, digits):
    steps = torchlet.Preprocess(resize=64, crop=64, mean=[0.5], std=[0.5])
    assert torchlet.preprocess_of(digits) is None and torchlet.labels_of(digits) == []
    for name in ("m.pt", "m.ptl", "m.ff"):
        torchlet.bundle(DIGITS, tmp_path / name, preprocess=steps, labels=["null", "one", "zwölf"])
        model = torchlet.load(tmp_path / name)
        assert torchlet.preprocess_of(model) == steps and torchlet.labels_of(model) == ["null", "one", "zwölf"]
        assert torchlet.load_image(SEVEN, model).shape == (1, 3, 64, 64)
    torchlet.optimize(tmp_path / "m.pt", tmp_path / "o.pt", image=SEVEN)
    assert torchlet.preprocess_of(torchlet.load(tmp_path / "o.pt")) == steps
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.bundle(DIGITS, preprocess=steps)


def test_yuv():
    """NV21, as strided views of a camera's memory: no colour, and then the fixture that NumPy made."""
    y = np.arange(35, dtype=np.uint8).reshape(5, 7) * 7
    vu = np.full((3, 8), 128, np.uint8)
    image = torchlet.Image.from_yuv420(y, vu[:, 1::2], vu[:, ::2])
    np.testing.assert_array_equal(image.numpy(), np.stack([y] * 3, -1))
    turned = torchlet.Image.from_yuv420(y, vu[:, 1::2], vu[:, ::2].copy(), rotation=90)
    np.testing.assert_array_equal(turned.numpy(), np.rot90(image.numpy(), -1))
    np.testing.assert_array_equal(image.rotate(90).numpy(), turned.numpy())
    assert torchlet.Image.from_yuv420(y + 16, vu[:, 1::2], vu[:, ::2], matrix="bt709-limited").numpy()[0, 0].tolist() == [0, 0, 0]
    for wrong in ((y, vu, vu), (y.astype(np.float32), vu[:, 1::2], vu[:, ::2]), (y[0], vu[:, 1::2], vu[:, ::2])):
        with pytest.raises(torchlet.InvalidArgumentError):
            torchlet.Image.from_yuv420(*wrong)
    for wrong in ({"rotation": 45}, {"matrix": "x"}):
        with pytest.raises(torchlet.InvalidArgumentError):
            torchlet.Image.from_yuv420(y, vu[:, 1::2], vu[:, ::2], **wrong)


def test_top_classes(digits, seven):
    labels = torchlet.read_labels(str(LABELS))
    scores = digits(seven)
    top = torchlet.top_classes(scores, 3, labels)
    assert top[0][0] == "seven" and len(top) == 3 and top[0][1] > 0.99
    assert torchlet.top_classes(scores, 1)[0][0] == 7
    exact = np.exp(scores[0] - scores.max())
    assert sum(p for _, p in torchlet.top_classes(scores, 10)) == pytest.approx(1)
    assert top[1][1] == pytest.approx(sorted(exact / exact.sum())[-2], rel=1e-5)
    with pytest.raises(torchlet.Error):
        torchlet.top_classes(np.zeros((2, 3, 4), np.float32))
