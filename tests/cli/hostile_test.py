#!/usr/bin/env python3
"""Damaged models end in one readable line: never in a crash, a hang, or a message about our own bugs.

The records of real models are changed and stored again with right checksums, so that the change reaches the
reader behind the zip container: pickles, TorchScript source, debug records, versions. The same seed gives the
same files in every run; HOSTILE_ROUNDS sets how many there are.
"""

import os
import random
import re
import subprocess
import tempfile
import unittest
import zipfile

FIXTURES = "tests/fixtures"
MODELS = ["api", "containers", "dtypes", "linear", "quantized_conv_per_channel", "script_class",
          "scripted_convnet", "traced_convnet"]
ROUNDS = int(os.environ.get("HOSTILE_ROUNDS", "25"))  # for each model

OPCODES = b"().GJKMNQRTUX]abcdehjlqrstu}\x80\x81\x85\x86\x87\x88\x89\x8a"
INTEGERS = [b"K\x00", b"K\xff", b"J\xff\xff\xff\xff", b"J\xff\xff\xff\x7f", b"\x8a\x08" + b"\xff" * 7 + b"\x7f", b"N"]
NUMBERS = ["-1", "0", "7", "65536", "2147483648", "9223372036854775807", "-9223372036854775808"]
TOKENS = ["(", ")", "[", "]", "self", "None", "Tensor", "List[int]", "torch.", "ops.aten.", "CONSTANTS.c9",
          "annotate(", "if True:\n", "return ", " = ", ", ", '"', "\\", "\n", "  ", "class ", "def ", "\0", "\xff"]


def change_pickle(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    kind = rng.randrange(5)
    if kind == 0:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
    if kind == 1:
        return data[:at] + bytes([rng.choice(OPCODES)]) + data[at + rng.randrange(2):]
    if kind == 2:
        return data[:at] + data[at + rng.randrange(1, 12):]
    if kind == 3:
        copied = rng.randrange(len(data))
        return data[:at] + data[copied:copied + rng.randrange(1, 40)] + data[at:]
    small = [i for i in range(len(data) - 1) if data[i] == ord("K")] or [at]
    at = rng.choice(small)
    return data[:at] + rng.choice(INTEGERS) + data[at + 2:]


def change_source(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("latin-1")
    kind = rng.randrange(5)
    if kind == 0:
        at = rng.randrange(len(text))
        return (text[:at] + rng.choice(TOKENS) + text[at + rng.randrange(3):]).encode("latin-1")
    if kind == 1:
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
        return "\n".join(lines).encode("latin-1")
    if kind == 2:
        lines = text.split("\n")
        del lines[rng.randrange(len(lines))]
        return "\n".join(lines).encode("latin-1")
    pattern = r"-?\d+" if kind == 3 else r"[A-Za-z_]\w*"
    found = list(re.finditer(pattern, text))
    if not found:
        return data
    one = rng.choice(found)
    other = rng.choice(NUMBERS) if kind == 3 else rng.choice(found).group()
    return (text[:one.start()] + other + text[one.end():]).encode("latin-1")


def change_model(model: str, out: str, rng: random.Random) -> str:
    """Writes the changed model and says what was changed."""
    with zipfile.ZipFile(model) as archive:
        records = [(info.filename, archive.read(info)) for info in archive.infolist()]
    targets = [name for name, data in records if data and name.endswith((".py", ".pkl", ".debug_pkl", "/version"))]
    chosen = rng.choice(targets)
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in records:
            if name == chosen:
                for _ in range(rng.choice((1, 1, 2, 4))):
                    data = (change_source if name.endswith(".py") else change_pickle)(data or b"\0", rng)
            archive.writestr(zipfile.ZipInfo(name), data)
    return chosen


class Hostile(unittest.TestCase):
    def check(self, arguments: list, what: str):
        done = subprocess.run([os.environ["TORCHLET"], *arguments], capture_output=True, timeout=60)
        stderr = done.stderr.decode(errors="replace")
        self.assertIn(done.returncode, (0, 1), f"{what}: {stderr[-2000:]}")
        self.assertNotIn("internal error", stderr, what)
        if done.returncode == 1:
            last = stderr.strip().splitlines()[-1]
            self.assertTrue(last.startswith("torchlet: error: "), f"{what}: {last}")
            self.assertLess(len(last), 600, what)

    def test_changed_records(self):
        rng = random.Random(20200229)
        with tempfile.TemporaryDirectory() as folder:
            for name in MODELS:
                for round_number in range(ROUNDS):
                    changed = os.path.join(folder, "changed.pt")
                    record = change_model(f"{FIXTURES}/{name}.pt", changed, rng)
                    what = f"{name}, round {round_number}, {record}"
                    if round_number % 8 == 0:
                        self.check(["inspect", "--graph", changed], what)
                    else:
                        self.check(["run", changed, f"{FIXTURES}/{name}.in0.npy"], what)

    def test_truncated_files(self):
        with open(f"{FIXTURES}/linear.pt", "rb") as f:
            whole = f.read()
        with tempfile.TemporaryDirectory() as folder:
            cut = os.path.join(folder, "cut.pt")
            for size in range(0, len(whole), max(1, len(whole) // 40)):
                with open(cut, "wb") as f:
                    f.write(whole[:size])
                done = subprocess.run([os.environ["TORCHLET"], "inspect", cut], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, size)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
