#!/usr/bin/env python3
"""`torchlet explain` and `bench --trace` on devices that split a model, share segments, are slow, crash, hang or answer
wrongly, and on NNAPI."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

INPUT = ("--shape", "1,3,96,96")
QUICK = ("--threads", "1", "--seconds", "0.2", "--no-quantize")


def torchlet(*arguments: str) -> str:
    done = subprocess.run([os.environ["TORCHLET"], *arguments], capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr}")
    return done.stdout


class Explain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = f"{self.folder.name}/m.pt"
        shutil.copy("models/digits_mobilenet_v2.pt", self.model)

    def explain(self, *more: str) -> dict:
        return json.loads(torchlet("explain", self.model, *INPUT, *QUICK, "--json", *more))

    def segments_on(self, told: dict, device: str) -> list:
        return [s for s in told["segments"] if s["device"] == device]

    def test_bad_devices_are_named(self):
        told = self.explain("--device", "test-crashing,test-hanging,test-wrong,test-failing,test-slow",
                            "--device-limit", "20")
        dropped = {d["name"]: d["reason"] for d in told["dropped"]}
        self.assertEqual(dropped.keys(), {"test-crashing", "test-hanging", "test-wrong", "test-failing"})
        self.assertEqual(dropped["test-crashing"], "it crashed its process: Aborted")
        self.assertEqual(dropped["test-hanging"], "it did not answer within 20 s")
        self.assertIn("its answers differ by up to", dropped["test-wrong"])
        self.assertEqual(dropped["test-failing"], "it failed: its memory is used up")
        self.assertEqual([d["name"] for d in told["devices"]], ["test-slow", "cpu"])
        slow = next(a for a in told["advice"] if a["kind"] == "leave out")
        number = len(self.segments_on(told, "test-slow"))
        self.assertGreater(number, 10)
        self.assertEqual(slow["device"], "test-slow")
        self.assertIn(f"test-slow is slower than cpu in each of its {number} segments", slow["text"])
        self.assertGreater(slow["gain_ms"], 10 * number * 0.9)
        self.assertEqual(len(slow["segments"]), number)

    def test_times_add_up(self):
        told = self.explain("--device", "test-slow")
        for segment in told["segments"]:
            parts = segment["compute_ms"] + segment["copies_ms"] + segment["conversions_ms"]
            self.assertAlmostEqual(parts, segment["median_ms"], 6)
            self.assertLessEqual(segment["min_ms"], segment["median_ms"])
            self.assertGreater(segment["cpu_ms"], 0)
            self.assertGreater(segment["bytes"], 0)
        for segment in self.segments_on(told, "test-slow"):
            self.assertGreater(segment["copies_ms"], 10)
            self.assertEqual(segment["copies_ms"], segment["in"]["copies_ms"])
        self.assertLess(sum(s["median_ms"] for s in told["segments"]), 2 * told["time"]["median_ms"])
        # Every operator ran in one segment.
        ran = sorted(o for s in told["segments"] for o in s["operators"])
        self.assertEqual(ran, list(range(len(told["operators"]))))
        for i, op in enumerate(told["operators"]):
            self.assertTrue(op["place"])
            self.assertTrue(all(j < i for j in op["inputs"]))

    def test_operators_that_split_are_named(self):
        told = self.explain("--device", "test-convolutions")
        joins = [a for a in told["advice"] if a["kind"] == "join"]
        pieces = len(self.segments_on(told, "test-convolutions"))
        gaps = 0
        for join in joins:
            split = re.fullmatch(r"(.*) splits? the model into (\d+) segments on test-convolutions \(no convolution\): "
                                 r"as one they would save the copies and conversions between them, .* ms of .* ms",
                                 join["text"])
            self.assertTrue(split, join["text"])
            self.assertGreater(join["gain_ms"], 0)
            gaps += int(split[2]) - 1
        self.assertEqual(gaps, pieces - 1)
        self.assertTrue(any(j["text"].startswith("aten::hardtanh splits") or j["text"].startswith("aten::relu6 splits")
                            for j in joins), joins)
        refused = {r["what"] for r in told["refused"][0]["refused"]}
        self.assertEqual((told["refused"][0]["device"], told["refused"][0]["reason"]),
                         ("test-convolutions", "no convolution"))
        self.assertIn("aten::linear", refused)

    def test_shared_segments_are_told_in_parts(self):
        told = self.explain("--device", "test-strideless")
        self.assertTrue(all(s["is_part"] for s in told["segments"]))
        devices = [s["device"] for s in told["segments"]]
        self.assertEqual(set(devices), {"test-strideless", "cpu"})
        self.assertEqual(devices, [devices[i % 2] for i in range(len(devices))])
        reasons = [r["reason"] for r in told["refused"] if r["device"] == "test-strideless"]
        self.assertEqual(reasons, ["a stride"])
        self.assertTrue(any("(a stride)" in a["text"] for a in told["advice"] if a["kind"] == "join"))

    def test_what_was_tuned_is_explained(self):
        self.assertIsNone(self.explain("--device", "test-fast")["tuned"])
        torchlet("tune", self.model, *INPUT, "--device", "test-fast,test-crashing", "--threads", "1", "--seconds", "0.2")
        told = self.explain()
        self.assertEqual(told["tuned"]["devices"], ["test-fast", "cpu"])
        self.assertTrue(told["tuned"]["is_explained"])
        self.assertEqual([d["name"] for d in told["devices"]], ["test-fast", "cpu"])
        self.assertEqual(told["dropped"], [{"name": "test-crashing", "reason": "it crashed its process: Aborted"}])
        self.assertFalse(self.explain("--device", "cpu")["tuned"]["is_explained"])
        # Not for other inputs.
        other = json.loads(torchlet("explain", self.model, "--shape", "1,3,64,64", *QUICK, "--json", "--device", "cpu"))
        self.assertIsNone(other["tuned"])

    def test_varying_sizes_are_named(self):
        told = self.explain("--next", "--shape", "1,3,64,64", "--device", "test-fast")
        self.assertEqual(told["inputs"], "float32 [1, 3, 96, 96]")
        self.assertEqual([(s["device"], s["compiled"]) for s in told["segments"]], [("test-fast", 2)])
        sizes = next(a for a in told["advice"] if a["kind"] == "sizes")
        self.assertIn("compiled up to 2 times", sizes["text"])

    def test_text_and_page_say_what_json_says(self):
        page = f"{self.folder.name}/page.html"
        arguments = ("--device", "test-slow,test-wrong", "--report", page)
        told = self.explain(*arguments)
        text = torchlet("explain", self.model, *INPUT, *QUICK, *arguments)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        rows = re.findall(r"^ *(\d+)  (\S+) +(\d+) .* [kM]?B  (.*)$", text, re.MULTILINE)
        self.assertEqual([(int(n), d, int(o), w) for n, d, o, w in rows],
                         [(i + 1, s["device"], len(s["operators"]), s["what"]) for i, s in enumerate(told["segments"])])
        for refusal in told["refused"]:
            self.assertIn(f"{refusal['device']}: {refusal['reason']}", text)
            for refused in refusal["refused"]:
                self.assertIn(f"{refused['what']} x{len(refused['places'])}  {refused['places'][0]}", text)
        self.assertIn("LEFT OUT  test-wrong: its answers differ", text)
        self.assertEqual(len(re.findall(r"^  - ", text, re.MULTILINE)), len(told["advice"]))
        self.assertIn("test-wrong: its answers differ", html)
        self.assertEqual(html.count("<svg"), 2)
        for op in told["operators"]:
            self.assertIn(f"{op['name']}  {op['place']}", html)
        self.assertNotRegex(html.replace("http://www.w3.org/2000/svg", ""), r"https?:|src=|@import|url\(")

    def test_nnapi(self):
        told = self.explain("--device", "nnapi")
        self.assertRegex(told["devices"][0]["version"], r"^torchlet-cpu \S+, torchlet-reference \S+$")
        segment = self.segments_on(told, "nnapi")[0]
        self.assertGreater(segment["in"]["bytes"], 3 * 96 * 96)
        self.assertGreater(segment["copies_ms"] + segment["conversions_ms"], 0)
        self.assertGreater(segment["on_hardware_ms"], 0)
        self.assertLessEqual(segment["on_hardware_ms"], segment["in_driver_ms"])
        self.assertLess(segment["on_hardware_ms"], segment["median_ms"])

    def trace(self, device: str) -> tuple:
        """Complete events, and the lanes' names by number."""
        path = f"{self.folder.name}/trace.json"
        torchlet("bench", self.model, *INPUT, "--device", device, "--iterations", "5", "--threads", "1", "--trace", path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        return [e for e in events if e["ph"] == "X"], lanes

    def test_the_trace_has_a_lane_for_each_device(self):
        events, lanes = self.trace("test-strideless,cpu")
        self.assertEqual(set(lanes.values()), {"program", "test-strideless", "cpu"})
        self.assertEqual(sum(e["cat"] == "call" for e in events), 1 + 3 + 5)
        for e in events:
            if e["cat"] not in ("call", "compile"):
                self.assertEqual(lanes[e["tid"]], e["args"]["device"])
        compiled = [e for e in events if e["cat"] == "compile"]
        self.assertEqual(len(compiled), 2)  # the method, and its segment
        self.assertTrue(any("conv2d" in op or "convolution" in op for op in compiled[1]["args"]["operators"]))
        steps = [e for e in events if e["cat"] == "kernel" and e["args"]["device"] == "cpu"]
        self.assertTrue(steps and all(e["args"]["line"] and e["args"]["operator"] for e in steps))
        parts = [e for e in events if e["cat"] == "segment" and e["args"]["device"] == "cpu"]
        self.assertTrue(parts and all(e["args"]["operators"] and e["args"]["bytes"] for e in parts))
        # What is inside of a part is drawn inside of it.
        first = parts[0]
        self.assertTrue(any(first["ts"] <= s["ts"] and s["ts"] + s["dur"] <= first["ts"] + first["dur"] for s in steps))

    def test_the_trace_shows_hardware_and_operators_of_nnapi(self):
        events, lanes = self.trace("nnapi,cpu")
        self.assertTrue({"program", "nnapi", "nnapi hardware"} <= set(lanes.values()))
        runs = [e for e in events if e["name"] == "nnapi model"]
        self.assertTrue(runs)
        for run in runs:
            self.assertTrue(any("conv" in op and ".py:" in op for op in run["args"]["operators"]))
            self.assertLessEqual(run["args"]["on_hardware_us"], run["dur"])
        hardware = [e for e in events if lanes[e["tid"]] == "nnapi hardware"]
        self.assertEqual(len(hardware), len(runs))
        self.assertTrue({"copy", "convert", "segment"} & {e["cat"] for e in events})

    def test_wrong_use(self):
        for arguments in (["--device", "gpu"], ["--device", "reference"], ["--device", "test-slow,test-slow"],
                          ["--device", "test-slow", "--value", "3"]):
            done = subprocess.run([os.environ["TORCHLET"], "explain", self.model, *INPUT, *arguments],
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
