"""What the command's tools do, from Python."""

import json
import os
import subprocess

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, FIXTURES, ROOT, SEVEN
from test_models import COMMAND

SAMPLES = DIGITS.parent / "samples"
with_command = pytest.mark.skipif(not os.path.exists(COMMAND), reason=f"there is no {COMMAND}")


def command(*arguments):
    subprocess.run([COMMAND, *map(str, arguments)], check=True, capture_output=True)


def test_optimize(tmp_path, digits, seven):
    result = torchlet.optimize(DIGITS, tmp_path / "o.ptl", image=SEVEN, for_mobile=True)
    assert result.nodes_before > 0 and result.nodes_after > 0 and result.methods == ("forward",)
    assert result.proofs and all(proof.error < 1e-4 for proof in result.proofs)
    assert result.bytes_after == (tmp_path / "o.ptl").stat().st_size and result.bytes_before == DIGITS.stat().st_size
    assert any(p.notes for p in result.passes)
    model = torchlet.load(tmp_path / "o.ptl")
    assert model.info.container == "Lite Interpreter"
    np.testing.assert_allclose(model(seven), digits(seven), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(model(seven), result.module(seven))


def test_optimize_refuses(tmp_path, script):
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.optimize(DIGITS, passes="nonsense")
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.optimize(DIGITS, inputs=[1], shape=(1, 3, 4, 4))
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.optimize(DIGITS, tmp_path / "o.pt", bytecode_version=5)
    model = script("def forward(self: __torch__.M, a: str) -> str:\n  return a")
    with pytest.raises(torchlet.InvalidArgumentError, match="inputs="):
        torchlet.optimize(model)
    assert torchlet.optimize(model, inputs=["x"], tolerance=0).proofs


def test_quantize(tmp_path, digits, seven):
    seen = [torchlet.load_image(p) for p in sorted(SAMPLES.glob("*.png"))]
    result = torchlet.quantize(DIGITS, tmp_path / "q.pt", calibration=seen)
    assert result.agreement == 1 and result.sqnr_db > 15 and result.top1 is None
    assert sum(layer.quantized for layer in result.layers) > 10
    assert torchlet.load(tmp_path / "q.pt")(seven).argmax() == 7
    from_folder = torchlet.quantize(DIGITS, calibration=SAMPLES)
    np.testing.assert_array_equal(from_folder.module(seven), result.module(seven))
    labelled = torchlet.quantize(DIGITS, calibration=seen, test=[seven], labels=[7], mode="inside", range="min-max")
    assert labelled.top1 == 1 and labelled.top1_before == 1
    halves = torchlet.quantize(DIGITS, tmp_path / "h.pt", weights="fp16")
    assert halves.bytes_after < 0.7 * halves.bytes_before


@pytest.mark.parametrize(
    "options",
    [{}, {"calibration": "missing"}, {"calibration": [1, 2]}, {"mode": "x"}, {"range": "x"}, {"weights": "int3"},
     {"calibration": SAMPLES, "max_drop": "little"}, {"calibration": [np.zeros((1, 3, 32, 32), np.float32)], "labels": [1, 2]}],
)  # fmt: skip
def test_quantize_refuses(options):
    with pytest.raises(torchlet.Error):
        torchlet.quantize(DIGITS, **options)


@with_command
def test_files_are_the_commands(tmp_path):
    """The same bytes, option by option."""
    command("quantize", DIGITS, "--calibration", SAMPLES, "--no-layer-times", "-o", tmp_path / "a.pt")
    torchlet.quantize(DIGITS, tmp_path / "b.pt", calibration=SAMPLES)
    command("optimize", DIGITS, "--image", SEVEN, "--for-mobile", "-o", tmp_path / "a.ptl")
    torchlet.optimize(DIGITS, tmp_path / "b.ptl", image=SEVEN, for_mobile=True)
    command("convert", DIGITS, "-o", tmp_path / "a.ff")
    torchlet.convert(DIGITS, tmp_path / "b.ff")
    command("bundle", DIGITS, "--shape", "1,3,64,64", "--next", "--image", SEVEN, "--info", "x", "-o", tmp_path / "c.pt")
    torchlet.bundle(
        DIGITS, tmp_path / "d.pt", calls=[[torchlet.RandomTensor([1, 3, 64, 64])], [torchlet.load_image(SEVEN)]], info=["x"]
    )
    for a, b in (("a.pt", "b.pt"), ("a.ptl", "b.ptl"), ("a.ff", "b.ff"), ("c.pt", "d.pt")):
        assert zip_content(tmp_path / a) == zip_content(tmp_path / b), (a, b)


def zip_content(path):
    """Archives have their file's name inside."""
    import zipfile

    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def test_bundle(tmp_path, seven):
    model = torchlet.bundle(DIGITS, tmp_path / "b.pt", calls=[[seven], [torchlet.RandomTensor([1, 3, 32, 32], seed=5)]], info=["a seven"])
    assert model.bundled_methods()["forward"][0] == "a seven"
    again = torchlet.load(tmp_path / "b.pt")
    calls = again.bundled_inputs()
    np.testing.assert_array_equal(calls[0][0], seven)
    assert calls[1][0].shape == (1, 3, 32, 32) and 0 <= calls[1][0].min() < calls[1][0].max() < 1
    assert torchlet.optimize(tmp_path / "b.pt").proofs[0].calls == 2
    with pytest.raises(torchlet.NotFoundError):
        torchlet.unbundle(again).bundled_inputs()
    with pytest.raises(torchlet.ModelError):
        torchlet.bundle(DIGITS, calls=[[np.ones(3, np.float32)]])
    with pytest.raises(torchlet.Error):
        torchlet.bundle(DIGITS, calls=[])
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.bundle(DIGITS, calls=[[seven]], info=["a", "b"])


def test_convert(tmp_path, digits, seven):
    for name, container in (("m.ptl", "Lite Interpreter"), ("m.ff", "Lite Interpreter flatbuffer"), ("m.pt", "TorchScript")):
        result = torchlet.convert(DIGITS, tmp_path / name, extra_files={"a.txt": "ä", "b": b"\0"})
        assert result.output.container == container and result.nnapi is None
        assert torchlet.extra_files(tmp_path / name) == {"a.txt": "ä".encode(), "b": b"\0"}
        np.testing.assert_array_equal(torchlet.load(tmp_path / name)(seven), digits(seven))
    torchlet.save(tmp_path / "m.ptl", tmp_path / "old.ptl", bytecode_version=5, debug=False)
    assert b"K\x05" in zip_content(tmp_path / "old.ptl")["bytecode.pkl"][:10]
    assert set(torchlet.extra_files(tmp_path / "old.ptl")) == {"a.txt", "b"}
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.convert(tmp_path / "m.pt", tmp_path / "m.pt")
    with pytest.raises(OSError):
        torchlet.convert(DIGITS, tmp_path / "none" / "m.pt")


def test_convert_to_nnapi(tmp_path):
    result = torchlet.convert(DIGITS, tmp_path / "n.pt", to="nnapi", shape=(1, 3, 32, 32), proof=False)
    assert result.nnapi.parts and result.nnapi.operators_in_parts > 10 and result.nnapi.not_proved
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.convert(DIGITS, tmp_path / "n.pt", to="onnx")


def test_compare(tmp_path, seven):
    same = torchlet.compare(DIGITS, image=SEVEN)
    assert same.within and same.first_divergence is None and len(same.nodes) > 10
    torchlet.quantize(DIGITS, tmp_path / "q.pt", calibration=[seven])
    other = torchlet.compare(DIGITS, tmp_path / "q.pt", inputs=[seven], rtol=1e-5)
    assert not other.within and other.first_divergence is not None and not other.first_divergence.within
    assert torchlet.compare(DIGITS, tmp_path / "q.pt", inputs=seven, min_sqnr=10).within
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.compare(DIGITS)


def test_bench(digits):
    result = torchlet.bench(digits, shape=(1, 3, 32, 32), iterations=20)
    assert result.iterations == 20 and 0 < result.min_ms <= result.median_ms <= result.p90_ms <= result.p99_ms
    assert result.load_ms == 0 and result.peak_memory_bytes > 1 << 20
    result = torchlet.bench(DIGITS, seconds=0.05)
    assert result.load_ms > 0 and result.compile_ms > 0 and result.iterations > 1
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.bench(digits, iterations=0)


def test_ops():
    everything = torchlet.ops()
    assert len(everything) > 2000 and all(op.supported for op in everything)
    needs = torchlet.ops(DIGITS, FIXTURES / "unsupported.pt")
    names = {op.name: op for op in needs}
    assert names["aten::conv2d"].schema.startswith("aten::conv2d(")
    missing = [op for op in needs if not op.supported]
    assert missing and missing[0].reason


@with_command
def test_ops_as_the_command():
    listed = subprocess.run([COMMAND, "ops", DIGITS, "--format", "list"], capture_output=True, text=True).stdout
    assert [op.name for op in torchlet.ops(DIGITS)] == listed.split()
    rows = json.loads(subprocess.run([COMMAND, "ops", "--json"], capture_output=True, text=True).stdout)
    assert [(r["name"], r["schema"]) for r in rows] == [(op.name, op.schema) for op in torchlet.ops()]
