#!/usr/bin/env python3
"""Times Torchlet and other engines in turns, on one machine, with the same models.

    python3 bench/compare.py --models mobilenet_v2,resnet18 --precisions fp32,int8 --threads 1,2 --rounds 10

Needs Debian's python3-torchvision for the models and PyTorch; makes a virtual environment with ONNX Runtime, OpenVINO, ncnn and
LiteRT, 7 GB that its converters fill. It and the models stay in --folder. Engines are the files of bench/engines (see the README there).

Every engine tries its variants and keeps the fastest. Then the engines take turns of --turn seconds, --rounds times, so that
what else the machine does hits all of them; an engine is stopped while it is not its turn. A cell shows the smallest and the
median time of one forward in milliseconds, of a picture if --batches or --at-once has several at a time; "ratio" is Torchlet's
median over the best other engine's, the median of all rounds: below 1, Torchlet is faster. "differs" is the largest difference
from PyTorch's answer, relative to its largest value.
"""

import argparse
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f"{HERE}/engines")  # an engine may read what another one made
MODELS = "mobilenet_v2,mobilenet_v3_large,resnet18,resnet50,deeplabv3_resnet50,vit_b_16"
TORCH_PYTHON = "/usr/bin/python3"
# Of Torchlet's answer, relative to the largest value. An integer network answers in steps of its last scale.
TOLERANCE = {"fp32": 1e-4, "int8": 0.05}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--precisions", default="fp32,int8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batches", default="1", help="pictures of a forward")
    parser.add_argument("--at-once", type=int, default=1, help="processes of an engine, each with --threads")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turn", type=float, default=0.3, help="seconds of an engine in a round, one forward at least")
    parser.add_argument("--engines", default="torchlet,pytorch,onnx_runtime,ncnn_net,openvino_cpu,xnnpack")
    parser.add_argument("--rows", help="a file to which each row is added as a line of JSON, for compare_tables.py")
    parser.add_argument("--folder", default=os.path.join(HERE, "../build/bench-models"))
    return parser.parse_args()


def venv_python(folder: str) -> str:
    python = os.path.join(folder, "venv/bin/python")
    packages = ["numpy", "onnx", "onnxruntime", "ncnn", "pnnx", "openvino", "litert-torch", "torchvision"]
    there = f"from importlib.metadata import version; [version(name) for name in {packages}]"
    if subprocess.run([python, "-c", there], stderr=subprocess.DEVNULL).returncode if os.path.exists(python) else True:
        subprocess.run([TORCH_PYTHON, "-m", "venv", os.path.join(folder, "venv")], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


class Worker:
    """One engine with one model, in as many processes as run it at once, each in a process group of its own; stopped unless
    they have something to do."""

    def __init__(self, python: str, engine: str, folder: str, model: str, precision: str, variant: str, threads: int):
        self.name, self.variant, self.rounds, self.processes = engine, variant, [], []
        self.pictures = batch_of(model)
        self.command = [python, f"{HERE}/engines/worker.py", f"{HERE}/engines/{engine}.py", folder, model, precision, variant,
                        str(threads)]

    def start(self, copies: int) -> None:
        for _ in range(copies):  # one after the other: the first one may convert the model
            self.processes.append(subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE, text=True, process_group=0))
            self.read(self.processes[-1])

    def ask(self, process: subprocess.Popen, line: str) -> None:
        os.killpg(process.pid, signal.SIGCONT)
        print(line, file=process.stdin, flush=True)

    def read(self, process: subprocess.Popen):
        text = process.stdout.readline()
        if not text:
            reason = process.communicate()[1].strip().splitlines() or ["no message"]
            raise RuntimeError(f"{self.name} ({self.variant}): {reason[-1]}")
        os.killpg(process.pid, signal.SIGSTOP)
        return json.loads(text)

    def run(self, count: int) -> list:
        """Milliseconds that a picture takes in each forward of each process, if all of them run at once."""
        for process in self.processes:
            self.ask(process, f"run {count}")
        times = [time for process in self.processes for time in self.read(process)]
        return [time / len(self.processes) / self.pictures for time in times]

    def turn(self, seconds: float) -> list:
        times = self.run(1)
        forward = times[0] * 1e-3 * len(self.processes) * self.pictures
        return times if forward >= seconds else self.run(max(1, int(seconds / forward)))

    def output(self):
        with tempfile.TemporaryDirectory() as folder:
            self.ask(self.processes[0], f"output {folder}/y.npy")
            self.read(self.processes[0])
            import numpy
            return numpy.load(f"{folder}/y.npy")

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def batch_of(model: str) -> int:
    return int(model.partition("@")[2] or 1)


def difference(output, wanted) -> float:
    return float(abs(output - wanted).max() / abs(wanted).max())


def fastest(engine: str, options, python: dict, model: str, precision: str, threads: int, wanted):
    """The engine with the variant that is fastest in a few short turns; None if it cannot run the model."""
    spec = importlib.util.spec_from_file_location(engine, f"{HERE}/engines/{engine}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    workers = []
    for variant in module.variants(model, precision):
        worker = Worker(python[module.PYTHON], engine, options.folder, model, precision, variant, threads)
        try:
            worker.start(options.at_once)
            if engine != "torchlet" and precision == "fp32" and difference(worker.output(), wanted) > 0.01:
                raise RuntimeError(f"{engine} ({variant}): its answer is wrong, so it does not count")
            workers.append(worker)
        except RuntimeError as error:
            print(f"  {error}", file=sys.stderr)
            worker.end()
    if len(workers) < 2:
        return workers[0] if workers else None
    best = dict.fromkeys(workers, float("inf"))
    for _ in range(4):
        for worker in workers:
            best[worker] = min(best[worker], *worker.turn(0.1))
    workers.sort(key=best.get)
    for worker in workers[1:]:
        worker.end()
    return workers[0]


def ratio_of(workers: list):
    """Torchlet's median over that of the best other engine, the median of all rounds; None if either is missing."""
    medians = {w.name: [statistics.median(times) for times in w.rounds] for w in workers}
    ours = medians.pop("torchlet", None)
    if not ours or not medians:
        return None
    return statistics.median(a / b for a, b in zip(ours, min(medians.values(), key=statistics.median)))


def compare(options, python: dict, model: str, precision: str, threads: int) -> bool:
    """Prints one row; false if Torchlet's answer is wrong."""
    import numpy
    base = os.path.join(options.folder, f"{model}.")
    wanted = numpy.load(base + ("exact.npy" if precision == "fp32" else "int8.output.npy"))
    tolerance = TOLERANCE[precision]
    if precision == "fp32":  # no peer is asked for more than about PyTorch's own exactness
        tolerance = max(tolerance, 2 * difference(numpy.load(base + "output.npy"), wanted))
    names = options.engines.split(",")
    workers = [w for name in names if (w := fastest(name, options, python, model, precision, threads, wanted))]
    try:
        differs = {worker.name: difference(worker.output(), wanted) for worker in workers}
        for _ in range(options.rounds):
            for worker in workers:
                worker.rounds.append(worker.turn(options.turn))
        ratio, engines, notes = ratio_of(workers), {}, {}
        for worker in workers:
            times = [time for round in worker.rounds for time in round]
            engines[worker.name] = min(times), statistics.median(times)
            notes[worker.name] = f"{worker.variant}; differs {differs[worker.name]:.1g}"
        row = [f"{model} {precision}, {threads}", f"**{ratio:.2f}**" if ratio else "-"]
        for name in names:
            row.append("{:.2f} / {:.2f} ({})".format(*engines[name], notes[name]) if name in engines else "-")
        print("| " + " | ".join(row) + " |", flush=True)
        if options.rows:
            with open(options.rows, "a") as file:
                print(json.dumps({"model": model, "precision": precision, "threads": threads, "at_once": options.at_once,
                                  "ratio": ratio, "engines": engines, "notes": notes}), file=file)
        right = differs.get("torchlet", 0) <= tolerance
        if not right:
            print(f"  torchlet's answer to {model} {precision} is wrong", file=sys.stderr)
        return right
    finally:
        for worker in workers:
            worker.end()


def main() -> int:
    options = parse()
    options.folder = os.path.abspath(options.folder)
    os.makedirs(options.folder, exist_ok=True)
    names = options.models.split(",")
    models = [name if batch == "1" else f"{name}@{batch}" for name in names for batch in options.batches.split(",")]
    needed = dict.fromkeys([*names, *models])  # engines convert that of one picture where it does for all
    missing = [m for m in needed if not os.path.exists(os.path.join(options.folder, f"{m}.fp32.pt"))]
    if missing:
        subprocess.run([TORCH_PYTHON, f"{HERE}/make_models.py", options.folder, *missing], check=True)
    python = {"torch": TORCH_PYTHON, "venv": venv_python(options.folder)}
    engines = options.engines.split(",")
    print("| model, threads | ratio | " + " | ".join(engines) + " |\n|---|---|" + "---|" * len(engines), flush=True)
    right = True
    for model in models:
        for precision in options.precisions.split(","):
            if os.path.exists(os.path.join(options.folder, f"{model}.{precision}.pt")):
                for threads in map(int, options.threads.split(",")):
                    right &= compare(options, python, model, precision, threads)
    return 0 if right else 1


def with_numpy() -> None:
    """Goes on in Debian's Python if this one has no numpy, which comes with PyTorch there."""
    if importlib.util.find_spec("numpy") is not None:
        return
    if os.path.realpath(sys.executable) == os.path.realpath(TORCH_PYTHON):
        sys.exit(f"{TORCH_PYTHON} has no numpy: apt-get install python3-torch python3-torchvision")
    os.execv(TORCH_PYTHON, [TORCH_PYTHON, *sys.argv])


if __name__ == "__main__":
    with_numpy()
    sys.exit(main())
