#!/usr/bin/env python3
"""The README's path from a .pt to an int8 .ptl, as it is pasted."""

import os
import re
import subprocess
import tempfile
import unittest


class ReadMe(unittest.TestCase):
    def test_the_six_lines_work(self):
        with open("README.md") as file:
            block = re.search(r"in six lines.*?```sh\n(.*?)```", file.read(), re.DOTALL)[1]
        lines = block.splitlines()
        self.assertEqual(len(lines), 6)
        programs = os.path.dirname(os.path.abspath(os.environ["TORCHLET"]))
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.abspath("models"), f"{folder}/models")
            for line in lines:
                self.assertTrue(line.startswith("build/release/"), line)
                done = subprocess.run(line.replace("build/release", programs, 1), shell=True, cwd=folder,
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), line)
            self.assertEqual(sorted(os.listdir(folder)), ["diff.html", "digits.pt", "float.ptl", "int8.ptl", "models"])


if __name__ == "__main__":
    unittest.main()
