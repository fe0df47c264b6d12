#!/usr/bin/env python3
"""Holds an AAR to what Gradle, Android and the Java half expect of it: check_aar.py FILE.aar. Fails with one line a fault.

Every entry that an AAR has to have is there; the manifest asks for API level 21; the classes are of Java 8 and bring no libraries;
every ABI has its library, stripped and for pages of 16 KB (check_elf.py); a native method has its function in each of them,
by name or because the library registers its own; the POM beside it says the same version.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zipfile

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
ABIS = ("arm64-v8a", "armeabi-v7a", "x86", "x86_64")
ANDROID = "{http://schemas.android.com/apk/res/android}"
ENTRIES = ("AndroidManifest.xml", "classes.jar", "R.txt", "proguard.txt", "META-INF/com/android/build/gradle/aar-metadata.properties")
CLASSES = ("Module", "LiteModuleLoader", "IValue", "Tensor", "DType", "MemoryFormat", "Device", "PyTorchAndroid",
           "torchvision/TensorImageUtils")
JAVA_8 = 52
ACC_NATIVE = 0x0100


class ClassFile:
    """As much of a class file as says its version, name and native methods."""

    CONSTANT_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}

    def __init__(self, data):
        self.data, self.at = data, 0
        magic, _, self.version = self.take("IHH")
        if magic != 0xCAFEBABE:
            raise ValueError("no class file")
        self.constants = self.read_constants()
        _, this, _, interfaces = self.take("HHHH")
        self.name = self.text(self.constants[this])
        self.at += 2 * interfaces
        self.members()
        self.natives = [name for flags, name in self.members() if flags & ACC_NATIVE]

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values

    def read_constants(self):
        constants, i = {}, 1
        (count,) = self.take("H")
        while i < count:
            (tag,) = self.take("B")
            if tag == 1:
                (size,) = self.take("H")
                constants[i] = self.data[self.at : self.at + size].decode("utf-8", "replace")
                self.at += size
            else:
                if tag == 7:
                    constants[i] = struct.unpack_from(">H", self.data, self.at)[0]
                self.at += self.CONSTANT_SIZES[tag]
            i += 2 if tag in (5, 6) else 1
        return constants

    def text(self, index):
        return self.constants[index]

    def members(self):
        (count,) = self.take("H")
        found = []
        for _ in range(count):
            flags, name, _, attributes = self.take("HHHH")
            found.append((flags, self.text(name)))
            for _ in range(attributes):
                _, size = self.take("HI")
                self.at += size
        return found


def jni_name(class_name, method):
    """The name of a native method's function (JNI specification, "Resolving Native Method Names")."""
    def mangle(text):
        return "".join(c if c.isascii() and c.isalnum() else "_" if c == "/" else "_1" if c == "_" else f"_0{ord(c):04x}" for c in text)
    return f"Java_{mangle(class_name)}_{mangle(method)}"


def manifest_faults(text):
    manifest = xml.etree.ElementTree.fromstring(text)
    if manifest.tag != "manifest" or not manifest.get("package"):
        yield "AndroidManifest.xml names no package"
    sdk = manifest.find("uses-sdk")
    if sdk is None or sdk.get(ANDROID + "minSdkVersion") != "21":
        yield "AndroidManifest.xml does not ask for API level 21"


def class_faults(jar, natives):
    names = jar.namelist()
    for name in CLASSES:
        if f"org/pytorch/{name}.class" not in names:
            yield f"classes.jar lacks org/pytorch/{name}.class"
    for name in names:
        if name.endswith(".so"):
            yield f"classes.jar holds the library {name}"
        if not name.endswith(".class") or name.endswith(("module-info.class", "package-info.class")):
            continue
        file = ClassFile(jar.read(name))
        if file.version > JAVA_8:
            yield f"{name} is of class file version {file.version}; {JAVA_8} is Java 8's"
        natives += [jni_name(file.name, method) for method in file.natives]


def library_faults(path, abi, natives):
    run = subprocess.run([sys.executable, os.path.join(SCRIPTS, "check_elf.py"), "--stripped", "--abi", abi, "--list", path],
                         capture_output=True, text=True)
    lines = run.stdout.splitlines()
    if run.returncode != 0:
        yield from (line.replace(path, f"jni/{abi}") for line in lines)
        return
    shown = set(lines)
    if "JNI_OnLoad" not in shown:
        for name in natives:
            if not any(symbol == name or symbol.startswith(name + "__") for symbol in shown):
                yield f"jni/{abi} lacks {name}"


def pom_faults(path):
    pom = os.path.splitext(path)[0] + ".pom"
    if not os.path.exists(pom):
        yield f"there is no {os.path.basename(pom)} beside it"
        return
    tree = xml.etree.ElementTree.parse(pom).getroot()
    text = {re.sub("{.*}", "", child.tag): (child.text or "").strip() for child in tree}
    expected = f"{text.get('artifactId')}-{text.get('version')}.aar"
    if text.get("packaging") != "aar" or os.path.basename(path) != expected:
        yield f"the POM is of {expected}, packaging {text.get('packaging')}"


def faults(path):
    natives = []
    with zipfile.ZipFile(path) as aar, tempfile.TemporaryDirectory() as folder:
        names = aar.namelist()
        if sorted(names) != sorted(set(names)) or any(n.startswith("/") or ".." in n for n in names):
            yield "entries are there twice, or lead out of the archive"
        missing = [name for name in ENTRIES if name not in names]
        yield from (f"it lacks {name}" for name in missing)
        if missing:
            return
        yield from manifest_faults(aar.read("AndroidManifest.xml"))
        with aar.open("classes.jar") as file, zipfile.ZipFile(file) as jar:
            yield from class_faults(jar, natives)
        for abi in ABIS:
            name = f"jni/{abi}/libtorchlet_jni.so"
            if name not in names:
                yield f"it lacks {name}"
                continue
            yield from library_faults(aar.extract(name, folder), abi, natives)
        for name in names:
            if name.endswith(".so") and name not in [f"jni/{abi}/libtorchlet_jni.so" for abi in ABIS]:
                yield f"it holds {name}"
    yield from pom_faults(path)
    if not natives:
        yield "no class has a native method"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(faults(sys.argv[1]))
    for fault in found:
        print(f"{sys.argv[1]}: {fault}")
    if not found:
        print(f"{sys.argv[1]}: complete")
    sys.exit(bool(found))


main()
