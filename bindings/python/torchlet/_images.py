"""Pictures as inputs, scores as classes."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from ._core import Image, Module, Preprocess
from ._errors import InvalidArgumentError
from ._load import files

Steps = Union[Preprocess, Module, str, "os.PathLike[str]", None]
Side = Union[int, Sequence[int], None]


def steps_of(steps: Steps, resize: Side = None, crop: Side = None) -> Preprocess:
    """A Preprocess; those that a Module carries, else ImageNet's; a record as JSON or in a file, or "imagenet"."""
    if steps is None:
        chosen = Preprocess.imagenet()
    elif isinstance(steps, Preprocess):
        chosen = steps
    elif isinstance(steps, Module):
        chosen = _core.preprocess_of(steps) or Preprocess.imagenet()
    elif isinstance(steps, (str, os.PathLike)):
        text = os.fspath(steps)
        if text == "imagenet":
            chosen = Preprocess.imagenet()
        else:
            if not text.startswith("{"):
                with files():
                    text = pathlib.Path(text).read_text()
            chosen = Preprocess.parse(text)
    else:
        raise InvalidArgumentError(f"expected a Preprocess or a Module, got a '{type(steps).__name__}'")
    if resize is None and crop is None:
        return chosen
    record: Dict[str, Any] = json.loads(chosen.json())
    for name, side in (("resize", resize), ("crop", crop)):
        if side is not None:
            record[name] = side if side != 0 else None
    return Preprocess.parse(json.dumps(record))


def load_image(image: Any, steps: Steps = None, *, resize: Side = None, crop: Side = None) -> numpy.ndarray:
    """The input of a model, [1, channels, height, width], of a picture.

    `image` is a path, the bytes of a PNG or JPEG file, an Image, or uint8 pixels: an array [height, width, 3] or what
    has one (a PIL image). `steps` are a Preprocess, a model that carries one, or a record as JSON or in a file;
    otherwise those of torchvision's models for ImageNet. `resize` (of the shorter side) and `crop` (of the central
    square) are in place of those of the steps; 0 does without.
    """
    return steps_of(steps, resize, crop)(open_image(image))


def open_image(image: Any) -> Image:
    if isinstance(image, Image):
        return image
    if isinstance(image, (str, os.PathLike)):
        return Image.read(os.fsdecode(image))
    if isinstance(image, (bytes, bytearray)):
        return Image.decode(bytes(image))
    if hasattr(image, "convert") and hasattr(image, "mode"):  # PIL
        image = image.convert("RGB")
    return Image(image)


def top_classes(
    scores: Any, count: int = 5, labels: Optional[Sequence[str]] = None
) -> List[Tuple[Union[int, str], float]]:
    """The `count` largest of a classifier's scores, [classes] or [1, classes], with their probabilities (softmax):
    (class, probability), largest first; the class is a label if there are labels, else its number."""
    names: List[Any] = [] if labels is None else list(labels)
    found: List[Tuple[Union[int, str], float]] = []
    for index, probability in _core.top_classes(scores, count):
        found.append((names[index] if index < len(names) else index, probability))
    return found
