"""torchlet bundle and unbundle."""

from __future__ import annotations

import copy
import os
import pathlib
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from .. import _core
from .._core import Module
from .._errors import InvalidArgumentError
from .._images import Steps, steps_of
from .._load import files
from .files import records_of, write
from .inputs import Model, Path, loaded


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
    module = loaded(model, memory_limit, time_limit)
    if len(info) > len(calls):
        raise InvalidArgumentError("info: there are more texts than calls")
    texts = [*info, *[""] * (len(calls) - len(info))]
    pairs = []
    for call, text in zip(calls, texts):
        pairs.append((list(call) if isinstance(call, (list, tuple)) else [call], text))
    records: Dict[str, Any] = dict(records_of(extra_files))
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
    write(result, output, module, bytecode_version, records, debug)
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
    module = loaded(model)
    result = _core.unbundle(module)
    write(result, output, module, bytecode_version, extra_files, debug)
    return result
