"""What the command's tools do, as functions: their options are keyword arguments of the same names."""

from __future__ import annotations

import collections.abc
import copy
import os
import pathlib
import resource
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from ._core import Module, Preprocess, RandomTensor
from ._errors import Error, FileFormatError, InvalidArgumentError, IoError, NotFoundError
from ._images import Side, Steps, load_image, steps_of
from ._load import bytes_of, files, load

Path = Union[str, "os.PathLike[str]"]
Model = Union[Module, Path]
Names = Union[str, Sequence[str]]

# ---- models and inputs ----


def _loaded(model: Model, memory_limit: Union[int, str, None] = None, time_limit: Optional[float] = None) -> Module:
    if isinstance(model, Module):
        return model
    return load(model, allow_unsupported=True, print=False, memory_limit=memory_limit, time_limit=time_limit)


def _names(names: Names) -> List[str]:
    return [name for name in names.split(",") if name] if isinstance(names, str) else list(names)


def random_tensor(shape: Sequence[int], dtype: str = "float32") -> Any:
    """The tensor that the command's --shape makes: pseudo-random numbers in [0, 1), or 0 to 9 for integers."""
    return _core.random_tensor(list(shape), dtype)


def _arguments(
    module: Module,
    method: str,
    inputs: Optional[Sequence[Any]],
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
) -> Optional[List[Any]]:
    """Of one call, by whichever of the four is given; None if none is."""
    given = [value is not None for value in (inputs, image, shape, bundled)]
    if sum(given) > 1:
        raise InvalidArgumentError("inputs come by one of inputs=, image=, shape= and bundled=")
    if inputs is not None:
        return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if image is not None:
        return [load_image(image, module)]
    if shape is not None:
        return [random_tensor(shape)]
    if bundled is not None:
        calls = module.bundled_inputs(method)
        if not 0 <= bundled < len(calls):
            raise InvalidArgumentError(f"the model has {len(calls)} bundled inputs for {method}(), no number {bundled}")
        return list(calls[bundled])
    return None


_LENGTHS = (224, 64, 96, 128, 256, 32, 28, 299, 384, 512)  # of images as networks have been made for them


def _guessed(module: Module, method: str) -> Optional[List[Any]]:
    """An image of a size that the method takes, if an image is all it needs."""
    try:
        needed = [argument for argument in module.method(method).arguments if not argument.has_default]
    except NotFoundError:
        return None
    if not needed:
        return []
    if len(needed) != 1 or needed[0].type not in ("Tensor", "List[Tensor]"):
        return None
    shapes: List[Tuple[int, ...]] = [(1, 3, 224, 224)]
    for _, weight in module.named_parameters():
        if len(weight.shape) >= 2:
            shapes += [(1, weight.shape[1]) + (length,) * (len(weight.shape) - 2) for length in _LENGTHS]
            break
    shapes += [(1, 3, length, length) for length in _LENGTHS]
    for shape in dict.fromkeys(shapes):
        is_list = needed[0].type == "List[Tensor]"
        tensor = random_tensor(shape[1:] if is_list else shape)
        call = [[tensor]] if is_list else [tensor]
        try:
            copy.deepcopy(module).method(method)(*call)
            return call
        except Error:
            continue
    return None


def _needs_nothing(module: Module, method: str) -> bool:
    return all(argument.has_default for argument in module.method(method).arguments)


def _no_inputs(module: Module, method: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"give the inputs of {module.method(method).schema}: inputs=[...], image=, shape= or bundled="
    )


# ---- files ----


def _records(extra_files: Optional[Mapping[str, Union[str, bytes]]]) -> Dict[str, bytes]:
    if extra_files is not None and not isinstance(extra_files, collections.abc.Mapping):
        raise InvalidArgumentError(f"extra_files: a dict of names and contents, not a '{type(extra_files).__name__}'")
    records: Dict[str, bytes] = {}
    for name, content in (extra_files or {}).items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"extra_files: a name is a str, not a '{type(name).__name__}'")
        records[name] = content.encode() if isinstance(content, str) else bytes(memoryview(content))
    return records


def _write(
    module: Module,
    output: Optional[Path],
    source: Module,
    bytecode_version: Optional[int],
    extra_files: Optional[Mapping[str, Union[str, bytes]]],
    debug: bool,
) -> int:
    """Writes the model unless `output` is None: with the extra files of what it was made of, and these. Its size."""
    if output is None:
        return 0
    path = os.fsdecode(output)
    records: Dict[str, bytes] = {}
    if source.info.file and os.path.exists(source.info.file):
        records.update(_core.extra_files(source.info.file))
    records.update(_records(extra_files))
    container = pathlib.PurePath(path).suffix
    if bytecode_version is not None and container not in (".ptl", ".ff"):
        raise InvalidArgumentError(f"bytecode_version=: only .ptl and .ff hold bytecode, not '{path}'")
    _core.save(module, path, container, 8 if bytecode_version is None else bytecode_version, debug, records)
    with files():
        return os.path.getsize(path)


def save(
    model: Model,
    output: Path,
    *,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
) -> None:
    """Writes a model: .ptl is a Lite Interpreter file, .ff one in a flatbuffer, anything else TorchScript.

    Extra files of the file that it came from go along; `extra_files` are more of them. `debug=False` leaves out which
    lines of Python the program comes from.
    """
    module = _loaded(model)
    _write(module, output, module, bytecode_version, extra_files, debug)


def extra_files(model: Path) -> Dict[str, bytes]:
    """The files beside the model in this file."""
    return _core.extra_files(os.fsdecode(model))


class FileInfo(NamedTuple):
    file: str
    container: str
    format_version: int
    bytes: int


class NnapiPart(NamedTuple):
    what: str  # "aten::conv2d to aten::linear"
    place: str
    operators: int
    operations: int  # of NNAPI
    one_batch: str  # with any_batch: why it takes the example's alone


class NnapiStays(NamedTuple):
    what: str
    place: str
    module: str
    reason: str


class Proof(NamedTuple):
    """Both models gave the same answers on that device, but for `error` of the largest number."""

    method: str
    device: str
    calls: int
    error: float
    max_abs: float
    sqnr: float  # dB; infinite if they are equal


class NnapiResult(NamedTuple):
    module: Module
    parts: List[NnapiPart]
    stays: List[NnapiStays]
    operators: int
    operators_in_parts: int
    proofs: List[Proof]
    not_proved: str


class ConvertResult(NamedTuple):
    input: FileInfo
    output: FileInfo
    nnapi: Optional[NnapiResult]


def _file_info(path: str, module: Module) -> FileInfo:
    info = module.info
    return FileInfo(path, info.container, info.file_version, info.num_bytes)


def convert(
    model: Model,
    output: Path,
    *,
    to: Optional[str] = None,
    inputs: Optional[Sequence[Any]] = None,
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
    method: str = "forward",
    nhwc: bool = False,
    preference: str = "sustained",
    relax_fp16: bool = False,
    feature_level: int = 4,
    min_operators: int = 1,
    fixed_shapes: bool = False,
    any_batch: bool = False,
    eval: bool = False,
    tolerance: float = 0.0,
    proof: bool = True,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> ConvertResult:
    """Reads a model and writes it again, in the container that the ending asks for; with to="nnapi" with parts for
    NNAPI, made for the inputs. As `torchlet convert`."""
    module = _loaded(model, memory_limit, time_limit)
    result, nnapi = module, None
    if to is not None:
        if to != "nnapi":
            raise InvalidArgumentError(f"to= is None or 'nnapi', not '{to}'")
        call = _arguments(module, method, inputs, image, shape, bundled)
        if call is None:
            call = _guessed(module, method)
        if call is None:
            raise _no_inputs(module, method)
        made = _core.to_nnapi(
            module, call, method, nhwc, preference, relax_fp16, feature_level, min_operators, fixed_shapes, any_batch,
            eval, tolerance, proof,
        )  # fmt: skip
        result = made[0]
        nnapi = NnapiResult(
            made[0], [NnapiPart(*p) for p in made[1]], [NnapiStays(*s) for s in made[2]], made[3], made[4],
            [Proof(*p) for p in made[5]], made[6],
        )  # fmt: skip
    _write(result, output, module, bytecode_version, extra_files, debug)
    path = os.fsdecode(output)
    return ConvertResult(_file_info(module.info.file, module), _file_info(path, _loaded(path)), nnapi)


# ---- optimize ----


class PassReport(NamedTuple):
    name: str
    nodes_added: int
    nodes_removed: int
    notes: Tuple[str, ...]  # "features.0.1 folded into features.0.0"


class OptimizeResult(NamedTuple):
    module: Module
    methods: Tuple[str, ...]  # that were kept
    nodes_before: int
    nodes_after: int
    passes: List[PassReport]
    proofs: List[Proof]
    bytes_before: int
    bytes_after: int  # 0 without `output`


def optimize(
    model: Model,
    output: Optional[Path] = None,
    *,
    inputs: Optional[Sequence[Any]] = None,
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
    method: str = "forward",
    passes: Names = "default",
    skip: Names = (),
    for_mobile: bool = False,
    preserve: Names = (),
    eval: bool = False,
    tolerance: float = 1e-4,
    proof: bool = True,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> OptimizeResult:
    """Freezes, folds and fuses a model, proves that its answers stay, and writes it. As `torchlet optimize`.

    The proof is for `inputs`, the arguments of one call, else for what the model bundles, else for an image of a size
    that it takes. InvalidArgumentError if there is nothing to prove it with: proof=False does without.
    """
    module = _loaded(model, memory_limit, time_limit)
    call = _arguments(module, method, inputs, image, shape, bundled)
    if call is None and proof and not module.bundled_methods():
        call = _guessed(module, method)
        if call is None:
            raise _no_inputs(module, method)
    made = _core.optimize(
        module, [] if call is None else [(method, call)], _names(passes), _names(skip), for_mobile, _names(preserve), eval,
        tolerance, proof,
    )  # fmt: skip
    size = _write(made[0], output, module, bytecode_version, extra_files, debug)
    return OptimizeResult(
        made[0], made[1], made[2], made[3], [PassReport(*p) for p in made[4]], [Proof(*p) for p in made[5]],
        module.info.num_bytes, size,
    )  # fmt: skip


# ---- quantize ----


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
    module = _loaded(model, memory_limit, time_limit)
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
    size = _write(made[0], output, module, bytecode_version, extra_files, debug)
    return QuantizeResult(
        made[0], made[1], [LayerReport(*layer) for layer in made[2]], made[3][0], made[3][1], made[3][2], made[3][3],
        module.info.num_bytes, size,
    )  # fmt: skip


# ---- bundle ----


def bundle(
    model: Model,
    output: Optional[Path] = None,
    *,
    calls: Sequence[Sequence[Any]] = (),
    info: Sequence[str] = (),
    preprocess: Steps = None,
    labels: Optional[Union[Path, Sequence[str]]] = None,
    method: str = "forward",
    run: bool = True,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> Module:
    """Gives a model inputs that it carries, in place of those that the method had; and how pictures become its inputs,
    and the labels of its classes. As `torchlet bundle`.

    calls: for each call its arguments; RandomTensor([1, 3, 224, 224]) stands for random numbers of which the file keeps
        the seed alone. info: what is told about the first call, the second, ... run: try whether the method takes them.
    preprocess, labels: written into the file, where preprocess_of() and labels_of() find them; labels are a list, or a
        file of one a line.
    """
    module = _loaded(model, memory_limit, time_limit)
    if len(info) > len(calls):
        raise InvalidArgumentError("info: there are more texts than calls")
    texts = [*info, *[""] * (len(calls) - len(info))]
    pairs = []
    for call, text in zip(calls, texts):
        pairs.append((list(call) if isinstance(call, (list, tuple)) else [call], text))
    records: Dict[str, Any] = dict(_records(extra_files))
    if preprocess is not None:
        records["preprocess.json"] = steps_of(preprocess).json()
    if labels is not None:
        if isinstance(labels, (str, os.PathLike)):
            with files():
                records["labels.txt"] = pathlib.Path(labels).read_bytes()
        else:
            records["labels.txt"] = "".join(f"{label}\n" for label in labels)
    if len(records) > len(extra_files or {}) and output is None:
        raise InvalidArgumentError("preprocess and labels are a file's: give output=")
    result = module if records and not pairs else _core.bundle(module, method, pairs)
    for call in result.bundled_inputs(method) if run and pairs else ():
        copy.deepcopy(result).method(method)(*call)  # which may change its module
    _write(result, output, module, bytecode_version, records, debug)
    return result


def unbundle(
    model: Model,
    output: Optional[Path] = None,
    *,
    bytecode_version: Optional[int] = None,
    extra_files: Optional[Mapping[str, Union[str, bytes]]] = None,
    debug: bool = True,
) -> Module:
    """The model without bundled inputs."""
    module = _loaded(model)
    result = _core.unbundle(module)
    _write(result, output, module, bytecode_version, extra_files, debug)
    return result


# ---- compare ----


class Difference(NamedTuple):
    sqnr: float  # dB, larger is better; infinite if nothing differs
    max_abs: float
    largest: float  # the largest finite |a|


class ComparedOutput(NamedTuple):
    name: str
    a: str
    b: str
    difference: Difference
    within: bool


class ComparedNode(NamedTuple):
    operator_a: str
    operator_b: str
    module_path: str
    place_a: str
    place_b: str
    calls: str
    tensor_a: str
    tensor_b: str
    times: int
    difference: Difference
    within: bool
    inputs: List[int]  # in Comparison.nodes: what it is computed from


class UnmatchedNode(NamedTuple):
    op: str
    module_path: str
    place: str
    tensor: str


class Comparison(NamedTuple):
    within: bool  # all outputs
    outputs: List[ComparedOutput]
    nodes: List[ComparedNode]  # in the order in which a computes them
    first_divergence: Optional[ComparedNode]
    only_a: List[UnmatchedNode]
    only_b: List[UnmatchedNode]


def compare(
    a: Model,
    b: Optional[Model] = None,
    *,
    inputs: Optional[Sequence[Any]] = None,
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
    method: str = "forward",
    device_a: str = "reference",
    device_b: Optional[str] = None,
    precision_a: str = "fp32",
    precision_b: str = "fp32",
    rtol: float = 1e-3,
    atol: float = 1e-6,
    min_sqnr: Optional[float] = None,
    every_operator: bool = False,
    hold: Union[int, str] = "512MiB",
    memory_limit: Union[int, str, None] = None,
    time_limit: Optional[float] = None,
) -> Comparison:
    """What two models, or two ways to run one file, compute from the same inputs. As `torchlet compare`.

    `a` is right. Devices and precisions are for files: a Module runs as it was loaded. Without inputs the first
    bundled ones of `a` are taken.
    """
    if b is None and isinstance(a, Module):
        raise InvalidArgumentError("compare() of one model needs its file: a Module runs as it was loaded")
    limits: Dict[str, Any] = {"memory_limit": memory_limit, "time_limit": time_limit, "print": False}
    device_b = device_b or ("cpu" if b is None else "reference")
    module_a = a if isinstance(a, Module) else load(a, devices=device_a, precision=precision_a, **limits)
    other = a if b is None else b
    module_b = other if isinstance(other, Module) else load(other, devices=device_b, precision=precision_b, **limits)
    call = _arguments(module_a, method, inputs, image, shape, bundled)
    if call is None and not _needs_nothing(module_a, method):
        try:
            call = list(module_a.bundled_inputs(method)[0])
        except NotFoundError:
            raise _no_inputs(module_a, method) from None
    within, outputs, nodes, first, only_a, only_b = _core.compare(
        module_a, module_b, call or [], method, rtol, atol, min_sqnr, every_operator, bytes_of(hold)
    )
    compared = [ComparedNode(*n)._replace(difference=Difference(*n[9]), inputs=list(n[11])) for n in nodes]
    return Comparison(
        within,
        [ComparedOutput(o[0], o[1], o[2], Difference(*o[3]), o[4]) for o in outputs],
        compared,
        None if first is None else compared[first],
        [UnmatchedNode(*n) for n in only_a],
        [UnmatchedNode(*n) for n in only_b],
    )


# ---- bench ----


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
    call = _arguments(module, method, inputs, image, shape, bundled)
    if call is None:
        needed = [argument.type for argument in module.method(method).arguments if not argument.has_default]
        if needed not in ([], ["Tensor"]):
            raise _no_inputs(module, method)
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


# ---- ops ----


class OperatorNeed(NamedTuple):
    name: str
    schema: Optional[str]  # None if Torchlet does not have it
    reason: str  # why not
    calls: Dict[str, int]  # by model: how often it stands in its code

    @property
    def supported(self) -> bool:
        return self.schema is not None


def ops(*models: Model) -> List[OperatorNeed]:
    """The operators that the models need, or without a model all that there are. As `torchlet ops`."""
    here = dict(_core.operators())
    if not models:
        return [OperatorNeed(name, schema, "", {}) for name, schema in sorted(here.items())]
    calls: Dict[str, Dict[str, int]] = {}
    reasons: Dict[str, str] = {}
    for model in models:
        module = _loaded(model)
        file = module.info.file
        for name, count in module.operators.items():
            calls.setdefault(name, {})[file] = count
        for missing in module.unsupported_operators:
            calls.setdefault(missing.name, {})[file] = len(missing.places)
            reasons[missing.name] = missing.reason
    return [OperatorNeed(name, here.get(name), reasons.get(name, ""), calls[name]) for name in sorted(calls)]
