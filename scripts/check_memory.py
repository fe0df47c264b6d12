#!/usr/bin/python3
"""Holds the memory that models take to the figures in docs/performance.md ("Memory"), 15 % allowed.

    scripts/check_memory.py [BUILD]      BUILD: build/release

Networks of torchvision with random weights, .int8 quantized as phones have them, one thread: what `torchlet bench` holds at most; and what 24 small shapes from 8 threads at once take in one
process. Needs Debian's python3-torch and python3-torchvision; ends with 77 where they are not installed.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MARGIN = 1.15
# Model, how it runs, MB at most.
FIGURES = [("mobilenet_v2", [], 34), ("mobilenet_v2.int8", [], 25), ("resnet50", [], 211), ("resnet50", ["--memory", "lean"], 145),
           ("resnet50.int8", [], 54), ("vit_b_16", [], 388)]
SHAPES_MODEL, SHAPES_FIGURE = "mobilenet_v2", 90
THREADS, ROUNDS = 8, 3
FLOAT32, CONTIGUOUS = 6, 0  # of c_api.h


def make(name: str, path: str) -> None:
    import torch
    import torchvision
    torch.manual_seed(0)
    pictures = torch.rand(2, 3, 224, 224)
    with torch.no_grad():
        if name.endswith(".int8"):
            sys.path.append(f"{ROOT}/bench")
            import make_models
            model = make_models.quantized(name.removesuffix(".int8"), pictures)
        else:
            model = getattr(torchvision.models, name)(weights=None).eval()
        torch.jit.trace(model, pictures[:1]).save(path)


def peak_of_bench(build: str, path: str, options: list) -> float:
    done = subprocess.run([f"{build}/torchlet", "bench", path, "--shape", "1,3,224,224", "--threads", "1", "--iterations", "3", "--json", *options],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["peak_memory_bytes"] * 1e-6


def resident_peak() -> float:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024e-6


def run_shapes(build: str, path: str) -> None:
    """In a process of its own: prints how much the peak has grown since before the library was there."""
    before = resident_peak()
    library = ctypes.CDLL(f"{build}/libtorchlet.so")
    library.torchlet_last_error.restype = ctypes.c_char_p

    def call(function: str, *arguments) -> ctypes.c_void_p:
        result = ctypes.c_void_p()
        if getattr(library, function)(*arguments, ctypes.byref(result)):
            raise RuntimeError(library.torchlet_last_error().decode())
        return result

    library.torchlet_set_num_threads(1)
    module = call("torchlet_module_load", path.encode(), None)
    shapes = [(64 + 8 * i, 64 + 8 * j) for i in range(6) for j in range(4)]

    def work(first: int) -> None:
        for i in range(ROUNDS * len(shapes)):
            height, width = shapes[(first + i) % len(shapes)]
            tensor = call("torchlet_tensor_new", FLOAT32, (ctypes.c_int64 * 4)(1, 3, height, width), ctypes.c_size_t(4), CONTIGUOUS)
            value = call("torchlet_value_from_tensor", tensor)
            library.torchlet_value_free(call("torchlet_module_forward", module, (ctypes.c_void_p * 1)(value), ctypes.c_size_t(1)))
            library.torchlet_value_free(value)
            library.torchlet_tensor_free(tensor)

    for function in "torchlet_value_free", "torchlet_tensor_free":
        getattr(library, function).argtypes = [ctypes.c_void_p]
    threads = [threading.Thread(target=work, args=(3 * t,)) for t in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(resident_peak() - before)


def main() -> int:
    if sys.argv[1:2] == ["--shapes"]:
        run_shapes(*sys.argv[2:])
        return 0
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{ROOT}/build/release")
    try:
        import torchvision  # noqa: F401
    except ImportError:
        print("check_memory.py needs python3-torchvision", file=sys.stderr)
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        def judge(name: str, peak: float, figure: float) -> None:
            nonlocal passed, failed
            good = peak <= MARGIN * figure
            passed, failed = passed + good, failed + (not good)
            print(f"{name:40} {peak:7.1f} MB   {figure} told, {MARGIN * figure:.0f} allowed{'' if good else '   TOO MUCH'}")

        for name in sorted({name for name, _, _ in FIGURES}):
            make(name, f"{folder}/{name}.pt")
        for name, options, figure in FIGURES:
            judge(" ".join([name, *options]), peak_of_bench(build, f"{folder}/{name}.pt", options), figure)
        done = subprocess.run([sys.executable, __file__, "--shapes", build, f"{folder}/{SHAPES_MODEL}.pt"], check=True, capture_output=True, text=True)
        judge(f"{SHAPES_MODEL}, 24 shapes, {THREADS} threads", float(done.stdout), SHAPES_FIGURE)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
