"""What the command and PyTorch answer, Python answers."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, FIXTURES, LABELS, ROOT, SEVEN

COMMAND = os.environ.get("TORCHLET_COMMAND") or str(ROOT / "build" / "release" / "torchlet")

FIVE_LINES = """\
import torchlet
model = torchlet.load("models/digits_mobilenet_v2.pt")
scores = model(torchlet.load_image("models/samples/digit_7.png"))
for name, probability in torchlet.top_classes(scores, 3, torchlet.read_labels("models/digits_labels.txt")):
    print(f"{probability:8.2%}  {name}")
"""


def test_five_lines():
    done = subprocess.run([sys.executable, "-c", FIVE_LINES], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split("\n")[0] == " 100.00%  seven", done.stderr


def test_five_lines_are_in_the_documents():
    assert FIVE_LINES in (ROOT / "docs" / "python.md").read_text()


def fixtures():
    """Those whose inputs are arrays, but for what needs an NNAPI."""
    return sorted(p.stem for p in FIXTURES.glob("*.pt") if (FIXTURES / f"{p.stem}.in0.npy").exists() and p.stem[:5] not in ("unsup", "nnapi"))


def tensors(value):
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in tensors(item)]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors(item)]
    return [value] if isinstance(value, (np.ndarray, torchlet.Tensor)) else []


@pytest.mark.parametrize("name", fixtures())
@pytest.mark.parametrize("devices", ["cpu", "reference"])
def test_fixtures(name, devices):
    """What PyTorch gave, within the rounding of another order of sums."""
    model = torchlet.load(FIXTURES / f"{name}.pt", devices=devices)
    inputs = [np.load(p) for p in sorted(FIXTURES.glob(f"{name}.in*.npy"))]
    outputs = [np.load(FIXTURES / f"{name}.out{i}.npy") for i in range(len(list(FIXTURES.glob(f"{name}.out*.npy"))))]
    got = tensors(model(*inputs))
    assert len(got) >= len(outputs)
    for y, expected in zip(got, outputs):
        y = y.numpy() if isinstance(y, torchlet.Tensor) else y
        if expected.dtype == np.uint16:  # bfloat16
            expected = (expected.astype(np.uint32) << 16).view(np.float32)
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not os.path.exists(COMMAND), reason=f"there is no {COMMAND}")
@pytest.mark.parametrize("name", [*fixtures(), "digits"])
def test_the_command_gives_the_same_bits(name, tmp_path):
    path = DIGITS if name == "digits" else FIXTURES / f"{name}.pt"
    files = [SEVEN] if name == "digits" else sorted(FIXTURES.glob(f"{name}.in*.npy"))
    arguments = ["--image", str(SEVEN)] if name == "digits" else [str(f) for f in files]
    subprocess.run([COMMAND, "run", str(path), *arguments, "--save", str(tmp_path)], check=True, capture_output=True)
    inputs = [torchlet.load_image(SEVEN)] if name == "digits" else [np.load(f) for f in files]
    compare_saved(torchlet.load(path)(*inputs), tmp_path)


def compare_saved(value, folder: pathlib.Path) -> int:
    """With what `torchlet run --save` wrote; the number of tensors."""
    saved = json.loads((folder / "output.json").read_text())
    data = open(folder / "data.npy", "rb")

    def compare(v, node):
        kind = node["t"]
        if kind in ("list", "tuple"):
            assert len(v) == len(node["v"])
            return sum(compare(item, n) for item, n in zip(v, node["v"]))
        if kind == "dict":
            return sum(compare(item, n[1]) for item, n in zip(v.values(), node["items"]))
        if kind in ("tensor", "qtensor"):
            data.seek(node["offset"])
            expected = np.load(data)
            if node["dtype"] == "bfloat16":
                expected = (expected.astype(np.uint32) << 16).view(np.float32)
            y = v.numpy() if isinstance(v, torchlet.Tensor) else v
            assert (v.dtype if isinstance(v, torchlet.Tensor) else v.dtype.name) == node["dtype"]
            assert y.shape == expected.shape and y.tobytes() == expected.tobytes()
            return 1
        if kind == "none":
            assert v is None
        elif kind in ("int", "bool", "str", "float"):
            assert str(v) == str(node["v"]) or v == node["v"]
        return 0

    return compare(value, saved)


def test_looking_inside(digits):
    assert list(digits.methods) == ["forward"]
    forward = digits.method("forward")
    assert forward.schema == "forward(Tensor x) -> Tensor" and forward.return_type == "Tensor" and forward.name == "forward"
    assert [(a.name, a.type, a.has_default) for a in forward.arguments] == [("x", "Tensor", False)]
    assert "aten::conv2d" in digits.graph + digits.mobilenet.features.graph + "".join(digits.operators)
    assert digits.info.container == "TorchScript" and digits.info.num_bytes == DIGITS.stat().st_size
    assert digits.operators["aten::conv2d"] > 10 and digits.unsupported_operators == []
    assert digits.attributes["training"] is False and digits.has_attribute("mobilenet")
    names = [name for name, _ in digits.named_parameters()]
    first = digits.attribute(names[0])
    np.testing.assert_array_equal(first, digits.named_parameters()[0][1])
    assert [name for name, _ in digits.named_children()] == ["resize", "mobilenet"]
    assert digits.submodule("mobilenet").type_name == digits.mobilenet.type_name
    assert digits.named_buffers()


def test_placement(seven):
    model = torchlet.load(DIGITS)
    model(seven)
    assert any(p.device == "cpu" and p.is_segment and not p.reason for p in model.placement)
    assert "prim::Segment" in model.method("forward").optimized_graph


def test_set_attribute(script):
    model = script(
        "def forward(self: __torch__.M, x: int) -> int:\n  return torch.add(x, self.step)",
        attributes=["step : int"],
        state=b"X\x04\x00\x00\x00stepK\x02",
    )
    assert model(1) == 3 and model.step == 2
    model.set_attribute("step", 10)
    assert model(1) == 11
    with pytest.raises(torchlet.Error):
        model.set_attribute("step", "text")
    with pytest.raises(torchlet.NotFoundError):
        model.set_attribute("nothing", 1)


def test_bundled_inputs():
    model = torchlet.load(FIXTURES / "bundled.pt")
    calls = model.bundled_inputs()
    assert calls and isinstance(calls[0], tuple) and list(model.bundled_methods()) == ["forward"]
    model(*calls[0])


def test_objects(script):
    model = script(
        "def forward(self: __torch__.M, x: int) -> __torch__.P:\n  return __torch__.P(x)\n"
        "def back(self: __torch__.M, p: __torch__.P) -> int:\n  return p.x",
        before="class P:\n  x : int\n  def __init__(self: __torch__.P, x: int) -> None:\n    self.x = x\n    return None",
    )
    p = model(4)
    assert isinstance(p, torchlet.Object) and p.kind == "object" and p.attributes == {"x": 4}
    assert p.type_name == "__torch__.P" and model.back(p) == 4
    with pytest.raises(torchlet.Error):
        p.name


def test_profile(digits, seven):
    with torchlet.profile() as p:
        digits(seven)
        digits(seven)
    digits(seven)
    assert "conv_nhwc_f32" in p.table() and len(p.lines) > 5
    assert all(len(line.seconds) % 2 == 0 for line in p.lines if line.kernel == "conv_nhwc_f32")
    trace = json.loads(p.chrome_trace())
    assert trace["traceEvents"] if isinstance(trace, dict) else trace
    with torchlet.profile() as outer:
        with torchlet.profile() as inner:
            digits(seven)
    assert inner.lines and not outer.lines
    with pytest.raises(torchlet.InvalidArgumentError):
        outer.table()


def test_profiles_that_end_in_another_order(digits, seven):
    a, b = torchlet.profile(), torchlet.profile()
    a.__enter__(), b.__enter__()
    a.__exit__(None, None, None)
    del a
    digits(seven)
    b.__exit__(None, None, None)
    assert b.lines
    digits(seven)


def test_threads(digits, seven):
    before = torchlet.num_threads()
    expected = digits(seven)
    for count in (1, 2, 4):
        torchlet.set_num_threads(count)
        assert torchlet.num_threads() == count
        np.testing.assert_array_equal(digits(seven), expected)
    torchlet.set_num_threads(before)
    for wrong in (-1, 257):
        with pytest.raises(torchlet.InvalidArgumentError):
            torchlet.set_num_threads(wrong)


def test_types():
    """The stubs fit the code, and a program that uses them is checked by them."""
    if shutil.which("mypy") is None and not pytest.importorskip("mypy"):
        return
    program = """
import numpy, torchlet
model: torchlet.Module = torchlet.load("m.pt", devices=["cpu"], memory_limit="1G")
y = model(numpy.zeros(3))
names: list[str] = [name for name, _ in model.named_parameters()]
t = torchlet.Tensor(y, dtype="bfloat16")
shape: tuple[int, ...] = t.shape
result = torchlet.optimize("m.pt", "o.pt", for_mobile=True)
bytes_after: int = result.bytes_after
schema: str = model.method("forward").schema
"""
    for text, status in ((program, 0), (program + "wrong: int = model.graph\n", 1)):
        done = subprocess.run([sys.executable, "-m", "mypy", "-c", text], capture_output=True, text=True)
        assert done.returncode == status, done.stdout
    package = subprocess.run(
        [sys.executable, "-m", "mypy", "--check-untyped-defs", "-p", "torchlet"], capture_output=True, text=True
    )
    assert package.returncode == 0, package.stdout


def test_a_cache_of_packed_weights(tmp_path):
    picture = torchlet.load_image(SEVEN)
    folder = tmp_path / "cache"
    first = torchlet.load(DIGITS, cache_dir=folder, footprint="lean")(picture)
    (file,) = folder.iterdir()
    written = file.stat().st_mtime_ns
    again = torchlet.load(DIGITS, cache_dir=str(folder), footprint="lean")(picture)
    assert (first == again).all()
    assert file.stat().st_mtime_ns == written
    with pytest.raises(OSError):
        torchlet.load(DIGITS, cache_dir=file)
