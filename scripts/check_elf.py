#!/usr/bin/env python3
"""Holds shared libraries to what Android asks of them, and to their public face:

    check_elf.py [--also NAMES] [--symbols REGEX] [--abi ABI] [--stripped] LIBRARY...

- segments are aligned to 16384 bytes or more, in memory and in the file, so that devices with pages of 16 KB load them;
- no text relocations and no executable stack, which Android refuses from API level 23 on;
- what they show: `torchlet_*`, the C++ API (namespace torchlet), JNI's `Java_*`, `JNI_OnLoad` and `JNI_OnUnload`, and with
  --symbols what matches it whole;
- what they need: libraries of the system, and with --also these (with commas; libhwy.so stands for libhwy.so.1, too);
- with --abi they are of that processor, as Android calls it;
- with --stripped no symbol table and no debug information.

Reads the files itself, of any processor and either byte order of 32 and 64 bits. Fails with one line a fault.
"""

import argparse
import os
import re
import struct
import sys

PAGE = 16384
# The C and C++ libraries, the system's own, and zlib, which every Android has.
SYSTEM = ("libc.so,libm.so,libdl.so,liblog.so,libandroid.so,libz.so,libpthread.so,librt.so,ld-linux,ld-linux-x86-64.so,"
          "ld-linux-aarch64.so,ld-linux-armhf.so,libstdc++.so,libgcc_s.so")
SHOWN = r"torchlet_\w+|_ZNK?8torchlet.*|_ZT[ISV]N8torchlet.*|Java_org_torchlet_\w+|JNI_On(Load|Unload)"

PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PF_X, PF_W = 1, 2, 0x6474E551, 1, 2
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_SONAME, DT_TEXTREL, DT_FLAGS, DF_TEXTREL = 1, 5, 6, 14, 22, 30, 4
DT_HASH, DT_GNU_HASH = 4, 0x6FFFFEF5
MACHINES = {3: "x86", 40: "armeabi-v7a", 62: "x86_64", 183: "arm64-v8a"}


class Elf:
    """The program headers and the dynamic section of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:4] != b"\x7fELF":
            raise ValueError("no ELF file")
        self.wide = self.data[4] == 2
        self.order = "<" if self.data[5] == 1 else ">"
        self.type, machine = self.unpack("HH", 16)
        self.abi = MACHINES.get(machine, f"machine {machine}")
        word = "Q" if self.wide else "I"
        _, self.phoff, self.shoff = self.unpack(3 * word, 24)
        self.phentsize, self.phnum, self.shentsize, self.shnum, self.shstrndx = self.unpack("HHHHH", 54 if self.wide else 42)
        self.segments = [self.segment(self.phoff + i * self.phentsize) for i in range(self.phnum)]
        self.dynamic = self.read_dynamic()

    def unpack(self, form, offset):
        return struct.unpack_from(self.order + form, self.data, offset)

    def segment(self, at):
        if self.wide:
            kind, flags, offset, address, _, size, _, align = self.unpack("IIQQQQQQ", at)
        else:
            kind, offset, address, _, size, _, flags, align = self.unpack("IIIIIIII", at)
        return {"kind": kind, "flags": flags, "offset": offset, "address": address, "size": size, "align": align}

    def read_dynamic(self):
        """Pairs of a tag and a value."""
        pairs = []
        for segment in self.segments:
            if segment["kind"] == PT_DYNAMIC:
                size = 16 if self.wide else 8
                for at in range(segment["offset"], segment["offset"] + segment["size"], size):
                    pairs.append(self.unpack("qQ" if self.wide else "iI", at))
        return [(tag & 0xFFFFFFFF, value) for tag, value in pairs]

    def tag(self, wanted):
        return next((value for tag, value in self.dynamic if tag == wanted), None)

    def offset_of(self, address):
        for s in self.segments:
            if s["kind"] == PT_LOAD and s["address"] <= address < s["address"] + s["size"]:
                return address - s["address"] + s["offset"]
        raise ValueError(f"address {address:#x} is in no segment")

    def text(self, offset):
        at = self.offset_of(self.tag(DT_STRTAB)) + offset
        return self.data[at : self.data.index(b"\0", at)].decode()

    def needed(self):
        return [self.text(value) for tag, value in self.dynamic if tag == DT_NEEDED]

    def soname(self):
        value = self.tag(DT_SONAME)
        return None if value is None else self.text(value)

    def symbol_count(self):
        if (at := self.tag(DT_HASH)) is not None:
            return self.unpack("II", self.offset_of(at))[1]
        at = self.offset_of(self.tag(DT_GNU_HASH))
        buckets, first, bloom, _ = self.unpack("IIII", at)
        at += 16 + bloom * (8 if self.wide else 4)
        last = max(self.unpack(f"{buckets}I", at))
        if last < first:
            return first
        chain = at + 4 * buckets
        while not self.unpack("I", chain + 4 * (last - first))[0] & 1:
            last += 1
        return last + 1

    def exported(self):
        """Names of the symbols that it defines for others."""
        names, table = [], self.offset_of(self.tag(DT_SYMTAB))
        for i in range(1, self.symbol_count()):
            if self.wide:
                name, info, other, section = self.unpack("IBBH", table + 24 * i)
            else:
                name, _, _, info, other, section = self.unpack("IIIBBH", table + 16 * i)
            if section != 0 and info >> 4 != 0 and other & 3 == 0:
                names.append(self.text(name))
        return names

    def sections(self):
        headers = []
        for i in range(self.shnum):
            form = "IIQQQQ" if self.wide else "IIIIII"
            headers.append(self.unpack(form, self.shoff + i * self.shentsize))
        names = headers[self.shstrndx][4] if headers else 0
        return [self.data[names + h[0] : self.data.index(b"\0", names + h[0])].decode() for h in headers]


def faults(elf, options):
    for s in elf.segments:
        if s["kind"] != PT_LOAD:
            continue
        if s["align"] < PAGE:
            yield f"the segment at {s['address']:#x} is aligned to {s['align']} bytes, not {PAGE}"
        elif (s["address"] - s["offset"]) % PAGE:
            yield f"the segment at {s['address']:#x} lies in the file where pages of {PAGE} bytes cannot map it"
        if s["flags"] & PF_W and s["flags"] & PF_X:
            yield f"the segment at {s['address']:#x} can be written and executed"
    stacks = [s for s in elf.segments if s["kind"] == PT_GNU_STACK]
    if not stacks or stacks[0]["flags"] & PF_X:
        yield "the stack is executable"
    if elf.tag(DT_TEXTREL) is not None or (elf.tag(DT_FLAGS) or 0) & DF_TEXTREL:
        yield "it has text relocations"
    if not elf.soname():
        yield "it has no SONAME"
    allowed = [*SYSTEM.split(","), *options.also.split(",")]
    for name in elf.needed():
        if not any(name == a or name.startswith(a + ".") for a in allowed):
            yield f"it needs {name}"
    shown = re.compile(f"{SHOWN}|{options.symbols}" if options.symbols else SHOWN)
    for name in elf.exported():
        if not shown.fullmatch(name):
            yield f"it shows {name}"
    if options.stripped:
        for name in elf.sections():
            if name == ".symtab" or name.startswith(".debug_"):
                yield f"it has a section {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--also", default="", help="libraries that they may need besides the system's")
    parser.add_argument("--symbols", help="further symbols that they may show")
    parser.add_argument("--stripped", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the symbols that they show, a line each, and nothing else")
    parser.add_argument("--abi", help="arm64-v8a, armeabi-v7a, x86 or x86_64")
    parser.add_argument("libraries", nargs="+")
    options = parser.parse_args()
    failed = False
    for path in options.libraries:
        try:
            elf = Elf(path)
            found = list(faults(elf, options))
            if options.abi and elf.abi != options.abi:
                found.append(f"it is of {elf.abi}, not {options.abi}")
        except (ValueError, struct.error, OSError, IndexError) as error:
            print(f"{path}: cannot be read: {error}")
            failed = True
            continue
        for fault in found:
            print(f"{path}: {fault}")
        failed |= bool(found)
        if options.list and not found:
            print("\n".join(elf.exported()))
        elif not found:
            least = min((s["align"] for s in elf.segments if s["kind"] == PT_LOAD), default=0)
            print(f"{path}: {elf.abi}, {os.path.getsize(path)} bytes, pages of {least}, {len(elf.exported())} symbols, "
                  f"needs {' '.join(elf.needed()) or 'nothing'}")
    sys.exit(failed)


main()
