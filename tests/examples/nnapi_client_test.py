#!/usr/bin/env python3
"""examples/nnapi_client on models that PyTorch converted. In the environment: COMPILER, and LIBRARY, the libneuralnetworks.so."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import types
import unittest

CLIENT = "examples/nnapi_client"
sys.path.insert(0, CLIENT)
import extract  # noqa: E402

FIXTURE = "tests/fixtures/nnapi_"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


class NnapiClient(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def extract(self, *arguments):
        return run(sys.executable, f"{CLIENT}/extract.py", *arguments)

    def test_gives_what_pytorch_gives(self):
        folder, library = self.folder, os.environ["LIBRARY"]
        extracted = self.extract(f"{FIXTURE}quantized.pt", f"{folder}/model.nnapi",
                                 "--input", f"{FIXTURE}quantized.in0.npy", f"{folder}/input")
        self.assertEqual((extracted.returncode, extracted.stderr), (0, ""))
        built = run(os.environ["COMPILER"], "-x", "c", "-std=gnu99", "-Wall", "-Wextra", "-Werror",
                    f"{CLIENT}/client.c", "-Ineuralnetworks/include", "-o", f"{folder}/client",
                    "-x", "none", library)
        self.assertEqual((built.returncode, built.stderr), (0, ""))
        done = run(f"{folder}/client", f"{folder}/model.nnapi", f"{folder}/input", "3",
                   env={"LD_LIBRARY_PATH": os.path.dirname(library), "TORCHLET_NNAPI_LOG": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        times, *places = done.stdout.splitlines()
        self.assertRegex(times, r"^(\d+\.\d{3} ){3}ms$")

        (n, c, h, w), values = extract.read_npy(f"{FIXTURE}quantized.out0.npy")
        self.assertEqual(n, 1)
        last = [values[k * h * w + i] for i in range(h * w) for k in range(c)]  # channels last, as NNAPI has them
        quantum = max(last) / 127
        self.assertEqual(len(places), 5)
        largest = sorted(last, reverse=True)
        for place, line in enumerate(places):
            value, index = re.fullmatch(r"(\S+)  (\d+)", line).groups()
            self.assertAlmostEqual(float(value), largest[place], delta=quantum)
            self.assertAlmostEqual(float(value), last[int(index)], delta=quantum)

    def test_models_with_open_sizes_are_refused(self):
        done = self.extract(f"{FIXTURE}float.pt", f"{self.folder}/model.nnapi")
        self.assertEqual(done.returncode, 1)
        self.assertIn("are open", done.stderr)
        self.assertFalse(os.listdir(self.folder))

    def test_models_without_nnapi_are_refused(self):
        done = self.extract("models/digits_mobilenet_v2.pt", f"{self.folder}/model.nnapi")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has 0 parts for NNAPI, and one is wanted", done.stderr)

    def test_inputs_become_what_the_model_takes(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1, 3), }\n"
        path = f"{self.folder}/x.npy"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<6f", 0, 1, 2, -3, 4.2, 500))
        for code, zero_point, bounds, letter in (5, 10, (0, 255), "B"), (14, -100, (-128, 127), "b"):
            model = types.SimpleNamespace(input=(code, [1, 1, 3, 2], 0.5, zero_point))
            steps = [min(max(zero_point + step, bounds[0]), bounds[1]) for step in (0, -6, 2, 8, 4, 1000)]
            self.assertEqual(extract.input_bytes(path, model, True), struct.pack(f"6{letter}", *steps))
        model = types.SimpleNamespace(input=(3, [1, 2, 1, 3], 0, 0))
        self.assertEqual(extract.input_bytes(path, model, False), struct.pack("<6f", 0, 1, 2, -3, 4.2, 500))

    def test_inputs_of_other_sizes_are_refused(self):
        done = self.extract(f"{FIXTURE}quantized.pt", f"{self.folder}/model.nnapi",
                            "--input", f"{FIXTURE}float.in0.npy", f"{self.folder}/input")
        self.assertEqual(done.returncode, 1)
        self.assertIn("and the model takes [1, 8, 8, 3]", done.stderr)


if __name__ == "__main__":
    unittest.main()
