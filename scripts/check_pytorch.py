"""Has a PyTorch of any version load what `torchlet convert` writes, and compares with the original.

    python3 scripts/check_pytorch.py 2.5.1 [MODEL.pt ...]

installs that version from PyPI into build/pytorch-VERSION (a virtual environment; about 5 GB, since
the wheels carry CUDA) and prints a table. Models need their inputs beside them: MODEL.in0.npy, ...;
without arguments they are those of tests/fixtures and the sample model.
Exit status: 0 if everything that this PyTorch can load gives the same answers when it was converted.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="of PyTorch")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--torchlet", type=Path, default=ROOT / "build/release/torchlet")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_inside_environment(version):
    folder = ROOT / f"build/pytorch-{version}"
    python = folder / "bin/python3"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"torch=={version}", "numpy"], check=True)
    sys.exit(subprocess.run([python, *sys.argv, "--inside"]).returncode)


def default_models():
    found = [p for p in sorted((ROOT / "tests/fixtures").glob("*.pt")) if inputs_of(p)]
    return found + [ROOT / "models/digits_mobilenet_v2.pt"]


def inputs_of(model):
    import numpy
    import torch

    files = []
    while (path := model.with_suffix(f".in{len(files)}.npy")).exists():
        files.append(torch.from_numpy(numpy.load(path)))
    return files


def answers(torch, path, inputs):
    model = torch.jit.load(str(path), map_location="cpu")
    model.eval()
    with torch.no_grad():
        return model(*[t.clone() for t in inputs])


def is_same(torch, a, b):
    if isinstance(a, torch.Tensor):
        if a.is_quantized:
            a, b = a.dequantize(), b.dequantize()
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(is_same(torch, x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same(torch, a[k], b[k]) for k in a)
    return a == b


def check(torch, torchlet, model, folder):
    inputs = inputs_of(model) or [torch.rand(1, 3, 224, 224)]
    try:
        expected = answers(torch, model, inputs)
    except Exception as error:
        return "not checked: PyTorch does not run the original: " + str(error).strip().splitlines()[0][:60]
    converted = folder / "converted.pt"
    subprocess.run([torchlet, "convert", model, "-o", converted], check=True)
    try:
        return "same" if is_same(torch, expected, answers(torch, converted, inputs)) else "DIFFERENT"
    except Exception as error:
        return "FAILED: " + str(error).strip().splitlines()[-1][:80]


def main():
    arguments = parse_arguments()
    if not arguments.inside:
        run_inside_environment(arguments.version)
    import torch

    torch.manual_seed(0)
    failures = 0
    print(f"PyTorch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models or default_models():
            result = check(torch, arguments.torchlet, model, Path(folder))
            failures += result[0].isupper()
            print(f"{os.path.relpath(model, ROOT):45} {result}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
