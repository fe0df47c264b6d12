#!/usr/bin/python3
"""Regenerates tests/fuzz/seeds: small programs that use much of the language, for the fuzzers to start from.

    apt-get install python3-torch
    /usr/bin/python3 scripts/make_fuzz_seeds.py

Each class below becomes seeds/archives/<class>.ptl, which holds source and bytecode, seeds/archives/<class>.bytecode.ptl
without the source, and seeds/bytecode/<class>.pkl, the bytecode alone. Seeds are fixed: a second run changes no byte.
"""

import os
import zipfile
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

import reproducible

reproducible.rerun(globals())

OUT = "tests/fuzz/seeds"


class Control(nn.Module):
    """Loops, branches, exceptions, containers, text."""

    def __init__(self):
        super().__init__()
        self.names: List[str] = ["a", "b"]
        self.table: Dict[str, int] = {"a": 1}
        self.count = 0

    def helper(self, x: Tensor, times: int = 2) -> Tuple[Tensor, Optional[int]]:
        most: Optional[int] = None
        while times > 0 and bool(x.sum() < 100):
            x = x * 2 + 1
            times -= 1
            if most is None or times > most:
                most = times
        return x, most

    def forward(self, x: Tensor) -> Dict[str, List[Tensor]]:
        found: Dict[str, List[Tensor]] = {}
        self.count += 1
        for i, name in enumerate(self.names):
            y, most = self.helper(x, i + self.count)
            if most is not None:
                assert most >= 0, "most is negative"
                y = y + most
            if name not in self.table:
                self.table[name] = len(self.table)
            found[name + f"{i}"] = [y, y[:1]]
            if i > 5:
                break
        found["{} of {}".format(self.count, "last")] = [self.helper(x)[0]]
        return found


class Shapes(nn.Module):
    """Views, writes in place, indices, joins, reductions."""

    def forward(self, x: Tensor, size: int = 2) -> List[Tensor]:
        flat = x.flatten().float()
        flat[0] = 1.5
        flat[1:].add_(flat[:-1], alpha=2)
        square = flat.unsqueeze(0).expand(size, -1).contiguous().t()
        square.mul_(square.mean(dim=1, keepdim=True))
        parts = torch.split(square, 2)
        joined = torch.cat([part.relu() for part in parts] + [torch.zeros(1, size)])
        values, indices = joined.topk(1, dim=0)
        mask = joined > values
        picked = joined[mask]
        rest = torch.where(mask, joined, torch.full_like(joined, -1.0)).index_select(0, indices.view(-1)[:1])
        return [joined.permute(1, 0), picked, rest, torch.stack([values, values]).squeeze(1), torch.arange(0, size, 1)]


class Attention(nn.Module):
    """A transformer's block on the rows of whatever comes."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.qkv = nn.Linear(4, 12)
        self.out = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.pad(x.float().reshape(1, -1), [0, 8])[:, :8].view(1, 2, 4)
        q, k, v = self.qkv(self.norm(x)).view(1, 2, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) * 0.7, -1)
        x = x + (weights @ v).transpose(1, 2).reshape(1, 2, 4)
        return x + self.out(x)


class Picture(nn.Module):
    """What convolutional networks are made of."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        if x.dim() != 4:
            raise ValueError("a picture has four dimensions")
        x = nn.functional.hardswish(self.norm(self.conv(x)))
        x = x + torch.sigmoid(nn.functional.adaptive_avg_pool2d(x, 1)) * self.depthwise(x)
        pooled = nn.functional.max_pool2d(x, 2, 1)
        return self.up(x), nn.functional.interpolate(pooled, scale_factor=2.0, mode="bilinear")


def drop_source(path: str, out: str) -> None:
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as bare:
        for record in archive.infolist():
            if "/code/" not in record.filename:
                bare.writestr(zipfile.ZipInfo(record.filename), archive.read(record))


def main() -> None:
    for folder in "archives", "bytecode":
        os.makedirs(f"{OUT}/{folder}", exist_ok=True)
    for make in Control, Shapes, Attention, Picture:
        torch.manual_seed(0)
        name = make.__name__.lower()
        path = f"{OUT}/archives/{name}.ptl"
        torch.jit.script(make().eval())._save_for_lite_interpreter(path)
        drop_source(path, f"{OUT}/archives/{name}.bytecode.ptl")
        with zipfile.ZipFile(path) as archive, open(f"{OUT}/bytecode/{name}.pkl", "wb") as out:
            out.write(archive.read(f"{name}/bytecode.pkl"))


if __name__ == "__main__":
    main()
