#!/usr/bin/env python3
"""Writes what `compare.py --rows FILE` measured into the tables of README.md and docs/performance.md.

    python3 bench/compare_tables.py FILE

The rows are the file's, in its order, of single pictures and single processes; of a row that was measured twice, the later one
counts. Columns to the right of "ratio" are kept. README.md gets the rows of one thread.
"""

import json
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ENGINES = {"torchlet": "Torchlet", "pytorch": "PyTorch 1.13", "onnx_runtime": "ONNX Runtime", "openvino_cpu": "OpenVINO",
           "xnnpack": "XNNPACK", "ncnn_net": "ncnn"}
MODELS = {"mobilenet_v2": "MobileNetV2", "mobilenet_v3_large": "MobileNetV3-large", "resnet18": "ResNet-18",
          "resnet50": "ResNet-50", "deeplabv3_resnet50": "DeepLabV3-ResNet50", "vit_b_16": "ViT-B/16"}


def cells(line: str) -> list:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def line_of(words: list) -> str:
    return "| " + " | ".join(words) + " |\n"


def table(old: list, rows: list, cell) -> list:
    """The lines of the new table in place of those of the old one."""
    kept = cells(old[0])[cells(old[0]).index("ratio") + 1:]
    notes = {cells(line)[0]: cells(line)[-len(kept):] for line in old[2:]} if kept else {}
    header = ["model, threads", *ENGINES.values(), "ratio", *kept]
    lines = [line_of(header), "|---" * len(header) + "|\n"]
    for row in rows:
        name = f"{MODELS[row['model']]} {row['precision']}, {row['threads']}"
        times = [cell(*row["engines"][e]) if e in row["engines"] else "-" for e in ENGINES]
        lines.append(line_of([name, *times, f"**{row['ratio']:.2f}**", *notes.get(name, [""] * len(kept))]))
    return lines


def write(path: str, rows: list, cell) -> None:
    with open(path) as file:
        lines = file.readlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| model, threads | Torchlet |") and "ncnn" in line)
    end = next(i for i in range(begin, len(lines) + 1) if i == len(lines) or not lines[i].startswith("|"))
    lines[begin:end] = table(lines[begin:end], rows, cell)
    with open(path, "w") as file:
        file.writelines(lines)


def main() -> None:
    with open(sys.argv[1]) as file:
        measured = [json.loads(line) for line in file]
    measured = [row for row in measured if row["model"] in MODELS and row["at_once"] == 1 and row["ratio"]]
    rows = list({(row["model"], row["precision"], row["threads"]): row for row in measured}.values())
    write(f"{ROOT}/README.md", [row for row in rows if row["threads"] == 1], lambda least, median: f"{median:.2f} ms")
    write(f"{ROOT}/docs/performance.md", rows, lambda least, median: f"{least:.2f} / {median:.2f}")


main()
