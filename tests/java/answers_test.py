#!/usr/bin/env python3
"""Models answer through Java as by the command, to the bit:

    answers_test.py [--java COMMAND] [--natives FOLDER] [--close] TORCHLET [CASE...]

Cases are those of tests/c_api/answers_test.py, whose fixtures are run without any; the classes are those that Maven compiled
and tested. --java runs them by another virtual machine, such as one under QEMU, with the native libraries of that folder;
--close allows its numbers to differ in their last bits, as those of another processor do."""

import argparse
import array
import os
import pathlib
import shlex
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/c_api"))
import answers  # noqa: E402: found just now
import answers_test  # noqa: E402

CLASSES = ROOT / "bindings/java/torchlet/target"


def close(one, other):
    """Equal, but for the last bits of float32."""
    if isinstance(one, tuple) and one and one[0] == "tensor" and one[1][0] == "float32" and other[1][:2] == one[1][:2]:
        numbers = array.array("f", one[1][2]), array.array("f", other[1][2])
        return all(abs(a - b) <= 1e-5 + 1e-4 * abs(b) for a, b in zip(*numbers, strict=True))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(close, one, other))
    return one == other


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--java", default="java -Xcheck:jni")
    parser.add_argument("--natives", default="")
    parser.add_argument("--close", action="store_true")
    parser.add_argument("torchlet")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    path = [options.natives] * bool(options.natives) + [str(CLASSES / "classes"), str(CLASSES / "test-classes")]
    same = close if options.close else lambda one, other: one == other
    models = calls = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        through_java = f"{folder}/java"
        with open(through_java, "w") as script:
            script.write(f'#!/bin/sh\nexec {options.java} -cp {shlex.quote(":".join(path))} org.torchlet.RunCalls "$@"\n')
        os.chmod(through_java, 0o755)
        for model, made, place in answers_test.cases(options.cases) if options.cases else answers_test.fixtures():
            got = answers.by_command(through_java, model, made, place)
            want = answers.by_command(options.torchlet, model, made, place)
            models, calls = models + 1, calls + len(made)
            for i, (one, other) in enumerate(zip(got, want, strict=True)):
                if not same(one, other):
                    wrong += 1
                    print(f"{model}: call {i} differs: {str(one)[:200]} instead of {str(other)[:200]}")
    print(f"{calls} calls of {models} models through Java, {wrong} with other answers than the command's")
    sys.exit(bool(wrong or not calls))


main()
