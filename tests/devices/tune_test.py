#!/usr/bin/env python3
"""`torchlet tune` on devices that are slow, crash, hang, answer wrongly, or are fast, and what --device auto makes of it."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

INPUT = ("--shape", "1,3,96,96")


def torchlet(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["TORCHLET"], *arguments], capture_output=True, text=True)


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = f"{self.folder.name}/m.pt"
        self.kept = f"{self.model}.placement.json"
        shutil.copy("models/digits_mobilenet_v2.pt", self.model)

    def tune(self, devices: str, *more: str) -> dict:
        done = torchlet("tune", self.model, *INPUT, "--device", devices, "--threads", "1", "--seconds", "0.2",
                        "--json", *more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def auto(self, *arguments: str) -> tuple:
        """Devices of the segments that ran with --device auto, which is the default, and standard error."""
        done = torchlet("inspect", self.model, "--placement", "--json", *(arguments or INPUT))
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = {p["device"] for p in json.loads(done.stdout) if p["segment"] and not p["reason"]}
        return ran, done.stderr

    def test_bad_devices_are_named_and_left_out(self):
        told = self.tune("test-crashing,test-hanging,test-wrong,test-failing,cpu", "--device-limit", "20")
        dropped = {d["name"]: d["reason"] for d in told["dropped"]}
        self.assertEqual(dropped.keys(), {"test-crashing", "test-hanging", "test-wrong", "test-failing"})
        self.assertEqual(dropped["test-crashing"], "it crashed its process: Aborted")
        self.assertEqual(dropped["test-hanging"], "it did not answer within 20 s")
        self.assertIn("its answers differ by up to", dropped["test-wrong"])
        self.assertEqual(dropped["test-failing"], "it failed: its memory is used up")
        self.assertEqual(told["chosen"], ["cpu"])
        with open(self.kept) as file:
            self.assertEqual([d["name"] for d in json.load(file)["choices"][0]["dropped"]],
                             ["test-crashing", "test-hanging", "test-wrong", "test-failing"])

    def test_a_slow_device_is_not_kept(self):
        told = self.tune("test-slow")
        self.assertEqual(told["chosen"], ["cpu"])
        self.assertEqual(told["dropped"], [])
        self.assertGreater(len(told["segments"]), 10)
        for segment in told["segments"]:
            self.assertGreater(segment["here"]["min_ms"], 10)
            self.assertLess(segment["elsewhere"]["min_ms"], segment["here"]["min_ms"])
            self.assertGreater(segment["copies_ms"], 10)
            self.assertLessEqual(segment["copies_ms"], segment["here"]["median_ms"])
            self.assertGreater(segment["bytes"], 0)
        self.assertEqual(self.auto("--zeros", "1,3,96,96"), ({"cpu"}, ""))

    def test_a_fast_device_is_kept_for_what_was_tuned(self):
        told = self.tune("test-slow,test-fast")
        self.assertEqual(told["chosen"], ["test-fast", "cpu"])
        chosen, cpu = told["tried"][[t["devices"] for t in told["tried"]].index(["test-fast", "cpu"])], told["tried"][0]
        self.assertLess(chosen["median_ms"], cpu["median_ms"])
        with open(self.kept) as file:
            threads = json.load(file)["choices"][0]["threads"]
        self.assertEqual(threads, 1)
        for devices, shape, run_threads in (["test-fast"], "1,3,96,96", "1"), (["cpu"], "1,3,64,64", "1"), (["cpu"], "1,3,96,96", "2"):
            trace = f"{self.folder.name}/trace.json"
            done = torchlet("bench", self.model, "--shape", shape, "--device", "auto", "--threads", run_threads,
                            "--iterations", "1", "--trace", trace)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(trace) as file:
                kernels = [e["args"]["device"] for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
            self.assertEqual("cpu" in kernels, devices == ["cpu"], shape)

    def test_what_does_not_fit_costs_one_line(self):
        self.tune("test-fast")
        with open(self.kept) as file:
            good = json.load(file)
        for change, said in ((lambda f: f.update(model="0" * 16), "the model is another one now"),
                             (lambda f: f.update(torchlet="0.0"), "another version of Torchlet wrote it"),
                             (lambda f: f["choices"][0]["devices"][0].update(version="9"), "the driver of 'test-fast'"),
                             (lambda f: f["choices"][0]["devices"][0].update(name="gpu"), "there is no device 'gpu'"),
                             (lambda f: f["choices"][0]["devices"][0].update(name="auto"), "'auto' is no device"),
                             (lambda f: f["choices"][0].update(threads=1e9), "'threads' is missing"),
                             (lambda f: f["choices"][0].update(threads=10**9), "a number of threads is none"),
                             (lambda f: f["choices"][0].pop("left"), "'left' is missing"),
                             (lambda f: f.update(choices=7), "'choices' is missing")):
            bad = json.loads(json.dumps(good))
            change(bad)
            self.check_unused(json.dumps(bad), said)
        for text in "[]", "null", "{}":
            self.check_unused(text, "it is no placement file")
        for text in "", "{", "[" * 100_000, '{"format": "' + "\\u0000" * 10, "\xff\xfe":
            self.check_unused(text, "it is no placement file")

    def check_unused(self, text: str, said: str) -> None:
        with open(self.kept, "w", encoding="latin-1") as file:
            file.write(text)
        ran, errors = self.auto()
        self.assertEqual(ran, {"cpu"}, text[:80])
        self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertIn(f"{self.kept} is not used: ", errors)
        self.assertIn(said, errors)

    def test_wrong_use(self):
        for arguments in (["--device", "gpu"], ["--device", "auto"], ["--device", "reference"],
                          ["--device", "test-slow,test-slow"]):
            done = torchlet("tune", self.model, *INPUT, *arguments, "--seconds", "0.1")
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertFalse(os.path.exists(self.kept))


if __name__ == "__main__":
    unittest.main()
