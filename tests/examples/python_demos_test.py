"""The demo apps in Python next to PyTorch's answers (scripts/make_example_fixtures.py): with pytest, where torchlet is installed."""

import pathlib
import re
import subprocess
import sys

import numpy
import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES, SCENES, FIXTURES = ROOT / "models/samples", ROOT / "models/scenes", ROOT / "tests/fixtures/examples"
DIGITS, DEEPLAB = ROOT / "models/digits_mobilenet_v2.pt", ROOT / "models/scenes_deeplabv3.ptl"
COLOURS = numpy.array(((0, 0, 0), (0, 90, 255), (255, 140, 0), (255, 0, 200), (255, 230, 0), (0, 220, 255)))


def run(name, *arguments):
    program = ROOT / "examples" / name / "python" / f"{name}.py"
    return subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("name", ("meadow", "mountains"))
def test_segmentation_is_pytorchs(name, tmp_path):
    done = run("image_segmentation", DEEPLAB, SCENES / f"{name}.png", tmp_path / "overlay.png", ROOT / "models/scenes_labels.txt")
    assert (done.returncode, done.stderr) == (0, "")
    picture = numpy.asarray(Image.open(SCENES / f"{name}.png"), int)
    classes = numpy.asarray(Image.open(FIXTURES / f"{name}_classes.png"))
    expected = numpy.where(classes[..., None] > 0, (2 * picture + 3 * COLOURS[classes]) // 5, picture)
    overlay = numpy.asarray(Image.open(tmp_path / "overlay.png"))
    assert overlay.shape == expected.shape
    assert (overlay == expected).all(-1).mean() >= 0.999

    labels = (ROOT / "models/scenes_labels.txt").read_text().split()
    printed = {label: float(share) for share, label in re.findall(r"^ *(\S+) %  \S+ +(\S+)$", done.stdout, re.M)}
    assert set(printed) <= set(labels[1:])
    for c, label in enumerate(labels[1:], 1):
        assert printed.get(label, 0) == pytest.approx(100 * (classes == c).mean(), abs=0.15)


def test_classification_is_pytorchs():
    for line in (FIXTURES / "digits_224.txt").read_text().splitlines():
        picture, answer = line.split(": ")
        done = run("image_classification", DIGITS, SAMPLES / picture, ROOT / "models/digits_labels.txt")
        assert (done.returncode, done.stderr) == (0, "")
        printed = re.findall(r"(\S+) %  (\S+)", done.stdout)
        expected = [part.split(" % ") for part in answer.split(", ")]
        assert printed[0][1] == expected[0][1]
        assert [float(share) for share, _ in printed] == pytest.approx([float(share) for share, _ in expected], abs=0.11)


@pytest.mark.parametrize("name, arguments", (("image_classification", ""), ("image_segmentation", " OVERLAY.png")))
def test_usage(name, arguments):
    done = run(name, "model.pt")
    assert done.returncode == 1
    assert done.stderr == f"usage: {name}.py MODEL PICTURE{arguments} [LABELS.txt]\n"
