"""Makes a program that saves TorchScript write the same bytes in every run and in every checkout."""

import os
import sys


def rerun(program: dict) -> None:
    """Call with globals() before the first class or function; starts the program anew, once.

    torch.jit saves the path of every source and of every caller, which should be places in the repository
    and not on this machine, and walks sets of strings, whose order follows Python's hash seed.
    """
    file = program["__file__"]
    if not os.path.isabs(file):
        return  # this is the second start
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    file = os.path.relpath(file, root)
    os.chdir(root)
    start = (f"import sys; sys.path[0] = 'scripts'; sys.argv[0] = __file__ = {file!r}; "
             f"exec(compile(open(__file__).read(), __file__, 'exec'))")
    os.execve(sys.executable, [sys.executable, "-c", start, *sys.argv[1:]],
              {**os.environ, "PYTHONHASHSEED": "0"})
