#!/usr/bin/python3
"""Trains the sample model of this repository: a small MobileNetV2 that reads handwritten digits.

    apt-get install python3-torch python3-torchvision python3-sklearn
    /usr/bin/python3 scripts/train_digits.py

The pictures are the 1797 scans of the UCI "Optical Recognition of Handwritten Digits" set that
python3-sklearn carries; a fifth of them is never trained on and gives the printed accuracy. It takes
two to three minutes and writes models/: the TorchScript file, the labels and sample pictures.
"""

import pathlib
import time

import numpy
import torch
import torch.nn.functional as F
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torchvision import transforms
from torchvision.models.mobilenetv2 import MobileNetV2

import reproducible

reproducible.rerun(globals())

OUT = pathlib.Path("models")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NAMES = "zero one two three four five six seven eight nine".split()
SAMPLES = (0, 2, 3, 4, 7, 9)  # digits of which one held-out picture is saved
PICTURE = 128  # side of a picture in pixels
EPOCHS, BATCH, TRAINING_SIZE = 40, 64, 64

# Expansion, channels, blocks, first stride: five of the seven stages of MobileNetV2, for 32x32 at its stem.
BLOCKS = [[1, 16, 1, 1], [6, 24, 2, 1], [6, 40, 2, 2], [6, 64, 2, 2], [6, 96, 1, 1]]


class DigitsMobileNetV2(nn.Module):
    """MobileNetV2 on 32x32; average pooling in front of it takes a picture of any larger size."""

    def __init__(self):
        super().__init__()
        self.resize = nn.AdaptiveAvgPool2d(32)
        self.mobilenet = MobileNetV2(num_classes=10, width_mult=0.5, inverted_residual_setting=BLOCKS)

    def forward(self, x):
        return self.mobilenet(self.resize(x))


def to_picture(scan: numpy.ndarray) -> Image.Image:
    """An 8x8 scan of 0..16 as a white digit on black, with a margin of one scan pixel all around."""
    small = Image.fromarray(numpy.pad(scan * (255 / 16), 1).round().astype(numpy.uint8))
    return small.resize((PICTURE, PICTURE), Image.Resampling.BICUBIC).convert("RGB")


def preprocess(resize: int, crop: int):
    """What torchvision does for ImageNet, at any size."""
    return transforms.Compose([
        transforms.Resize(resize), transforms.CenterCrop(crop),
        transforms.ToTensor(), transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD)])


def augment(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Turns, scales and shifts each picture a little. What enters at the border is black, as the margin is."""
    n = len(x)

    def uniform(low, high):
        return low + (high - low) * torch.rand(n, generator=generator)

    angle, scale = uniform(-0.2, 0.2), uniform(0.8, 1.15)
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    rows = torch.stack([torch.stack([cos, -sin, uniform(-0.12, 0.12)], 1),
                        torch.stack([sin, cos, uniform(-0.12, 0.12)], 1)], 1)
    grid = F.affine_grid(rows, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    steps = EPOCHS * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=steps)
    start = time.time()
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        # The incomplete batch at the end is left out: batch norm wants full ones.
        for batch in torch.randperm(len(x), generator=generator).split(BATCH)[:len(x) // BATCH]:
            loss = F.cross_entropy(model(augment(x[batch], generator)), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:2d}  loss {total / (len(x) // BATCH):.4f}  {time.time() - start:.0f} s")
    model.eval()


def predict(model: nn.Module, pictures: list, transform) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.stack([transform(p) for p in pictures])).softmax(1)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one order of summation
    torch.use_deterministic_algorithms(True)

    digits = load_digits()
    pictures = [to_picture(scan) for scan in digits.images]
    labels = torch.from_numpy(digits.target).long()
    train_ids, test_ids = train_test_split(
        numpy.arange(len(pictures)), test_size=0.2, stratify=digits.target, random_state=0)

    model = DigitsMobileNetV2()
    print(f"{sum(p.numel() for p in model.parameters())} parameters, "
          f"{len(train_ids)} pictures to train on, {len(test_ids)} held out")
    to_tensor = preprocess(TRAINING_SIZE, TRAINING_SIZE)
    train(model, torch.stack([to_tensor(pictures[i]) for i in train_ids]), labels[train_ids])

    held_out = [pictures[i] for i in test_ids]
    for resize, crop in (256, 224), (64, 64), (32, 32):
        right = predict(model, held_out, preprocess(resize, crop)).argmax(1) == labels[test_ids]
        print(f"held-out accuracy, resized to {resize} and cropped to {crop}: "
              f"{100 * right.float().mean():.2f} % ({int(right.sum())} of {len(test_ids)})")

    (OUT / "samples").mkdir(parents=True, exist_ok=True)
    torch.jit.script(model).save(str(OUT / "digits_mobilenet_v2.pt"))
    (OUT / "digits_labels.txt").write_text("".join(name + "\n" for name in NAMES))
    for digit in SAMPLES:
        pictures[next(i for i in test_ids if digits.target[i] == digit)].save(
            OUT / "samples" / f"digit_{digit}.png", optimize=True)


if __name__ == "__main__":
    main()
