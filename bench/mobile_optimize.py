#!/usr/bin/python3
"""Compares `torchlet optimize --for-mobile` with PyTorch's optimize_for_mobile: how fast PyTorch runs what either makes.

    /usr/bin/python3 bench/make_models.py FOLDER mobilenet_v2
    /usr/bin/python3 bench/mobile_optimize.py FOLDER mobilenet_v2 ... [--torchlet build/release/torchlet] [--rounds 30]

One thread. The files take turns, so that what else the machine does hits them alike; of the times of all rounds the
least and the median are shown, and how far the answers are from those of the file itself.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import torch
from torch.utils.mobile_optimizer import optimize_for_mobile

warnings.filterwarnings("ignore")


def by_pytorch(model: str, path: str) -> None:
    torch.jit.save(optimize_for_mobile(torch.jit.load(model).eval()), path)


def by_torchlet(torchlet: str, model: str, picture: str, path: str) -> None:
    subprocess.run([torchlet, "optimize", model, "--for-mobile", "--input", picture, "-o", path], check=True,
                   stdout=subprocess.DEVNULL)


def milliseconds(module, picture) -> float:
    start = time.perf_counter()
    module(picture)
    return (time.perf_counter() - start) * 1e3


def compare(folder: str, name: str, torchlet: str, rounds: int, scratch: str) -> None:
    model, input_file = (os.path.join(folder, name + end) for end in (".fp32.pt", ".input.npy"))
    theirs, ours = (os.path.join(scratch, name + end) for end in (".pytorch.pt", ".torchlet.pt"))
    by_pytorch(model, theirs)
    by_torchlet(torchlet, model, input_file, ours)
    picture = torch.from_numpy(np.load(input_file))
    modules = {what: torch.jit.load(path).eval()
               for what, path in (("as it was", model), ("optimize_for_mobile", theirs), ("torchlet optimize", ours))}
    times = {what: [] for what in modules}
    with torch.no_grad():
        exact = modules["as it was"](picture)
        errors = {what: float((module(picture) - exact).abs().max() / exact.abs().max()) for what, module in modules.items()}
        for round_number in range(rounds + 3):
            for what, module in modules.items():
                took = milliseconds(module, picture)
                if round_number >= 3:
                    times[what].append(took)
    for what, path in zip(modules, (model, theirs, ours)):
        print(f"{name:20} {what:20} {min(times[what]):8.2f} {statistics.median(times[what]):8.2f} "
              f"{os.path.getsize(path) / 1e6:8.1f} {errors[what]:8.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--torchlet", default="build/release/torchlet")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'model':20} {'made by':20} {'min ms':>8} {'median':>8} {'MB':>8} {'error':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.models:
            compare(options.folder, name, options.torchlet, options.rounds, scratch)


if __name__ == "__main__":
    main()
