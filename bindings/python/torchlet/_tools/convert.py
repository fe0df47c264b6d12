"""torchlet convert."""

from __future__ import annotations

import os
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Union

from .. import _core
from .._core import Module
from .._errors import InvalidArgumentError
from .files import FileInfo, file_info, write
from .inputs import Model, Path, arguments_of, guessed, loaded, no_inputs
from .optimize import Proof


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
    module = loaded(model, memory_limit, time_limit)
    result, nnapi = module, None
    if to is not None:
        if to != "nnapi":
            raise InvalidArgumentError(f"to= is None or 'nnapi', not '{to}'")
        call = arguments_of(module, method, inputs, image, shape, bundled)
        if call is None:
            call = guessed(module, method)
        if call is None:
            raise no_inputs(module, method)
        made = _core.to_nnapi(
            module, call, method, nhwc, preference, relax_fp16, feature_level, min_operators, fixed_shapes, any_batch,
            eval, tolerance, proof,
        )  # fmt: skip
        result = made[0]
        nnapi = NnapiResult(
            made[0], [NnapiPart(*p) for p in made[1]], [NnapiStays(*s) for s in made[2]], made[3], made[4],
            [Proof(*p) for p in made[5]], made[6],
        )  # fmt: skip
    write(result, output, module, bytecode_version, extra_files, debug)
    path = os.fsdecode(output)
    return ConvertResult(file_info(module.info.file, module), file_info(path, loaded(path)), nnapi)
