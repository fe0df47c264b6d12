#!/usr/bin/env python3
"""What `torchlet bundle` writes, lists and extracts."""

import json
import os
import tempfile
import unittest
import zipfile

from command_test import FIXTURES, floats, npy, read_npy, torchlet, write_model

PICTURE = "models/samples/digit_7.png"


class Bundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = self.path("model.pt")
        write_model(self.model, "  def forward(self: __torch__.M, x: Tensor, names: List[str], n: int=2) -> Tensor:\n"
                                "    return torch.add(torch.mul(x, n), torch.len(names))\n"
                                "  def single(self: __torch__.M, x: Tensor) -> Tensor:\n"
                                "    return torch.relu(x)\n")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def bundle(self, *arguments: str, model: str = "", output: str = "") -> str:
        """The file that it writes."""
        output = output or self.path("out.pt")
        done = torchlet("bundle", model or self.model, "-o", output, *arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return output

    def listed(self, model: str) -> list:
        done = torchlet("bundle", model, "--list", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def output(self, model: str, *arguments: str) -> dict:
        done = torchlet("run", model, *arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["output"]

    def test_calls_of_every_kind_are_listed_and_run(self):
        file = self.path("x.npy")
        with open(file, "wb") as f:
            f.write(npy("<f4", (2,), floats(1, 2)))
        out = self.bundle("--input", file, "--value", '["a", "b"]', "--next", "--zeros", "3,20", "--value", "[]",
                          "--value", "7", "--next", "--shape", "2,3", "--value", '["c"]',
                          "--info", "the first", "--info", "zeros")
        calls = self.listed(out)
        self.assertEqual([(c["method"], c["number"], c["info"]) for c in calls],
                         [("forward", 0, "the first"), ("forward", 1, "zeros"), ("forward", 2, "")])
        self.assertEqual([[a["value"] for a in c["arguments"]] for c in calls],
                         [["[2] float32", "['a', 'b']", "2"], ["[3, 20] float32", "[]", "7"],
                          ["[2, 3] float32", "['c']", "2"]])
        self.assertEqual([a["name"] for a in calls[0]["arguments"]], ["x", "names", "n"])
        self.assertEqual(self.output(out, "--bundled", "0")["data"], [4, 6])
        self.assertEqual(self.output(out, "--bundled", "1")["data"], [0] * 60)
        data = self.output(out, "--bundled", "2")["data"]
        self.assertEqual(len(set(data)), 6)
        self.assertTrue(all(1 <= value < 3 for value in data))
        self.assertIn("forward() call 1: zeros\n  x: [3, 20] float32  min 0", torchlet("bundle", out, "--list").stdout)

    def test_random_and_constant_tensors_take_no_room(self):
        small = os.path.getsize(self.bundle("--method", "single", "--shape", "2"))
        for arguments in (("--shape", "1,3,224,224"), ("--zeros", "1,3,224,224")):
            large = os.path.getsize(self.bundle("--method", "single", *arguments))
            self.assertLess(abs(large - small), 500)

    def test_each_method_has_its_own_and_all_can_be_removed(self):
        one = self.bundle("--zeros", "2", "--value", "[]")
        two = self.bundle("--method", "single", "--zeros", "3", model=one, output=self.path("two.pt"))
        self.assertEqual([c["method"] for c in self.listed(two)], ["forward", "single"])
        three = self.bundle("--zeros", "5", "--value", "[]", model=two, output=self.path("three.pt"))
        self.assertEqual([(c["method"], c["arguments"][0]["value"]) for c in self.listed(three)],
                         [("single", "[3] float32"), ("forward", "[5] float32")])
        self.assertEqual(len(self.output(three, "--method", "single", "--bundled", "0")["data"]), 3)
        bare = self.bundle("--remove", model=three, output=self.path("bare.pt"))
        self.assertEqual(torchlet("bundle", bare, "--list").stdout, "the model carries no inputs\n")
        same = self.path("same.pt")
        self.assertEqual(torchlet("convert", self.model, "-o", same).returncode, 0)
        with open(bare, "rb") as a, open(same, "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_a_picture_goes_with_its_model(self):
        out = self.bundle("--image", PICTURE, "--info", "a seven", model="models/digits_mobilenet_v2.pt")
        labels = ("--labels", "models/digits_labels.txt", "--top", "1")
        self.assertIn("seven", torchlet("run", out, "--bundled", "0", *labels).stdout)
        self.assertEqual(self.listed(out)[0]["info"], "a seven")

    def test_what_is_extracted_runs_again(self):
        out = self.bundle("--shape", "2,2", "--value", '["a"]')
        done = torchlet("bundle", out, "--extract", self.path("calls"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(sorted(os.listdir(self.path("calls"))), ["calls.json", "data.npy", "forward.0.x.npy"])
        again = self.output(self.model, "--input", self.path("calls/forward.0.x.npy"), "--value", '["a"]')
        self.assertEqual(again, self.output(out, "--bundled", "0"))
        done = torchlet("run", out, "--calls", self.path("calls/calls.json"), "--save", self.path("results"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("results/results.json")) as f:
            result = json.load(f)["results"][0]
        with open(self.path("results/data.npy"), "rb") as f:
            data = read_npy(f.read(), result["output"]["offset"])[:16]
        self.assertEqual(data, floats(*again["data"]))

    def test_extra_files_stay(self):
        extra = self.path("labels")
        with open(extra, "w") as f:
            f.write("cat\n")
        with_extra = self.path("extra.pt")
        torchlet("convert", self.model, "-o", with_extra, "--extra-file", f"labels={extra}")
        out = self.bundle("--method", "single", "--zeros", "2", model=with_extra)
        with zipfile.ZipFile(out) as archive:
            self.assertEqual(archive.read("archive/extra/labels"), b"cat\n")

    def test_preprocessing_and_labels_go_with_the_model(self):
        digits, labels = "models/digits_mobilenet_v2.pt", "models/digits_labels.txt"
        steps = {"resize": 64, "crop": [48, 48], "mean": [0.5, 0.5, 0.5], "channels": "BGR", "antialias": False}
        record = self.path("steps.json")
        with open(record, "w") as f:
            json.dump(steps, f)
        carried = self.bundle("--preprocess", record, "--labels", labels, model=digits)
        with zipfile.ZipFile(carried) as archive:
            self.assertEqual(json.loads(archive.read("archive/extra/preprocess.json")),
                             {**steps, "dtype": "float32", "interpolation": "bilinear", "memory_format": "contiguous"})
            with open(labels, "rb") as f:
                self.assertEqual(archive.read("archive/extra/labels.txt"), f.read())
        files = [carried]
        for command, name in ("convert", "a.pt"), ("convert", "a.ptl"), ("convert", "a.ff"), ("optimize", "o.ptl"):
            files.append(self.path(name))
            done = torchlet(command, files[-2], "-o", files[-1])
            self.assertEqual(done.returncode, 0, done.stderr)
        expected = self.output(digits, "--image", PICTURE, "--preprocess", record)["data"]
        for file in files:
            about = json.loads(torchlet("inspect", file, "--json").stdout)
            self.assertEqual(about["preprocess"]["crop"], [48, 48], file)
            self.assertEqual(about["labels"][7], "seven", file)
            got = self.output(file, "--image", PICTURE)["data"]
            self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 1e-4, file)
        plain = self.output(digits, "--image", PICTURE)["data"]
        self.assertNotEqual(plain, expected)
        self.assertEqual(self.output(carried, "--image", PICTURE, "--preprocess", "imagenet")["data"], plain)
        self.assertIn("seven", torchlet("run", carried, "--image", PICTURE, "--preprocess", "imagenet").stdout)

    def test_a_damaged_record_is_an_error_when_it_is_used(self):
        digits, record = "models/digits_mobilenet_v2.pt", self.path("bad.json")
        for text in "{", '{"resize": "big"}', "[" * 50000, '{"size": 3}':
            with open(record, "w") as f:
                f.write(text)
            done = torchlet("bundle", digits, "-o", self.path("none.pt"), "--preprocess", record)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("preprocessing is wrong", done.stderr)
            for name in "bad.pt", "bad.ff":
                damaged = self.path(name)
                torchlet("convert", digits, "-o", damaged, "--extra-file", f"preprocess.json={record}")
                done = torchlet("run", damaged, "--image", PICTURE)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("extra/preprocess.json", done.stderr)
                self.assertEqual(torchlet("run", damaged, "--zeros", "1,3,32,32").returncode, 0)

    def test_the_same_gives_the_same_bytes(self):
        files = [self.bundle("--method", "single", "--shape", "4", output=self.path(name)) for name in ("a.pt", "b.pt")]
        with open(files[0], "rb") as a, open(files[1], "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_wrong_use_and_failures_are_one_line_and_leave_nothing(self):
        out = ("-o", self.path("none.pt"))
        digits = "models/digits_mobilenet_v2.pt"
        for status, arguments, words in (
                (2, (self.model,), "expected one of"), (2, (self.model, *out, "--list"), "expected one of"),
                (2, (self.model, *out), "name the inputs"), (2, (self.model, "--list", "--remove"), "--remove"),
                (2, (self.model, *out, "--zeros", "2", "--value", "[]", "--info", "a", "--info", "b"), "--info"),
                (2, (self.model, *out, "--shape", "2,x", "--value", "[]"), "--shape"),
                (1, (self.model, *out, "--zeros", "2"), "in bundled call 0"),
                (1, (self.model, *out, "--zeros", "2", "--value", "[]", "--next", "--text", "x", "--value", "[]"),
                 "in bundled call 1"),
                (1, (self.model, *out, "--method", "none", "--zeros", "2"), "none"),
                (1, (digits, *out, "--zeros", "1,5,8,8"), "in a run of bundled call 0"),
                (1, (self.model, "-o", self.model, "--method", "single", "--zeros", "2"), "loaded from"),
                (1, (self.model, "-o", self.path("no/folder.pt"), "--method", "single", "--zeros", "2"), "cannot"),
                (1, (self.model, "--extract", self.path("x")), "carries no inputs"),
                (1, (self.path("no.pt"), "--list"), "cannot open")):
            done = torchlet("bundle", *arguments)
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("torchlet: error: "), done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["model.pt"])
        self.bundle("--no-run", "--zeros", "1,5,8,8", model=digits)

    def test_pytorchs_own_are_listed(self):
        calls = self.listed(f"{FIXTURES}/bundled.pt")
        self.assertEqual([c["method"] for c in calls], ["forward"] * len(calls))
        self.assertTrue(calls)


if __name__ == "__main__":
    unittest.main()
