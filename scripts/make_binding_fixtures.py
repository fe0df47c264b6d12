#!/usr/bin/env python3
"""Makes models for the tests of the bindings, in tests/fixtures: values.pt has a method for each kind of value and of
failure, pictures.ptl carries a preprocess record and labels, no_record.pt one that is none. Needs PyTorch."""

import os
from typing import Dict, List, Optional, Tuple

import torch

import reproducible

reproducible.rerun(globals())
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/fixtures")


class Values(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> Dict[str, torch.Tensor]:
        return {"out": x * 2, "aux": x + 1}

    @torch.jit.export
    def record(self, a: int, b: float, c: bool, d: str) -> Tuple[int, float, bool, str]:
        return a + 1, b * 2, not c, d + "!"

    @torch.jit.export
    def swap(self, pair: Tuple[int, str]) -> Tuple[str, int]:
        return pair[1], pair[0]

    @torch.jit.export
    def maybe(self, x: Optional[int]) -> Optional[int]:
        return x

    @torch.jit.export
    def floats(self, x: List[float]) -> List[float]:
        return [y + 0.5 for y in x]

    @torch.jit.export
    def nested(self, x: List[List[int]]) -> List[List[int]]:
        x.append([len(x)])
        return x

    @torch.jit.export
    def counts(self, x: Dict[str, int]) -> Dict[str, int]:
        x["more"] = len(x)
        return x

    @torch.jit.export
    def by_number(self, x: Dict[int, float]) -> Dict[int, float]:
        return x

    @torch.jit.export
    def imaginary(self) -> complex:
        return complex(1.0, 2.0)

    @torch.jit.export
    def total(self, x: List[torch.Tensor], scale: float = 1.0) -> torch.Tensor:
        return torch.cat(x).sum() * scale

    @torch.jit.export
    def fails(self, x: int) -> int:
        if x > 3:
            raise ValueError("too large: " + str(x))
        return x

    @torch.jit.export
    def spin(self, n: int) -> int:
        total = 0
        while total < n:
            total += 1 if n > 0 else 2
        return total

    @torch.jit.export
    def repeat(self, n: int) -> List[str]:
        text = "ü"
        return [text for _ in range(n)]


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


torch.jit.save(torch.jit.script(Values()), os.path.join(FIXTURES, "values.pt"))
torch.jit.script(Double())._save_for_lite_interpreter(
    os.path.join(FIXTURES, "pictures.ptl"),
    _extra_files={"preprocess.json": '{"resize": 5, "crop": [4, 3], "channels": "GREY"}', "labels.txt": "null\r\n\nzwölf"})
torch.jit.save(torch.jit.script(Double()), os.path.join(FIXTURES, "no_record.pt"),
               _extra_files={"preprocess.json": '{"sharpen": true}'})
