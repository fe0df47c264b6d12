"""Small classes of results."""

from __future__ import annotations

import collections
import functools
from typing import Any, Iterable, List, NamedTuple, Tuple


class Argument(NamedTuple):
    """A parameter of a method as its signature declares it."""

    name: str
    type: str
    has_default: bool
    default: Any


class ModelInfo(NamedTuple):
    file: str
    container: str  # "TorchScript", "Lite Interpreter", "Lite Interpreter flatbuffer"
    file_version: int
    root_class: str
    num_bytes: int


class UnsupportedOperator(NamedTuple):
    name: str
    reason: str
    places: Tuple[str, ...]


class Placement(NamedTuple):
    """One decision: a device took a part of the program, or did not."""

    is_segment: bool
    what: str  # "aten::conv2d"; of a segment the first operator and the last
    place: str
    device: str
    reason: str  # why it does not run it; empty if it does
    operators: int
    times: int  # this was decided
    seconds: float  # that compiling took


class ProfileLine(NamedTuple):
    """An operator of the program, or the step that stands for it."""

    kernel: str
    device: str
    place: str
    shape: str
    flops: float
    seconds: List[float]  # of each call, sorted


@functools.lru_cache(maxsize=256)
def _named_tuple_class(type_name: str, fields: Tuple[str, ...]) -> Any:
    name = type_name.rsplit(".", 1)[-1]
    cls = collections.namedtuple(name if name.isidentifier() else "NamedTuple", fields, rename=True)  # type: ignore[misc]
    cls.__qualname__, cls.__module__ = cls.__name__, "torchlet"
    return cls


def named_tuple(type_name: str, fields: Tuple[str, ...], items: Iterable[Any]) -> Any:
    """A model may call classes and fields as it likes: what Python refuses is renamed."""
    return _named_tuple_class(type_name, fields)(*items)
