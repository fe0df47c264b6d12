"""Our libneuralnetworks.so: the model converted to NNAPI, run by examples/nnapi_client, which knows NNAPI's C functions alone."""

import os

PYTHON = "torch"
HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(HERE, "../../examples/nnapi_client")
COMMAND = os.environ.get("TORCHLET", os.path.join(HERE, "../../build/release/torchlet"))
LIBRARY = os.path.join(os.path.dirname(COMMAND), "neuralnetworks")
WARMUP = 20


def variants(model, precision):
    return ["torchlet-cpu"]


def made(folder, model, precision):
    """The files of the model, and the client beside them."""
    import subprocess
    import sys

    base = os.path.join(folder, f"{model}.{precision}.nnapi")
    picture = os.path.join(folder, f"{model}.input.npy")
    if not os.path.exists(base):
        subprocess.run([COMMAND, "convert", os.path.join(folder, f"{model}.{precision}.pt"), "--to", "nnapi", "--input", picture,
                        "--fixed-shapes", "-o", base + ".pt"], check=True)
        subprocess.run([sys.executable, f"{CLIENT}/extract.py", base + ".pt", base, "--input", picture, base + ".input"], check=True)
    program = os.path.join(folder, "nnapi_client")
    subprocess.run(["cc", "-O2", f"{CLIENT}/client.c", "-I", os.path.join(HERE, "../../neuralnetworks/include"),
                    "-L", LIBRARY, "-lneuralnetworks", "-o", program], check=True)
    return program, base, picture


def load(folder, model, precision, variant, threads):
    os.environ["LD_LIBRARY_PATH"] = LIBRARY
    os.environ["TORCHLET_NNAPI_DEVICES"] = variant
    os.environ["TORCHLET_NNAPI_THREADS"] = str(threads)
    return made(folder, model, precision)


def run(state):
    """The whole answer, which the client does not print: of Torchlet with the same NNAPI model and library."""
    import subprocess
    import tempfile

    import numpy

    _, base, picture = state
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([COMMAND, "run", base + ".pt", picture, "--save", folder], check=True, stdout=subprocess.DEVNULL)
        return numpy.load(os.path.join(folder, "data.npy"))


def times(state, count):
    import subprocess

    program, base, _ = state
    printed = subprocess.run([program, base, base + ".input", str(WARMUP + count)], check=True, capture_output=True, text=True)
    return [float(word) for word in printed.stdout.splitlines()[0].split()[WARMUP:-1]]
