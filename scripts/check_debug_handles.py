#!/usr/bin/python3
"""Has PyTorch's mobile runtime fail in what `torchlet convert` writes, and compares with its own file what it says.

    apt-get install python3-torch
    /usr/bin/python3 scripts/check_debug_handles.py [--torchlet build/release/torchlet]

Both files have debug information, so messages name the Python lines and the modules. The third column is the file
without its source (code/), which PyTorch refuses if it wrote it itself. Exit status: 0 if all messages are the same.
"""
import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from torch.jit.mobile import _load_for_lite_interpreter

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests/fixtures"
# A file, a method of it, and arguments that it cannot take: shapes of tensors and numbers.
CALLS = [
    ("lite/places.ptl", "forward", [(2, 4), 0]),
    ("lite/places.ptl", "forward", [(3, 3), 5]),
    ("lite/places.ptl", "forward", [(2, 3), 1]),
    ("scripted_convnet.pt", "forward", [(7,)]),
    ("traced_convnet.pt", "forward", [(7,)]),
    ("linear.pt", "forward", [(7,)]),
    ("recurrent.pt", "forward", [(7,)]),
]


def message(path, method, arguments):
    model = _load_for_lite_interpreter(str(path))
    try:
        model.run_method(method, *[torch.ones(a) if isinstance(a, tuple) else a for a in arguments])
    except (RuntimeError, IndexError) as error:
        return str(error)
    return "nothing was raised"


def drop_source(path, out):
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as bare:
        for record in archive.infolist():
            if "/code/" not in record.filename:
                bare.writestr(zipfile.ZipInfo(record.filename), archive.read(record))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torchlet", type=Path, default=ROOT / "build/release/torchlet")
    torchlet = parser.parse_args().torchlet
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        own, ours, bare = (Path(folder) / name for name in ("own.ptl", "ours.ptl", "bare.ptl"))
        for name, method, arguments in CALLS:
            torch.jit.load(str(FIXTURES / name))._save_for_lite_interpreter(str(own), _save_mobile_debug_info=True)
            subprocess.run([torchlet, "convert", FIXTURES / name, "-o", ours], check=True)
            drop_source(ours, bare)
            expected = message(own, method, arguments)
            same = [message(path, method, arguments) == expected for path in (ours, bare)]
            differ |= not all(same) or "Module hierarchy" not in expected
            print(f"{name:25} {str(arguments):15}", *("same     " if s else "DIFFERENT" for s in same),
                  next((line.strip() for line in expected.splitlines() if "hierarchy" in line), expected[:60]))
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
