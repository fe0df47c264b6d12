"""Makes a program that saves TorchScript write the same bytes in every run and in every checkout."""

import os
import sys


def rerun(program: dict) -> None:
    """Call with globals() before the first class or function; the rest of the program runs in here.

    torch.jit saves the path of every source, which should be a place in the repository and not on this
    machine, and walks sets of strings, whose order follows Python's hash seed.
    """
    file = program["__file__"]
    if not os.path.isabs(file):
        return
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program["__file__"] = os.path.relpath(file, root)
    os.chdir(root)
    with open(program["__file__"], encoding="utf-8") as source:
        exec(compile(source.read(), program["__file__"], "exec"), program)
    sys.exit()
