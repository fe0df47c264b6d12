"""What goes wrong becomes an exception with its message, and never a crash."""

import inspect
import io
import pathlib
import pickle

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, FIXTURES


def test_classes():
    assert issubclass(torchlet.NotFoundError, KeyError)
    assert issubclass(torchlet.InvalidArgumentError, ValueError)
    assert issubclass(torchlet.FileFormatError, ValueError)
    assert issubclass(torchlet.IoError, OSError)
    assert issubclass(torchlet.OutOfMemoryError, MemoryError)
    assert issubclass(torchlet.MemoryLimitError, torchlet.OutOfMemoryError)
    assert issubclass(torchlet.TimeLimitError, TimeoutError)
    assert issubclass(torchlet.UnsupportedError, NotImplementedError)
    assert issubclass(torchlet.ModelError, RuntimeError)


def test_not_found(digits):
    with pytest.raises(KeyError) as caught:
        digits.method("backward")
    error = caught.value
    assert isinstance(error, torchlet.NotFoundError) and error.code is torchlet.ErrorCode.NOT_FOUND
    assert str(error) == "the module __torch__.DigitsMobileNetV2 has no method 'backward'; it has: forward"
    with pytest.raises(torchlet.NotFoundError):
        digits.attribute("nothing")
    with pytest.raises(torchlet.NotFoundError):
        digits.submodule("mobilenet.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        digits.nothing


def test_what_the_model_raises(script):
    model = script(
        "def forward(self: __torch__.M, x: int) -> int:\n"
        "  if torch.gt(x, 3):\n"
        "    ops.prim.RaiseException(\"too large\", \"builtins.ValueError\")\n"
        "  else:\n"
        "    pass\n"
        "  return x"
    )
    assert model(2) == 2
    with pytest.raises(torchlet.ModelError) as caught:
        model(4)
    error = caught.value
    assert "too large" in error.message and error.python_class == "builtins.ValueError"
    assert error.places and all(place in str(error) for place in error.places)
    assert model(3) == 3


def test_places(digits):
    with pytest.raises(torchlet.ModelError) as caught:
        digits(np.ones((1, 3, 8), np.float32))
    assert any(".py" in place for place in caught.value.places)


def test_errors_cross_processes(digits):
    with pytest.raises(torchlet.Error) as caught:
        digits(np.ones(1, np.float32))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)
    assert again.places == caught.value.places and again.code is caught.value.code


def test_files(tmp_path):
    with pytest.raises(OSError) as caught:
        torchlet.load(tmp_path / "missing.pt")
    assert isinstance(caught.value, torchlet.IoError) and "missing.pt" in str(caught.value)
    with pytest.raises(torchlet.Error):
        torchlet.load(tmp_path)
    for data in (b"", b"PK", b"no model", bytes(1000)):
        with pytest.raises(torchlet.Error):
            torchlet.load(data)
        (tmp_path / "x.pt").write_bytes(data)
        with pytest.raises(torchlet.Error):
            torchlet.load(str(tmp_path / "x.pt"))
    with pytest.raises(torchlet.Error):
        torchlet.load("a\0b")


def test_sources():
    with open(DIGITS, "rb") as file:
        data = file.read()
        file.seek(0)
        models = [torchlet.load(s) for s in (file, io.BytesIO(data), data, bytearray(data), memoryview(data), str(DIGITS))]
    assert {m.info.root_class for m in models} == {"__torch__.DigitsMobileNetV2"}
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.load(io.StringIO("text"))
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.load(7)


@pytest.mark.parametrize(
    "options",
    [{"devices": "gpu"}, {"devices": []}, {"devices": ""}, {"precision": "fp8"}, {"preference": "x"}, {"footprint": "x"}, {"memory_limit": "much"},
     {"memory_limit": -1}, {"time_limit": -1}, {"time_limit": float("nan")}],
)  # fmt: skip
def test_options(options):
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.load(DIGITS, **options)


def test_unsupported():
    path = FIXTURES / "unsupported.pt"
    with pytest.raises(NotImplementedError):
        torchlet.load(path)
    model = torchlet.load(path, allow_unsupported=True)
    assert model.unsupported_operators and model.unsupported_operators[0].places


def test_limits(script, endless):
    greedy = script(
        "def forward(self: __torch__.M, n: int) -> Tensor:\n  return torch.zeros([n])", memory_limit="1M", time_limit=5
    )
    assert greedy(10).shape == (10,)
    with pytest.raises(MemoryError) as caught:
        greedy(10**7)
    assert type(caught.value) is torchlet.MemoryLimitError
    slow = script(
        "def forward(self: __torch__.M, n: int) -> int:\n"
        "  t = 0\n"
        "  for i in range(n):\n"
        "    t = torch.add(t, i)\n"
        "  return t",
        time_limit=0.2,
    )
    with pytest.raises(TimeoutError):
        slow(2**62)
    assert slow(3) == 3


def arguments_of(function):
    """Some wrong arguments for a callable of the extension: None everywhere, and too many of them."""
    try:
        count = len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        count = 4
    return [(None,) * n for n in range(0, max(count, 2) + 2)]


def test_none_everywhere(digits, seven, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    things = [torchlet, torchlet._core, digits, digits.method("forward"), torchlet.Tensor(seven), torchlet.Image(seven_pixels())]
    for thing in things:
        for name in dir(thing):
            if name.startswith("__") and name not in ("__call__", "__array__", "__dlpack__", "__deepcopy__", "__getattr__"):
                continue
            try:
                function = getattr(thing, name)
            except torchlet.Error:
                continue
            if not callable(function) or inspect.ismodule(function):
                continue
            if isinstance(function, type) and issubclass(function, (tuple, Exception)):
                continue
            for arguments in arguments_of(function):
                try:
                    function(*arguments)
                except (torchlet.Error, TypeError, ValueError, AttributeError, BufferError, KeyError, OverflowError):
                    pass
    digits.cancel(False)


def seven_pixels():
    return np.zeros((4, 5, 3), np.uint8)


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("cls", ["Tensor", "Image", "Module", "Method", "Object", "RandomTensor", "profile"])
def test_objects_that_were_not_made(cls):
    """object.__new__ leaves an object without its C++ half."""
    made = getattr(torchlet, cls)
    try:
        empty = made.__new__(made)
    except TypeError:
        return
    for name in dir(empty) if not cls == "Module" else ("methods", "graph", "forward", "info"):
        if name.startswith("__"):
            continue
        with pytest.raises((TypeError, torchlet.Error, RuntimeError)):
            value = getattr(empty, name)
            value()
    with pytest.raises((TypeError, BufferError)):
        memoryview(empty)
