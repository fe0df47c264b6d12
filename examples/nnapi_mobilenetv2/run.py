#!/usr/bin/env python3
"""MobileNetV2 by NNAPI, from a float TorchScript file to a table of times.

    run.py MODEL.pt [--input PICTURE|X.npy|SHAPE] [--calibration FOLDER] [--programs FOLDER] [--out FOLDER]

Quantizes the model in the four ways of PyTorch's NNAPI tutorial (none, core, full, inside), converts each to NNAPI, and times
both files of each with speed_benchmark_torch, on one thread and on all. Prints its commands. OUT gets the models, and the table as
times.txt and as times.svg. Needs Torchlet's programs and libneuralnetworks.so, built or installed, and nothing else.
"""

import argparse
import dataclasses
import os
import re
import statistics
import subprocess
import sys

import chart

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
MODES = ["none", "core", "full", "inside"]
DEVICES = ["CPU", "NNAPI"]


class Refused(Exception):
    """With the last thing that a program said."""


class Programs:
    def __init__(self, folder: str):
        self.folder = os.path.abspath(folder)
        places = [os.path.join(self.folder, place) for place in ("neuralnetworks", "../lib", "../lib64")]
        own = [place for place in places if os.path.exists(f"{place}/libneuralnetworks.so")]
        inherited = filter(None, [os.environ.get("LD_LIBRARY_PATH")])
        self.environment = dict(os.environ, LD_LIBRARY_PATH=":".join([*own, *inherited]))

    def run(self, program: str, *arguments: str, **environment: str) -> str:
        done = subprocess.run([os.path.join(self.folder, program), *arguments], capture_output=True, text=True,
                              env=self.environment | environment)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"{program} ended with status {done.returncode}"]
            raise Refused(said[-1].removeprefix("torchlet: error: "))
        return done.stdout

    def tell_and_run(self, program: str, *arguments: str) -> str:
        print("$", program, *(os.path.relpath(word) if os.path.isabs(word) else word for word in arguments), flush=True)
        return self.run(program, *arguments)

    def times(self, model: str, threads: int, warmup: int, count: int) -> list:
        """Milliseconds of each run."""
        printed = self.run("speed_benchmark_torch", f"--model={model}", "--use_bundled_input=0", f"--warmup={warmup}",
                           f"--iter={count}", f"--pthreadpool_size={threads}", "--report_pep",
                           TORCHLET_NNAPI_THREADS=str(threads))
        return [int(us) / 1e3 for us in re.findall(r'"latency", "value": "(\d+)"', printed)]


@dataclasses.dataclass
class Way:
    """Of quantizing, and what became of it."""

    mode: str
    files: dict = dataclasses.field(default_factory=dict)  # by device
    sqnr: str = "-"
    operators: str = "-"  # of how many that NNAPI takes
    refused: str = ""
    times: dict = dataclasses.field(default_factory=dict)  # by device and threads

    def median(self, column: tuple) -> float:
        return statistics.median(self.times.get(column, [0]))

    def cell(self, column: tuple) -> str:
        return f"{min(self.times[column]):.2f} / {self.median(column):.2f}" if column in self.times else "-"


def bundle(programs: Programs, options) -> str:
    """The float model with its input."""
    kind = "--shape" if re.fullmatch(r"[\d,]+", options.input) else "--input" if options.input.endswith(".npy") else "--image"
    target = os.path.join(options.out, "none-cpu.pt")
    programs.tell_and_run("torchlet", "bundle", options.model, kind, options.input, "-o", target)
    return target


def make(programs: Programs, mode: str, source: str, options) -> Way:
    way = Way(mode)
    cpu, nnapi = (os.path.join(options.out, f"{mode}-{device.lower()}.pt") for device in DEVICES)
    try:
        if mode != "none":
            printed = programs.tell_and_run("torchlet", "quantize", source, "--calibration", *options.calibration, "--mode", mode,
                                            "--per-tensor", "--equalize", "--no-layer-times", "-o", cpu)
            way.sqnr = re.search(r"^SQNR +(.*) dB", printed, re.MULTILINE)[1]
        way.files["CPU"] = cpu
        printed = programs.tell_and_run("torchlet", "convert", cpu, "--to", "nnapi", "--bundled", "0", "--fixed-shapes",
                                        "-o", nnapi)
        way.operators = re.match(r"\d+ of \d+", printed)[0]
        way.files["NNAPI"] = nnapi
    except Refused as refused:
        way.refused = str(refused)
        print(refused)
    return way


def measure(programs: Programs, ways: list, counts: list, options) -> None:
    """In turns, so that what else the machine does hits all of them."""
    print(f"$ speed_benchmark_torch --model=... --use_bundled_input=0 --warmup={options.warmup} --iter={options.iter} "
          f"--pthreadpool_size={'|'.join(map(str, counts))}", flush=True)
    for _ in range(options.rounds):
        for threads in counts:
            for way in ways:
                for device, file in way.files.items():
                    times = programs.times(file, threads, options.warmup, options.iter)
                    way.times.setdefault((device, threads), []).extend(times)


def table(ways: list, columns: list) -> str:
    """`columns` are pairs of device and threads."""
    head = ["quantized", "SQNR dB", "by NNAPI", *(chart.label(*column) for column in columns)]
    rows = [[way.mode, way.sqnr, way.operators, *map(way.cell, columns)] for way in ways]
    widths = [max(map(len, cells)) for cells in zip(head, *rows)]
    lines = ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in [head, *rows]]
    return "\n".join(lines + [f"{way.mode}: {way.refused}" for way in ways if way.refused]) + "\n"


def processor() -> str:
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return found[1] if found else os.uname().machine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--input", default="1,3,224,224", help="what is computed: a picture, an array, or random numbers of a shape")
    parser.add_argument("--calibration", nargs="+", default=["bundled"], help="typical inputs: pictures or arrays; else the input")
    parser.add_argument("--programs", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build/nnapi_mobilenetv2"))
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--iter", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    programs = Programs(options.programs)
    try:
        source = bundle(programs, options)
    except Refused as refused:
        print(f"run.py: {refused}", file=sys.stderr)
        return 1
    ways = [make(programs, mode, source, options) for mode in MODES]
    counts = sorted({1, len(os.sched_getaffinity(0))})
    measure(programs, ways, counts, options)

    columns = [(device, threads) for threads in counts for device in DEVICES]
    title = f"{os.path.basename(options.model)} on {processor()}: milliseconds of a run"
    text = f"{title}, least / median\n{table(ways, columns)}"
    print("\n" + text, end="")
    with open(os.path.join(options.out, "times.txt"), "w") as file:
        file.write(text)
    with open(os.path.join(options.out, "times.svg"), "w") as file:
        file.write(chart.svg(title, {way.mode: list(map(way.median, columns)) for way in ways}, columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
