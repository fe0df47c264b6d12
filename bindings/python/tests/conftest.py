"""Models for the tests: fixtures of the repository, and programs written out here, without PyTorch."""

import pathlib
import zipfile

import pytest
import torchlet

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures"
DIGITS = ROOT / "models" / "digits_mobilenet_v2.pt"
SEVEN = ROOT / "models" / "samples" / "digit_7.png"
LABELS = ROOT / "models" / "digits_labels.txt"


def write_script(path, methods, before="", attributes=(), state=b"") -> None:
    """A TorchScript file of one module without parameters: the text of its methods, and of what stands before it."""
    lines = [before, "class M(Module):", "  __parameters__ = []", "  __buffers__ = []", "  training : bool"]
    lines += [f"  {attribute}" for attribute in attributes]
    lines += ["  " + line for line in methods.strip("\n").split("\n")]
    # The object: of class __torch__.M, with a dict of its attributes.
    pickled = b"\x80\x02c__torch__\nM\n)\x81}(X\x08\x00\x00\x00training\x89" + state + b"ub."
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", pickled)
        archive.writestr("m/code/__torch__.py", "\n".join(lines) + "\n")
        archive.writestr("m/constants.pkl", b"\x80\x02).")
        archive.writestr("m/version", b"3\n")


@pytest.fixture
def script(tmp_path):
    """script("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return x") -> a loaded model"""
    made = []

    def make(methods, before="", attributes=(), state=b"", **options):
        path = tmp_path / f"{len(made)}.pt"
        made.append(path)
        write_script(path, methods, before, attributes, state)
        return torchlet.load(path, **options)

    return make


@pytest.fixture
def identity(script):
    return script("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return x")


@pytest.fixture
def anything(script):
    """Gives back what it gets."""
    return script("def forward(self: __torch__.M, x: Any) -> Any:\n  return x")


@pytest.fixture
def endless(script):
    return script(
        "def forward(self: __torch__.M, n: int) -> int:\n"
        "  total = 0\n"
        "  for i in range(n):\n"
        "    total = torch.add(total, torch.remainder(i, 7))\n"
        "  return total"
    )


@pytest.fixture(scope="session")
def digits():
    return torchlet.load(DIGITS)


@pytest.fixture(scope="session")
def seven():
    return torchlet.load_image(SEVEN)
