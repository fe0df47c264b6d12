#!/usr/bin/python3
"""Times a model in PyTorch and in Torchlet, in turns, on one machine.

    apt-get install python3-torch python3-torchvision
    /usr/bin/python3 bench/compare_torch.py [--torchlet build/release/torchlet] [--model mobilenet_v2]
        [--rounds 8] [--seconds 1] [--threads 1] [--freeze]

The model is a torchvision network with random weights in eval mode, saved with torch.jit.script. PyTorch runs
the plain Python module under no_grad; Torchlet loads the file with `torchlet bench`. Both see the same shape.
A shared machine is noisy, so the two take turns of a second and the smallest and the median time of each are
compared. Prints milliseconds and the ratio Torchlet / PyTorch: below 1, Torchlet is faster.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torchlet", default="build/release/torchlet")
    parser.add_argument("--model", default="mobilenet_v2", help="a function of torchvision.models")
    parser.add_argument("--shape", default="1,3,224,224")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--freeze", action="store_true", help="save through torch.jit.freeze")
    return parser.parse_args()


ARGS = parse()
os.environ["OMP_NUM_THREADS"] = str(ARGS.threads)  # before torch is loaded

import torch  # noqa: E402
import torchvision  # noqa: E402


def torch_turn(module: torch.nn.Module, x: torch.Tensor) -> list:
    times = []
    end = time.perf_counter() + ARGS.seconds
    with torch.no_grad():
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            module(x)
            times.append((time.perf_counter() - start) * 1e3)
    return times


def torchlet_turn(file: str) -> dict:
    command = [ARGS.torchlet, "bench", file, "--shape", ARGS.shape, "--threads", str(ARGS.threads),
               "--seconds", str(ARGS.seconds), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def largest_difference(file: str, module: torch.nn.Module, x: torch.Tensor) -> float:
    """Of the outputs for the same input, relative to the largest output."""
    import numpy
    with tempfile.TemporaryDirectory() as folder:
        numpy.save(f"{folder}/x.npy", x.numpy())
        done = subprocess.run([ARGS.torchlet, "run", file, f"{folder}/x.npy", "--json"],
                              check=True, capture_output=True, text=True)
    got = torch.tensor(json.loads(done.stdout)["output"]["data"], dtype=torch.float64)
    with torch.no_grad():
        want = module(x).flatten().double()
    return float((got - want).abs().max() / want.abs().max())


def main() -> None:
    torch.set_num_threads(ARGS.threads)
    torch.manual_seed(0)
    module = getattr(torchvision.models, ARGS.model)(weights=None).eval()
    x = torch.rand([int(size) for size in ARGS.shape.split(",")])
    scripted = torch.jit.script(module)
    if ARGS.freeze:
        scripted = torch.jit.freeze(scripted)
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/{ARGS.model}.pt"
        scripted.save(file)
        print(f"{ARGS.model} {ARGS.shape}, threads: {ARGS.threads}, "
              f"largest difference {largest_difference(file, module, x):.1e}")
        torch_turn(module, x)  # warm up
        theirs, least, medians = [], [], []
        for _ in range(ARGS.rounds):
            theirs.append(torch_turn(module, x))
            ours = torchlet_turn(file)
            least.append(ours["min_ms"])
            medians.append(ours["median_ms"])
    torch_min = min(min(times) for times in theirs)
    torch_median = statistics.median(statistics.median(times) for times in theirs)
    torchlet_min, torchlet_median = min(least), statistics.median(medians)
    print(f"{'':10}{'min ms':>10}{'median ms':>12}")
    print(f"{'PyTorch':10}{torch_min:10.2f}{torch_median:12.2f}   {torch.__version__}")
    print(f"{'Torchlet':10}{torchlet_min:10.2f}{torchlet_median:12.2f}")
    print(f"{'ratio':10}{torchlet_min / torch_min:10.3f}{torchlet_median / torch_median:12.3f}")


if __name__ == "__main__":
    main()
