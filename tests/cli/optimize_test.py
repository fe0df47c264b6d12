#!/usr/bin/env python3
"""What `torchlet optimize` writes, proves and refuses."""

import json
import os
import tempfile
import unittest
import zipfile

from command_test import FIXTURES, torchlet, write_model

DIGITS = "models/digits_mobilenet_v2.pt"
SHAPE = ("--shape", "2,3,32,32")


def source(file: str) -> str:
    with zipfile.ZipFile(file) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith(".py"))


def content(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()


class Optimize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def optimized(self, *arguments: str, model: str = DIGITS, output: str = "out.pt") -> str:
        done = torchlet("optimize", model, "-o", self.path(output), *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def report(self, *arguments: str, **more: str) -> dict:
        return json.loads(self.optimized("--json", *arguments, **more))

    def fails(self, message: str, *arguments: str, model: str = DIGITS, status: int = 1) -> None:
        done = torchlet("optimize", model, "-o", self.path("out.pt"), *arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("out.pt")))

    def answers(self, model: str) -> list:
        done = torchlet("run", model, *SHAPE, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["output"]["data"]

    def test_the_report_and_the_file(self):
        text = self.optimized(*SHAPE)
        for line in "methods     forward", "nodes       ", "proof       forward on reference, 1 call: max abs ", \
                "proof       forward on cpu, 1 call: max abs ", "size        742.0 kB -> 56":
            self.assertIn(line, text)
        self.assertNotIn("folded", text)
        self.assertNotIn("batch_norm", source(self.path("out.pt")))
        for got, want in zip(self.answers(self.path("out.pt")), self.answers(DIGITS), strict=True):
            self.assertAlmostEqual(got, want, delta=1e-4)

    def test_explains_what_each_pass_changed(self):
        text = self.optimized(*SHAPE, "--explain")
        self.assertIn("\n    mobilenet.features.0.1 folded into mobilenet.features.0.0\n", text)
        self.assertIn("\n    aten::dropout of mobilenet.classifier.0 removed\n", text)

    def test_json(self):
        report = self.report(*SHAPE)
        self.assertEqual(report["methods"], ["forward"])
        self.assertEqual(report["bytes_after"], os.path.getsize(self.path("out.pt")))
        passes = {each["pass"]: each for each in report["passes"]}
        self.assertEqual(len(passes["batch-norm"]["changes"]), 25)
        self.assertEqual(passes["batch-norm"]["nodes_removed"], 25)
        nodes = report["nodes_before"] + sum(p["nodes_added"] - p["nodes_removed"] for p in passes.values())
        self.assertEqual(nodes, report["nodes_after"])
        self.assertEqual([proof["device"] for proof in report["proofs"]], ["reference", "cpu"])
        self.assertLess(report["proofs"][0]["error"], 1e-5)
        self.assertGreater(report["proofs"][0]["sqnr_db"], 100)

    def test_passes_are_chosen_by_name(self):
        names = [each["pass"] for each in self.report(*SHAPE, "--passes", "dropout,inline")["passes"]]
        self.assertEqual(names, ["inline", "dropout"])
        self.assertEqual(self.report(*SHAPE, "--passes", "none")["passes"], [])
        self.optimized(*SHAPE, "--skip", "batch-norm")
        self.assertIn("batch_norm", source(self.path("out.pt")))
        self.optimized(*SHAPE, "--passes", "default,prepack")
        self.assertIn("ops.prepacked.conv2d_clamp_run", source(self.path("out.pt")))
        self.assertIn("hardtanh", source(self.path("out.pt")))

    def test_for_mobile(self):
        self.optimized(*SHAPE, "--for-mobile")
        code = source(self.path("out.pt"))
        self.assertEqual(code.count("ops.prepacked.conv2d_clamp_run("), 25)
        self.assertEqual(code.count("ops.prepacked.linear_clamp_run("), 1)
        self.assertNotIn("hardtanh", code)

    def test_twice_gives_the_same_bytes(self):
        for options in (), ("--for-mobile",):
            self.optimized(*SHAPE, *options)
            first = content(self.path("out.pt"))
            self.optimized(*SHAPE, *options)
            self.assertEqual(content(self.path("out.pt")), first)
            self.optimized(*SHAPE, *options, model=self.path("out.pt"), output="again.pt")
            self.assertEqual(content(self.path("again.pt")), first)

    def test_writes_bytecode_if_the_name_asks_for_it(self):
        self.optimized(*SHAPE, "--for-mobile", output="out.ptl")
        self.assertIn("Lite Interpreter", torchlet("inspect", self.path("out.ptl")).stdout)
        for got, want in zip(self.answers(self.path("out.ptl")), self.answers(DIGITS), strict=True):
            self.assertAlmostEqual(got, want, delta=1e-4)

    def test_bundled_inputs_prove_and_stay(self):
        report = self.report("--eval", model=f"{FIXTURES}/bundled.pt")
        self.assertGreaterEqual(report["proofs"][0]["calls"], 1)
        self.assertEqual(torchlet("run", self.path("out.pt"), "--bundled", "0").returncode, 0)

    def test_methods_that_are_kept(self):
        model = self.path("methods.pt")
        write_model(model, "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                           "    return (self).helper(x, )\n"
                           "  def helper(self: __torch__.M, x: Tensor) -> Tensor:\n    return torch.relu(x)\n"
                           "  def other(self: __torch__.M, x: Tensor) -> Tensor:\n    return torch.neg(x)\n")
        self.fails("no method and no attribute 'nothing'", "--preserve", "nothing", model=model)
        for arguments, methods in ((), ["forward", "other"]), (("--preserve", "helper"), ["forward", "helper"]), \
                (("--preserve", "all"), ["forward", "helper", "other"]):
            self.assertEqual(self.report("--no-proof", *arguments, model=model)["methods"], methods)

    def test_nothing_is_written_when_answers_differ(self):
        self.fails("forward() gives other answers on reference: they differ by ", *SHAPE, "--tolerance", "0")

    def test_wrong_use(self):
        self.fails("there is no pass 'nothing'; there are: freeze, ", *SHAPE, "--passes", "nothing")
        self.fails("expected input[1, 1, 32, 32] to have 3 channels", "--shape", "1,1,32,32")
        done = torchlet("optimize", DIGITS, "-o", DIGITS, *SHAPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is the file that the model was loaded from", done.stderr)

    def test_help_tells_the_passes(self):
        text = torchlet("optimize", "--help").stdout
        for line in "  batch-norm        merged into the convolution", "  prepack         * convolutions and linear":
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
