#!/usr/bin/env python3
"""Damaged copies of model files, the same for the same seed.

    mutations.py FOLDER [--count 20] FILE...     writes so many of each file

Besides bytes that are cut off or turned over, records of zip files are damaged and packed again with the right checksums, so
that what reads pickles, programs and tensors sees them, too."""

import argparse
import io
import os
import random
import re
import struct
import warnings
import zipfile

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)
NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1)


def cut(data, choice):
    return data[: choice.randrange(len(data))]


def flipped(data, choice):
    damaged = bytearray(data)
    for _ in range(choice.choice((1, 1, 4, 30))):
        at = choice.randrange(len(damaged))
        damaged[at] = choice.choice((choice.randrange(256), damaged[at] ^ 1 << choice.randrange(8), choice.choice(EXTREMES)))
    return bytes(damaged)


def overwritten(data, choice):
    """Numbers of 32 bits, as lengths and offsets are, become extreme."""
    damaged = bytearray(data)
    for _ in range(choice.choice((1, 3))):
        at = 4 * choice.randrange(max(len(damaged) // 4, 1))
        damaged[at : at + 4] = struct.pack("<I", choice.choice(NUMBERS))
    return bytes(damaged[: len(data)])


def moved(data, choice):
    """Two stretches change places."""
    a, b, c, d = sorted(choice.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def reworded(data, choice):
    """Two words of a text change places, or one stands where another stood."""
    words = [match.span() for match in re.finditer(rb"[\w.]+", data)]
    if len(words) < 2:
        return flipped(data, choice)
    (a, b), (c, d) = sorted(choice.sample(words, 2))
    return data[:a] + data[c:d] + data[b:c] + (data[a:b] if choice.random() < 0.5 else data[c:d]) + data[d:]


def packed(records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of records with one name
        for name, content in records:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def in_a_record(records, choice):
    at = choice.choice([i for i, (_, content) in enumerate(records) if content])
    name, content = records[at]
    ways = [cut, flipped, flipped, overwritten, moved]
    if name.endswith((".py", ".json", ".debug_pkl")):
        ways = [reworded, reworded, reworded, cut, flipped]
    records[at] = (name, choice.choice(ways)(content, choice))


def swapped(records, choice):
    if len(records) > 1:
        a, b = choice.sample(range(len(records)), 2)
        records[a], records[b] = (records[a][0], records[b][1]), (records[b][0], records[a][1])


def dropped(records, choice):
    del records[choice.randrange(len(records))]


def doubled(records, choice):
    name, _ = choice.choice(records)
    records.append((name, choice.choice(records)[1]))


def mutations(data, count, seed=1):
    """`count` damaged copies of a model file."""
    choice = random.Random(seed)
    original = []
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            original = [(info.filename, archive.read(info)) for info in archive.infolist()]
    for _ in range(count):
        if not original or choice.random() < 0.25:
            yield choice.choice((cut, flipped, flipped, overwritten, moved))(data, choice)
            continue
        records = list(original)
        choice.choice((in_a_record,) * 7 + (swapped, dropped, doubled))(records, choice)
        yield packed(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for path in options.files:
        stem, ending = os.path.splitext(os.path.basename(path))
        with open(path, "rb") as file:
            data = file.read()
        for i, damaged in enumerate(mutations(data, options.count)):
            with open(os.path.join(options.folder, f"{stem}.{i}{ending}"), "wb") as file:
                file.write(damaged)


if __name__ == "__main__":
    main()
