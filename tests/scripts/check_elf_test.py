#!/usr/bin/env python3
"""scripts/check_elf.py on libraries that have one fault each. COMPILER is a C++ compiler."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/check_elf.py")
COMPILER = os.environ.get("COMPILER", "c++")
GOOD = 'extern "C" __attribute__((visibility("default"))) int torchlet_answer() { return 42; }\n'


class CheckElf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def library(self, *flags, source=GOOD, name="libtest.so", soname=True):
        path = os.path.join(self.folder.name, name)
        standard = ["-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-Wl,-z,max-page-size=16384"]
        if soname:
            standard.append(f"-Wl,-soname,{name}")
        subprocess.run([COMPILER, *standard, "-x", "c++", "-", "-x", "none", *flags, "-o", path], input=source, text=True, check=True)
        return path

    def check(self, *arguments):
        run = subprocess.run([sys.executable, CHECK, *arguments], capture_output=True, text=True)
        return run.returncode, run.stdout

    def test_takes_what_is_right(self):
        status, said = self.check("--stripped", self.library("-s"))
        self.assertEqual(status, 0, said)
        self.assertIn("1 symbols", said)

    def test_pages(self):
        status, said = self.check(self.library("-Wl,-z,max-page-size=4096"))
        self.assertEqual(status, 1)
        self.assertIn("aligned to 4096 bytes, not 16384", said)

    def test_stack(self):
        status, said = self.check(self.library("-Wl,-z,execstack"))
        self.assertEqual((status, said.split(": ")[-1]), (1, "the stack is executable\n"))

    def test_text_relocations(self):
        address = 'asm(".text\\n.p2align 3\\n.quad torchlet_answer\\n");'
        status, said = self.check(self.library("-Wl,-z,notext", source=GOOD + address))
        self.assertEqual((status, said.split(": ")[-1]), (1, "it has text relocations\n"))

    def test_symbols(self):
        library = self.library(source=GOOD + GOOD.replace("torchlet_answer", "png_read"))
        status, said = self.check(library)
        self.assertEqual((status, said.split(": ")[-1]), (1, "it shows png_read\n"))
        self.assertEqual(self.check("--symbols", r"png_\w+", library)[0], 0)

    def test_needed(self):
        other = self.library(name="libother.so")
        source = 'extern "C" int torchlet_answer();' + GOOD.replace("torchlet_answer() { return 42; }",
                                                                    "torchlet_more() { return torchlet_answer(); }")
        library = self.library(other, source=source)
        status, said = self.check(library)
        self.assertEqual((status, said.split(": ")[-1]), (1, "it needs libother.so\n"))
        status, said = self.check("--also", "libother.so", library)
        self.assertEqual(status, 0, said)

    def test_soname(self):
        status, said = self.check(self.library(soname=False))
        self.assertEqual((status, said.split(": ")[-1]), (1, "it has no SONAME\n"))

    def test_stripped(self):
        status, said = self.check("--stripped", self.library("-g"))
        self.assertEqual(status, 1)
        self.assertIn("it has a section .symtab", said)
        self.assertIn("it has a section .debug_info", said)

    def test_abi(self):
        status, said = self.check("--abi", "mips", self.library())
        self.assertEqual(status, 1)
        self.assertIn("not mips", said)

    def test_no_library(self):
        for content in (b"", b"\x7fELF", b"hello"):
            path = os.path.join(self.folder.name, "file")
            with open(path, "wb") as file:
                file.write(content)
            status, said = self.check(path)
            self.assertEqual(status, 1)
            self.assertIn("cannot be read", said)


unittest.main()
