"""Models and the inputs of a call, as all of these functions take them."""

from __future__ import annotations

import copy
import os
from typing import Any, List, Optional, Sequence, Tuple, Union

from .. import _core
from .._core import Module
from .._errors import Error, InvalidArgumentError, NotFoundError
from .._images import load_image
from .._load import load

Path = Union[str, "os.PathLike[str]"]
Model = Union[Module, Path]
Names = Union[str, Sequence[str]]


def loaded(model: Model, memory_limit: Union[int, str, None] = None, time_limit: Optional[float] = None) -> Module:
    if isinstance(model, Module):
        return model
    return load(model, allow_unsupported=True, print=False, memory_limit=memory_limit, time_limit=time_limit)


def names_of(names: Names) -> List[str]:
    return [name for name in names.split(",") if name] if isinstance(names, str) else list(names)


def random_tensor(shape: Sequence[int], dtype: str = "float32") -> Any:
    """The tensor that the command's --shape makes: pseudo-random numbers in [0, 1), or 0 to 9 for integers."""
    return _core.random_tensor(list(shape), dtype)


def arguments_of(
    module: Module,
    method: str,
    inputs: Optional[Sequence[Any]],
    image: Any = None,
    shape: Optional[Sequence[int]] = None,
    bundled: Optional[int] = None,
) -> Optional[List[Any]]:
    """Of one call, by whichever of the four is given; None if none is."""
    given = [value is not None for value in (inputs, image, shape, bundled)]
    if sum(given) > 1:
        raise InvalidArgumentError("inputs come by one of inputs=, image=, shape= and bundled=")
    if inputs is not None:
        return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if image is not None:
        return [load_image(image, module)]
    if shape is not None:
        return [random_tensor(shape)]
    if bundled is not None:
        calls = module.bundled_inputs(method)
        if not 0 <= bundled < len(calls):
            raise InvalidArgumentError(f"the model has {len(calls)} bundled inputs for {method}(), no number {bundled}")
        return list(calls[bundled])
    return None


_LENGTHS = (224, 64, 96, 128, 256, 32, 28, 299, 384, 512)  # of images as networks have been made for them


def guessed(module: Module, method: str) -> Optional[List[Any]]:
    """An image of a size that the method takes, if an image is all it needs."""
    try:
        needed = [argument for argument in module.method(method).arguments if not argument.has_default]
    except NotFoundError:
        return None
    if not needed:
        return []
    if len(needed) != 1 or needed[0].type not in ("Tensor", "List[Tensor]"):
        return None
    shapes: List[Tuple[int, ...]] = [(1, 3, 224, 224)]
    for _, weight in module.named_parameters():
        if len(weight.shape) >= 2:
            shapes += [(1, weight.shape[1]) + (length,) * (len(weight.shape) - 2) for length in _LENGTHS]
            break
    shapes += [(1, 3, length, length) for length in _LENGTHS]
    for shape in dict.fromkeys(shapes):
        is_list = needed[0].type == "List[Tensor]"
        tensor = random_tensor(shape[1:] if is_list else shape)
        call = [[tensor]] if is_list else [tensor]
        try:
            copy.deepcopy(module).method(method)(*call)
            return call
        except Error:
            continue
    return None


def needs_nothing(module: Module, method: str) -> bool:
    return all(argument.has_default for argument in module.method(method).arguments)


def no_inputs(module: Module, method: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"give the inputs of {module.method(method).schema}: inputs=[...], image=, shape= or bundled="
    )
