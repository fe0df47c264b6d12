#!/usr/bin/python3
"""Trains the segmentation model of this repository: a small DeepLabV3 that finds five kinds of things in a scene.

    apt-get install python3-torch python3-torchvision
    /usr/bin/python3 scripts/train_segmentation.py

The scenes are composed of pictures in Debian packages, which it downloads (scripts/scenes.py); drawings and backgrounds
that are never trained on give the printed intersection over union. It takes 25 minutes on one core and writes
models/scenes_deeplabv3.ptl and the labels.
"""

import json
import pathlib
import random
import time
from typing import Dict

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.utils.mobile_optimizer import optimize_for_mobile
from torchvision.models.segmentation.deeplabv3 import ASPP

import reproducible

reproducible.rerun(globals())

import scenes  # noqa: E402: it downloads, once

OUT = pathlib.Path("models")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
SIDE = 128  # of a scene trained on, in pixels
BATCH = 16
# Steps, highest learning rate, dropout, plain scenes: each cycle starts where the one before ended, with less in its way.
CYCLES = ((2500, 6e-3, 0.5, False), (1000, 3e-3, 0.0, False), (700, 2e-3, 0.0, True))
WEIGHTS = (0.5, 1.0, 1.0, 1.0, 1.0, 1.0)  # of the classes in the loss: most pixels are background
PREPROCESS = {"resize": 240, "antialias": True, "crop": None, "channels": "RGB", "mean": MEAN, "std": STD}

# Expansion, channels, blocks, first stride, dilation. The last two stages keep an eighth of the picture's size.
STAGES = ((1, 16, 1, 1, 1), (4, 24, 2, 2, 1), (4, 32, 3, 2, 1), (4, 48, 3, 1, 2), (4, 64, 2, 1, 4))
ATROUS_RATES, HEAD_CHANNELS = (2, 4, 6), 32


def conv(i: int, o: int, kernel: int, stride: int = 1, dilation: int = 1, groups: int = 1, relu: bool = True) -> nn.Sequential:
    layers = [nn.Conv2d(i, o, kernel, stride, dilation * (kernel // 2), dilation, groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, nn.ReLU6()) if relu else nn.Sequential(*layers)


class InvertedResidual(nn.Module):
    """MobileNetV2's block, with dilation."""

    def __init__(self, i: int, o: int, expansion: int, stride: int, dilation: int):
        super().__init__()
        hidden = i * expansion
        self.block = nn.Sequential(
            conv(i, hidden, 1) if expansion > 1 else nn.Identity(),
            conv(hidden, hidden, 3, stride, dilation, groups=hidden),
            conv(hidden, o, 1, relu=False))
        self.residual = stride == 1 and i == o

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x) if self.residual else self.block(x)


def backbone() -> nn.Sequential:
    channels = 16
    layers = [conv(3, channels, 3, stride=2)]
    for expansion, out, blocks, stride, dilation in STAGES:
        for i in range(blocks):
            layers.append(InvertedResidual(channels, out, expansion, stride if i == 0 else 1, dilation))
            channels = out
    return nn.Sequential(*layers)


class ScenesDeepLabV3(nn.Module):
    """Answers as torchvision's segmentation models do: {"out": [N, classes, H, W]}, logits of each pixel."""

    def __init__(self):
        super().__init__()
        self.backbone = backbone()
        self.classifier = nn.Sequential(
            ASPP(STAGES[-1][1], ATROUS_RATES, HEAD_CHANNELS),
            conv(HEAD_CHANNELS, HEAD_CHANNELS, 3),
            nn.Conv2d(HEAD_CHANNELS, len(scenes.LABELS), 1))

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        small = self.classifier(self.backbone(x))
        return {"out": F.interpolate(small, size=x.shape[-2:], mode="bilinear", align_corners=False)}


def to_tensor(scene: Image.Image) -> Tensor:
    x = torch.from_numpy(numpy.array(scene)).permute(2, 0, 1).float() / 255
    return (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)


def batch(pictures: scenes.Pictures, random_: random.Random, plain: bool):
    pairs = [scenes.compose(pictures, random_, SIDE, SIDE, plain) for _ in range(BATCH)]
    x = torch.stack([to_tensor(s) for s, _ in pairs]).contiguous(memory_format=torch.channels_last)  # a third faster
    return x, torch.from_numpy(numpy.stack([l for _, l in pairs])).long()


def evaluate(model: nn.Module, pictures: scenes.Pictures, count: int) -> Tensor:
    """The confusion of classes [truth, answer], in pixels, over plain scenes of 320x240."""
    random_, n = random.Random(1), len(scenes.LABELS)
    confusion = torch.zeros(n * n, dtype=torch.long)
    model.eval()
    with torch.no_grad():
        for _ in range(count):
            scene, labels = scenes.compose(pictures, random_, 320, 240, plain=True)
            answer = model(to_tensor(scene)[None])["out"][0].argmax(0)
            confusion += torch.bincount(torch.from_numpy(labels).long().flatten() * n + answer.flatten(), minlength=n * n)
    return confusion.view(n, n)


def report(confusion: Tensor) -> str:
    right = confusion.diag().double()
    iou = right / (confusion.sum(0) + confusion.sum(1) - right)
    each = ", ".join(f"{name} {100 * v:.1f}" for name, v in zip(scenes.LABELS, iou.tolist()))
    return f"mIoU {100 * iou.mean():.1f} % ({each}), pixels right {100 * right.sum() / confusion.sum():.1f} %"


def train(model: nn.Module, pictures: scenes.Pictures, held_out: scenes.Pictures, cycle: int) -> None:
    steps, rate, dropout, plain = CYCLES[cycle]
    random_ = random.Random(cycle)
    model.classifier[0].project[-1].p = dropout
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps, pct_start=0.15)
    weights, start, total = torch.tensor(WEIGHTS), time.time(), 0.0
    for step in range(1, steps + 1):
        model.train()
        x, y = batch(pictures, random_, plain)
        loss = F.cross_entropy(model(x)["out"], y, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 500 == 0:
            print(f"step {step:5d}  loss {total / 500:.3f}  {time.time() - start:.0f} s  "
                  f"{report(evaluate(model, held_out, 40))}", flush=True)
            total = 0.0
    torch.manual_seed(cycle + 1)


def save(model: nn.Module) -> None:
    labels = "".join(name + "\n" for name in scenes.LABELS)
    model = model.to(memory_format=torch.contiguous_format).eval()
    optimize_for_mobile(torch.jit.script(model))._save_for_lite_interpreter(
        str(OUT / "scenes_deeplabv3.ptl"), _extra_files={"preprocess.json": json.dumps(PREPROCESS), "labels.txt": labels})
    (OUT / "scenes_labels.txt").write_text(labels)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one order of summation
    torch.use_deterministic_algorithms(True, warn_only=True)
    pictures, held_out = scenes.Pictures(False), scenes.Pictures(True)
    model = ScenesDeepLabV3().to(memory_format=torch.channels_last)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    for what, p in ("to train on", pictures), ("held out", held_out):
        count = ", ".join(f"{name} {len(p.drawings[label])}" for label, name in enumerate(scenes.LABELS))
        print(f"{what}: {count}; {len(p.photographs)} photographs, {len(p.patterns)} patterns", flush=True)
    for cycle in range(len(CYCLES)):
        train(model, pictures, held_out, cycle)
    save(model)
    print("held-out drawings on held-out backgrounds, 400 scenes:", report(evaluate(model, held_out, 400)))
    print("those trained on:", report(evaluate(model, pictures, 100)))


if __name__ == "__main__":
    main()
