"""torchlet optimize."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .. import _core
from .._core import Module
from .files import write
from .inputs import Model, Names, Path, arguments_of, guessed, loaded, names_of, no_inputs


class Proof(NamedTuple):
    """Both models gave the same answers on that device, but for `error` of the largest number."""

    method: str
    device: str
    calls: int
    error: float
    max_abs: float
    sqnr: float  # dB; infinite if they are equal


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
    module = loaded(model, memory_limit, time_limit)
    call = arguments_of(module, method, inputs, image, shape, bundled)
    if call is None and proof and not module.bundled_methods():
        call = guessed(module, method)
        if call is None:
            raise no_inputs(module, method)
    made = _core.optimize(
        module, [] if call is None else [(method, call)], names_of(passes), names_of(skip), for_mobile,
        names_of(preserve), eval, tolerance, proof,
    )  # fmt: skip
    size = write(made[0], output, module, bytecode_version, extra_files, debug)
    return OptimizeResult(
        made[0], made[1], made[2], made[3], [PassReport(*p) for p in made[4]], [Proof(*p) for p in made[5]],
        module.info.num_bytes, size,
    )  # fmt: skip
