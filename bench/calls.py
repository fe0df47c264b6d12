#!/usr/bin/python3
"""Times calls as programs make them next to PyTorch, on one thread: what bench/operators.py, which grows one sample for all
operators, does not reach. Complex numbers, narrow integers, boxes, pictures, tables of embeddings, many small matrices.

    cmake --build --preset release --target torchlet_shared
    /usr/bin/python3 bench/calls.py                   # all, and docs/calls_speed.md
    /usr/bin/python3 bench/calls.py --filter '^topk'  # these alone, to standard output

A call is traced, and both run the file with the same tensors, in one process and in turns (bench/operators.py). A new call
is a line here; what it finds is explained in docs/performance.md or made faster.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile
import warnings

import operators
import torch
import torchvision
import torchvision.transforms.functional as pictures
from operators import ROOT
from torch.nn import functional as F
from torchvision import ops as boxes_ops
from torchvision.transforms import InterpolationMode

BILINEAR, BICUBIC, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST
randn, rand = torch.randn, torch.rand


def ints(high, *sizes, dtype=torch.int64):
    return torch.randint(0, high, sizes).to(dtype)


def pairs(*sizes):  # complex numbers as the inputs of a file have them
    return randn(*sizes, 2)


def z(x):
    return torch.view_as_complex(x)


def parts(x):
    return torch.view_as_real(x)


def positive(*sizes):
    x = randn(*sizes)
    return x @ x.mT + sizes[-1] * torch.eye(sizes[-1])


def boxes(count, side):
    corner = rand(count, 2) * side
    return torch.cat([corner, corner + rand(count, 2) * 60 + 1], 1)


class First(torch.nn.Module):
    """The first result of a recurrent layer."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        return self.cell(x)[0]


class Packed(First):
    def forward(self, x, lengths):
        out, _ = self.cell(torch.nn.utils.rnn.pack_padded_sequence(x, lengths))
        return torch.nn.utils.rnn.pad_packed_sequence(out)[0]


def linear_algebra():
    for n, count in ((3, 20000), (4, 20000), (8, 4096), (64, 64), (512, 1)):
        name, a, spd = f"{count} of {n} x {n}", randn(count, n, n), positive(count, n, n)
        yield f"inv {name}", torch.linalg.inv, a
        yield f"det {name}", torch.linalg.det, a
        yield f"cholesky {name}", torch.linalg.cholesky, spd
        yield f"qr {name}", lambda x: torch.linalg.qr(x)[0], a
        yield f"solve {name}", torch.linalg.solve, a, randn(count, n, 1)
        yield f"svdvals {name}", torch.linalg.svdvals, a
        yield f"eigh {name}", lambda x: torch.linalg.eigh(x)[1], spd
        yield f"eig {name}", lambda x: parts(torch.linalg.eig(x)[1]), a
        yield f"eigvals {name}", lambda x: parts(torch.linalg.eigvals(x)), a
        yield f"matrix_exp {name}", torch.matrix_exp, a / n
    upper = torch.triu(randn(256, 256)) + 16 * torch.eye(256)
    yield "solve_triangular", lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), upper, randn(256, 256)
    yield "solve_triangular right", lambda a, b: torch.linalg.solve_triangular(a, b, upper=True, left=False), upper, randn(256, 256)
    yield "cholesky_solve", torch.cholesky_solve, randn(256, 64), torch.linalg.cholesky(positive(256, 256))
    yield "lu_factor", lambda a: torch.linalg.lu_factor(a)[0], randn(512, 512)
    yield "lstsq", lambda a, b: torch.linalg.lstsq(a, b)[0], randn(512, 64), randn(512, 8)
    yield "pinv", torch.linalg.pinv, randn(128, 64)
    yield "tensorinv", lambda a: torch.linalg.tensorinv(a, 2), randn(16, 16, 16, 16)
    yield "kron", torch.kron, randn(64, 64), randn(16, 16)
    yield "multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), randn(128, 256), randn(256, 64), randn(64, 512)
    yield "einsum of three", lambda a, b, c: torch.einsum("bi,ijk,bk->bj", a, b, c), randn(64, 64), randn(64, 64, 64), randn(64, 64)
    yield "conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), randn(50, 8, 512), randn(3, 512, 1024), randn(1024)


def complex_numbers():
    a, b, rows = pairs(500000), pairs(500000), pairs(1000, 500)
    yield "add", lambda x, y: parts(z(x) + z(y)), a, b
    yield "mul", lambda x, y: parts(z(x) * z(y)), a, b
    yield "div", lambda x, y: parts(z(x) / z(y)), a, b
    yield "mul by a real", lambda x, y: parts(z(x) * y), a, randn(500000)
    yield "mul by a number", lambda x: parts(z(x) * 2), a
    yield "conj", lambda x: parts(z(x).conj().resolve_conj()), a
    yield "abs", lambda x: z(x).abs(), a
    yield "angle", lambda x: z(x).angle(), a
    yield "square", lambda x: parts(z(x) ** 2), a
    yield "reciprocal", lambda x: parts(z(x).reciprocal()), a
    for name in ("exp", "log", "sqrt", "sin", "tanh"):
        yield name, lambda x, name=name: parts(getattr(torch, name)(z(x))), a
    yield "sum over columns", lambda x: parts(z(x).sum(0)), rows
    yield "sum over rows", lambda x: parts(z(x).sum(1)), rows
    yield "cumsum", lambda x: parts(z(x).cumsum(1)), rows
    yield "mm", lambda x, y: parts(z(x) @ z(y)), pairs(256, 256), pairs(256, 256)
    yield "bmm", lambda x, y: parts(torch.bmm(z(x), z(y))), pairs(64, 32, 32), pairs(64, 32, 32)
    yield "bmm of 3 x 3", lambda x, y: parts(torch.bmm(z(x), z(y))), pairs(1000, 3, 3), pairs(1000, 3, 3)
    yield "linear", lambda x, y: parts(F.linear(z(x), z(y))), pairs(64, 128), pairs(128, 128)
    yield "einsum of a Fourier layer", lambda x, y: parts(torch.einsum("bixy,ioxy->boxy", z(x), z(y))), pairs(4, 32, 16, 16), pairs(32, 32, 16, 16)


def signals():
    yield "rfft", lambda x: parts(torch.fft.rfft(x)), randn(1000, 1024)
    yield "rfft of a prime", lambda x: parts(torch.fft.rfft(x)), randn(1000, 1021)
    yield "fft2", lambda x: parts(torch.fft.fft2(x)), randn(8, 256, 256)
    yield "fftshift", lambda x: torch.fft.fftshift(torch.fft.fft2(x)).abs(), randn(8, 256, 256)
    yield "stft", lambda x: parts(torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)), randn(1, 80000)
    yield "istft", lambda x: torch.istft(torch.stft(x, 400, 100, window=torch.hann_window(400), return_complex=True), 400, 100,
                                         window=torch.hann_window(400)), randn(1, 80000)
    yield "log of a spectrum", lambda x: torch.stft(x, 512, 128, return_complex=True).abs().pow(2).log1p(), randn(4, 48000)
    yield "mel", lambda x, m: m @ torch.stft(x, 512, 128, return_complex=True).abs().pow(2), randn(4, 48000), randn(80, 257)
    yield "convolution by fft", lambda x, y: torch.fft.irfft(torch.fft.rfft(x, n=8192) * torch.fft.rfft(y, n=8192), n=8192), randn(64, 4096), randn(64, 4096)
    yield "envelope", lambda x: torch.fft.ifft(torch.fft.fft(x) * 2).abs(), randn(64, 4096)
    yield "rotary, complex", lambda q, f: parts(z(q) * z(f)).flatten(3), pairs(1, 8, 256, 32), pairs(256, 32)
    for k in (2, 3, 4, 5, 8):
        yield f"max_pool1d {k}", lambda x, k=k: F.max_pool1d(x, k), randn(8, 64, 4096)
        yield f"avg_pool1d {k}", lambda x, k=k: F.avg_pool1d(x, k), randn(8, 64, 4096)
    yield "linear upsampling", lambda x: F.interpolate(x, scale_factor=2.0, mode="linear"), randn(1, 64, 8000)


def order_and_index():
    square, index = randn(1000, 1000), ints(1000, 1000, 1000)
    for k, sizes in ((1, (1000, 1000)), (10, (1000, 1000)), (5, (4, 100000)), (100, (100, 10000)), (1000, (1, 260000))):
        yield f"topk {k} of {sizes}", lambda x, k=k: x.topk(k, -1)[1], randn(*sizes)
    for name in ("sort", "argsort", "cummax", "mode", "median", "nanmedian"):
        yield name, lambda x, name=name: (lambda y: y if isinstance(y, torch.Tensor) else y[0])(getattr(torch, name)(x, dim=1)), square
    yield "quantile", lambda x: torch.quantile(x, 0.3, dim=1), square
    yield "unique of bools", torch.unique, square > 0
    yield "unique", torch.unique, ints(1000, 1000, 1000)
    yield "bincount", torch.bincount, ints(1000, 1000000)
    yield "histc", lambda x: torch.histc(x, 100), square
    yield "gather", lambda x, i: x.gather(1, i), square, index
    yield "scatter_add", lambda x, i, v: x.scatter_add(0, i, v), square, index, randn(1000, 1000)
    yield "scatter_reduce", lambda x, i, v: x.scatter_reduce(0, i, v, "amax"), square, index, randn(1000, 1000)
    yield "index_add", lambda x, i, v: x.index_add(0, i, v), randn(1000, 64), ints(1000, 10000), randn(10000, 64)
    yield "index by two", lambda x, i, j: x[i, j], square, ints(1000, 500000), ints(1000, 500000)
    yield "index_put", lambda x, i, v: x.clone().index_put_((i,), v, accumulate=True), randn(10000, 100), ints(10000, 5000), randn(5000, 100)
    yield "mask", lambda x: x[x > 0], square
    yield "nonzero", lambda x: torch.nonzero(x > 0), square
    yield "repeat_interleave", lambda x: torch.repeat_interleave(x, 4, 1), randn(500, 500)
    yield "combinations", lambda x: torch.combinations(x, 2), randn(1000)
    yield "tril_indices", lambda x: torch.tril_indices(1000, 1000) + x, ints(2, 1)
    yield "nearest of points", lambda x: torch.cdist(x, x).topk(16, largest=False)[1], randn(4, 1024, 3)
    yield "pdist", torch.pdist, randn(1000, 64)
    offsets = torch.arange(0, 20000, 20)
    for mode in ("sum", "mean", "max"):
        yield f"embedding_bag {mode}", lambda w, i, o, mode=mode: F.embedding_bag(i, w, o, mode=mode), randn(10000, 64), ints(10000, 20000), offsets
    yield "embedding_bag with padding", lambda w, i, o: F.embedding_bag(i, w, o, mode="mean", padding_idx=0), randn(10000, 64), ints(10000, 20000), offsets


def dtypes():
    for name, dtype in (("int32", torch.int32), ("int16", torch.int16), ("uint8", torch.uint8), ("int64", torch.int64)):
        x, y = ints(100, 1000, 1000, dtype=dtype), ints(100, 1000, 1000, dtype=dtype)
        yield f"{name} add", lambda a, b: a + b, x, y
        yield f"{name} mul", lambda a, b: a * b, x, y
        yield f"{name} eq", lambda a, b: a == b, x, y
        yield f"{name} lt", lambda a, b: a < b, x, y
        yield f"{name} and", lambda a, b: a & b, x, y
        yield f"{name} clamp", lambda a: a.clamp(3, 50), x
        yield f"{name} abs", lambda a: a.abs(), x
        yield f"{name} remainder", lambda a: a % 7, x
        yield f"{name} every other", lambda a: a[:, ::2].contiguous(), x
        yield f"{name} sum", lambda a: a.sum(1), x
        yield f"{name} max", lambda a: a.max(1)[0], x
        yield f"{name} floor division", lambda a: a // 7, x
        yield f"{name} where", lambda a, b: torch.where(a > 50, a, b), x, y
        yield f"{name} to float", lambda a: a.float(), x
        yield f"float to {name}", lambda a, dtype=dtype: a.to(dtype), rand(1000, 1000) * 100
    for name in ("exp", "sin", "tanh", "sqrt"):
        yield f"float64 {name}", lambda a, name=name: getattr(torch, name)(a), rand(1000, 1000).double()
    yield "float64 softmax", lambda a: a.softmax(-1), randn(1000, 1000).double()
    yield "float64 layer_norm", lambda a: F.layer_norm(a, (512,)), randn(1000, 512).double()
    yield "float16 add", lambda a, b: (a + b).float(), randn(1000, 1000).half(), randn(1000, 1000).half()
    yield "floor division", lambda a: a // 1.5, randn(1000, 1000)
    yield "bfloat16 gelu", lambda a: F.gelu(a.bfloat16()).float(), randn(1000, 1000)
    linear, conv = torch.nn.Linear(768, 3072).bfloat16(), torch.nn.Conv2d(64, 64, 3, padding=1).bfloat16()
    linear.requires_grad_(False), conv.requires_grad_(False)
    yield "bfloat16 linear", lambda a: linear(a.bfloat16()).float(), randn(197, 768)
    yield "bfloat16 conv2d", lambda a: conv(a.bfloat16()).float(), randn(1, 64, 56, 56)
    yield "bfloat16 add", lambda a, b: (a.bfloat16() + b.bfloat16()).float(), randn(1000, 1000), randn(1000, 1000)


def rows_and_layouts():
    for count, size in ((1000, 2049), (100, 10000), (4, 1000000)):
        rows = randn(count, size)
        for name in ("mean", "amax", "std", "softmax", "argmax"):
            yield f"{name} of {count} x {size}", lambda x, name=name: getattr(x, name)(-1), rows
    yield "mean of planes", lambda x: x.mean((2, 3)), randn(2, 64, 56, 56)
    for shape in ((12500, 2, 8), (3125, 2, 32), (1562, 4, 32), (1000, 3, 100)):
        yield f"sum of {shape} over 1", lambda x: x.sum(1), randn(*shape)
    image = randn(1, 3, 640, 640)
    yield "every other column", lambda x: x[..., ::2].contiguous(), image
    yield "focus", lambda x: torch.cat([x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)], 1), image
    yield "rotary pairs", lambda q, c, s: torch.stack([q[..., ::2] * c - q[..., 1::2] * s, q[..., 1::2] * c + q[..., ::2] * s], -1).flatten(-2), \
        randn(1, 12, 256, 64), randn(256, 32), randn(256, 32)
    yield "a channel of bytes", lambda x: x[..., 0].contiguous(), ints(256, 480, 640, 3, dtype=torch.uint8)
    last = randn(4, 64, 32, 32).contiguous(memory_format=torch.channels_last)
    yield "stack of images", lambda x, y: torch.stack([x, y], 1), last, last.clone()
    yield "sum of stacked images", lambda x, y: torch.stack([x, y], 1).sum(1), last, last.clone()
    for shape, pad in (((8, 512, 7, 7), (1, 1, 1, 1)), ((8, 64, 28, 28), (1, 2, 1, 2)), ((24, 24, 7, 12, 7), (2, 2, 2, 2, 2, 1))):
        yield f"pad {shape}", lambda x, pad=pad: F.pad(x, pad), randn(*shape)
    yield "flip", lambda x: x.flip(-1), image
    yield "cat of columns", lambda x, y: torch.cat([x, y], -1), randn(3000, 512), randn(3000, 512)
    for shape in ((65536, 32), (16384, 128), (1000, 1024)):
        yield f"fft of {shape}", lambda x: parts(torch.fft.fft(x)), randn(*shape)
        yield f"complex fft of {shape}", lambda x: parts(torch.fft.fft(z(x))), pairs(*shape)


def vision():
    for count in (1000, 5000):
        yield f"nms {count}", lambda b, s: boxes_ops.nms(b, s, 0.5), boxes(count, 0.2 * count), rand(count)
    yield "batched_nms", lambda b, s, i: boxes_ops.batched_nms(b, s, i, 0.5), boxes(2000, 400), rand(2000), ints(80, 2000)
    yield "box_iou", boxes_ops.box_iou, boxes(1000, 200), boxes(500, 200)
    image, few = randn(1, 256, 50, 50), boxes(100, 140)
    yield "roi_align", lambda x, b: boxes_ops.roi_align(x, [b], 7, 0.25, 2), image, few
    yield "roi_align, adaptive", lambda x, b: boxes_ops.roi_align(x, [b], 14, 0.25, -1, True), image, few
    yield "roi_pool", lambda x, b: boxes_ops.roi_pool(x, [b], 7, 0.25), image, few
    yield "ps_roi_align", lambda x, b: boxes_ops.ps_roi_align(x, [b], 7, 0.25), randn(1, 490, 50, 50), few
    yield "deform_conv2d", lambda x, o, w: boxes_ops.deform_conv2d(x, o, w, padding=1), randn(1, 64, 40, 40), randn(1, 18, 40, 40), randn(64, 64, 3, 3)
    for channels, kernel, side in ((3, 3, 480), (3, 5, 480), (3, 11, 256), (6, 5, 256), (8, 5, 256), (12, 5, 256), (1, 7, 480)):
        w = rand(channels, 1, kernel, kernel)
        yield f"filter {kernel} x {kernel}, {channels} channels", lambda x, w=w, p=kernel // 2, c=channels: F.conv2d(x, w, padding=p, groups=c), randn(1, channels, side, side)
    yield "affine_grid", lambda t: F.affine_grid(t, [8, 3, 224, 224], False), randn(8, 2, 3)
    yield "affine_grid of volumes", lambda t: F.affine_grid(t, [2, 3, 48, 64, 64], False), randn(2, 3, 4)
    for mode in ("bilinear", "bicubic"):
        yield f"grid_sample {mode}", lambda x, g, mode=mode: F.grid_sample(x, g, mode=mode, align_corners=False), randn(1, 32, 64, 64), randn(1, 64, 64, 2) / 2
    yield "unfold", lambda x: F.unfold(x, 3, padding=1), randn(1, 32, 64, 64)
    yield "fold", lambda x: F.fold(x, (64, 64), 3, padding=1), randn(1, 288, 4096)
    yield "max_pool2d with indices", lambda x: F.max_pool2d(x, 3, 2, return_indices=True)[1], randn(8, 64, 56, 56)
    yield "local_response_norm", lambda x: F.local_response_norm(x, 5), randn(1, 64, 56, 56)
    colours, levels = rand(3, 480, 640), ints(256, 3, 480, 640, dtype=torch.uint8)
    yield "resize, antialiased", lambda x: pictures.resize(x, [256, 340], antialias=True), colours
    yield "resize, cubic", lambda x: pictures.resize(x, [256, 340], BICUBIC, antialias=True), colours
    yield "resize bytes", lambda x: pictures.resize(x, [256, 340], NEAREST), levels
    yield "bytes to floats", lambda x: pictures.convert_image_dtype(x, torch.float), levels
    yield "hwc to chw", lambda x: x.permute(2, 0, 1).float().div(255), ints(256, 480, 640, 3, dtype=torch.uint8)
    for name in ("brightness", "contrast", "saturation", "gamma", "sharpness"):
        yield f"adjust_{name}", lambda x, name=name: getattr(pictures, f"adjust_{name}")(x, 1.3), colours
    yield "adjust_hue", lambda x: pictures.adjust_hue(x, 0.1), colours
    yield "rotate", lambda x: pictures.rotate(x, 30.0, BILINEAR), colours
    yield "gaussian_blur", lambda x: pictures.gaussian_blur(x, [5, 5], [1.1, 1.1]), colours
    yield "equalize", pictures.equalize, levels
    yield "posterize", lambda x: pictures.posterize(x, 4), levels
    yield "autocontrast", pictures.autocontrast, colours


def sequences():
    x, lengths = randn(50, 8, 64), torch.tensor([50, 45, 40, 35, 30, 20, 10, 5])
    for name, cell in (("LSTM", torch.nn.LSTM(64, 128, 2)), ("GRU", torch.nn.GRU(64, 128, 2)), ("RNN", torch.nn.RNN(64, 128, 2)),
                       ("LSTM, both ways", torch.nn.LSTM(64, 128, 2, bidirectional=True)), ("LSTM, projected", torch.nn.LSTM(64, 128, proj_size=32))):
        yield name, First(cell), x
    yield "LSTM, packed", Packed(torch.nn.LSTM(64, 128)), x, lengths
    yield "GRU, packed", Packed(torch.nn.GRU(64, 128)), x, lengths
    yield "decoder layer", torch.nn.TransformerDecoderLayer(256, 8, batch_first=True), randn(4, 64, 256), randn(4, 64, 256)
    yield "bilinear", torch.nn.Bilinear(64, 64, 32), randn(256, 64), randn(256, 64)
    yield "ctc_loss", lambda a, t: F.ctc_loss(a.log_softmax(2), t, torch.full((16,), 50), torch.full((16,), 20)), randn(50, 16, 30), ints(29, 16, 20) + 1
    yield "causal mask", lambda q: q.masked_fill(torch.ones(512, 512, dtype=torch.bool).triu(1), float("-inf")), randn(8, 512, 512)
    for name in ("lgamma", "digamma", "erfinv", "i0"):
        yield name, lambda a, name=name: getattr(torch, name)(a), rand(1000, 1000)


GROUPS = (linear_algebra, complex_numbers, signals, order_and_index, dtypes, rows_and_layouts, vision, sequences)


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def measured(torchlet, folder, function, tensors):
    """Seconds of a call, ours and PyTorch's; the error if there is one."""
    module = function if isinstance(function, torch.nn.Module) else Call(function)
    path = pathlib.Path(folder) / "call.pt"
    traced = torch.jit.trace(module.eval(), tensors, check_trace=False)
    traced.save(str(path))
    try:
        run = torchlet.program(path, tensors)
        run()
    except RuntimeError as error:
        return {"error": str(error).split("\n")[0]}
    ours, theirs = operators.compare(run, lambda: traced(*tensors))
    return {"torchlet": ours[0], "pytorch": theirs[0]}


def table(rows, limit):
    ratios = {key: row["torchlet"] / row["pytorch"] for key, row in rows.items() if "error" not in row}
    text = ["# How fast calls are", "",
            "`bench/calls.py` times calls as programs make them next to PyTorch 1.13: one thread, in turns, the same tensors.", "",
            "| group | calls | median of Torchlet's time over PyTorch's | largest | over " + f"{limit:g} |", "|---|---|---|---|---|"]
    for group in GROUPS:
        some = [ratio for (name, _), ratio in ratios.items() if name == group.__name__]
        if some:
            text.append(f"| {group.__name__.replace('_', ' ')} | {len(some)} | {statistics.median(some):.2f} | {max(some):.1f} | {sum(r > limit for r in some)} |")
    text += ["", f"Over {limit:g}:", "", "| call | Torchlet, ms | PyTorch, ms | ratio |", "|---|---|---|---|"]
    for key in sorted(ratios, key=ratios.get, reverse=True):
        if ratios[key] > limit:
            ours, theirs = rows[key]["torchlet"] * 1e3, rows[key]["pytorch"] * 1e3
            text.append(f"| {key[1]} | {ours:.3f} | {theirs:.3f} | {ratios[key]:.1f} |")
    failed = [f"- {name}: {row['error']}" for (_, name), row in rows.items() if "error" in row]
    return "\n".join(text + (["", "Not run:", "", *failed] if failed else [])) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", help="a regular expression; the table goes to standard output then")
    parser.add_argument("--library", default=str(ROOT / "build/release/libtorchlet.so"))
    parser.add_argument("--limit", type=float, default=1.5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    torchlet, rows = operators.Torchlet(options.library), {}
    with tempfile.TemporaryDirectory() as folder:
        for group in GROUPS:
            for name, function, *tensors in group():
                if options.filter and not re.search(options.filter, name):
                    continue
                row = rows[group.__name__, name] = measured(torchlet, folder, function, tuple(tensors))
                print(f"{name:40}", json.dumps(row), flush=True, file=sys.stderr)
    text = table(rows, options.limit)
    if options.filter:
        print(text, end="")
    else:
        (ROOT / "docs/calls_speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
