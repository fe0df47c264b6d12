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

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> Tuple[Any, ...]:  # Attributes come along: an error may cross processes.
        return type(self), self.args, self.__dict__


class InvalidArgumentError(Error, ValueError):
    """The caller passed something that cannot be right."""


class FileFormatError(Error, ValueError):
    """A file is damaged, hostile or of another kind."""


class IoError(Error, OSError):
    """The operating system refused a file."""


class NotFoundError(Error, KeyError):
    """No such method, attribute, ..."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but Torchlet does not do it."""


class ModelError(Error, RuntimeError):
    """The model itself failed while running."""


class OutOfMemoryError(Error, MemoryError):
    """More than the machine has."""


class MemoryLimitError(OutOfMemoryError):
    """More than load(memory_limit=) allows."""


class TimeLimitError(Error, TimeoutError):
    """Longer than load(time_limit=) allows."""


class CancelledError(Error):
    """Module.cancel() ended the call."""


class InternalError(Error):
    """A bug in Torchlet."""


_CLASSES: Dict[ErrorCode, Type[Error]] = {
    ErrorCode.INVALID_ARGUMENT: InvalidArgumentError,
    ErrorCode.FILE_FORMAT: FileFormatError,
    ErrorCode.IO: IoError,
    ErrorCode.NOT_FOUND: NotFoundError,
    ErrorCode.UNSUPPORTED: UnsupportedError,
    ErrorCode.RUNTIME: ModelError,
    ErrorCode.OUT_OF_MEMORY: OutOfMemoryError,
    ErrorCode.MEMORY_LIMIT: MemoryLimitError,
    ErrorCode.TIME_LIMIT: TimeLimitError,
    ErrorCode.CANCELLED: CancelledError,
    ErrorCode.INTERNAL: InternalError,
}


def make(code: int, text: str, message: str, places: Tuple[str, ...], python_class: str) -> Error:
    """For the extension, which numbers codes from 0."""
    error_code = ErrorCode(code + 1)
    error = _CLASSES[error_code](text)
    error.code, error.message, error.places, error.python_class = error_code, message, places, python_class
    return error
