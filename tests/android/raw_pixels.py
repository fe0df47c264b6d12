#!/usr/bin/env python3
"""Writes the pixels of an 8-bit RGB PNG without interlacing: raw_pixels.py PICTURE OUT. Prints width and height."""

import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + size]
        at += 12 + size


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def main():
    with open(sys.argv[1], "rb") as file:
        parts = list(chunks(file.read()))
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", dict(parts)[b"IHDR"])
    if (depth, colours, interlaced) != (8, 2, 0):
        sys.exit("not an 8-bit RGB PNG without interlacing")
    data = zlib.decompress(b"".join(content for kind, content in parts if kind == b"IDAT"))
    stride, rows, above = 3 * width, [], bytes(3 * width)
    for y in range(height):
        kind, line = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            a, b, c = (line[x - 3], above[x], above[x - 3]) if x >= 3 else (0, above[x], 0)
            line[x] = (line[x] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) & 255
        rows.append(bytes(line))
        above = line
    with open(sys.argv[2], "wb") as file:
        file.write(b"".join(rows))
    print(width, height)


main()
