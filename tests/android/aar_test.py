#!/usr/bin/env python3
"""scripts/build_aar.sh on small libraries and classes, and scripts/check_aar.py on copies of what it makes that lack something each.
Needs a JDK and Debian's cross compilers for Android's ABIs."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
CHECK = os.path.join(SCRIPTS, "check_aar.py")
LIBRARY = "jni/%s/libtorchlet_jni.so"
COMPILERS = {"arm64-v8a": "aarch64-linux-gnu-gcc", "armeabi-v7a": "arm-linux-gnueabihf-gcc", "x86": "i686-linux-gnu-gcc",
             "x86_64": "x86_64-linux-gnu-gcc"}
CLASSES = ("Module", "LiteModuleLoader", "IValue", "Tensor", "DType", "MemoryFormat", "Device", "PyTorchAndroid",
           "torchvision.TensorImageUtils")
WORK = tempfile.TemporaryDirectory()
AAR = os.path.join(WORK.name, "aar/maven/org/torchlet/torchlet-android/0.1.0/torchlet-android-0.1.0.aar")


def make_library(abi, source="int JNI_OnLoad(void) { return 65542; }", page=16384):
    folder = os.path.join(WORK.name, "libraries", abi)
    os.makedirs(folder, exist_ok=True)
    subprocess.run([COMPILERS[abi], "-shared", "-fPIC", "-s", f"-Wl,-z,max-page-size={page}", "-Wl,-soname,libtorchlet_jni.so",
                    "-x", "c", "-", "-o", os.path.join(folder, "libtorchlet_jni.so")], input=source, text=True, check=True)


def make_classes():
    folder, sources = os.path.join(WORK.name, "classes"), []
    for name in CLASSES:
        package, _, name = f"org.pytorch.{name}".rpartition(".")
        path = os.path.join(folder, *package.split("."), name + ".java")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"package {package}; public class {name} {{ static native void run_it(); }}")
        sources.append(path)
    subprocess.run(["javac", "--release", "8", "-Xlint:-options", *sources], check=True)
    for path in sources:
        os.remove(path)
    os.makedirs(os.path.join(folder, "natives"))
    with open(os.path.join(folder, "natives/libother.so"), "wb") as file:
        file.write(b"left out")
    subprocess.run(["jar", "cf", os.path.join(WORK.name, "classes.jar"), "-C", folder, "."], check=True)


def build(*arguments):
    return subprocess.run([os.path.join(SCRIPTS, "build_aar.sh"), "--abi-dir", os.path.join(WORK.name, "libraries"), "--classes",
                           os.path.join(WORK.name, "classes.jar"), "--output", os.path.join(WORK.name, "aar"), *arguments],
                          capture_output=True, text=True)


def setUpModule():
    for abi in COMPILERS:
        make_library(abi)
    make_classes()
    run = build()
    assert run.returncode == 0, run.stdout + run.stderr


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

    def test_the_same_input_gives_the_same_bytes(self):
        with open(AAR, "rb") as file:
            before = file.read()
        self.assertEqual(build().returncode, 0)
        with open(AAR, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_no_ndk(self):
        environment = {name: value for name, value in os.environ.items() if name != "ANDROID_NDK_HOME"}
        run = subprocess.run([os.path.join(SCRIPTS, "build_aar.sh"), "--output", os.path.join(WORK.name, "none")],
                             capture_output=True, text=True, env=environment)
        self.assertEqual(run.returncode, 77)
        self.assertIn("ANDROID_NDK_HOME", run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)

    def test_refuses_libraries_for_smaller_pages(self):
        make_library("x86", page=4096)
        run = build("--output", os.path.join(WORK.name, "small"))
        make_library("x86")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("aligned to 4096 bytes", run.stdout)

    def test_native_methods(self):
        def without(entries):
            make_library("x86", source="int Java_org_pytorch_Module_run_1it(void) { return 0; }")
            with open(os.path.join(WORK.name, "libraries/x86/libtorchlet_jni.so"), "rb") as file:
                entries[LIBRARY % "x86"] = file.read()
            make_library("x86")
        status, said = self.check(without)
        self.assertEqual(status, 1)
        self.assertNotIn("Java_org_pytorch_Module_run_1it", said)
        self.assertIn("jni/x86 lacks Java_org_pytorch_torchvision_TensorImageUtils_run_1it", said)

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
