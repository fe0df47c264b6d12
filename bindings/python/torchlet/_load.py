"""Models from files, bytes and what can be read."""

from __future__ import annotations

import contextlib
import os
import re
from typing import Any, Iterator, Optional, Sequence, Union

from . import _core
from ._core import Module
from ._errors import Error, InvalidArgumentError, IoError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@contextlib.contextmanager
def files() -> Iterator[None]:
    """What the operating system refuses, and paths that it cannot have, are IoErrors."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise IoError(str(error)) from None


def bytes_of(size: Union[int, str, None]) -> int:
    """Of 500000000 or "500M", as the command takes them."""
    if size is None:
        return 0
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)I?B?\s*", size.upper())
        if not match:
            raise InvalidArgumentError(f"'{size}' is no size such as 500M or 2G")
        binary = "IB" in size.upper()
        unit = match[2]
        return int(match[1]) * (1024 ** " KMGT".index(unit) if binary and unit else _UNITS[unit])
    if not 0 <= size < 2**63:
        raise InvalidArgumentError(f"a size is at least 0 and below 2**63, not {size}")
    return int(size)


def load(
    model: Any,
    *,
    devices: Union[str, Sequence[str]] = "cpu",
    precision: str = "fp32",
    preference: str = "sustained",
    footprint: str = "fast",
    cache_dir: Union[str, os.PathLike, None] = None,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
    allow_unsupported: bool = False,
    print: bool = True,
) -> Module:
    """Loads a model that PyTorch wrote: .pt, .ptl or a flatbuffer.

    `model` is a path, which is mapped and must not be changed in place while the model lives; or bytes, or a file that
    is open for reading bytes.

    devices: what runs it, each part on the first that takes it: "cpu", "nnapi,cpu", "reference" (the program as it was
        written) or "auto" (what `torchlet tune` kept beside the model).
    precision: "fp32"; "fp16": half the memory, less exact, computed in float16 where the processor does; or "bf16": still
        less exact, with products of bfloat16 where the processor has them.
    preference: what NNAPI's drivers aim for: "low-power", "fast" or "sustained".
    footprint: "fast", or "lean": fewer copies of weights, a little slower.
    cache_dir: a folder that keeps weights as the processor takes them, for the next process that loads the model. Nobody
        else should be able to write there.
    memory_limit: bytes that the model may hold at once, or such as "2G". MemoryLimitError.
    time_limit: seconds for loading, and for each call. TimeLimitError.
    allow_unsupported: load a model with operators that Torchlet does not have; running into one is an error.
    print: whether what the program prints goes to sys.stdout.
    """
    names = devices.split(",") if isinstance(devices, str) else list(devices)
    if not names:
        raise InvalidArgumentError("devices: name one, such as 'cpu'")
    if time_limit is not None and not time_limit > 0:
        raise InvalidArgumentError(f"a time limit is above 0, not {time_limit}")
    folder = os.fsdecode(cache_dir) if cache_dir is not None else ""
    limits = bytes_of(memory_limit), time_limit or 0.0
    options = (names, precision, preference, footprint, folder, allow_unsupported, *limits, print)
    if isinstance(model, (str, os.PathLike)):
        return _core.load_path(os.fsdecode(model), *options)
    if hasattr(model, "read"):
        model = model.read()
    try:
        data = bytes(memoryview(model))
    except TypeError:
        raise InvalidArgumentError(
            f"expected a path, bytes or a file that is open for reading bytes, got a '{type(model).__name__}'"
        ) from None
    return _core.load_bytes(data, *options)
