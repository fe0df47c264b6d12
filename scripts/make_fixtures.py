#!/usr/bin/python3
"""Regenerates tests/fixtures: small saved modules with the inputs and the outputs PyTorch gives.

    apt-get install python3-torch
    /usr/bin/python3 scripts/make_fixtures.py            # all
    /usr/bin/python3 scripts/make_fixtures.py linear     # some

A fixture is a function below with @fixture: it returns a module and its inputs. It becomes
tests/fixtures/<function>.pt, and each tensor among the inputs and outputs <function>.in<i>.npy or .out<i>.npy,
counted from 0. Seeds are fixed: a second run changes no byte.
"""

import enum
import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy
import torch
import torch.utils.bundled_inputs
from torch import Tensor, nn
from torch.backends._nnapi.prepare import convert_model_to_nnapi

import reproducible

reproducible.rerun(globals())

OUT = "tests/fixtures"
FIXTURES = {}


def fixture(make):
    FIXTURES[make.__name__] = make
    return make


# ---------------------------------------------------------------------------------------------------------
# Plain modules


@fixture
def linear():
    return torch.jit.script(nn.Linear(5, 3)), [torch.randn(2, 5)]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(inplace=True),
            nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.ReLU6(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(6, 4)
        nn.init.uniform_(self.features[1].running_mean)
        nn.init.uniform_(self.features[1].running_var, 0.5, 2.0)

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


@fixture
def traced_convnet():
    x = torch.randn(2, 3, 13, 11)
    return torch.jit.trace(ConvNet().eval(), x), [x]


@fixture
def scripted_convnet():
    return torch.jit.script(ConvNet().eval()), [torch.randn(2, 3, 13, 11)]


class Recurrent(nn.Module):
    """A float LSTM, then a GRU and a linear layer that are quantized dynamically."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(10, 9, num_layers=2, bidirectional=True)
        torch.backends.quantized.engine = "qnnpack"
        self.rest = torch.ao.quantization.quantize_dynamic(
            nn.ModuleList([nn.GRU(18, 8), nn.Linear(8, 5)]).eval())

    def forward(self, x):
        y, _ = self.lstm(x)
        y, _ = self.rest[0](y)
        return torch.relu(self.rest[1](y))


@fixture
def recurrent():
    x = torch.randn(7, 2, 10)
    return torch.jit.trace(Recurrent().eval(), x), [x]


# ---------------------------------------------------------------------------------------------------------
# Values: every container and every dtype


class Containers(nn.Module):
    ints: List[int]
    names: Dict[str, float]
    nested: Dict[int, List[Tuple[str, Optional[int]]]]
    nothing: Optional[Tensor]
    tensors: List[Tensor]

    def __init__(self):
        super().__init__()
        self.ints = [1, -2, 2**40]
        self.names = {"pi": 3.140625, "é": -0.0}
        self.nested = {0: [], 7: [("a", None), ("b", 3)]}
        self.nothing = None
        self.tensors = [torch.tensor([1.5, 2.5]), torch.tensor(4.0)]
        self.flag = True
        self.text = "line\nbreak"
        self.pair = (1, 2.5)

    def forward(self, x: Tensor):
        total = x * self.names["pi"] + self.tensors[0] * self.tensors[1]
        for i in self.ints:
            total = total + i
        for key, entries in self.nested.items():
            for name, count in entries:
                if count is not None:
                    total = total - key * count
        if self.nothing is not None or not self.flag:
            total = total * 0
        return total + self.pair[0] * self.pair[1] + len(self.text)


@fixture
def containers():
    return torch.jit.script(Containers()), [torch.tensor([0.25, -8.0])]


class Dtypes(nn.Module):
    """One buffer per dtype, and views: a transposed one, two that overlap in one storage, channels last."""

    def __init__(self):
        super().__init__()
        values = torch.tensor([[0, 1, 2], [3, 100, 5]])
        for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64, torch.bool, torch.complex64):
            self.register_buffer("as_" + str(dtype).removeprefix("torch."), values.to(dtype))
        base = torch.arange(12.0)
        self.register_buffer("transposed", base.view(3, 4).t())
        self.register_buffer("head", base[:8])
        self.register_buffer("tail", base[4:])
        self.register_buffer("channels_last",
                             torch.randn(1, 2, 3, 3).contiguous(memory_format=torch.channels_last))
        self.register_buffer("per_tensor", torch.quantize_per_tensor(values.float() / 8, 0.125, 3, torch.quint8))
        self.register_buffer("per_channel", torch.quantize_per_channel(
            values.float() / 8, torch.tensor([0.125, 0.25]), torch.tensor([0, 0]), 0, torch.qint8))

    def forward(self, x: Tensor):
        whole = self.as_uint8 + self.as_int8 + self.as_int16 + self.as_int32 + self.as_int64
        real = self.as_float16.float() + self.as_bfloat16.float() + self.as_float32 + self.as_float64.float()
        self.head.add_(1)  # seen through tail
        return (x + whole + real * self.as_bool + torch.view_as_real(self.as_complex64)[:, :, 0],
                self.transposed, self.head, self.tail, self.channels_last,
                self.per_tensor.dequantize(), self.per_channel.dequantize())


@fixture
def dtypes():
    return torch.jit.script(Dtypes()), [torch.randn(2, 3)]


# ---------------------------------------------------------------------------------------------------------
# The language: classes, named tuples, enums, mutation


class Mode(enum.Enum):
    ADD = 1
    SCALE = 2


class Result(NamedTuple):
    total: Tensor
    steps: int


@torch.jit.script
class Counter(object):
    def __init__(self, start: int):
        self.steps = start
        self.seen: List[int] = []

    def tick(self, by: int) -> int:
        self.steps += by
        self.seen.append(by)
        return self.steps


class UsesClass(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = Mode.SCALE

    def forward(self, x: Tensor):
        counter = Counter(0)
        for i in range(x.size(0)):
            if counter.tick(i) > 3:
                break
        factor = counter.steps if self.mode == Mode.SCALE else 0
        result = Result(x * factor, len(counter.seen))
        return result.total + result.steps


@fixture
def script_class():
    return torch.jit.script(UsesClass()), [torch.randn(6, 2)]


# ---------------------------------------------------------------------------------------------------------
# For the API and the command: signatures, state, errors, operators that Torchlet will never have


class Point(NamedTuple):
    x: float
    y: float


class Checker(nn.Module):
    def forward(self, x: int) -> int:
        if x < 0:
            raise ValueError("x must not be negative")
        return x * 2


class Api(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.checker = Checker()
        self.blocks = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
        self.name = "api"

    def forward(self, x: Tensor, times: int = 2, scale: float = 1.0) -> Tensor:
        return x * self.weight * times * scale

    @torch.jit.export
    def check(self, x: int) -> int:
        return self.checker(x)

    @torch.jit.export
    def step(self) -> int:
        self.steps += 1
        return int(self.steps)

    @torch.jit.export
    def distance(self, p: Point, by: Dict[str, float], skip: Optional[List[int]] = None) -> Tuple[float, Point]:
        shift = by["shift"] if skip is None else float(len(skip))
        return p.x + p.y + shift, Point(p.y, p.x)

    @torch.jit.export
    def talk(self, name: str) -> str:
        print("hello", name, 3)
        return "bye " + name

    @torch.jit.export
    def fill_(self, x: Tensor) -> Tensor:
        return x.fill_(7)

    @torch.jit.export
    def echo(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def first(self, text: str) -> str:
        return text[0]


@fixture
def api():
    return torch.jit.script(Api()), [torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])]


class CudnnSampler(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        grid = torch.cudnn_affine_grid_generator(x, 1, 1, 2, 2)
        return torch.cudnn_grid_sampler(x, grid)


class UsesUnsupported(nn.Module):
    def __init__(self):
        super().__init__()
        self.sampler = CudnnSampler()

    def forward(self, x: Tensor, wild: bool = False) -> Tensor:
        return self.sampler(x) if wild else x + 1


@fixture
def unsupported():
    return torch.jit.script(UsesUnsupported()), [torch.zeros(2)]


class OneRow(nn.Module):
    def forward(self, x):
        if bool(x.min() < 0):
            raise ValueError("a negative number")
        return x.reshape(1, -1) * 2


@fixture
def one_row():
    """Takes rows one by one: many become one, and one that is wrong fails all."""
    return torch.jit.script(OneRow()), [torch.rand(1, 5)]


# ---------------------------------------------------------------------------------------------------------
# Quantized modules


def quantize(module: nn.Module, x: Tensor, qconfig):
    """Static quantization as the mobile tutorials do it; x calibrates."""
    return torch.jit.script(quantize_eagerly(module, x, qconfig)), [x]


def quantize_eagerly(module: nn.Module, x: Tensor, qconfig):
    torch.backends.quantized.engine = "qnnpack"
    model = nn.Sequential(torch.ao.quantization.QuantStub(), module, torch.ao.quantization.DeQuantStub()).eval()
    model.qconfig = qconfig
    model = torch.ao.quantization.prepare(model)
    model(x)
    return torch.ao.quantization.convert(model)


@fixture
def quantized_linear():
    return quantize(nn.Linear(16, 5), torch.randn(3, 16), torch.ao.quantization.get_default_qconfig("qnnpack"))


@fixture
def quantized_conv_per_channel():
    conv = torch.ao.nn.intrinsic.ConvReLU2d(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU())
    return quantize(conv, torch.randn(1, 3, 9, 7), torch.ao.quantization.get_default_qconfig("fbgemm"))


class Stubs(nn.Module):
    """Float, with the borders of what is to be quantized."""

    def __init__(self):
        super().__init__()
        self.before = nn.Conv2d(3, 4, 1)
        self.quant = torch.ao.quantization.QuantStub()
        self.pool = nn.MaxPool2d(2)
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.sum = torch.nn.quantized.FloatFunctional()
        self.dequant = torch.ao.quantization.DeQuantStub()
        self.after = nn.Linear(4, 3)

    def forward(self, x):
        x = self.pool(self.quant(self.before(x)))
        x = self.dequant(self.sum.add(x, torch.relu(self.conv(x))))
        return self.after(x.mean([2, 3]))


@fixture
def stubs_scripted():
    return torch.jit.script(Stubs().eval()), [torch.randn(1, 3, 8, 8)]


@fixture
def stubs_traced():
    x = torch.randn(1, 3, 8, 8)
    return torch.jit.trace(Stubs().eval(), x), [x]


def joined(parts: List[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def as_tensor(parts: Union[Tensor, List[Tensor]]) -> Tensor:
    rows = parts
    if not isinstance(rows, Tensor):
        rows = joined(rows)
    return rows


class Refined(nn.Module):
    """Which type a value has hangs on a test that is known when the module is optimised."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)

    def forward(self, x):
        return self.conv(as_tensor([x[:1]]))


@fixture
def refined():
    return torch.jit.script(Refined().eval()), [torch.randn(1, 3, 8, 8)]


@fixture
def bundled():
    """Carries inputs for itself, of each kind that PyTorch deflates in its own way."""
    module = torch.jit.script(nn.Linear(3, 2))
    inputs = [(torch.tensor([[1.0, 2.0, 3.0]]),), (torch.full((40, 3), 0.5),),
              (torch.utils.bundled_inputs.bundle_large_tensor(torch.arange(60.0).view(20, 3)),)]
    torch.utils.bundled_inputs.augment_model_with_bundled_inputs(module, inputs)
    return module, [inputs[0][0]]


# ---------------------------------------------------------------------------------------------------------
# Converted to NNAPI, which need not be there for that: the answers are those of what was converted.


def to_nnapi(module: nn.Module, x: Tensor, shape: List[int]):
    """`shape`: of the input, with 0 for a size that is left open."""
    traced = torch.jit.trace(module, x)
    example = torch.zeros(shape).contiguous(memory_format=torch.channels_last)
    example.nnapi_nhwc = True
    return convert_model_to_nnapi(traced, [example]), [x], traced(x)


@fixture
def nnapi_float():
    features = nn.Sequential(nn.Conv2d(3, 6, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(6, 4, 1))
    return to_nnapi(features.eval(), torch.randn(2, 3, 9, 7), [0, 3, 0, 0])


@fixture
def nnapi_quantized():
    x = torch.randn(1, 3, 8, 8)
    conv = torch.ao.nn.intrinsic.ConvReLU2d(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
    # The converter takes one scale for a whole weight.
    observer = torch.ao.quantization.default_weight_observer
    qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    qconfig = torch.ao.quantization.QConfig(activation=qconfig.activation, weight=observer)
    return to_nnapi(quantize_eagerly(conv, x, qconfig), x, [1, 3, 8, 8])


# ---------------------------------------------------------------------------------------------------------


def tensors_in(value: Any) -> List[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def write(name: str) -> None:
    torch.manual_seed(0)
    module, inputs, *outputs = FIXTURES[name]()
    module.save(f"{OUT}/{name}.pt")
    if not outputs:
        # Through a fresh load: a module that changes itself must not be saved changed, nor the reverse.
        outputs = torch.jit.load(f"{OUT}/{name}.pt")(*[i.clone() if isinstance(i, Tensor) else i for i in inputs])
    for kind, values in ("in", inputs), ("out", outputs):
        for i, tensor in enumerate(tensors_in(values)):
            numpy.save(f"{OUT}/{name}.{kind}{i}.npy", tensor.detach().numpy())


def main() -> None:
    names = sys.argv[1:] or list(FIXTURES)
    for name in names:
        if name not in FIXTURES:
            sys.exit(f"no fixture '{name}'; there are: {', '.join(FIXTURES)}")
    os.makedirs(OUT, exist_ok=True)
    for name in names:
        write(name)


if __name__ == "__main__":
    main()
