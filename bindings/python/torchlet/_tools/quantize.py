"""torchlet quantize."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from .. import _core
from .._core import Module, Preprocess
from .._errors import FileFormatError, InvalidArgumentError, IoError
from .._images import Side, Steps, load_image, steps_of
from .._load import files
from .files import write
from .inputs import Model, Path, loaded


class LayerReport(NamedTuple):
    """What became of one layer: a node of the program that can be quantized."""

    path: str
    op: str
    quantized: bool
    reason: str  # why not
    low: float  # of its output, in calibration
    high: float
    scale: float
    zero_point: int
    sqnr_db: float  # of its output, with all layers before it quantized
    alone_sqnr_db: float  # of the model's outputs with this layer alone quantized, if that was measured
    weight_bytes: int
    quantized_weight_bytes: int
    float_ms: float  # median; 0 if it was not measured
    quantized_ms: float
    gains_no_time: bool


class QuantizeResult(NamedTuple):
    module: Module
    inputs: List[Tuple[float, int]]  # scale and zero point of the arguments, where they are quantized outside
    layers: List[LayerReport]
    sqnr_db: float  # of the outputs, over the test inputs, else those of the calibration; 200 if they are equal
    agreement: Optional[float]  # the part of rows of scores whose largest is the same; None if there are no scores
    top1_before: Optional[float]  # with labels: how often each model is right
    top1: Optional[float]
    bytes_before: int
    bytes_after: int  # 0 without `output`


_PICTURES = (".png", ".jpg", ".jpeg")


def _array_of(path: pathlib.Path) -> Any:
    try:
        return numpy.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FileFormatError(f"'{path}' is no array: {error}") from None


def _calls_of_path(path: pathlib.Path, steps: Preprocess) -> List[Any]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in (*_PICTURES, ".npy") and p.is_file())
        if not files:
            raise InvalidArgumentError(f"there is no .npy, PNG or JPEG file in '{path}'")
    elif path.exists():
        files = [path]
    else:
        raise IoError(f"there is no file '{path}'")
    arrays: List[Any] = []
    for file in files:
        if file.suffix.lower() == ".npy":
            arrays.append(_array_of(file))
        elif file.suffix.lower() in _PICTURES:
            arrays.append(load_image(file, steps))
        else:
            raise InvalidArgumentError(f"'{file}' is no .npy, PNG or JPEG file")
    return arrays


def _calls(module: Module, method: str, sources: Any, steps: Preprocess) -> List[List[Any]]:
    """Arguments of calls: of paths, of "bundled", and of what is no path: tuples and lists of arguments, or one."""
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    arguments = module.method(method).arguments
    takes_list = bool(arguments) and arguments[0].type == "List[Tensor]"
    calls: List[List[Any]] = []
    for source in sources:
        if isinstance(source, str) and source == "bundled":
            calls += [list(call) for call in module.bundled_inputs(method)]
        elif isinstance(source, (str, os.PathLike)):
            with files():
                arrays = _calls_of_path(pathlib.Path(source), steps)
            calls += [[[array]] if takes_list else [array] for array in arrays]
        else:
            calls.append(list(source) if isinstance(source, (list, tuple)) else [source])
    return calls


def _rows_of_labels(labels: Optional[Iterable[Any]], count: int) -> List[List[int]]:
    rows = [[int(label) for label in numpy.atleast_1d(numpy.asarray(row))] for row in (() if labels is None else labels)]
    if rows and len(rows) != count:
        raise InvalidArgumentError(f"there are labels for {len(rows)} calls, and {count} calls")
    return rows


def _target(max_drop: Optional[str]) -> Tuple[Optional[float], Optional[float]]:
    """The least agreement and the least SQNR of "1%" or "20dB"."""
    if max_drop is None:
        return None, None
    if not isinstance(max_drop, str):
        raise InvalidArgumentError(f"max_drop: such as '1%' or '20dB', not {max_drop!r}")
    try:
        if max_drop.endswith("%"):
            return 1 - float(max_drop[:-1]) / 100, None
        if max_drop.endswith("dB"):
            return None, float(max_drop[:-2])
    except ValueError:
        pass
    raise InvalidArgumentError(f"max_drop: '{max_drop}' is neither such as 1% nor 20dB")


def quantize(
    model: Model,
    output: Optional[Path] = None,
    *,
    calibration: Any = (),
    test: Any = (),
    labels: Optional[Iterable[Any]] = None,
    preprocess: Steps = None,
    resize: Side = None,
    crop: Side = None,
    method: str = "forward",
    mode: str = "core",
    range: str = "l2",
    weights: str = "int8",
    per_tensor: bool = False,
    reduce_range: bool = False,
    equalize: bool = False,
    bias_correction: bool = True,
    skip: Sequence[str] = (),
    only: Sequence[str] = (),
    max_drop: Optional[str] = None,
    preserve: Sequence[str] = (),
    layer_times: bool = False,
    eval: bool = False,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> QuantizeResult:
    """Makes a float model one of 8-bit integers, and writes it. As `torchlet quantize`.

    calibration, test: typical inputs, each the array or the tuple of arguments of a call; or paths of .npy files,
        pictures and folders of them, or "bundled".
    preprocess, resize, crop: how pictures become inputs, as load_image() takes them; by default what the model carries.
    labels: for each call of `test`, else of `calibration`, the class or the classes of its rows of scores.
    mode: "core", "full", "inside" or "dynamic". range: "min-max", "moving-average", "histogram", "l2", "percentile" or
        "entropy". weights: "int8" or "fp16".
    max_drop: "1%" or "20dB": the worst layers stay float until no more is lost.
    """
    module = loaded(model, memory_limit, time_limit)
    steps = steps_of(module if preprocess is None else preprocess, resize, crop)
    calls = _calls(module, method, calibration, steps)
    tests = _calls(module, method, test, steps)
    rows = _rows_of_labels(labels, len(tests or calls))
    agreement, sqnr = _target(max_drop)
    drop = None
    if rows and not tests and agreement is not None:
        drop, agreement = 1 - agreement, None
    options = {
        "method": method,
        "mode": mode,
        "range": range,
        "weights": weights,
        "per_channel": not per_tensor,
        "reduce_range": reduce_range,
        "bias_correction": bias_correction,
        "equalize": equalize,
        "skip": list(skip),
        "only": list(only),
        "least_agreement": agreement,
        "least_sqnr_db": sqnr,
        "most_top1_drop": drop,
        "labels": [] if tests else rows,
        "measure_times": layer_times,
        "preserve": list(preserve),
    }
    made = _core.quantize(module, calls, tests, rows, eval, options)
    size = write(made[0], output, module, bytecode_version, extra_files, debug)
    return QuantizeResult(
        made[0], made[1], [LayerReport(*layer) for layer in made[2]], made[3][0], made[3][1], made[3][2], made[3][3],
        module.info.num_bytes, size,
    )  # fmt: skip
