"""Writing models, and the files beside them."""

from __future__ import annotations

import collections.abc
import os
import pathlib
from typing import Dict, Mapping, NamedTuple, Optional, Union

from .. import _core
from .._core import Module
from .._errors import InvalidArgumentError
from .._load import files
from .inputs import Model, Path, loaded


def records_of(extra_files: Optional[Mapping[str, Union[str, bytes]]]) -> Dict[str, bytes]:
    if extra_files is not None and not isinstance(extra_files, collections.abc.Mapping):
        raise InvalidArgumentError(f"extra_files: a dict of names and contents, not a '{type(extra_files).__name__}'")
    records: Dict[str, bytes] = {}
    for name, content in (extra_files or {}).items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"extra_files: a name is a str, not a '{type(name).__name__}'")
        records[name] = content.encode() if isinstance(content, str) else bytes(memoryview(content))
    return records


def write(
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
    records.update(records_of(extra_files))
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
    module = loaded(model)
    write(module, output, module, bytecode_version, extra_files, debug)


def extra_files(model: Path) -> Dict[str, bytes]:
    """The files beside the model in this file."""
    return _core.extra_files(os.fsdecode(model))


class FileInfo(NamedTuple):
    file: str
    container: str
    format_version: int
    bytes: int


def file_info(path: str, module: Module) -> FileInfo:
    info = module.info
    return FileInfo(path, info.container, info.file_version, info.num_bytes)
