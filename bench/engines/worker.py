"""Runs one engine: worker.py ENGINE.py FOLDER MODEL PRECISION VARIANT THREADS, then lines from stdin (see README.md)."""

import ctypes
import importlib.util
import json
import os
import signal
import sys
import time


def main() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a stopped worker does not outlive compare.py
    path, folder, model, precision, variant, threads = sys.argv[1:]
    os.environ["OMP_NUM_THREADS"] = threads  # before a library reads it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    spec = importlib.util.spec_from_file_location("engine", path)
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)

    def answer(value) -> None:
        print(json.dumps(value), file=answers, flush=True)

    start = time.perf_counter()
    state = engine.load(folder, model, precision, variant, int(threads))
    output = engine.run(state)
    answer({"ready_ms": (time.perf_counter() - start) * 1e3})
    for line in sys.stdin:
        word, argument = line.split(maxsplit=1)
        if word == "output":
            import numpy
            numpy.save(argument.strip(), engine.run(state))
            answer(True)
        elif hasattr(engine, "times"):
            answer(engine.times(state, int(argument)))
        else:
            times = []
            for _ in range(int(argument)):
                start = time.perf_counter()
                output = engine.run(state)
                times.append((time.perf_counter() - start) * 1e3)
            answer(times)
    del output


main()
