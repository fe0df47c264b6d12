"""Has a PyTorch of any version load what `torchlet convert` writes, and compares with the original.

    python3 scripts/check_pytorch.py 2.5.1 [MODEL.pt ...]

installs that version from PyPI into build/pytorch-VERSION (a virtual environment; about 5 GB, since
the wheels carry CUDA) and prints a table. Models need their inputs beside them: MODEL.in0.npy, ...;
without arguments they are those of tests/fixtures and the sample model.
"own fails" says that this PyTorch cannot run the file either that it writes itself of the model.
Exit status: 0 if all others give the answers of the original.
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
    found = [p for p in sorted((ROOT / "tests/fixtures").glob("*.pt")) if inputs_of(p) and p.stem != "unsupported"]
    return found + [ROOT / "models/digits_mobilenet_v2.pt"]


def inputs_of(model):
    import numpy
    import torch

    files = []
    while (path := model.with_suffix(f".in{len(files)}.npy")).exists():
        files.append(torch.from_numpy(numpy.load(path)))
    return files


def answers(torch, path, inputs):
    if path.suffix == ".pt":
        model = torch.jit.load(str(path), map_location="cpu").eval()
    else:
        model = torch.jit.mobile._load_for_lite_interpreter(str(path), map_location="cpu")
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


def in_child(work):
    """What work() returns, a str, from a process of its own: PyTorch crashes on some files."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            text = work()
        except Exception as error:
            text = "FAILED: " + (str(error).strip().splitlines() or ["?"])[-1][:80]
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read() or f"CRASHED: signal {os.WTERMSIG(status)}"


def check(torch, torchlet, model, ending, folder):
    inputs = inputs_of(model) or [torch.rand(1, 3, 224, 224)]
    own, converted = folder / f"own{ending}", folder / f"converted{ending}"

    def write_and_run_own():
        loaded = torch.jit.load(str(model))
        if ending == ".pt":
            loaded.save(str(own))
        else:
            loaded._save_for_lite_interpreter(str(own), _use_flatbuffer=ending == ".ff")
        answers(torch, own, inputs)
        return "fine"

    def compare():
        expected = answers(torch, model, inputs)
        return "same" if is_same(torch, expected, answers(torch, converted, inputs)) else "DIFFERENT"

    done = subprocess.run([torchlet, "convert", model, "-o", converted], stderr=subprocess.PIPE, text=True)
    result = "REFUSED: " + done.stderr.strip()[:80] if done.returncode else in_child(compare)
    if result != "same" and in_child(write_and_run_own) != "fine":
        return "own fails"
    return result


def main():
    arguments = parse_arguments()
    if not arguments.inside:
        run_inside_environment(arguments.version)
    import torch
    import torch.jit.mobile

    torch.manual_seed(0)
    failures = 0
    endings = ".pt", ".ptl", ".ff"
    print(f"{'PyTorch ' + torch.__version__:45}", *(f"{ending:15}" for ending in endings))
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models or default_models():
            results = [check(torch, arguments.torchlet, model, ending, Path(folder)) for ending in endings]
            failures += sum(result[0].isupper() for result in results)
            print(f"{os.path.relpath(model, ROOT):45}", *(f"{result:15}" for result in results))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
