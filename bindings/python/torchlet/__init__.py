"""Torchlet runs PyTorch models without PyTorch.

    import torchlet
    model = torchlet.load("mobilenet.pt")
    scores = model(torchlet.load_image("cat.jpg"))
    print(torchlet.top_classes(scores, 3, torchlet.read_labels("imagenet.txt")))
"""

from __future__ import annotations


from . import _core
from ._core import (
    Image,
    Method,
    Module,
    Object,
    Preprocess,
    RandomTensor,
    Tensor,
    labels_of,
    num_threads,
    preprocess_of,
    profile,
    read_labels,
    set_num_threads,
)
from ._errors import (
    CancelledError,
    Error,
    ErrorCode,
    FileFormatError,
    InternalError,
    InvalidArgumentError,
    IoError,
    MemoryLimitError,
    ModelError,
    NotFoundError,
    OutOfMemoryError,
    TimeLimitError,
    UnsupportedError,
)
from ._images import load_image, top_classes
from ._load import load
from ._tools.bench import BenchResult, bench
from ._tools.bundle import bundle, unbundle
from ._tools.compare import Comparison, compare
from ._tools.convert import ConvertResult, convert
from ._tools.files import extra_files, save
from ._tools.inputs import random_tensor
from ._tools.ops import OperatorNeed, ops
from ._tools.optimize import OptimizeResult, optimize
from ._tools.quantize import QuantizeResult, quantize
from ._values import Argument, ModelInfo, Placement, ProfileLine, UnsupportedOperator

__version__ = _core.version()

__all__ = [
    "Argument",
    "BenchResult",
    "CancelledError",
    "Comparison",
    "ConvertResult",
    "Error",
    "ErrorCode",
    "FileFormatError",
    "Image",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "MemoryLimitError",
    "Method",
    "ModelError",
    "ModelInfo",
    "Module",
    "NotFoundError",
    "Object",
    "OperatorNeed",
    "OptimizeResult",
    "OutOfMemoryError",
    "Placement",
    "Preprocess",
    "ProfileLine",
    "QuantizeResult",
    "RandomTensor",
    "Tensor",
    "TimeLimitError",
    "UnsupportedError",
    "UnsupportedOperator",
    "bench",
    "bundle",
    "compare",
    "convert",
    "extra_files",
    "labels_of",
    "load",
    "load_image",
    "num_threads",
    "ops",
    "optimize",
    "preprocess_of",
    "profile",
    "quantize",
    "random_tensor",
    "read_labels",
    "save",
    "set_num_threads",
    "top_classes",
    "unbundle",
]
