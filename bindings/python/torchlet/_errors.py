"""Exceptions: torchlet::Error by its code, each also what Python programs catch for such a thing."""

from __future__ import annotations

import enum
from typing import Any, Dict, Tuple, Type


class ErrorCode(enum.IntEnum):
    """As torchlet_status of the C interface."""

    INVALID_ARGUMENT = 1
    FILE_FORMAT = 2
    IO = 3
    NOT_FOUND = 4
    UNSUPPORTED = 5
    RUNTIME = 6
    OUT_OF_MEMORY = 7
    MEMORY_LIMIT = 8
    TIME_LIMIT = 9
    CANCELLED = 10
    INTERNAL = 11


class Error(Exception):
    """Everything that Torchlet raises. str() is the message, and below it a line for each place."""

    code: ErrorCode = ErrorCode.INTERNAL
    #: What went wrong, without the places.
    message: str = ""
    #: Where in the program, innermost first: "model.py:57, in features.3.conv".
    places: Tuple[str, ...] = ()
    #: The class of an exception that the model raised ("builtins.ValueError"), else "".
    python_class: str = ""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.message = text

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> Tuple[Any, ...]:  # Attributes come along: an error may cross processes.
        return type(self), self.args, self.__dict__


class InvalidArgumentError(Error, ValueError):
    """The caller passed something that cannot be right."""

    code = ErrorCode.INVALID_ARGUMENT


class FileFormatError(Error, ValueError):
    """A file is damaged, hostile or of another kind."""

    code = ErrorCode.FILE_FORMAT


class IoError(Error, OSError):
    """The operating system refused a file."""

    code = ErrorCode.IO


class NotFoundError(Error, KeyError):
    """No such method, attribute, ..."""

    code = ErrorCode.NOT_FOUND


class UnsupportedError(Error, NotImplementedError):
    """Valid, but Torchlet does not do it."""

    code = ErrorCode.UNSUPPORTED


class ModelError(Error, RuntimeError):
    """The model itself failed while running."""

    code = ErrorCode.RUNTIME


class OutOfMemoryError(Error, MemoryError):
    """More than the machine has."""

    code = ErrorCode.OUT_OF_MEMORY


class MemoryLimitError(OutOfMemoryError):
    """More than load(memory_limit=) allows."""

    code = ErrorCode.MEMORY_LIMIT


class TimeLimitError(Error, TimeoutError):
    """Longer than load(time_limit=) allows."""

    code = ErrorCode.TIME_LIMIT


class CancelledError(Error):
    """Module.cancel() ended the call."""

    code = ErrorCode.CANCELLED


class InternalError(Error):
    """A bug in Torchlet."""

    code = ErrorCode.INTERNAL


_CLASSES: Dict[ErrorCode, Type[Error]] = {
    cls.code: cls
    for cls in (
        InvalidArgumentError, FileFormatError, IoError, NotFoundError, UnsupportedError, ModelError, OutOfMemoryError,
        MemoryLimitError, TimeLimitError, CancelledError, InternalError,
    )
}  # fmt: skip


def make(code: int, text: str, message: str, places: Tuple[str, ...], python_class: str) -> Error:
    """For the extension, which numbers codes from 0."""
    error = _CLASSES[ErrorCode(code + 1)](text)
    error.message, error.places, error.python_class = message, places, python_class
    return error
