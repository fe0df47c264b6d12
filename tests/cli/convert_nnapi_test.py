#!/usr/bin/env python3
"""What `torchlet convert --to nnapi` writes, tells and refuses."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
import zipfile

from command_test import FIXTURES, torchlet, write_model

DIGITS = "models/digits_mobilenet_v2.pt"
SHAPE = ("--input", "1,3,32,32")
# Only where it is built, and not in a folder where everybody finds it.
LIBRARY = os.path.join(os.path.dirname(os.environ["TORCHLET"]), "neuralnetworks")
os.environ["LD_LIBRARY_PATH"] = LIBRARY
HAS_LIBRARY = os.path.exists(os.path.join(LIBRARY, "libneuralnetworks.so"))
NOT_PROVED = "" if HAS_LIBRARY else "torchlet: not proved: "

MIXED = """\
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    a = torch.relu(torch.add(x, x))
    b = torch.cumsum(a, 1)
    return torch.tanh(torch.mul(b, b))
"""


def source(file: str) -> str:
    with zipfile.ZipFile(file) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith(".py"))


class ConvertToNnapi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def converted(self, *arguments: str, model: str = DIGITS, output: str = "out.pt") -> str:
        done = torchlet("convert", model, "--to", "nnapi", "-o", self.path(output), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stderr.startswith(NOT_PROVED) and done.stderr.count("\n") == bool(NOT_PROVED), done.stderr)
        return done.stdout

    def fails(self, message: str, *arguments: str, model: str = DIGITS, status: int = 1) -> None:
        done = torchlet("convert", model, "-o", self.path("out.pt"), *arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(self.path("out.pt")))

    def answers(self, model: str, shape: str = "1,3,32,32") -> list:
        done = torchlet("run", model, "--shape", shape, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["output"]["data"]

    def check(self, model: str, converted: str, shape: str = "1,3,32,32", delta: float = 1e-4) -> None:
        for got, want in zip(self.answers(converted, shape), self.answers(model, shape), strict=True):
            self.assertAlmostEqual(got, want, delta=delta)

    def test_a_whole_model(self):
        text = self.converted(*SHAPE)
        self.assertRegex(text, r"^(\d+) of \1 operators go to NNAPI in 1 part, 0 stay on the processor\n$")
        code = source(self.path("out.pt"))
        self.assertIn("class NnapiModule(Module):", code)
        self.assertIn("  nnapi_0 : __torch__.torch.backends._nnapi.prepare.NnapiModule\n", code)
        if HAS_LIBRARY:
            self.check(DIGITS, self.path("out.pt"))

    def test_inputs_are_guessed(self):
        for takes, gives, guess in (("x: Tensor", "torch.relu(x)", "[1, 3, 224, 224] float32"),
                                    ("x: Tensor", "torch.reshape(torch.relu(x), [12288])", "[1, 3, 64, 64] float32"),
                                    ("x: List[Tensor]", "torch.relu(x[0])", "List of [3, 224, 224] float32")):
            write_model(self.path("model.pt"), f"  def forward(self: __torch__.M, {takes}) -> Tensor:\n    return {gives}\n")
            done = torchlet("convert", self.path("model.pt"), "--to", "nnapi", "-o", self.path("out.pt"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"torchlet: converted for a guessed input, {guess};", done.stderr)

    def test_other_shapes_run_as_before(self):
        self.converted(*SHAPE)
        for shape in ("2,3,32,32", "1,3,64,64"):
            self.check(DIGITS, self.path("out.pt"), shape)

    def test_what_was_converted_is_converted_for_other_shapes(self):
        self.converted(*SHAPE)
        self.converted("--input", "2,3,32,32", model=self.path("out.pt"), output="both.pt")
        self.assertIn("  nnapi_1 : ", source(self.path("both.pt")))
        for shape in ("1,3,64,64", *(["2,3,32,32", "1,3,32,32"] if HAS_LIBRARY else [])):
            self.check(DIGITS, self.path("both.pt"), shape)

    def test_the_file_holds_weights_once(self):
        self.converted(*SHAPE)
        self.converted(*SHAPE, "--fixed-shapes", output="fixed.pt")
        whole, fixed = (os.path.getsize(self.path(name)) for name in ("out.pt", "fixed.pt"))
        self.assertLess(fixed, whole)
        self.assertLess(whole, fixed + 60_000)

    def test_fixed_shapes_are_pytorchs_own_form(self):
        self.converted(*SHAPE, "--fixed-shapes")
        code = source(self.path("out.pt"))
        self.assertNotIn("torch.conv2d", code)
        self.assertRegex(code, r"_\d+ = nnapi_0\.forward\(\[\w+\]\)\n")
        if HAS_LIBRARY:
            self.check(DIGITS, self.path("out.pt"))
            done = torchlet("run", self.path("out.pt"), "--shape", "2,3,32,32")
            self.assertEqual(done.returncode, 1)

    def test_any_batch(self):
        self.converted(*SHAPE, "--fixed-shapes", "--any-batch")
        if HAS_LIBRARY:
            for batch in (1, 5, 2):
                self.check(DIGITS, self.path("out.pt"), f"{batch},3,32,32")

    def test_parts_for_one_batch_are_told(self):
        write_model(self.path("mixing.pt"), "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                                            "    return torch.relu(torch.reshape(x, [2, -1]))\n")
        text = self.converted("--input", "4,6", "--any-batch", "--report", model=self.path("mixing.pt"))
        self.assertIn("  for this batch alone: ", text)
        for batch in (4, 2):
            self.check(self.path("mixing.pt"), self.path("out.pt"), f"{batch},6")

    def test_nhwc(self):
        self.converted(*SHAPE, "--nhwc")
        if HAS_LIBRARY:
            self.check(DIGITS, self.path("out.pt"))

    def test_preference_and_precision_are_in_the_file(self):
        for arguments, state in ((("--preference", "fast", "--relax-fp16"), (1, True)), ((), (2, False))):
            self.converted(*SHAPE, *arguments)
            done = torchlet("inspect", self.path("out.pt"), "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            with zipfile.ZipFile(self.path("out.pt")) as archive:
                pickle = next(archive.read(name) for name in archive.namelist() if name.endswith("/data.pkl"))
            # BINUNICODE's text, perhaps memoized, then BININT1 and NEWTRUE or NEWFALSE.
            self.assertRegex(pickle, rb"compilation_preference(?:q.|r....)?K" + bytes([state[0]]))
            self.assertRegex(pickle, rb"relax_f32_to_f16(?:q.|r....)?" + (b"\x88" if state[1] else b"\x89"))

    def test_the_lite_interpreters_files(self):
        self.converted(*SHAPE, output="out.ptl")
        if HAS_LIBRARY:
            self.check(DIGITS, self.path("out.ptl"))

    def test_a_model_of_which_a_part_stays(self):
        write_model(self.path("mixed.pt"), MIXED)
        text = self.converted("--input", "2,3", "--report", model=self.path("mixed.pt"))
        lines = text.splitlines()
        self.assertEqual(lines[0], "4 of 5 operators go to NNAPI in 2 parts, 1 stays on the processor")
        self.assertRegex(lines[1], r"^nnapi  aten::add to aten::relu \(2 operators, \d operations? of NNAPI\)  code/__torch__\.py:5$")
        self.assertRegex(lines[2], r"^nnapi  aten::mul to aten::tanh \(2 operators, 2 operations of NNAPI\)  code/__torch__\.py:7$")
        self.assertEqual(lines[3:], ["cpu    aten::cumsum  code/__torch__.py:6: NNAPI has no operation for it"])
        self.check(self.path("mixed.pt"), self.path("out.pt"), "4,3")
        if HAS_LIBRARY:
            self.check(self.path("mixed.pt"), self.path("out.pt"), "2,3")

    def test_parts_that_are_too_small_stay(self):
        write_model(self.path("mixed.pt"), MIXED)
        self.fails("no part of forward() can go to NNAPI; aten::add: too few operators together", "--to", "nnapi",
                   "--input", "2,3", "--min-operators", "3", model=self.path("mixed.pt"))

    def test_the_report_as_json_in_a_file(self):
        write_model(self.path("mixed.pt"), MIXED)
        report = self.path("report.json")
        self.assertEqual(self.converted("--input", "2,3", "--json", f"--report={report}", model=self.path("mixed.pt")), "")
        with open(report) as file:
            told = json.load(file)
        self.assertEqual((told["operators"], told["operators_in_parts"], len(told["parts"])), (5, 4, 2))
        self.assertEqual(told["stays"], [{"operator": "aten::cumsum", "place": "code/__torch__.py:6", "module": "",
                                          "reason": "NNAPI has no operation for it"}])
        if HAS_LIBRARY:
            self.assertEqual(told["not_proved"], "")
            self.assertEqual([proof["device"] for proof in told["proofs"]], ["reference", "cpu"])
            self.assertLess(told["proofs"][0]["error"], 1e-5)

    def test_an_old_nnapi_gets_what_it_knows(self):
        report = lambda level: json.loads(self.converted(*SHAPE, "--json", "--feature-level", level))
        self.assertEqual(report("4")["stays"], [])
        self.assertIn("this NNAPI is too old", json.dumps(report("1")))

    def test_quantized(self):
        for model, values in (("quantized_linear", 2), ("quantized_conv_per_channel", 0)):
            inputs = f"{FIXTURES}/{model}.in0.npy"
            report = json.loads(self.converted("--input", inputs, "--json", model=f"{FIXTURES}/{model}.pt"))
            self.assertGreater(report["operators_in_parts"], 0)
            if HAS_LIBRARY:
                done = torchlet("run", self.path("out.pt"), inputs)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_a_library_it_is_not_proved(self):
        # It looks beside itself, too.
        alone = self.path("torchlet")
        shutil.copy(os.environ["TORCHLET"], alone)
        arguments = [alone, "convert", DIGITS, "--to", "nnapi", "-o", self.path("out.pt"), *SHAPE]
        done, quiet = (subprocess.run([*arguments, *more], capture_output=True, text=True, env={})
                       for more in ([], ["--no-proof"]))
        self.assertEqual((done.returncode, quiet.returncode, quiet.stderr), (0, 0, ""))
        self.assertTrue(done.stderr.startswith("torchlet: not proved: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertTrue(os.path.exists(self.path("out.pt")))

    def test_the_library_is_found_beside_a_command_that_the_shell_finds(self):
        command = os.path.abspath(os.environ["TORCHLET"])
        by_path, by_name = (subprocess.run([name, "devices"], capture_output=True, text=True, cwd=self.path("."),
                                           env={"PATH": os.path.dirname(command)}) for name in (command, "torchlet"))
        self.assertEqual((by_path.returncode, by_name.returncode), (0, 0), by_name.stderr)
        self.assertEqual(by_name.stdout, by_path.stdout)

    def test_what_cannot_be_converted_is_refused(self):
        write_model(self.path("none.pt"), "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return torch.cumsum(x, 0)\n")
        self.fails("no part of forward() can go to NNAPI; aten::cumsum: NNAPI has no operation for it (code/__torch__.py:5)",
                   "--to", "nnapi", "--input", "2,3", model=self.path("none.pt"))
        self.fails("the model has no method 'backward'", "--to", "nnapi", *SHAPE, "--method", "backward")
        self.fails("belongs to --to nnapi", "--nhwc", status=2)
        self.fails("they belong to --to nnapi", "--shape", "1,3,32,32", status=2)
        self.fails("--to: ", "--to", "coreml", *SHAPE, status=2)
        self.fails("expected", "--to", "nnapi", "--input", "1,5,32,32")

    def test_no_proof_of_other_answers(self):
        if HAS_LIBRARY:
            self.fails("() gives other answers on ", "--to", "nnapi", *SHAPE, "--nhwc", "--tolerance", "1e-12")


if __name__ == "__main__":
    unittest.main()
