#!/usr/bin/env python3
"""What `torchlet` prints, writes and returns."""

import json
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import unittest
import zipfile

FIXTURES = "tests/fixtures"


def torchlet(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["TORCHLET"], *arguments], capture_output=True, text=True, input=stdin,
                          env={**os.environ, **environment})


def npy(descr: str, shape: tuple, data: bytes) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def read_npy(file: bytes, offset: int) -> bytes:
    """The bytes of an array's data and of all that follows it."""
    data = file[offset:]
    return data[10 + struct.unpack("<H", data[8:10])[0]:]


def write_model(file: str, forward: str) -> None:
    """A TorchScript file with nothing but this method, whose first argument is `self: __torch__.M`."""
    source = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n" + forward
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02c__torch__\nM\n)\x81}b.")
        archive.writestr("m/constants.pkl", b"\x80\x02).")
        archive.writestr("m/code/__torch__.py", source)
        archive.writestr("m/version", "3\n")


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def tensor(dtype: str, shape: list, offset: int = 0, **more) -> dict:
    return {"t": "tensor", "dtype": dtype, "shape": shape, "npy": "data.npy", "offset": offset, **more}


class Usage(unittest.TestCase):
    def test_help_and_version_succeed(self):
        for arguments in (["--help"], ["run", "--help"], ["inspect", "--help"], ["bench", "--help"], ["--version"]):
            done = torchlet(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertTrue(done.stdout)

    def test_every_command_has_examples_json_and_a_page(self):
        commands = re.findall(r"^  (\w+)  ", torchlet("--help").stdout.split("Subcommands:")[1], re.MULTILINE)
        self.assertIn("run", commands)
        for command in commands:
            text = torchlet(command, "--help").stdout
            self.assertIn(f"Examples: torchlet {command} ", text)
            self.assertIn("--json", text, command)
            with open(f"docs/{command}.md") as page:
                self.assertIn(f"    torchlet {command} ", page.read(), command)

    def test_help_tells_options_with_their_defaults(self):
        text = torchlet("run", "--help").stdout
        for words in "Usage: torchlet run [OPTIONS] model [input...]", "--device NAME[,NAME...]=auto\n", "--top INT:0..=5 ":
            self.assertIn(words, text)

    def test_options_stand_anywhere_and_take_their_values_in_two_ways(self):
        for arguments in (["--method=distance", "--json", "--value=[1, 2.5]", "--value={\"shift\": 2}", "MODEL"],
                          ["MODEL", "--value", "[1, 2.5]", "--json", "--method", "distance", "--value", '{"shift": 2}']):
            done = torchlet("run", *(f"{FIXTURES}/api.pt" if a == "MODEL" else a for a in arguments), "--value", "null")
            self.assertEqual(json.loads(done.stdout)["output"], [5.5, [2.5, 1.0]], done.stderr)
        done = torchlet("inspect", "--", f"{FIXTURES}/api.pt")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rounded_precisions_are_exact_enough_and_say_what_the_processor_lacks(self):
        model = f"{FIXTURES}/scripted_convnet.pt"
        for precision, lacks in (("fp16", "float16 arithmetic: weights alone are fp16"), ("bf16", "products of bfloat16: bf16 is fp32")):
            arguments = (model, f"{FIXTURES}/scripted_convnet.in0.npy", "--precision", precision, "--json")
            done = torchlet("bench", *arguments, "--iterations", "1", "--threads", "1")
            figures = json.loads(done.stdout)
            if done.stderr:
                self.assertEqual(done.stderr, f"torchlet: this processor has no {lacks}\n")
            self.assertLess(figures["error"], 1e-2)
            self.assertEqual(torchlet("run", *arguments).returncode, 0)
        done = torchlet("bench", model, "--precision", "fp64")
        self.assertEqual(done.returncode, 2)
        self.assertIn("fp32", done.stderr)

    def test_wrong_use_is_status_2_and_one_line(self):
        for arguments in ([], ["fly"], ["run"], ["run", "--no-such-option", "x"], ["bench", "m.pt", "--threads", "-1"],
                          ["bench", "m.pt", "--threads", "257"], ["bench", "m.pt", "--seconds", "0"],
                          ["bench", "m.pt", "--seconds", "nan"], ["run", "m.pt", "--top", "-1"],
                          ["run", "m.pt", "--memory-limit", "0"], ["run", "m.pt", "--memory-limit", "5Q"],
                          ["bench", "m.pt", "--warmup", "2x"], ["bench", "m.pt", "--warmup", ""],
                          ["run", "m.pt", "--method"], ["run", "m.pt", "--method", "a", "--method", "b"],
                          ["inspect", "a.pt", "--nothing"], ["inspect", "a.pt", "--json=x"], ["inspect", "-x", "a.pt"],
                          ["run", f"{FIXTURES}/linear.pt", "--shape", "2,x"],
                          ["run", f"{FIXTURES}/linear.pt", "--shape", "2,"],
                          ["run", f"{FIXTURES}/linear.pt", "--calls", "request.json"]):
            done = torchlet(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertLess(len(done.stderr), 200)
            self.assertTrue(done.stderr.startswith("torchlet: error: "), done.stderr)

    def test_model_errors_are_status_1_and_one_line(self):
        for arguments in (["run", "no_such_file.pt"], ["inspect", f"{FIXTURES}/linear.in0.npy"],
                          ["run", f"{FIXTURES}/unsupported.pt", "--shape", "2"],
                          ["run", f"{FIXTURES}/api.pt", "--method", "check", "--value=-1"],
                          ["run", f"{FIXTURES}/linear.pt"], ["bench", f"{FIXTURES}/linear.pt", "--shape", "7"],
                          ["run", f"{FIXTURES}/linear.pt", f"{FIXTURES}/no_such_file.npy"],
                          ["run", f"{FIXTURES}/linear.pt", "--labels", "no_such_file.txt"],
                          ["run", f"{FIXTURES}/linear.pt", f"{FIXTURES}/linear.in0.npy", "--save", "README.md/out"]):
            done = torchlet(*arguments)
            self.assertEqual(done.returncode, 1, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("torchlet: error: "), done.stderr)


class Devices(unittest.TestCase):
    def test_each_is_listed_with_what_it_takes(self):
        devices = {d["name"]: d for d in json.loads(torchlet("devices", "--ops", "--json").stdout)}
        self.assertIn("aten::conv2d", devices["cpu"]["operators"])
        self.assertNotIn("aten::add_.Tensor", devices["cpu"]["operators"], "it writes")
        self.assertIn("aten::add_.Tensor", devices["reference"]["operators"])
        for device in devices.values():
            self.assertEqual(device["num_operators"], len(device["operators"]))
            self.assertTrue(device["description"])
        self.assertTrue(devices["cpu"]["usable"])

    def test_names_choose(self):
        text = torchlet("devices", "cpu").stdout
        self.assertEqual(len(text.splitlines()), 2)
        self.assertTrue(text.splitlines()[1].startswith("cpu "))
        done = torchlet("devices", "abacus")
        self.assertEqual((done.returncode, done.stderr),
                         (2, "torchlet: error: devices: there is no device 'abacus' (see --help)\n"))


class Run(unittest.TestCase):
    def test_npy_in_json_out(self):
        done = torchlet("run", f"{FIXTURES}/api.pt", f"{FIXTURES}/api.in0.npy", "--value", "3", "--json")
        output = json.loads(done.stdout)["output"]
        self.assertEqual(output, {"dtype": "float32", "shape": [2, 3], "data": [3, 12, 27, 12, 30, 54]})

    def test_inputs_keep_the_order_of_the_command_line(self):
        done = torchlet("run", f"{FIXTURES}/api.pt", "--method", "distance", "--value", "[1, 2.5]",
                        "--value", '{"shift": 2}', "--value", "null", "--json")
        self.assertEqual(json.loads(done.stdout)["output"], [5.5, [2.5, 1.0]])

    def test_prints_of_the_program_stay_out_of_json(self):
        done = torchlet("run", f"{FIXTURES}/api.pt", "--method", "talk", "--text", "Ann", "--json")
        self.assertEqual(json.loads(done.stdout)["output"], "bye Ann")
        self.assertEqual(done.stderr, "hello Ann 3\n")

    def test_classifies_the_sample_picture(self):
        for digit, name in ((0, "zero"), (7, "seven")):
            done = torchlet("run", "models/digits_mobilenet_v2.pt", "--image", f"models/samples/digit_{digit}.png",
                            "--labels", "models/digits_labels.txt", "--top", "2")
            lines = done.stdout.splitlines()
            self.assertEqual(len(lines), 3, done.stderr)
            self.assertTrue(lines[0].endswith("  " + name), lines)

    def test_devices_agree(self):
        outputs = []
        for device in "cpu", "reference":
            done = torchlet("run", "models/digits_mobilenet_v2.pt", "--image", "models/samples/digit_7.png",
                            "--device", device, "--json")
            outputs.append(json.loads(done.stdout)["output"]["data"])
        for fast, slow in zip(*outputs):
            self.assertAlmostEqual(fast, slow, delta=1e-4 * max(map(abs, outputs[1])))
        refused = torchlet("run", f"{FIXTURES}/api.pt", "--device", "gpu")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("reference", refused.stderr)

    def test_the_placement_tells_what_runs_where_and_why(self):
        arguments = ["inspect", "models/digits_mobilenet_v2.pt", "--placement", "--shape", "1,3,64,64"]
        rows = json.loads(torchlet(*arguments, "--json").stdout)
        segments = [row for row in rows if row["segment"]]
        self.assertEqual([(row["device"], row["reason"]) for row in segments], [("cpu", "")])
        self.assertGreater(segments[0]["operators"], 20)
        self.assertIn("aten::linear", segments[0]["what"])
        self.assertIn("segment on", torchlet(*arguments).stdout)
        refused = json.loads(torchlet("inspect", f"{FIXTURES}/api.pt", "--placement", "--shape", "2,3", "--json").stdout)
        for row in refused:
            self.assertTrue(row["device"] == "cpu" and row["place"], row)


    def test_the_operators_that_there_are_and_that_a_model_needs(self):
        every = torchlet("ops").stdout.splitlines()
        self.assertIn("aten::relu(Tensor self) -> Tensor", every)
        self.assertGreater(len(every), 1800)
        needed = json.loads(torchlet("ops", "models/digits_mobilenet_v2.pt", "--json").stdout)
        calls = {row["name"]: row["calls"] for row in needed}
        self.assertGreater(calls["aten::conv2d"], 10)
        for row in needed:
            self.assertIn(row["schema"], every)

    def test_the_operators_of_several_models_are_one_list(self):
        models = [f"{FIXTURES}/{name}.pt" for name in ("linear", "unsupported", "recurrent")]
        rows = {row["name"]: row for row in json.loads(torchlet("ops", *models, "--json").stdout)}
        self.assertEqual(rows["aten::linear"]["models"], {models[0]: 1})
        self.assertTrue(rows["aten::linear"]["supported"])
        self.assertEqual(rows["aten::cudnn_grid_sampler"]["models"], {models[1]: 1})
        self.assertFalse(rows["aten::cudnn_grid_sampler"]["supported"])
        for row in rows.values():
            self.assertEqual(row["calls"], sum(row["models"].values()))
        names = torchlet("ops", *models, "--format", "list").stdout.splitlines()
        self.assertEqual(names, list(rows))
        self.assertEqual(names, sorted(set().union(*(torchlet("ops", m, "--format", "list").stdout.split() for m in models))))
        yaml = torchlet("ops", *models, "--format", "yaml").stdout.splitlines()
        self.assertEqual(yaml, ["- " + name for name in names])
        text = torchlet("ops", *models).stdout
        self.assertIn("aten::cudnn_grid_sampler  NOT SUPPORTED: Torchlet does not have it\n", text)
        self.assertEqual(torchlet("ops", models[0], "none.pt").returncode, 1)
        self.assertEqual(torchlet("ops", models[0], "--format", "xml").returncode, 2)

    def test_missing_operators_can_be_allowed(self):
        done = torchlet("run", f"{FIXTURES}/unsupported.pt", "--shape", "2", "--allow-unsupported")
        self.assertEqual(done.returncode, 0, done.stderr)
        refused = torchlet("run", f"{FIXTURES}/unsupported.pt", "--shape", "2")
        for name in "aten::cudnn_affine_grid_generator", "aten::cudnn_grid_sampler":
            self.assertIn(name, refused.stderr)


    def test_tensors_of_every_kind_are_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            write_model(f"{folder}/m.pt",
                        "  def forward(self: __torch__.M, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:\n"
                        "    q = torch.quantize_per_tensor(x, 0.5, 3, 13)\n"
                        "    return (q, torch.to_sparse(x), torch.complex(x, torch.neg(x)))\n")
            with open(f"{folder}/x.npy", "wb") as f:
                f.write(npy("<f4", (2,), floats(1.5, 0)))
            done = torchlet("run", f"{folder}/m.pt", f"{folder}/x.npy", "--json")
            shown = torchlet("run", f"{folder}/m.pt", f"{folder}/x.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([x["data"] for x in json.loads(done.stdout)["output"]], [[1.5, 0], [1.5, 0], [[1.5, -1.5], [0, 0]]])
        self.assertIn("[2] quint8  min 0  max 1.5", shown.stdout)

    def test_saved_tensors_keep_their_shape(self):
        for shape in (), (1,), (1, 1), (0, 2):
            count = 1 if 0 not in shape else 0
            with tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/x.npy", "wb") as f:
                    f.write(npy("<f4", shape, floats(*[2.5] * count)))
                done = torchlet("run", f"{FIXTURES}/api.pt", f"{folder}/x.npy", "--method", "echo", "--save", folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(f"{folder}/output.json") as f:
                    node = json.load(f)
                with open(f"{folder}/data.npy", "rb") as f:
                    saved = f.read()
            self.assertEqual((node["shape"], len(node["strides"])), (list(shape), len(shape)))
            self.assertIn(f"'shape': ({''.join(f'{size},' for size in shape)}), ".encode(), saved)
            self.assertTrue(saved.endswith(floats(*[2.5] * count)))


class Bundled(unittest.TestCase):
    def test_inputs_that_the_model_carries(self):
        done = torchlet("run", f"{FIXTURES}/bundled.pt", "--bundled", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("output: [40, 2] float32 "), done.stdout)
        done = torchlet("bench", f"{FIXTURES}/bundled.pt", "--bundled", "2", "--seconds", "0.01")
        self.assertIn("inputs      [20, 3] float32\n", done.stdout)

    def test_inputs_that_it_does_not_carry(self):
        done = torchlet("run", f"{FIXTURES}/bundled.pt", "--bundled", "3")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "torchlet: error: the model has 3 bundled inputs for forward(), no number 3\n"))
        done = torchlet("run", f"{FIXTURES}/linear.pt", "--bundled", "0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the model has no bundled inputs for forward(); add them with `torchlet bundle`", done.stderr)


class Calls(unittest.TestCase):
    def calls(self, model: str, calls: list, data: bytes = b"", stateful: bool = False) -> list:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            with open(os.path.join(folder, "data.npy"), "wb") as f:
                f.write(data)
            with open(os.path.join(folder, "request.json"), "w") as f:
                json.dump({"calls": calls, "stateful": stateful}, f)
            done = torchlet("run", f"{FIXTURES}/{model}", "--calls", f"{folder}/request.json", "--save", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(f"{out}/results.json") as f:
                results = json.load(f)["results"]
            with open(f"{out}/data.npy", "rb") as f:
                self.saved = f.read()
            for result in results:
                if result.get("output", {}).get("npy"):
                    node = result["output"]
                    result["data"] = read_npy(self.saved, node["offset"])
                for node in result.get("inputs_after", []):
                    if node.get("npy"):
                        node["data"] = read_npy(self.saved, node["offset"])
            return results

    def test_tensors_in_and_out(self):
        x = tensor("float32", [2, 3])
        result, = self.calls("api.pt", [{"method": "forward", "inputs": [x], "kwargs": {"times": {"t": "int", "v": 1}}}],
                             npy("<f4", (2, 3), floats(1, 1, 1, 2, 2, 2)))
        self.assertEqual(result["status"], "ok", result)
        self.assertEqual(result["output"]["shape"], [2, 3])
        self.assertEqual(result["output"]["strides"], [3, 1])
        self.assertEqual(result["output"]["memory_format"], "contiguous")
        self.assertEqual(result["data"][:24], floats(1, 2, 3, 2, 4, 6))

    def test_outputs_without_dimensions_have_none(self):
        result, = self.calls("api.pt", [{"method": "echo", "inputs": [tensor("float32", [])]}], npy("<f4", (), floats(3)))
        for node in result["output"], result["inputs_after"][0]:
            self.assertEqual((node["shape"], node["strides"]), ([], []))
        self.assertEqual(self.saved.count(b"'shape': (), "), 2)

    def test_sparse_matrices_in_and_out(self):
        arrays = [("<i8", (3,), struct.pack("<3q", 0, 1, 3)), ("<i8", (3,), struct.pack("<3q", 1, 0, 2)),
                  ("<f4", (3,), floats(2, -1, 3))]
        data, nodes = b"", []
        for (descr, shape, content), dtype in zip(arrays, ("int64", "int64", "float32")):
            nodes.append(tensor(dtype, list(shape), len(data)))
            data += npy(descr, shape, content)
        sparse = {"t": "sparse_csr", "dtype": "float32", "shape": [2, 3], "crow": nodes[0], "col": nodes[1], "values": nodes[2]}
        broken = {**sparse, "crow": nodes[1]}
        good, bad = self.calls("api.pt", [{"method": "echo", "inputs": [x]} for x in (sparse, broken)], data)
        self.assertEqual(bad["status"], "error")
        output = good["output"]
        self.assertEqual((output["t"], output["dtype"], output["shape"]), ("sparse_csr", "float32", [2, 3]))
        for key, (_, _, content) in zip(("crow", "col", "values"), arrays):
            self.assertEqual(read_npy(self.saved, output[key]["offset"])[:len(content)], content)

    def test_strides_of_inputs_are_kept(self):
        x = tensor("float32", [2, 3], strides=[1, 2], memory_format="strided")
        result, = self.calls("api.pt", [{"method": "fill_", "inputs": [x]}], npy("<f4", (2, 3), floats(*range(6))))
        self.assertEqual(result["output"]["strides"], [1, 2])
        self.assertEqual(result["output"]["memory_format"], "strided")
        after = result["inputs_after"][0]
        self.assertEqual(after["data"][:24], floats(*[7] * 6))

    def test_values_of_other_kinds(self):
        call = {"method": "distance", "inputs": [
            {"t": "tuple", "v": [{"t": "float", "v": "inf"}, {"t": "float", "v": 2}]},
            {"t": "dict", "items": [[{"t": "str", "v": "shift"}, {"t": "float", "v": 1}]]}]}
        result, = self.calls("api.pt", [call])
        self.assertEqual(result["output"]["v"][0], {"t": "float", "v": "inf"})
        point = result["output"]["v"][1]
        self.assertEqual(point["names"], ["x", "y"])
        self.assertEqual(point["type_name"], "__torch__.Point")

    def test_each_call_begins_with_the_loaded_module_unless_stateful(self):
        steps = [{"method": "step", "inputs": []}] * 3
        self.assertEqual([r["output"]["v"] for r in self.calls("api.pt", steps)], [1, 1, 1])
        self.assertEqual([r["output"]["v"] for r in self.calls("api.pt", steps, stateful=True)], [1, 2, 3])

    def test_a_failing_call_does_not_stop_the_others(self):
        results = self.calls("api.pt", [{"method": "check", "inputs": [{"t": "int", "v": -1}]},
                                        {"method": "no_such_method", "inputs": []},
                                        {"method": "check", "inputs": [{"t": "quaternion"}]},
                                        {"method": "check", "inputs": [{"t": "int", "v": 5}]}])
        self.assertEqual([r["status"] for r in results], ["error", "error", "error", "ok"])
        self.assertIn("x must not be negative", results[0]["message"])
        self.assertIn("in checker", results[0]["message"])
        self.assertEqual(results[3]["output"], {"t": "int", "v": 10})

    def test_missing_operators_fail_only_the_calls_that_reach_them(self):
        x = tensor("float32", [1])
        results = self.calls("unsupported.pt", [{"method": "forward", "inputs": [x]},
                                                {"method": "forward", "inputs": [x, {"t": "bool", "v": True}]}],
                             npy("<f4", (1,), floats(1)))
        self.assertEqual([r["status"] for r in results], ["ok", "error"])
        self.assertIn("aten::cudnn_affine_grid_generator", results[1]["message"])

    def test_bits_of_bfloat16_and_quantized_tensors_survive(self):
        bits = struct.pack("<3H", 0x3f80, 0x7fc1, 0x8000)
        steps = bytes([0, 7, 255])
        data = npy("<u2", (3,), bits)
        quantized = tensor("quint8", [3], len(data), qscheme="per_tensor_affine", scale=0.1, zero_point=3)
        quantized["t"] = "qtensor"
        results = self.calls("api.pt", [{"method": "echo", "inputs": [tensor("bfloat16", [3])]},
                                        {"method": "echo", "inputs": [quantized]}], data + npy("|u1", (3,), steps))
        self.assertEqual(results[0]["output"]["dtype"], "bfloat16")
        self.assertEqual(results[0]["data"][:6], bits)
        for key in "t", "dtype", "shape", "qscheme", "scale", "zero_point":
            self.assertEqual(results[1]["output"][key], quantized[key])
        self.assertEqual(results[1]["data"][:3], steps)

    def test_a_str_that_is_no_utf8_is_an_error(self):
        calls = [{"method": "first", "inputs": [{"t": "str", "v": text}]} for text in ("abc", "\u00e9")]
        results = self.calls("api.pt", calls)
        self.assertEqual([r["status"] for r in results], ["ok", "error"])
        self.assertEqual(results[1]["message"], "the result holds a str that is not UTF-8")

    def test_a_malformed_request_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in "", "[]", '{"calls": 3}', "{":
                with open(f"{folder}/request.json", "w") as f:
                    f.write(text)
                done = torchlet("run", f"{FIXTURES}/api.pt", "--calls", f"{folder}/request.json", "--save", folder)
                self.assertEqual(done.returncode, 1, done.stderr)


class Inspect(unittest.TestCase):
    def test_json_tells_everything(self):
        done = torchlet("inspect", f"{FIXTURES}/api.pt", "--json", "--graph")
        node = json.loads(done.stdout)
        forward = next(m for m in node["methods"] if m["name"] == "forward")
        self.assertEqual(forward["schema"], "forward(Tensor x, int times=2, float scale=1.0) -> Tensor")
        self.assertEqual([a["has_default"] for a in forward["arguments"]], [False, True, True])
        self.assertTrue(forward["graph"].startswith("graph("))
        self.assertEqual(node["parameters"][0], {"name": "weight", "dtype": "float32", "shape": [3], "bytes": 12})
        self.assertEqual(node["buffers"][0]["name"], "steps")
        self.assertEqual(node["operators"]["aten::linear"], 2)
        self.assertEqual(node["unsupported_operators"], [])

    def test_missing_operators_are_listed_with_their_places(self):
        node = json.loads(torchlet("inspect", f"{FIXTURES}/unsupported.pt", "--json").stdout)
        self.assertEqual([u["name"] for u in node["unsupported_operators"]],
                         ["aten::cudnn_affine_grid_generator", "aten::cudnn_grid_sampler"])
        self.assertRegex(node["unsupported_operators"][0]["places"][0], r"^make_fixtures\.py:\d+, in ")
        text = torchlet("inspect", f"{FIXTURES}/unsupported.pt").stdout
        self.assertIn("NOT SUPPORTED", text)

    def test_the_graph_as_it_runs(self):
        done = torchlet("inspect", "models/digits_mobilenet_v2.pt", "--graph", "--optimized", "--method", "forward")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("prim::Segment", done.stdout)
        self.assertNotIn("CallMethod", done.stdout)
        self.assertNotIn("aten::batch_norm", done.stdout)

    def test_code_and_graph(self):
        self.assertIn("def forward(self: __torch__.Api", torchlet("inspect", f"{FIXTURES}/api.pt", "--code").stdout)
        self.assertIn("aten::mul", torchlet("inspect", f"{FIXTURES}/api.pt", "--graph", "--method", "forward").stdout)


def archive_names(path: str) -> set[str]:
    """The records of an archive, without its root folder."""
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2] for name in archive.namelist()}


class Convert(unittest.TestCase):
    def convert(self, *arguments: str) -> subprocess.CompletedProcess:
        return torchlet("convert", *arguments)

    def test_what_it_writes_runs_alike_and_converts_to_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "api", "containers", "script_class", "recurrent", "quantized_conv_per_channel", "unsupported":
                once, twice = f"{folder}/{name}.pt", f"{folder}/{name}_again.pt"
                for source, target in ((f"{FIXTURES}/{name}.pt", once), (once, twice)):
                    done = self.convert(source, "-o", target)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                with open(once, "rb") as a, open(twice, "rb") as b:
                    self.assertEqual(a.read(), b.read(), name)
            answers = [torchlet("run", model, f"{FIXTURES}/api.in0.npy", "--json").stdout
                       for model in (f"{FIXTURES}/api.pt", f"{folder}/api.pt")]
            self.assertEqual(*(json.loads(answer)["output"] for answer in answers))

    def test_the_archive_is_one_that_any_zip_reader_takes(self):
        with tempfile.TemporaryDirectory() as folder:
            labels = f"{folder}/labels.txt"
            with open(labels, "w") as f:
                f.write("cat\n")
            done = self.convert(f"{FIXTURES}/api.pt", "-o", f"{folder}/a.pt", "--extra-file", f"labels={labels}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.convert(f"{folder}/a.pt", "-o", f"{folder}/b.pt").returncode, 0)
            with zipfile.ZipFile(f"{folder}/b.pt") as archive:
                self.assertIsNone(archive.testzip())
                self.assertEqual(archive.read("archive/extra/labels"), b"cat\n")
                self.assertIn("class Api(Module)", archive.read("archive/code/__torch__.py").decode())

    def test_the_ending_chooses_the_container(self):
        with tempfile.TemporaryDirectory() as folder:
            # A flatbuffer does not keep the places in the original Python.
            plain, model = f"{folder}/plain.ff", f"{folder}/plain.pt"
            self.assertEqual(self.convert(f"{FIXTURES}/api.pt", "-o", plain).returncode, 0)
            self.assertEqual(self.convert(plain, "-o", model).returncode, 0)
            made = {}
            for ending in "pt", "ptl", "ff":
                made[ending] = f"{folder}/api.{ending}"
                done = self.convert(model, "-o", made[ending], "--extra-file", f"note={__file__}")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual([archive_names(made[ending]) & {"bytecode.pkl", "code/__torch__.py"} for ending in ("pt", "ptl")],
                             [{"code/__torch__.py"}, {"bytecode.pkl", "code/__torch__.py"}])
            with open(made["ff"], "rb") as f:
                self.assertEqual(f.read()[4:8], b"PTMF")
            # Any of them from any other, with its extra file.
            for source in made.values():
                for ending, expected in made.items():
                    again = f"{folder}/again.{ending}"
                    self.assertEqual(self.convert(source, "-o", again).returncode, 0)
                    with open(again, "rb") as a, open(expected, "rb") as b:
                        self.assertEqual(a.read(), b.read(), f"{source} -> {ending}")
            answers = [torchlet("run", model, f"{FIXTURES}/api.in0.npy", "--json").stdout
                       for model in (f"{FIXTURES}/api.pt", *made.values())]
            self.assertEqual(len({str(json.loads(answer)["output"]) for answer in answers}), 1)

    def test_the_bytecode_is_of_the_version_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            made = {}
            for version in None, 4, 5, 6, 7, 8:
                made[version] = f"{folder}/{version}.ptl"
                asked = () if version is None else ("--bytecode-version", str(version))
                done = self.convert(f"{FIXTURES}/api.pt", "-o", made[version], *asked)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with zipfile.ZipFile(made[version]) as archive:
                    written = archive.read("archive/bytecode.pkl")
                # PROTO 2, MARK, BININT1 version
                self.assertEqual(written[:5], b"\x80\x02(K" + bytes([version or 8]))
            self.assertEqual(self.convert(made[8], "-o", f"{folder}/a.ptl", "--bytecode-version", "5").returncode, 0)
            with open(f"{folder}/a.ptl", "rb") as a, open(made[5], "rb") as b:
                self.assertEqual(a.read(), b.read())
            for arguments, words in ((("-o", f"{folder}/b.ptl", "--bytecode-version", "3"), "not in range"),
                                     (("-o", f"{folder}/b.ptl", "--bytecode-version", "9"), "not in range"),
                                     (("-o", f"{folder}/b.pt", "--bytecode-version", "7"), "only .ptl and .ff hold bytecode")):
                done = self.convert(f"{FIXTURES}/api.pt", *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
            self.assertFalse([name for name in os.listdir(folder) if name.startswith("b.")])

    def test_bytecode_tells_the_python_unless_it_shall_not(self):
        records = {"mobile_debug_handles.pkl", "bytecode.debug_pkl", "callstack_debug_map.pkl"}
        with tempfile.TemporaryDirectory() as folder:
            whole, bare, silent = (f"{folder}/{name}.ptl" for name in ("whole", "bare", "silent"))
            model = f"{FIXTURES}/scripted_convnet.pt"
            self.assertEqual(self.convert(model, "-o", whole).returncode, 0)
            self.assertEqual(archive_names(whole) & records, records)
            with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(bare, "w") as without_source:
                for record in archive.infolist():
                    if "/code/" not in record.filename:
                        without_source.writestr(record, archive.read(record))
            self.assertEqual(self.convert(bare, "-o", silent, "--no-debug").returncode, 0)
            self.assertFalse([name for name in archive_names(silent) if "debug" in name])
            errors = [torchlet("run", path, "--shape", "7").stderr for path in (model, whole, bare, silent)]
            self.assertIn("in features.0 (aten::conv2d)", errors[0])
            self.assertIn(".py:", errors[0])
            self.assertEqual(errors[:1] * 3, errors[:3])
            self.assertIn("in bytecode of __torch__.", errors[3])

    def test_nothing_is_left_of_what_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/model.pt"
            self.assertEqual(self.convert(f"{FIXTURES}/linear.pt", "-o", model).returncode, 0)
            for arguments, words in (((model, "-o", model), "is the file that the model was loaded from"),
                                     ((model, "-o", f"{folder}/none/a.pt"), "cannot write"),
                                     ((f"{folder}/none.pt", "-o", f"{folder}/a.pt"), "cannot open"),
                                     ((model, "-o", f"{folder}/a.pt", "--extra-file", "x=/none"), "cannot open")):
                done = self.convert(*arguments)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
            self.assertEqual(os.listdir(folder), ["model.pt"])
            self.assertEqual(self.convert(model, "-o", f"{folder}/a.pt", "--extra-file", "x").returncode, 2)

    def test_a_full_disk_or_a_kill_leaves_what_was_there(self):
        def no_room(action: signal.Handlers):
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
            signal.signal(signal.SIGXFSZ, action)

        with tempfile.TemporaryDirectory() as folder:
            target = f"{folder}/a.pt"
            with open(target, "w") as f:
                f.write("what was there")
            # Beyond the limit a write fails, or the signal kills the process in the middle of it.
            for action, status in ((signal.SIG_IGN, 1), (signal.SIG_DFL, -signal.SIGXFSZ)):
                command = [os.environ["TORCHLET"], "convert", "models/digits_mobilenet_v2.pt", "-o", target]
                done = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: no_room(action))
                self.assertEqual(done.returncode, status, done.stderr)
                if action == signal.SIG_IGN:
                    self.assertEqual(done.stderr, f"torchlet: error: cannot write '{target}': File too large\n")
                self.assertEqual(os.listdir(folder), ["a.pt"])
                with open(target) as f:
                    self.assertEqual(f.read(), "what was there")


class Bench(unittest.TestCase):
    def test_serve_answers_each_number_with_so_many_times(self):
        done = torchlet("bench", f"{FIXTURES}/linear.pt", f"{FIXTURES}/linear.in0.npy", "--serve", stdin="3\n1\n")
        lines = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
        self.assertEqual([len(line) for line in lines], [3, 1])
        self.assertGreater(min(map(min, lines)), 0)

    def test_json_has_all_figures_in_order(self):
        done = torchlet("bench", f"{FIXTURES}/linear.pt", f"{FIXTURES}/linear.in0.npy", "--iterations", "20", "--json",
                        "--threads", "1")
        node = json.loads(done.stdout)
        self.assertEqual(node["iterations"], 20)
        self.assertEqual(node["threads"], 1)
        auto = json.loads(torchlet("bench", f"{FIXTURES}/linear.pt", f"{FIXTURES}/linear.in0.npy", "--iterations", "1",
                                   "--json", "--threads", "auto").stdout)
        self.assertEqual(auto["threads"], len(os.sched_getaffinity(0)))
        self.assertLessEqual(node["min_ms"], node["median_ms"])
        self.assertLessEqual(node["median_ms"], node["p90_ms"])
        self.assertLessEqual(node["p90_ms"], node["p99_ms"])
        for key in "load_ms", "first_ms", "mean_ms", "peak_memory_bytes":
            self.assertGreater(node[key], 0)
        self.assertEqual(done.stderr, "")

    def test_the_environment_limits_the_instruction_set(self):
        model = f"{FIXTURES}/linear.pt", f"{FIXTURES}/linear.in0.npy"

        def isa(limit: str) -> str:
            return json.loads(torchlet("bench", *model, "--iterations", "1", "--json", TORCHLET_ISA=limit).stdout)["isa"]

        families = (["sse4", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx"],
                    ["neon", "fp16", "dotprod", "i8mm"])
        best = isa("")
        for names in families:
            if best not in names:
                continue
            for name in names:
                expected = [min(name, best, key=names.index)]
                if name == "avx_vnni":  # which processors with AVX-512 may lack
                    expected.append("avx2")
                self.assertIn(isa(name), expected)
            profile = torchlet("bench", *model, "--profile", "--iterations", "1", "--threads", "1", TORCHLET_ISA=names[0]).stdout
            self.assertRegex(profile.splitlines()[0], rf"^1 runs, 1 threads, {names[0]}, peak ")
            done = torchlet("bench", *model, TORCHLET_ISA="avx1024")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "torchlet: error: there is no instruction set 'avx1024' (TORCHLET_ISA); there are: "
                                          + ", ".join(names) + "\n")

    @unittest.skipUnless(os.path.exists("/proc/self/smaps"), "only Linux tells")
    def test_memory_tells_what_it_is_for(self):
        model = "models/digits_mobilenet_v2.pt"
        arguments = "bench", model, "--shape", "1,3,224,224", "--iterations", "3", "--threads", "1", "--memory"
        memory = json.loads(torchlet(*arguments, "--json").stdout)["memory"]
        size = os.path.getsize(model)
        self.assertGreaterEqual(memory["model_mapped_bytes"], size)
        self.assertLessEqual(memory["model_file_bytes"], memory["model_mapped_bytes"])
        # All weights but a few biases are packed, with padding.
        self.assertGreater(memory["packed_weights_bytes"], 0.7 * size)
        self.assertLess(memory["packed_weights_bytes"], 2 * size)
        self.assertGreaterEqual(memory["activations_bytes"], memory["largest_plan_bytes"])
        self.assertGreaterEqual(memory["largest_plan_bytes"], memory["largest_plan_alive_bytes"])
        self.assertGreater(memory["largest_plan_alive_bytes"], 0)
        for key in "code_bytes", "tensors_bytes", "peak_load_bytes", "peak_first_run_bytes", "peak_steady_bytes":
            self.assertGreater(memory[key], 0)
        lean = json.loads(torchlet(*arguments, "lean", "--json").stdout)["memory"]
        self.assertLessEqual(lean["packed_weights_bytes"], memory["packed_weights_bytes"])
        wrong = torchlet(*arguments, "less")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("less not in {fast,lean}", wrong.stderr)
        text = torchlet(*arguments).stdout
        for line in "while it loaded", "compiled and ran first", "packed weights", "activations", "the rest":
            self.assertIn(line, text)

    @unittest.skipUnless(os.path.exists("/proc/self/smaps"), "only Linux tells")
    def test_cache_keeps_packed_weights(self):
        model = "models/digits_mobilenet_v2.pt"
        with tempfile.TemporaryDirectory() as folder:
            cache = os.path.join(folder, "new", "cache")
            bench = "bench", model, "--shape", "1,3,64,64", "--iterations", "1", "--memory", "--json", "--cache", cache
            run = "run", model, "--shape", "1,3,64,64", "--json"
            packed = [json.loads(torchlet(*bench).stdout)["memory"]["packed_weights_bytes"] for _ in range(2)]
            self.assertGreater(packed[0], 0)
            self.assertEqual(packed[1], 0)
            file, = os.listdir(cache)
            self.assertAlmostEqual(os.path.getsize(os.path.join(cache, file)), packed[0], delta=0.1 * packed[0])
            plain = json.loads(torchlet(*run).stdout)
            cached = torchlet(*run, "--cache", cache)
            self.assertEqual(json.loads(cached.stdout)["output"], plain["output"])
            self.assertEqual(cached.stderr, "")
            with open(os.path.join(cache, file), "r+b") as data:
                data.seek(1000)
                data.write(b"damage")
            damaged = torchlet(*run, "--cache", cache)
            self.assertEqual(json.loads(damaged.stdout)["output"], plain["output"])
            self.assertEqual(damaged.stderr, f"torchlet: {cache}/{file}: it is damaged; the weights are packed anew\n")
            self.assertEqual(json.loads(torchlet(*bench).stdout)["memory"]["packed_weights_bytes"], 0)
            wrong = torchlet(*run, "--cache", os.path.join(cache, file))
            self.assertEqual(wrong.returncode, 1)
            self.assertIn("cannot make the folder", wrong.stderr)

    def test_asks_for_inputs_that_it_cannot_guess(self):
        done = torchlet("bench", f"{FIXTURES}/api.pt", "--method", "distance")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--shape", done.stderr)


if __name__ == "__main__":
    unittest.main()
