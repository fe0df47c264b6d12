#!/usr/bin/python3
"""Random programs of one operator or a few next to PyTorch: which are wrong, which slower? One thread, in turns, the smallest times.

    /usr/bin/python3 bench/random_programs.py                                    # five minutes of all families
    /usr/bin/python3 bench/random_programs.py --family convolution,pooling --first 5000 --seconds 60
    /usr/bin/python3 bench/random_programs.py --seed 5259 --profile              # one of them, and its steps
    /usr/bin/python3 bench/random_programs.py --answers --seconds 600            # many more, without times

A seed is a program: a layer with random channels, sizes, strides and groups, a reduction over random dimensions, a product, a move of
elements and so on. An answer is wrong if it is much further from PyTorch's in float64 than PyTorch's in float32 is. PyTorch's time is
that of the faster of torch.jit.freeze and torch.jit.optimize_for_inference on the traced program. What is over --limit is measured
again, longer, and printed if it stays: ratio, both times in milliseconds, seed, program. The last line has the
geometric mean of all ratios.

Networks that users bring have such layers, and the list of a benchmark does not. bench/sweep.py says which BLAS is fair to PyTorch.
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import subprocess
import tempfile
import time
import warnings

import numpy
import torch
import torch.nn.functional as functional
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHANNELS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 72, 96, 128, 160, 192, 256, 320, 512)
SIDES = (7, 8, 13, 14, 16, 19, 24, 28, 32, 40, 56, 64, 80, 112)
SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 49, 56, 64, 100, 128, 197, 256)
MOST_ELEMENTS, MOST_SECONDS = 1 << 22, 0.5
FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


class Call(nn.Module):
    """A function, with the modules that it calls."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function = function
        self.modules_of_it = nn.ModuleList(modules)

    def forward(self, *inputs):
        return self.function(*inputs)


# A family takes a random.Random and gives what the program is, a module, and the shapes of its inputs. --------------------------


def grouped(pick, inputs, outputs):
    """Channels and groups: most often one group, else depthwise or several."""
    kind = pick.choice(("one", "one", "one", "depthwise", "several", "several"))
    if kind == "depthwise":
        return inputs, inputs * pick.choice((1, 1, 1, 2)), inputs
    groups = pick.choice((2, 3, 4, 8, 16, 32)) if kind == "several" else 1
    return max(inputs // groups, 1) * groups, max(outputs // groups, 1) * groups, groups


@family
def convolution(pick):
    inputs, outputs, groups = grouped(pick, pick.choice(CHANNELS), pick.choice(CHANNELS))
    kernel = pick.choice(((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (3, 1), (1, 7), (2, 2), (4, 4), (9, 9)))
    stride, dilation, side = pick.choice((1, 1, 1, 2, 2, 3, 4)), pick.choice((1, 1, 1, 2, 3)), pick.choice(SIDES)
    padding = tuple((k - 1) * dilation // 2 for k in kernel) if pick.random() < 0.8 else 0
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups, bias=pick.random() < 0.7)
    activation = pick.choice((nn.Identity, nn.Identity, nn.ReLU, nn.SiLU, nn.GELU, nn.Hardswish))()
    return f"{layer}, {activation}", nn.Sequential(layer, activation), [(pick.choice((1, 1, 1, 4)), inputs, side, side)]


@family
def line_convolution(pick):
    inputs, outputs, groups = grouped(pick, pick.choice(CHANNELS), pick.choice(CHANNELS))
    kernel, dilation = pick.choice((1, 3, 5, 7, 10, 15, 31)), pick.choice((1, 1, 2, 4))
    layer = nn.Conv1d(inputs, outputs, kernel, pick.choice((1, 1, 2, 5)), (kernel - 1) * dilation // 2, dilation, groups)
    return str(layer), layer, [(1, inputs, pick.choice((16, 50, 100, 128, 500, 1000, 4000, 16000)))]


@family
def volume_convolution(pick):
    inputs, outputs = pick.choice((1, 2, 3, 4, 8, 16, 32, 64)), pick.choice((1, 2, 3, 4, 8, 16, 32, 64))
    side = pick.choice((8, 12, 16, 24, 32))
    if pick.random() < 0.3:
        layer = nn.ConvTranspose3d(inputs, outputs, pick.choice((2, 3)), 2)
    else:
        kernel = pick.choice(((1, 1, 1), (3, 3, 3), (3, 3, 3), (2, 2, 2), (5, 5, 5), (1, 3, 3), (3, 1, 1)))
        groups = pick.choice((1, 1, 1, inputs))
        outputs = inputs if groups > 1 else outputs
        layer = nn.Conv3d(inputs, outputs, kernel, pick.choice((1, 1, 2)), tuple(k // 2 for k in kernel), groups=groups)
    return str(layer), layer, [(1, inputs, side, side, side)]


@family
def transposed_convolution(pick):
    inputs, outputs, groups = grouped(pick, pick.choice(CHANNELS), pick.choice(CHANNELS))
    kernel, stride, padding, more = pick.choice(
        ((2, 2, 0, 0), (4, 2, 1, 0), (3, 2, 1, 1), (3, 1, 1, 0), (5, 2, 2, 1), (4, 4, 0, 0), (3, 3, 0, 0)))
    layer = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding, more, groups)
    side = pick.choice((7, 8, 14, 16, 28, 32, 56))
    return str(layer), layer, [(1, inputs, side, side)]


@family
def pooling(pick):
    channels, side, kernel, stride = pick.choice(CHANNELS), pick.choice(SIDES), pick.choice((2, 2, 3, 3, 5, 7)), pick.choice((1, 2, 2))
    layer = pick.choice((
        lambda: nn.MaxPool2d(kernel, stride, pick.choice((0, kernel // 2)), ceil_mode=pick.random() < 0.3),
        lambda: nn.AvgPool2d(kernel, stride, pick.choice((0, kernel // 2)), count_include_pad=pick.random() < 0.5),
        lambda: nn.AvgPool2d(side),
        lambda: nn.LPPool2d(2, kernel, stride),
        lambda: nn.AdaptiveAvgPool2d(pick.choice((1, 2, 5, 7, 6))),
        lambda: nn.AdaptiveMaxPool2d(pick.choice((1, 2, 5, 7, 6))),
        lambda: nn.MaxPool1d(kernel, stride),
        lambda: nn.MaxPool3d(pick.choice((2, 3)), 2),
        lambda: nn.AvgPool3d(2, stride)))()
    rank = 1 if "1d" in str(layer) else 3 if "3d" in str(layer) else 2
    shape = (1, channels, *{1: (2000,), 2: (side, side), 3: (pick.choice((8, 16, 24)),) * 3}[rank])
    return f"{layer} of {shape}", layer, [shape]


@family
def normalization(pick):
    channels, side = pick.choice(CHANNELS), pick.choice(SIDES)
    image, line = (pick.choice((1, 4)), channels, side, side), (pick.choice((1, 8)), channels, 500)
    volume = (1, channels, *(pick.choice((8, 16, 24)),) * 3)
    groups = pick.choice([g for g in (1, 2, 4, 8, 16, 32) if channels % g == 0])
    width = pick.choice((3, 8, 16, 32, 64, 100, 256, 768, 1024))
    layer, shape = pick.choice((
        (nn.BatchNorm2d(channels), image), (nn.GroupNorm(groups, channels), image), (nn.InstanceNorm2d(channels, affine=True), image),
        (nn.LayerNorm(width), (1, pick.choice((16, 197, 1000, 4096)), width)), (nn.LayerNorm(image[1:]), image),
        (nn.LocalResponseNorm(5), image), (nn.BatchNorm1d(channels), line), (nn.InstanceNorm1d(channels), line),
        (nn.GroupNorm(groups, channels), volume), (nn.BatchNorm3d(channels), volume), (nn.InstanceNorm3d(channels), volume)))
    return f"{layer} of {shape}", layer, [shape]


@family
def resizing(pick):
    channels, side, factor = pick.choice(CHANNELS), pick.choice((7, 14, 16, 28, 32, 56)), pick.choice((2, 2, 4, 1.5, 0.5))
    mode = pick.choice(("nearest", "bilinear", "bilinear", "bicubic", "area", "nearest-exact", "linear", "trilinear"))
    corners = pick.random() < 0.4 if "linear" in mode or mode == "bicubic" else None
    shape = {"linear": (1, channels, 1000), "trilinear": (1, channels, 12, 12, 12)}.get(mode, (1, channels, side, side))
    call = Call(lambda x: functional.interpolate(x, scale_factor=factor, mode=mode, align_corners=corners))
    return f"{mode} by {factor}, align_corners {corners}, of {shape}", call, [shape]


def some_shape(pick):
    while True:
        shape = tuple(pick.choice(SIZES) for _ in range(pick.choice((2, 3, 4, 4, 5))))
        if 1 << 12 <= math.prod(shape) <= 1 << 20:
            return shape


@family
def reduction(pick):
    shape = some_shape(pick)
    dims = sorted(pick.sample(range(len(shape)), pick.randint(1, min(3, len(shape)))))
    one = dims[0]
    name, function = pick.choice((
        ("sum", lambda x: x.sum(dims)), ("mean", lambda x: x.mean(dims)), ("amax", lambda x: x.amax(dims)), ("var", lambda x: x.var(dims)),
        ("std", lambda x: x.std(dims)), ("norm", lambda x: x.norm(p=2, dim=dims)), ("logsumexp", lambda x: x.logsumexp(dims)),
        ("prod", lambda x: x.prod(one)), ("argmax", lambda x: x.argmax(one)), ("max", lambda x: x.max(one)[0]),
        ("any", lambda x: (x > 2).any(one)),
        ("median", lambda x: x.median(one)[0]), ("cumsum", lambda x: x.cumsum(one)), ("cumprod", lambda x: x.cumprod(one)),
        ("softmax", lambda x: x.softmax(one)), ("log_softmax", lambda x: x.log_softmax(one)), ("sort", lambda x: x.sort(one)[0]),
        ("topk", lambda x: x.topk(min(5, shape[one]), one)[0]), ("kthvalue", lambda x: x.kthvalue(1, one)[0])))
    return f"{name} of {shape} over {dims}", Call(function), [shape]


@family
def broadcast(pick):
    shape = some_shape(pick)
    other = tuple(1 if pick.random() < 0.5 else size for size in shape)
    name, function = pick.choice((
        ("add", torch.add), ("mul", torch.mul), ("div", lambda x, y: x / (y + 2)), ("maximum", torch.maximum), ("gt", torch.gt),
        ("where", lambda x, y: torch.where(x > 0.5, x, y)), ("lerp", lambda x, y: torch.lerp(x, y, 0.3)),
        ("addcmul", lambda x, y: torch.addcmul(x, x, y)), ("fmod", lambda x, y: torch.fmod(x, y + 1)),
        ("masked_fill", lambda x, y: x.masked_fill(y > 0.5, -1e9)), ("clamp", lambda x, y: torch.clamp(x, min=y)),
        ("pow", lambda x, y: (x + 1) ** y)))
    return f"{name} of {shape} and {other}", Call(function), [shape, other]


@family
def pointwise(pick):
    shape, turns = some_shape(pick), pick.random() < 0.3
    name = pick.choice("exp log1p sin tanh sigmoid erf sqrt rsqrt abs round floor sign expm1 atan reciprocal isnan lgamma".split() +
                       "gelu silu mish softplus elu selu hardswish leaky_relu softsign logsigmoid hardsigmoid".split())
    function = getattr(torch, name, None) or getattr(functional, name)
    return f"{name} of {shape}{', transposed' if turns else ''}", Call(lambda x: function(x.transpose(-1, -2) if turns else x)), [shape]


@family
def move(pick):
    shape = some_shape(pick)
    dim, order = pick.randrange(len(shape)), pick.sample(range(len(shape)), len(shape))
    pads, last = [pick.randint(0, 2) for _ in range(2 * min(len(shape), 3))], shape[dim] - 1
    half = torch.randint(0, shape[dim], (max(1, shape[dim] // 2),))
    name, function = pick.choice((
        (f"permute {order}", lambda x: x.permute(order).contiguous()), (f"flip {dim}", lambda x: x.flip(dim)),
        (f"roll {dim}", lambda x: x.roll(1, dim)), (f"cat {dim}", lambda x: torch.cat([x, x + 1], dim)),
        (f"stack {dim}", lambda x: torch.stack([x, x + 1], dim)), (f"pad {pads}", lambda x: functional.pad(x, pads)),
        (f"index_select {dim}", lambda x: x.index_select(dim, half)), ("tril", lambda x: x.tril()),
        (f"gather {dim}", lambda x: torch.gather(x, dim, (x * last).long())),
        (f"scatter_add {dim}", lambda x: torch.zeros_like(x).scatter_add(dim, (x * last).long(), x)),
        (f"repeat_interleave {dim}", lambda x: x.repeat_interleave(2, dim)), ("x[x > 0.5]", lambda x: x[x > 0.5])))
    return f"{name} of {shape}", Call(function), [shape]


@family
def product(pick):
    batch, rows = pick.choice((1, 2, 4, 8, 12, 16, 64)), pick.choice((1, 2, 3, 4, 7, 8, 16, 49, 64, 100, 197, 256))
    depth, columns = (pick.choice((1, 2, 3, 4, 8, 16, 32, 64, 100, 128, 256, 768)) for _ in range(2))
    heads, width = pick.choice((1, 3, 4, 8, 12)), pick.choice((8, 16, 24, 32, 48, 64))
    tokens = pick.choice((16, 49, 50, 64, 100, 196, 197, 256))
    keys = [(2, heads, tokens, width)] * 3
    name, module, shapes = pick.choice((
        ("mm", Call(torch.matmul), [(rows, depth), (depth, columns)]),
        ("bmm", Call(torch.matmul), [(batch, rows, depth), (batch, depth, columns)]),
        ("linear", nn.Linear(depth, columns), [(batch, rows, depth)]),
        ("linear", nn.Linear(depth, columns), [(batch, rows, depth)]),
        ("mv", Call(torch.matmul), [(batch * rows, depth), (depth,)]),
        ("addmm", Call(lambda x, y, z: torch.addmm(z, x, y)), [(rows, depth), (depth, columns), (columns,)]),
        ("attention", Call(lambda q, k, v: (q @ k.transpose(-1, -2) * width**-0.5).softmax(-1) @ v), keys),
        ("einsum", Call(lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k)), keys[:2]),
        ("einsum", Call(lambda a, v: torch.einsum("bhij,bhjd->bihd", a, v)), [(2, heads, tokens, tokens), keys[0]]),
        ("cdist", Call(torch.cdist), [(1, rows * 4, depth), (1, 64, depth)])))
    return f"{name} of {', '.join(map(str, shapes))} to {columns}", module, shapes


@family
def recurrent(pick):
    inputs, hidden = pick.choice((8, 16, 32, 64, 128, 256)), pick.choice((16, 20, 32, 64, 100, 128, 256))
    layer = pick.choice((nn.LSTM, nn.GRU, nn.RNN))(inputs, hidden, pick.choice((1, 1, 2)), bidirectional=pick.random() < 0.4)
    shape = (pick.choice((5, 20, 50, 100)), pick.choice((1, 1, 4, 16)), inputs)
    return f"{layer} of {shape}", Call(lambda x: layer(x)[0], layer), [shape]


@family
def other(pick):
    channels, side, small = pick.choice((8, 16, 24, 32, 64, 96)), pick.choice((14, 28, 56)), pick.choice((2, 3, 4, 8, 16))
    image, window = (1, channels, side, side), torch.hann_window(400)
    name, function, shapes = pick.choice((
        ("stft", lambda x: torch.stft(x, 400, 160, 400, window, return_complex=True).abs(), [(1, 16000)]),
        ("rfft2", lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * 0.5, s=(side, side)), [image]),
        ("grid_sample", lambda x, g: functional.grid_sample(x, g * 2 - 1, align_corners=False), [image, (1, side, side, 2)]),
        ("cross", lambda x, y: torch.cross(x, y, -1), [(10000, 3), (10000, 3)]),
        ("inverse", lambda x: torch.inverse(x + 3 * torch.eye(small)), [(500, small, small)]),
        ("cosine_similarity", lambda x, y: functional.cosine_similarity(x, y, 1), [image, image]),
        ("pad by reflection", lambda x: functional.pad(x, (1, 2, 2, 1), mode="reflect"), [image]),
        ("unfold", lambda x: functional.unfold(x, 3, padding=1), [image]),
        ("channel shuffle", lambda x: x.view(1, 2, channels // 2, side, side).transpose(1, 2).reshape(image), [image]),
        ("embedding", lambda i, w: functional.embedding((i * 99).long(), w), [(1000,), (100, channels)])))
    return f"{name} of {', '.join(map(str, shapes))}", Call(function), shapes


# ---------------------------------------------------------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default=",".join(FAMILIES), help="names with commas: " + ", ".join(FAMILIES))
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--profile", action="store_true", help="print the steps of a program, too")
    parser.add_argument("--limit", type=float, default=0.9)
    parser.add_argument("--answers", action="store_true", help="compare answers alone")
    parser.add_argument("--torchlet", default=str(ROOT / "build/release/torchlet"))
    return parser.parse_args()


class Program:
    """The program of a seed in a folder; None as `module` if PyTorch refuses it or it takes too long."""

    def __init__(self, seed, families, folder):
        pick = random.Random(seed)
        torch.manual_seed(seed)
        self.seed, self.module = seed, None
        self.model, self.files = str(folder / "model.pt"), []
        try:
            self.name, module, shapes = FAMILIES[pick.choice(families)](pick)
            if any(math.prod(shape) > MOST_ELEMENTS for shape in shapes):
                return
            self.inputs = [torch.rand(shape) for shape in shapes]
            start = time.perf_counter()
            module.eval()(*self.inputs)
            if time.perf_counter() - start > MOST_SECONDS:
                return
            torch.jit.trace(module, tuple(self.inputs), check_trace=False).save(self.model)
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
            return
        self.module, self.folder = module, folder
        for i, tensor in enumerate(self.inputs):
            self.files.append(str(folder / f"{i}.npy"))
            numpy.save(self.files[-1], tensor.numpy())

    def optimize(self):
        self.variants = []
        for optimize in (torch.jit.freeze, torch.jit.optimize_for_inference):
            variant = optimize(torch.jit.load(self.model).eval())
            try:
                variant(*self.inputs)
            except RuntimeError:  # oneDNN does not take every layout
                continue
            self.variants.append(variant)

    def pytorch(self, seconds):
        """Milliseconds of the fastest call."""
        best = math.inf
        for variant in self.variants:
            variant(*self.inputs)
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                variant(*self.inputs)
                best = min(best, time.perf_counter() - start)
        return best * 1e3

    def torchlet(self, options, command, *arguments):
        command = [options.torchlet, command, self.model, *self.files, "--threads", "1", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"[{self.seed}] {self.name}: {done.stderr.strip()}")
        return done.stdout

    def error(self, options):
        """How far the answer is from PyTorch's in float64, and how far PyTorch's in float32 is, both divided by the largest number."""
        single = self.module(*self.inputs)
        try:
            due = self.module.double()(*(tensor.double() for tensor in self.inputs))
        except RuntimeError:  # a constant of float32
            due = single
        self.torchlet(options, "run", "--save", str(self.folder))
        with open(self.folder / "data.npy", "rb") as file:
            file.seek(json.loads((self.folder / "output.json").read_text())["offset"])
            answer = torch.from_numpy(numpy.load(file))
        if answer.shape != due.shape or answer.dtype != single.dtype:
            return math.inf, 0.0
        if due.numel() == 0:
            return 0.0, 0.0
        due, answer, single = due.double(), answer.double(), single.double()
        most = due.abs().nan_to_num().max().item() or 1

        def largest_error(one):
            same = (one == due) | (one.isnan() & due.isnan())
            return (one - due).abs().nan_to_num(math.inf).masked_fill(same, 0).max().item() / most

        return largest_error(answer), largest_error(single)

    def measure(self, options):
        """Both times in milliseconds, the second longer if it is over the limit."""
        self.optimize()
        times = [math.inf, math.inf]
        for seconds in (0.06, 0.2, 0.2):
            times[0] = min(times[0], self.pytorch(seconds))
            times[1] = min(times[1], json.loads(self.torchlet(options, "bench", "--seconds", str(seconds), "--json"))["min_ms"])
            if times[1] <= options.limit * times[0]:
                break
        return times


def main():
    options = parse()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore")
    families, end = options.family.split(","), time.monotonic() + options.seconds
    checked, wrong, ratios = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for seed in [options.seed] if options.seed is not None else itertools.count(options.first):
            if time.monotonic() > end:
                break
            program = Program(seed, families, pathlib.Path(folder))
            if program.module is None:
                continue
            checked += 1
            error, usual = program.error(options)
            if error > max(10 * usual, 2e-5):
                wrong += 1
                print(f"WRONG by {error:.1e}, PyTorch in float32 by {usual:.1e}  [{seed}] {program.name}", flush=True)
            if options.answers:
                continue
            pytorch, torchlet = program.measure(options)
            ratios.append(torchlet / pytorch)
            if ratios[-1] > options.limit or options.seed is not None:
                print(f"{ratios[-1]:.2f}  PyTorch {pytorch:.4f}  Torchlet {torchlet:.4f}  [{seed}] {program.name}", flush=True)
                if options.profile:
                    print(program.torchlet(options, "bench", "--seconds", "0.2", "--profile"))
    print(f"{checked} programs, the last seed {seed}: {wrong} answers are wrong")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        over = sum(ratio > options.limit for ratio in ratios)
        print(f"next to PyTorch: geometric mean {mean:.2f}, {over} over {options.limit}")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
