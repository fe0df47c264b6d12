#!/usr/bin/env python3
"""Is `--device auto` ever slower than `--device cpu`?

    bench/auto_placement.py build/release/torchlet FOLDER [--threads N] [--rounds 15] [--tune] [--limit 1.03]

Times every model of a folder on both, in turns, in two processes that stay alive. A model's inputs are those it carries, else .npy files beside it
(NAME.in0.npy...), else an image of 224 or 64 pixels; models that do not run so are named and left out. --tune tunes each first, in a
copy of the folder's model that is removed afterwards. A model is slower if minimum and median both are, in each of three measurements: anything else is
noise. Status 3 if one is.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile


class Server:
    """A `torchlet bench --serve` that times runs on request."""

    def __init__(self, arguments: list):
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def times(self, count: int) -> list:
        """Milliseconds of so many runs; none if the model does not run."""
        try:
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return []
        return [float(word) for word in self.process.stdout.readline().split()]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def inputs_of(torchlet: str, model: pathlib.Path) -> list:
    files = [word for file in sorted(model.parent.glob(model.stem + ".in*.npy")) for word in ("--input", str(file))]
    for words in ["--bundled", "0"], files, ["--shape", "1,3,224,224"], ["--shape", "1,3,64,64"]:
        ran = words and subprocess.run([torchlet, "bench", str(model), *words, "--iterations", "1", "--warmup", "0"], capture_output=True)
        if ran and ran.returncode == 0:
            return words
    return []


def measure(arguments: argparse.Namespace, model: pathlib.Path, inputs: list):
    """(minimum, median) on the processor and with auto; None if the model does not run."""
    command = [arguments.torchlet, "bench", str(model), *inputs, "--serve", "--threads", str(arguments.threads)]
    servers = [Server([*command, "--device", device]) for device in ("cpu", "auto")]
    try:
        first = [server.times(3) for server in servers]
        if not all(first):
            return None
        # So many that a round takes some milliseconds.
        count = max(1, min(200, int(20 / max(min(first[0]), 1e-3))))
        times = [[], []]
        for turn in range(arguments.rounds):
            for i in (0, 1) if turn % 2 else (1, 0):
                times[i] += servers[i].times(count)
        return [(min(t), statistics.median(t)) for t in times]
    finally:
        for server in servers:
            server.end()


def tune(arguments: argparse.Namespace, model: pathlib.Path, inputs: list) -> None:
    done = subprocess.run([arguments.torchlet, "tune", str(model), *inputs, "--threads", str(arguments.threads), "--seconds", "2"],
                          capture_output=True, text=True)
    if done.returncode:
        print(f"{model.name}: {done.stderr.strip()}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("torchlet")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--limit", type=float, default=1.03)
    arguments = parser.parse_args()

    slower, measured = [], 0
    print(f"{'model':44} {'cpu min':>9} {'median':>9} {'auto min':>9} {'median':>9} {'ratio':>6}")
    for original in sorted(p for p in arguments.folder.rglob("*") if p.suffix in (".pt", ".ptl", ".ff")):
        inputs = inputs_of(arguments.torchlet, original)
        with tempfile.TemporaryDirectory() as folder:
            model = original
            if arguments.tune:
                model = pathlib.Path(shutil.copy(original, folder))
                tune(arguments, model, inputs)
            for _ in range(3):
                result = measure(arguments, model, inputs)
                if result is None:
                    break
                (cpu_min, cpu_median), (auto_min, auto_median) = result
                ratio = min(auto_min / cpu_min, auto_median / cpu_median)
                if ratio <= arguments.limit:
                    break
        if result is None:
            print(f"{original.name:44} does not run with the inputs at hand")
            continue
        measured += 1
        print(f"{original.name:44} {cpu_min:9.3f} {cpu_median:9.3f} {auto_min:9.3f} {auto_median:9.3f} {ratio:6.2f}", flush=True)
        if ratio > arguments.limit:
            slower.append(original.name)
    print(f"{measured} models, {len(slower)} slower by more than {arguments.limit:g}: {', '.join(slower) or 'none'}")
    return 3 if slower or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
