"""What a small build is told to hold: `torchlet ops --format cmake` and scripts/select_operators.py."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

TORCHLET = os.environ["TORCHLET"]
MODEL = "models/digits_mobilenet_v2.pt"

sys.path.insert(0, "scripts")
import select_operators  # noqa: E402


def torchlet(*arguments):
    return subprocess.run([TORCHLET, *arguments], capture_output=True, text=True, check=True).stdout


def select(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "selection.inc")
        run = subprocess.run([sys.executable, "scripts/select_operators.py", *arguments, "--output", output],
                             capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        with open(output) as file:
            arrays = re.findall(r"string_view (\w+)\[\] = \{(.*?)\};", file.read(), re.S)
    return {name: re.findall(r'"([^"~]+)"', items) for name, items in arrays}


def entries(path, macro):
    with open(path) as file:
        return sorted(re.findall(rf"^{macro}\((\w+)", file.read(), re.M))


class SmallBuildTest(unittest.TestCase):
    def test_the_list_of_all_operators_selects_all_declarations(self):
        names = torchlet("ops", "--format", "list").split()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# all of them\n" + "\n".join(names))
            file.flush()
            everything = select("--operators", file.name)
        self.assertEqual(sorted(everything["kDeclarations"]), entries("src/ops/op_list.inc", "TORCHLET_OP_ENTRY"))
        self.assertEqual(sorted(everything["kClasses"]), entries("src/ops/class_list.inc", "TORCHLET_CLASS_ENTRY"))
        self.assertEqual(everything["kDevices"], ["cpu", "nnapi"])

    def test_without_a_list_there_is_everything_but_what_is_left_out(self):
        without = select("--devices", "cpu", "--containers", "ptl,ff")
        self.assertEqual(sorted(without["kDeclarations"]), entries("src/ops/op_list.inc", "TORCHLET_OP_ENTRY"))
        self.assertNotIn("nnapi_compilation", without["kClasses"])
        self.assertEqual((without["kDevices"], without["kContainers"]), (["cpu"], ["ff", "ptl"]))

    def test_variants_and_second_names_come_from_their_operators(self):
        for name, declaration in [("aten::relu_", "relu"), ("aten::add.out", "add_Tensor"), ("aten::absolute", "abs"),
                                  ("aten::permute_copy", "permute"), ("aten::index_copy", "index_copy_"),
                                  ("aten::mul.int_float", "mul_number")]:
            self.assertIn(declaration, select("--operators", name)["kDeclarations"], name)

    def test_overloads_are_told_apart_where_no_source_is_compiled(self):
        operators = "aten::add.Tensor;aten::gt.int;aten::hardtanh_.default;aten::mul.out;aten::relu"
        exact = select("--operators", operators, "--containers", "ptl")["kDeclarations"]
        self.assertLessEqual({"add_Tensor", "gt_number", "hardtanh", "mul_Tensor", "relu"}, set(exact))
        self.assertTrue({"add_Scalar", "add_str", "gt_Tensor"}.isdisjoint(exact), exact)
        for containers in "pt", "pt;ptl":
            every = select("--operators", operators, "--containers", containers)["kDeclarations"]
            self.assertLessEqual({*exact, "add_Scalar", "add_str", "gt_Tensor"}, set(every))

    def test_operators_bring_those_that_they_call(self):
        self.assertEqual(select("--operators", "aten::relu6")["kDeclarations"], ["relu6"])
        self.assertIn("cat", select("--operators", "quantized::cat")["kDeclarations"])
        self.assertIn("quantized_conv2d", select("--operators", "quantized::conv2d.new")["kClasses"])

    def test_features_come_with_the_operators_that_make_such_tensors(self):
        features = lambda *arguments: select("--features", "", *arguments)["kFeatures"]  # noqa: E731
        self.assertEqual(features("--operators", "aten::relu;aten::conv2d;aten::add.Tensor"), [])
        self.assertEqual(features("--operators", "aten::float_power.Tensor_Scalar"), ["complex", "float64"])
        self.assertIn("sparse", features("--operators", "aten::to_dense"))
        everything = select("--operators", "aten::relu")
        self.assertEqual(len(everything["kFeatures"]), 12)
        self.assertIn("dead-code", everything["kPasses"])
        self.assertEqual(select("--passes", "freeze;inline")["kPasses"], ["freeze", "inline"])

    def test_who_asks_what_a_build_holds_is_known(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "selection.inc")
            subprocess.run([sys.executable, "scripts/select_operators.py", "--output", output], check=True)
            with open(os.path.join(folder, "selection.sources")) as file:
                readers = file.read().split()
        self.assertIn("ops/core/registry.cc", readers)  # includes it
        self.assertIn("ops/nn/convolution.cc", readers)  # through a header
        self.assertNotIn("graph/graph.cc", readers)

    def test_what_is_not_there_is_refused(self):
        self.assertIn("no operator 'aten::no_such'", select("--operators", "aten::relu;aten::no_such"))
        self.assertIn("TORCHLET_DEVICES has no 'gpu'; there are: cpu, nnapi", select("--devices", "gpu"))
        self.assertIn("TORCHLET_FEATURES has no 'video'", select("--features", "video"))
        self.assertIn("TORCHLET_PASSES has no 'magic'; there are: activations, ", select("--passes", "magic"))

    def test_features_come_with_the_filters_of_convolutions(self):
        # 3x3 filters of 256 channels in one group, which is none that tiles take.
        scenes = torchlet("ops", os.path.join(os.path.dirname(MODEL), "scenes_deeplabv3.ptl"), "--format", "cmake")
        self.assertIn('set(TORCHLET_FEATURES "winograd" CACHE', scenes)

    def test_the_command_tells_all_that_a_build_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            mobile = os.path.join(folder, "m.ptl")
            torchlet("convert", MODEL, "-o", mobile)
            of_source, of_bytecode = (torchlet("ops", path, "--format", "cmake") for path in (MODEL, mobile))
        self.assertIn('set(TORCHLET_CONTAINERS "pt" CACHE', of_source)
        self.assertIn('set(TORCHLET_CONTAINERS "ptl" CACHE', of_bytecode)
        for text in of_source, of_bytecode:
            names = re.search(r'TORCHLET_OPERATORS "([^"]*)"', text)[1]
            # hardtanh is what optimising makes of hardtanh_.
            end = "" if text is of_source else ".default"
            self.assertLessEqual({name + end for name in ("aten::conv2d", "aten::linear", "aten::hardtanh")},
                                 set(names.split(";")), names)
            self.assertIsInstance(select("--operators", names), dict)
            self.assertIn('set(TORCHLET_FEATURES "" CACHE', text)
            passes = set(re.search(r'TORCHLET_PASSES "([^"]*)"', text)[1].split(";"))
            self.assertLessEqual({"batch-norm", "dropout", "fold-constants"}, passes)
            self.assertTrue(passes.isdisjoint({"dicts", "padding", "unpack"}), passes)


if __name__ == "__main__":
    unittest.main()
