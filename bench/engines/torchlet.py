"""Torchlet: `torchlet bench --serve` measures, `torchlet run` answers."""

import os

PYTHON = "torch"
COMMAND = os.environ.get("TORCHLET", os.path.join(os.path.dirname(__file__), "../../build/release/torchlet"))


def variants(model, precision):
    return ["cpu"]


def load(folder, model, precision, variant, threads):
    import subprocess

    base = os.path.join(folder, model)
    arguments = [f"{base}.{precision}.pt", f"{base}.input.npy", "--threads", str(threads), "--device", variant]
    server = subprocess.Popen([COMMAND, "bench", "--serve", *arguments], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    times((server, arguments), 1)  # its first run plans
    return server, arguments


def run(state):
    import subprocess
    import tempfile

    import numpy

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([COMMAND, "run", *state[1], "--save", folder], check=True, stdout=subprocess.DEVNULL)
        return numpy.load(os.path.join(folder, "data.npy"))


def times(state, count):
    server = state[0]
    print(count, file=server.stdin, flush=True)
    return [float(word) for word in server.stdout.readline().split()]
