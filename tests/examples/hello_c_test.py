#!/usr/bin/env python3
"""examples/hello_c, compiled as strict C99, gives the command's scores to the bit. In the environment: COMPILER, LIBRARY (the
libtorchlet.so) and TORCHLET."""

import os
import re
import struct
import subprocess
import tempfile
import unittest

MODEL = "models/digits_mobilenet_v2.pt"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


class HelloC(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.program = f"{cls.scratch.name}/hello_c"
        library = os.environ["LIBRARY"]
        built = run(os.environ["COMPILER"], "-x", "c", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Iinclude",
                    "examples/hello_c/main.c", "-o", cls.program, "-x", "none", library, f"-Wl,-rpath,{os.path.dirname(library)}")
        assert built.returncode == 0, built.stderr

    def test_gives_the_commands_scores(self):
        for digit in (0, 2, 3, 4, 7, 9):
            picture = f"models/samples/digit_{digit}.png"
            told = run(self.program, MODEL, picture)
            self.assertEqual((told.returncode, told.stderr), (0, ""))
            best, score = re.fullmatch(r"class (\d), score (\S+)\n", told.stdout).groups()
            self.assertEqual(int(best), digit)

            folder = f"{self.scratch.name}/{digit}"
            # The digits fill pictures of 128 x 128, which this does not resize or crop either.
            said = run(os.environ["TORCHLET"], "run", MODEL, "--image", picture, "--resize", "0", "--crop", "0", "--save", folder)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual(struct.pack("f", float(score)), struct.pack("f", self.largest(folder)))

    def largest(self, folder):
        with open(f"{folder}/data.npy", "rb") as file:
            return max(struct.unpack("10f", file.read()[-40:]))

    def test_says_what_is_wrong(self):
        told = run(self.program, "no_such.pt", "models/samples/digit_7.png")
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("no_such.pt", told.stderr)


unittest.main()
