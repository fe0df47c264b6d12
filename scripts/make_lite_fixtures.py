#!/usr/bin/python3
"""Regenerates tests/fixtures/lite: small modules for the Lite Interpreter, each in both of its containers.

    apt-get install python3-torch
    /usr/bin/python3 scripts/make_lite_fixtures.py

Each class below becomes lite/<class>.ptl, a zip archive of pickles, and lite/<class>.ff.ptl, a flatbuffer. `Places`
becomes lite/places.ptl, with debug information, and lite/places.bytecode.ptl, the same without source; `Numbers`, traced,
becomes lite/numbers.bytecode.ptl. Seeds are fixed: a second run changes no byte.
"""

import os
import tempfile
import zipfile
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

import reproducible

reproducible.rerun(globals())

OUT = "tests/fixtures/lite"


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2))
        self.scale = 0.5

    def forward(self, x: Tensor, times: int = 2, most: Optional[float] = None) -> Tensor:
        for _ in range(times):
            x = x * self.scale + 1
        return x if most is None else x.clamp(max=most)


class Values(nn.Module):
    """Attributes of every kind."""

    def __init__(self):
        super().__init__()
        base = torch.arange(12.0)
        self.register_buffer("whole", base)
        self.register_buffer("view", base[2:8].view(3, 2).t())
        self.register_buffer("float16", torch.tensor([1.5, -2.0]).half())
        self.register_buffer("flags", torch.tensor([True, False]))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.count = 7
        self.ratio = 0.25
        self.switch = True
        self.root = 1 + 2j
        self.title = "title \u00e9"
        self.place = torch.device("cuda:1")
        self.missing: Optional[Tensor] = None
        self.ints: List[int] = [1, -2, 1 << 40]
        self.floats: List[float] = [0.5, -1.0]
        self.bools: List[bool] = [True, False]
        self.texts: List[str] = ["a", "b"]
        self.tensors: List[Tensor] = [torch.ones(2), torch.zeros(1, dtype=torch.int64)]
        self.pair: Tuple[int, List[str]] = (3, ["c"])
        self.table: Dict[str, Tensor] = {"x": torch.eye(2), "a": torch.ones(1)}
        self.codes: Dict[int, float] = {2: 0.5, 1: 1.5}
        self.inner = Inner()
        self.others = nn.ModuleList([Inner(), nn.Linear(2, 2)])

    def forward(self, x: Tensor, names: List[str]) -> Dict[str, Tensor]:
        found: Dict[str, Tensor] = {}
        for name in names:
            if name in self.table:
                found[name] = self.inner(x, self.count) + self.table[name].sum()
            else:
                found[name] = x.view(-1)[:1] + len(self.texts)
        found["constant"] = torch.cat([x, torch.full([1, 2], self.ratio)]).to(torch.float64)
        return found


class Quantized(nn.Module):
    """Quantized tensors, and weights that C++ classes hold."""

    def __init__(self):
        super().__init__()
        torch.backends.quantized.engine = "qnnpack"
        self.register_buffer("per_tensor", torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 3, torch.quint8))
        self.register_buffer("per_channel", torch.quantize_per_channel(
            torch.randn(2, 3), torch.tensor([0.1, 0.2]).double(), torch.tensor([0, 1]), 0, torch.qint8))
        self.conv = torch.ao.nn.quantized.Conv2d(2, 3, 3)
        self.conv.set_weight_bias(torch.quantize_per_tensor(torch.randn(3, 2, 3, 3), 0.05, 0, torch.qint8), torch.randn(3))
        self.linear = torch.ao.nn.quantized.dynamic.Linear(3, 2)
        self.linear.set_weight_bias(torch.quantize_per_tensor(torch.randn(2, 3), 0.05, 0, torch.qint8), torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)).dequantize()
        return self.linear(y.mean([2, 3])) + self.per_tensor.dequantize().sum()


class Stateful(nn.Module):
    """Restores itself."""

    def __init__(self):
        super().__init__()
        self.table: Dict[str, int] = {"a": 1}
        self.weight = torch.ones(2)

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, Dict[str, int], bool]:
        return self.weight * 2, self.table, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, Dict[str, int], bool]) -> None:
        self.weight = state[0] * 0.5
        self.table = state[1]
        self.training = state[2]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.table["a"]


class Holder(nn.Module):
    """An object that restores itself within one that does not."""

    def __init__(self):
        super().__init__()
        self.inner = Stateful()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def twice(x: Tensor) -> Tensor:
    return x * 2


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.mm(x, self.weight)


class Plain(nn.Module):
    """Does not read itself."""

    def forward(self, x: Tensor, k: int) -> Tensor:
        return x.transpose(0, k)


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf = Leaf()
        self.plain = Plain()

    def scaled(self, x: Tensor) -> Tensor:
        return twice(self.leaf(x))

    def forward(self, x: Tensor, k: int) -> Tensor:
        x = self.scaled(x)
        if k > 7:
            x = torch.mm(x, x)
        return self.plain(x, k)


class Places(nn.Module):
    """Modules of the same name below two lists, calls of self and of a function, loops and branches."""

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList([Stage(), Stage()])
        self.last = nn.ModuleList([Stage(), Stage()])

    def forward(self, x: Tensor, k: int) -> Tensor:
        for stage in self.first:
            x = stage(x, 0)
        for _ in range(2):
            for other in self.last:
                x = other(x, k)
        if k < 0:
            x = torch.mm(x, x[0])
        return x


class Numbers(nn.Module):
    """Tracing makes 0-d tensors of the numbers."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        return x + 0.5, x - 0.5, x * 0.5, x / 0.5


def drop_source(path: str, out: str) -> None:
    """The places of the source, code/**.debug_pkl, stay."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as bare:
        for record in archive.infolist():
            if "/code/" not in record.filename or record.filename.endswith(".debug_pkl"):
                bare.writestr(zipfile.ZipInfo(record.filename), archive.read(record))


def main() -> None:
    os.makedirs(OUT, exist_ok=True)
    for make in Values, Quantized, Stateful, Holder:
        torch.manual_seed(0)
        module = torch.jit.script(make().eval())
        path = f"{OUT}/{make.__name__.lower()}"
        module._save_for_lite_interpreter(path + ".ptl")
        module._save_for_lite_interpreter(path + ".ff.ptl", _use_flatbuffer=True, _extra_files={"note.txt": "a note"})
    module = torch.jit.script(Places().eval())
    module._save_for_lite_interpreter(OUT + "/places.ptl", _save_mobile_debug_info=True)
    drop_source(OUT + "/places.ptl", OUT + "/places.bytecode.ptl")
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/numbers.ptl"
        torch.jit.trace(Numbers(), torch.ones(2, dtype=torch.int64))._save_for_lite_interpreter(path)
        drop_source(path, OUT + "/numbers.bytecode.ptl")


if __name__ == "__main__":
    main()
