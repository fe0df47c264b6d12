#!/usr/bin/env python3
"""Runs some 600 architectures of timm, transformers, MONAI and others by Torchlet and PyTorch: is the answer right, and how fast is it.

    python3 bench/sweep.py [--filter REGEX] [--list] [--keep] [--again] [--table docs/sweep.md [--avx512 FILE]]

bench/sweep_models.py has the list and makes each with random weights in a process of its own. Needs Debian's python3-torch and python3-torchvision; the
packages come from PyPI, without what they depend on, into --folder. There results.json has a record for each model, and a model that has one is left out
(--again measures it anew), so a sweep that was stopped goes on. Files are deleted when they are measured, unless --keep.

A file is the model traced or, where that works, scripted. Its answer is wrong when it differs from the one in float64 by more than 4 times what PyTorch's
float32 differs, plus 1e-5; both as the largest difference of a tensor, relative to its largest value, and PyTorch's the worst of the model as it is and of
the variants below. "ratio" is Torchlet's time of a forward over that of
PyTorch's better variant, torch.jit.freeze or torch.jit.optimize_for_inference of the traced file: one thread each, in turns, the smallest of all rounds.
Where that is over 0.9 all of them take as many rounds again, three times at most. "compile ms" is the smallest of three processes.

PyTorch multiplies matrices by libblas.so.3, and Debian's libblas3 is many times slower than others, so a fair ratio takes libopenblas0. On a processor with
AVX-512 that it does not know it takes kernels of 256 bits (OPENBLAS_VERBOSE=2 tells what it takes it for). With OPENBLAS_CORETYPE=SKYLAKEX it takes those of
512, and PyTorch is faster than its users have it; --avx512 names the results.json of such a run, and the table has both ratios.
"""

import argparse
import contextlib
import fcntl
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sweep_models
from compare import TORCH_PYTHON, Worker

COMMON = ["transformers==4.29.2", "monai==1.2.0", "facenet-pytorch==2.6.0", "segmentation-models-pytorch==0.3.3", "yolov5==7.0.14", "spandrel==0.4.2",
          "huggingface_hub==0.16.4", "safetensors", "tokenizers==0.13.3", "regex", "filelock", "fsspec", "packaging", "tqdm", "pyyaml", "requests", "urllib3",
          "certifi", "idna", "charset_normalizer", "typing_extensions", "einops", "pretrainedmodels==0.7.4", "efficientnet-pytorch==0.7.1", "munch", "six",
          "setuptools<81"]
REFERENCES = ["frozen", "onednn"]
SLOW = 0.9  # rows over this ratio get a table of their own
AGAIN = 3
COMPILES = 3


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="a regular expression that names have to contain")
    parser.add_argument("--list", action="store_true", help="print names and end")
    parser.add_argument("--keep", action="store_true", help="keep the files of models")
    parser.add_argument("--again", action="store_true", help="also what has a record")
    parser.add_argument("--table", default="", help="write the records as a table to this file, and measure nothing")
    parser.add_argument("--avx512", default="", help="the records of a run with OPENBLAS_CORETYPE=SKYLAKEX, for the table")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--turn", type=float, default=0.15, help="seconds of an engine in a round, one forward at least")
    parser.add_argument("--timeout", type=int, default=180, help="seconds to make a model, and to measure it")
    parser.add_argument("--lock", default="", help="a file whose lock is held while something is timed")
    parser.add_argument("--folder", default=os.path.join(HERE, "../build/sweep"))
    parser.add_argument("--torchlet", default=os.path.join(HERE, "../build/release/torchlet"))
    return parser.parse_args()


def install(folder: str) -> None:
    wanted = {"common": COMMON} | {f"timm-{version}": [f"timm=={version}"] for version in sweep_models.TIMM}
    for name, packages in wanted.items():
        target = os.path.join(folder, "packages", name)
        if not os.path.exists(target):
            subprocess.run([TORCH_PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, *packages], check=True)


def environment(folder: str, name: str) -> dict:
    version = name.split("/")[0] if name.startswith("timm-") else "timm-0.9.12"
    paths = [os.path.join(folder, "packages", part) for part in (version, "common")]
    return os.environ | {"PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def message(output: str) -> str:
    """What the exception said that ended a program: TorchScript's begin with an empty line and end with places in its code."""
    said = re.findall(r"^[\w.]+(?:Error|Exception): *\n?.*", output, re.MULTILINE) or output.strip().splitlines() or ["no message"]
    return " ".join(said[-1].split())[:300]


@contextlib.contextmanager
def time_limit(seconds: int):
    def expired(*_):
        raise TimeoutError(f"longer than {seconds} s")
    signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def locked(path: str):
    if not path:
        yield
        return
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def torchlet(options, *arguments: str) -> str:
    done = subprocess.run([options.torchlet, *arguments, "--threads", "1"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().replace(options.folder, "")[:400] or f"exit status {done.returncode}")
    return done.stdout


def answers(file: str) -> list:
    import numpy
    size, arrays = os.path.getsize(file), []
    with open(file, "rb") as stream:
        while stream.tell() < size:
            arrays.append(numpy.lib.format.read_array(stream, allow_pickle=False))
    return arrays


def check(options, base: str, form: str, pytorch_error: float) -> dict:
    """What Torchlet answers to one file, against the exact answer."""
    with tempfile.TemporaryDirectory() as folder:
        torchlet(options, "run", f"{base}.{form}.pt", f"{base}.input.npy", "--save", folder)
        error = sweep_models.difference(answers(f"{folder}/data.npy"), answers(f"{base}.exact.npy"))
    return {"error": error, "right": error <= 4 * pytorch_error + 1e-5}


def check_all(options, base: str, record: dict) -> None:
    for form in ("traced", "scripted"):
        if os.path.exists(f"{base}.{form}.pt"):
            try:
                record[form] = check(options, base, form, record["pytorch_error"])
            except RuntimeError as error:
                record[form] = {"fails": str(error)}


def measure(options, base: str, record: dict) -> None:
    """Times the forms of a checked model that do not fail."""
    forms = [form for form in ("traced", "scripted") if form in record and "fails" not in record[form]]
    folder, model = os.path.split(base)
    workers = {}
    try:
        with time_limit(options.timeout):
            start_workers(options, folder, model, forms, record, workers)
        with locked(options.lock), time_limit(options.timeout):
            for form in forms:
                measure_start(options, f"{base}.{form}.pt", f"{base}.input.npy", record[form])
            measure_steady(options, workers, forms, record)
    finally:
        for worker in workers.values():
            worker.end()


def start_workers(options, folder: str, model: str, forms: list, record: dict, workers: dict) -> None:
    """Adds what started to `workers`, which the caller ends whatever happens."""
    os.environ["TORCHLET"] = options.torchlet
    for variant in REFERENCES:
        workers[variant] = Worker(TORCH_PYTHON, "pytorch", folder, model, "traced", variant, 1)
        try:
            workers[variant].start(1)
        except RuntimeError as error:
            workers.pop(variant).end()
            record.setdefault("pytorch_fails", {})[variant] = str(error)
    for form in forms:
        workers[form] = Worker(TORCH_PYTHON, "torchlet", folder, model, form, "cpu", 1)
        workers[form].start(1)


def measure_start(options, file: str, inputs: str, found: dict) -> None:
    runs = [json.loads(torchlet(options, "bench", file, inputs, "--warmup", "1", "--seconds", "0.1", "--json")) for _ in range(COMPILES)]
    found |= {key: min(run[key] for run in runs) for key in ("load_ms", "compile_ms", "min_ms")}
    found["peak_mb"] = runs[0]["peak_memory_bytes"] / 1e6


def measure_steady(options, workers: dict, forms: list, record: dict) -> None:
    best = dict.fromkeys(workers, float("inf"))
    for _ in range(1 + AGAIN):
        for _ in range(options.rounds):
            for name, worker in workers.items():
                best[name] = min(best[name], *worker.turn(options.turn))
        record["pytorch_ms"] = {variant: best[variant] for variant in REFERENCES if variant in best}
        for form in forms:
            record[form]["min_ms"] = min(best[form], record[form]["min_ms"])
            record[form]["ratio"] = record[form]["min_ms"] / min(record["pytorch_ms"].values(), default=float("nan"))
        if not any(record[form]["ratio"] > SLOW for form in forms):
            return


def sweep_one(options, name: str) -> dict:
    base = os.path.join(options.folder, "models", name.replace("/", "."))
    os.makedirs(os.path.dirname(base), exist_ok=True)
    start = time.time()
    try:
        if not os.path.exists(f"{base}.json"):
            done = subprocess.run([TORCH_PYTHON, f"{HERE}/sweep_models.py", name, os.path.dirname(base)], env=environment(options.folder, name),
                                  capture_output=True, text=True, timeout=options.timeout)
            if done.returncode != 0:
                return {"not_made": message(done.stderr)}
        with open(f"{base}.json") as file:
            record = json.load(file)
        record["made_s"] = round(time.time() - start, 1)
        check_all(options, base, record)
        measure(options, base, record)
        return record
    except (subprocess.TimeoutExpired, TimeoutError, RuntimeError) as error:
        return {"not_made": str(error)}
    finally:
        if not options.keep:
            for ending in ("traced.pt", "scripted.pt", "input.npy", "exact.npy", "json"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(f"{base}.{ending}")


def verdict(form: dict) -> str:
    return "fails: " + form["fails"].splitlines()[0] if "fails" in form else "right" if form["right"] else f"wrong by {form['error']:.1g}"


def short(name: str, record: dict) -> str:
    """A line about one model while the sweep runs."""
    if "not_made" in record:
        return f"{name}: not made: {record['not_made']}"
    forms = [f"{form} {record[form].get('ratio', math.nan):.2f} compile {record[form].get('compile_ms', math.nan):.0f} ms {verdict(record[form])}"
             for form in ("traced", "scripted") if form in record]
    return f"{name}: pytorch {min(record['pytorch_ms'].values(), default=math.nan):.2f} ms; " + "; ".join(forms)


def mean(ratios: list) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ratios_of(record: dict) -> list:
    return [record[form].get("ratio") for form in ("traced", "scripted") if form in record]


def table(results: dict, avx512: dict) -> str:
    """`avx512`: the records of a run with OPENBLAS_CORETYPE=SKYLAKEX, or none."""
    made = {name: record for name, record in results.items() if "not_made" not in record}
    files = [(name, form, record[form]) for name, record in made.items() for form in ("traced", "scripted") if form in record]

    def number(value, digits: int = 2) -> str:
        return f"{value:.{digits}f}" if value is not None and not math.isnan(value) else "-"

    def row(cells: list, beside: list = ()) -> str:
        return "| " + " | ".join(str(cell) for cell in (*cells, *(beside if avx512 else ()))) + " |"

    def head(cells: list, beside: list = ()) -> list:
        return [row(cells, beside), row(["---"] * len(cells), ["---"] * len(beside)).replace(" ", "")]

    def best(name: str) -> float:
        return min(results[name]["pytorch_ms"].values(), default=float("nan"))

    lines = [f"# {len(made)} architectures", "",
             "`bench/sweep.py` builds them from packages of PyPI with random weights and runs each by Torchlet and by PyTorch 1.13, one thread each.",
             "Its head says when an answer is right and what PyTorch's time is. The ratio is Torchlet's time over PyTorch's: below 1, Torchlet is faster."]
    if avx512:
        lines.append("PyTorch's OpenBLAS chooses its kernels by itself; behind are the ratios where it is told to take those for AVX-512 (OPENBLAS_CORETYPE=SKYLAKEX).")
    lines += ["", *head(["family", "models", "files", "right", "geometric mean of ratios", "over 0.9", "over 1"], ["mean, AVX-512", "over 1, AVX-512"])]
    for family in dict.fromkeys(name.split("/")[0] for name in results) | {"": None}:
        mine = [(name, form) for name, _, form in files if name.startswith(family)]
        ratios = [form["ratio"] for _, form in mine if "ratio" in form]
        others = [ratio for name, record in avx512.items() if name.startswith(family) and name in made for ratio in ratios_of(record) if ratio is not None]
        lines.append(row([family or "**all**", len({name for name, _ in mine}), len(mine), sum(form.get("right", False) for _, form in mine),
                          number(mean(ratios)), sum(r > SLOW for r in ratios), sum(r > 1 for r in ratios)],
                         [number(mean(others)), sum(r > 1 for r in others)]))
    lines += ["", f"## Over {SLOW}", "", *head(["model", "form", "PyTorch ms", "Torchlet ms", "ratio"])]
    for name, form, found in sorted(files, key=lambda file: -file[2].get("ratio", 0)):
        if found.get("ratio", 0) > SLOW:
            lines.append(row([name, form, number(best(name)), number(found["min_ms"]), number(found["ratio"])]))
    lines += ["", "## All", "", "Traced / scripted; `-` where PyTorch does not script the model.", "",
              *head(["model", "PyTorch ms", "ratio", "load ms", "compile ms", "peak MB", "verdict"], ["ratio, AVX-512"])]
    for name, record in made.items():
        forms = [record[form] for form in ("traced", "scripted") if form in record]

        def cells(key: str, digits: int) -> str:
            return " / ".join([number(form.get(key), digits) for form in forms] + ["-"] * (2 - len(forms)))

        beside = " / ".join(number(ratio) for ratio in ratios_of(avx512.get(name, {}))) or "-"
        verdicts = list(dict.fromkeys(verdict(form).replace("|", "/") for form in forms))
        lines.append(row([name, number(best(name)), cells("ratio", 2), cells("load_ms", 0), cells("compile_ms", 0), cells("peak_mb", 0),
                          "; ".join(verdicts)], [beside]))
    absent = [f"| {name} | {record['not_made'].replace('|', '/')} |" for name, record in results.items() if "not_made" in record]
    if absent:
        lines += ["", "## Not made", "", "| model | why |", "|---|---|", *absent]
    return "\n".join(lines) + "\n"


def records(file: str) -> dict:
    if not os.path.exists(file):
        return {}
    with open(file) as stream:
        return json.load(stream)


def main() -> int:
    options = parse()
    options.folder, options.torchlet = os.path.abspath(options.folder), os.path.abspath(options.torchlet)
    wanted = [name for name in sweep_models.names() if re.search(options.filter, name)]
    if options.list:
        print("\n".join(wanted))
        return 0
    os.makedirs(options.folder, exist_ok=True)
    file = os.path.join(options.folder, "results.json")
    results = records(file)
    if options.table:
        with open(options.table, "w") as stream:
            stream.write(table({name: results[name] for name in wanted if name in results}, records(options.avx512)))
        return 0
    install(options.folder)
    right = True
    for name in wanted:
        if name in results and not options.again:
            continue
        results[name] = record = sweep_one(options, name)
        right &= "not_made" in record or all(record[form].get("right", False) for form in ("traced", "scripted") if form in record)
        print(short(name, record), flush=True)
        with open(file + ".new", "w") as stream:
            json.dump(results, stream, indent=1)
        os.replace(file + ".new", file)
    return 0 if right else 1


if __name__ == "__main__":
    if os.path.realpath(sys.executable) != os.path.realpath(TORCH_PYTHON):
        os.execv(TORCH_PYTHON, [TORCH_PYTHON, *sys.argv])  # numpy comes with Debian's PyTorch
    sys.exit(main())
