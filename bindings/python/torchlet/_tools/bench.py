"""torchlet bench."""

from __future__ import annotations

import resource
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy

from .. import _core
from .._core import Module
from .._errors import InvalidArgumentError
from .._load import load
from .inputs import Model, arguments_of, no_inputs


class BenchResult(NamedTuple):
    """Milliseconds; the percentiles are of the runs after the warm-up."""

    load_ms: float  # 0 for a Module
    compile_ms: float
    first_ms: float
    min_ms: float
    median_ms: float
    mean_ms: float
    p90_ms: float
    p99_ms: float
    iterations: int
    threads: int
    peak_memory_bytes: int  # of the whole process


def bench(
    model: Model,
    *,
    inputs: Optional[Sequence[Any]] = None,
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
    method: str = "forward",
    device: str = "auto",
    precision: str = "fp32",
    warmup: int = 3,
    iterations: Optional[int] = None,
    seconds: float = 2.0,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> BenchResult:
    """Times a model: load, first run, steady state, for `seconds` or `iterations`. As `torchlet bench`.

    Without inputs a method that takes one tensor gets float32 [1, 3, 224, 224]. Threads: set_num_threads().
    """
    import time

    start = time.perf_counter()
    module = (
        model
        if isinstance(model, Module)
        else load(model, devices=device, precision=precision, memory_limit=memory_limit, time_limit=time_limit, print=False)
    )
    loaded = 0.0 if module is model else time.perf_counter() - start
    call = arguments_of(module, method, inputs, image, shape, bundled)
    if call is None:
        needed = [argument.type for argument in module.method(method).arguments if not argument.has_default]
        if needed not in ([], ["Tensor"]):
            raise no_inputs(module, method)
        call = [numpy.full((1, 3, 224, 224), 0.5, numpy.float32)] if needed else []
    if iterations is not None and iterations < 1:
        raise InvalidArgumentError("iterations: at least 1")
    compiled, first, runs = _core.time_method(module.method(method), call, warmup, iterations or 0, seconds)
    runs = sorted(runs)

    def percentile(p: float) -> float:
        return float(runs[int(p * (len(runs) - 1) + 0.5)]) * 1e3

    return BenchResult(
        loaded * 1e3, compiled * 1e3, first * 1e3, runs[0] * 1e3, percentile(0.5), sum(runs) / len(runs) * 1e3,
        percentile(0.9), percentile(0.99), len(runs), _core.num_threads(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )  # fmt: skip
