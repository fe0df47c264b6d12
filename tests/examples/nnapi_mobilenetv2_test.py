#!/usr/bin/env python3
"""examples/nnapi_mobilenetv2 from end to end, on the sample model. PROGRAMS in the environment is the folder of the programs."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

SCRIPT = "examples/nnapi_mobilenetv2/run.py"
SVG = "{http://www.w3.org/2000/svg}"


class NnapiMobileNetV2(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments, "--programs", os.environ["PROGRAMS"], "--out", self.folder],
                              capture_output=True, text=True)

    def test_times_every_way_before_and_after_conversion(self):
        done = self.run_script("models/digits_mobilenet_v2.pt", "--input", "models/samples/digit_7.png",
                               "--calibration", "models/samples", "--warmup", "1", "--iter", "3", "--rounds", "2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(f"{self.folder}/times.txt") as file:
            table = file.read()
        self.assertTrue(done.stdout.endswith(table))
        rows = {line.split()[0]: line for line in table.splitlines()[1:]}
        time = r"\d+\.\d\d / \d+\.\d\d"
        times = f"(  +{time})+"
        self.assertRegex(rows["none"], rf"^none +- +(\d+) of \1{times}$")
        for mode in "core", "inside":
            self.assertRegex(rows[mode], rf"^{mode} +[23]\d\.\d\d +(\d+) of \1{times}$")
        # The sample model resizes its input in real numbers, so it has no quantized interface.
        self.assertRegex(rows["full"], r"^full( +-)+$")
        self.assertIn("full: mode full needs quantized tensors at both ends", table)

        picture = ElementTree.parse(f"{self.folder}/times.svg").getroot()
        columns = len(re.findall(time, rows["none"]))
        self.assertIn(columns, (2, 4))  # one thread, and all if there are more
        bars = [float(bar.get("width")) for bar in picture.iter(SVG + "rect") if bar.get("height") == "16"]
        self.assertEqual(sum(width > 0 for width in bars), 3 * columns)

    def test_a_model_that_cannot_be_read(self):
        done = self.run_script("README.md")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^run.py: .*README.md")
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
