#!/usr/bin/env python3
"""The demo apps in C++ next to PyTorch's answers (scripts/make_example_fixtures.py). In the environment: PROGRAMS, their folder."""

import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import zlib

PROGRAMS = os.environ["PROGRAMS"]
SAMPLES, SCENES, FIXTURES = "models/samples", "models/scenes", "tests/fixtures/examples"
LABELS = pathlib.Path("models/scenes_labels.txt").read_text().splitlines()
COLOURS = {1: ("blue", (0, 90, 255)), 2: ("orange", (255, 140, 0)), 3: ("magenta", (255, 0, 200)),
           4: ("yellow", (255, 230, 0)), 5: ("cyan", (0, 220, 255))}


def run(name, *arguments):
    return subprocess.run([f"{PROGRAMS}/{name}", *arguments], capture_output=True, text=True)


def read_png(path):
    """(width, height, rows) of a PNG of 8 bits a channel, each row its bytes."""
    data = pathlib.Path(path).read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n"), path
    at, packed, header = 8, b"", None
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        chunk, at = data[at + 8:at + 8 + size], at + 12 + size
        header = chunk if kind == b"IHDR" else header
        packed += chunk if kind == b"IDAT" else b""
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert (depth, interlaced) == (8, 0) and colour in (0, 2), path
    step = {0: 1, 2: 3}[colour]
    stride, plain = width * step, zlib.decompress(packed)
    rows, above = [], bytes(stride)
    for y in range(height):
        kind, row = plain[y * (stride + 1)], bytearray(plain[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, up, corner = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            if kind == 4:  # Paeth: of the three the nearest to left + up - corner
                guess = left + up - corner
                row[i] = row[i] + min((left, up, corner), key=lambda v: abs(guess - v)) & 255
            else:
                row[i] = row[i] + (0, left, up, (left + up) // 2)[kind] & 255
        rows.append(bytes(row))
        above = row
    return width, height, rows


def pixels(path):
    width, height, rows = read_png(path)
    step = len(rows[0]) // width
    return [tuple(row[i:i + step]) for row in rows for i in range(0, len(row), step)]


class Segmentation(unittest.TestCase):
    def check_scene(self, name):
        with tempfile.TemporaryDirectory() as folder:
            done = run("image_segmentation", "models/scenes_deeplabv3.ptl", f"{SCENES}/{name}.png", f"{folder}/overlay.png",
                       "models/scenes_labels.txt")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            overlay = pixels(f"{folder}/overlay.png")
        scene, classes = pixels(f"{SCENES}/{name}.png"), [c for c, in pixels(f"{FIXTURES}/{name}_classes.png")]

        def drawn(pixel, c):
            return tuple((2 * p + 3 * q) // 5 for p, q in zip(pixel, COLOURS[c][1])) if c else pixel

        right = sum(drawn(*given) == answer for *given, answer in zip(scene, classes, overlay))
        self.assertGreaterEqual(right / len(classes), 0.999)

        shares = {c: 100 * classes.count(c) / len(classes) for c in range(1, len(LABELS))}
        printed = {}
        for line in done.stdout.splitlines():
            share, colour, label = re.fullmatch(r" *(\S+) %  (\S+) +(\S+)", line).groups()
            c = LABELS.index(label)
            self.assertEqual(colour, COLOURS[c][0])
            printed[c] = float(share)
        for c, share in shares.items():
            self.assertAlmostEqual(printed.get(c, 0), share, delta=0.15)

    def test_meadow(self):
        self.check_scene("meadow")

    def test_mountains(self):
        self.check_scene("mountains")

    def test_the_overlay_shown_is_the_one_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            run("image_segmentation", "models/scenes_deeplabv3.ptl", f"{SCENES}/meadow.png", f"{folder}/overlay.png")
            drawn, shown = pixels(f"{folder}/overlay.png"), pixels(f"{SCENES}/meadow_overlay.png")
        self.assertGreaterEqual(sum(map(tuple.__eq__, drawn, shown)) / len(shown), 0.999)

    def test_the_model_knows_its_labels_and_the_size_of_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = "models/scenes_deeplabv3.ptl", f"{SCENES}/mountains.png", f"{folder}/overlay.png"
            self.assertEqual(run("image_segmentation", *arguments).stdout,
                             run("image_segmentation", *arguments, "models/scenes_labels.txt").stdout)
            done = run("image_segmentation", "models/scenes_deeplabv3.ptl", f"{SAMPLES}/digit_7.png", f"{folder}/overlay.png")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(read_png(f"{folder}/overlay.png")[:2], (240, 240))

    def test_errors_are_one_line_and_leave_no_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, message in (
                    (("missing.ptl", f"{SCENES}/meadow.png"), "missing.ptl"),
                    (("models/scenes_deeplabv3.ptl", "models/README.md"), "models/README.md"),
                    (("models/digits_mobilenet_v2.pt", f"{SCENES}/meadow.png"), "expected a dict, got a Tensor")):
                done = run("image_segmentation", *arguments, f"{folder}/overlay.png")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(message, done.stderr)
            self.assertEqual(os.listdir(folder), [])
            done = run("image_segmentation", "models/scenes_deeplabv3.ptl", f"{SCENES}/meadow.png", f"{folder}/no/overlay.png")
            self.assertEqual(done.returncode, 1)
            self.assertIn("overlay.png", done.stderr)


class Classification(unittest.TestCase):
    def test_digits(self):
        for line in pathlib.Path(f"{FIXTURES}/digits_224.txt").read_text().splitlines():
            picture, answer = line.split(": ")
            done = run("image_classification", "models/digits_mobilenet_v2.pt", f"{SAMPLES}/{picture}", "models/digits_labels.txt")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            printed = [re.fullmatch(r" *(\S+) %  (\S+)", line).groups() for line in done.stdout.splitlines()]
            expected = [re.fullmatch(r"(\S+) % (\S+)", part).groups() for part in answer.split(", ")]
            self.assertEqual(printed[0][1], expected[0][1])
            for (share, _), (answer_share, _) in zip(printed, expected, strict=True):
                self.assertAlmostEqual(float(share), float(answer_share), delta=0.11)

    def test_usage(self):
        done = run("image_classification", "models/digits_mobilenet_v2.pt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: image_classification MODEL PICTURE [LABELS.txt]", done.stderr)


if __name__ == "__main__":
    unittest.main()
