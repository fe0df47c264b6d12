"""torchlet compare."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from .. import _core
from .._core import Module
from .._errors import InvalidArgumentError, NotFoundError
from .._load import bytes_of, load
from .inputs import Model, arguments_of, needs_nothing, no_inputs


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
    call = arguments_of(module_a, method, inputs, image, shape, bundled)
    if call is None and not needs_nothing(module_a, method):
        try:
            call = list(module_a.bundled_inputs(method)[0])
        except NotFoundError:
            raise no_inputs(module_a, method) from None
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
