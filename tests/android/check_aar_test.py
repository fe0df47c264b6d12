#!/usr/bin/env python3
"""scripts/check_aar.py on copies of an AAR that lack something each: check_aar_test.py FILE.aar."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/check_aar.py")
AAR = os.path.abspath(sys.argv.pop())
LIBRARY = "jni/%s/libtorchlet_jni.so"


class CheckAar(unittest.TestCase):
    def check(self, change, pom=True):
        """What is said of the AAR after change(entries), and whether it failed."""
        with zipfile.ZipFile(AAR) as aar:
            entries = {name: aar.read(name) for name in aar.namelist()}
        change(entries)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, os.path.basename(AAR))
            with zipfile.ZipFile(path, "w") as aar:
                for name, content in entries.items():
                    aar.writestr(name, content)
            if pom:
                shutil.copy(os.path.splitext(AAR)[0] + ".pom", folder)
            run = subprocess.run([sys.executable, CHECK, path], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def expect(self, fault, change, pom=True):
        status, said = self.check(change, pom)
        self.assertEqual(status, 1, said)
        self.assertIn(fault, said)

    @staticmethod
    def change_classes(entries, change):
        with zipfile.ZipFile(io.BytesIO(entries["classes.jar"])) as jar:
            classes = {name: jar.read(name) for name in jar.namelist()}
        change(classes)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as jar:
            for name, content in classes.items():
                jar.writestr(name, content)
        entries["classes.jar"] = out.getvalue()

    def test_takes_the_whole(self):
        self.assertEqual(self.check(lambda entries: None)[0], 0)

    def test_entries(self):
        for name in ("AndroidManifest.xml", "classes.jar", "R.txt", "proguard.txt", LIBRARY % "x86"):
            self.expect(f"lacks {name}", lambda entries: entries.pop(name))
        self.expect("it holds jni/mips/libother.so", lambda entries: entries.update({"jni/mips/libother.so": b""}))

    def test_manifest(self):
        def later(entries):
            entries["AndroidManifest.xml"] = entries["AndroidManifest.xml"].replace(b'"21"', b'"26"')
        self.expect("API level 21", later)

    def test_libraries(self):
        def swap(entries):
            entries[LIBRARY % "x86"] = entries[LIBRARY % "x86_64"]
        self.expect("it is of x86_64, not x86", swap)

        def garbage(entries):
            entries[LIBRARY % "x86"] = b"\x7fELF"
        self.expect("cannot be read", garbage)

    def test_classes(self):
        module = "org/pytorch/Module.class"
        self.expect(f"lacks {module}", lambda e: self.change_classes(e, lambda classes: classes.pop(module)))
        self.expect("holds the library a.so", lambda e: self.change_classes(e, lambda classes: classes.update({"a.so": b""})))

        def newer(classes):
            classes[module] = classes[module][:6] + b"\0\x3d" + classes[module][8:]
        self.expect("class file version 61", lambda e: self.change_classes(e, newer))

    def test_pom(self):
        self.expect("there is no", lambda entries: None, pom=False)


unittest.main()
