#!/usr/bin/env python3
"""What `torchlet compare` prints, writes and returns."""

import html.parser
import json
import os
import tempfile
import unittest

from command_test import FIXTURES, torchlet, write_model

MODEL, INPUT = f"{FIXTURES}/scripted_convnet.pt", f"{FIXTURES}/scripted_convnet.in0.npy"


def forward(added: float) -> str:
    return ("  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    a = torch.mul(x, 2.)\n"
            f"    b = torch.add(a, {added})\n    return torch.relu(b)\n")


class Markup(html.parser.HTMLParser):
    """The tags of a page, which have to be closed, its attributes and its text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def model(self, name: str, added: float) -> str:
        file = f"{self.folder}/{name}"
        write_model(file, forward(added))
        return file

    def test_a_file_is_compared_with_its_plans(self):
        done = torchlet("compare", MODEL, "--input", INPUT, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        c = json.loads(done.stdout)
        self.assertEqual((c["a"]["devices"], c["b"]["devices"]), ("reference", "cpu"))
        self.assertTrue(c["within"])
        self.assertIsNone(c["first_divergence"])
        self.assertEqual([n["operator_a"] for n in c["nodes"]],
                         ["aten::relu_", "aten::hardtanh", "aten::max_pool2d", "aten::mean.dim", "aten::linear"])
        self.assertTrue(all(n["sqnr_db"] == "inf" or n["sqnr_db"] > 100 for n in c["nodes"]))

    def test_two_files_are_compared_as_written_and_the_first_difference_is_told(self):
        a, b = self.model("a.pt", 1), self.model("b.pt", 3)
        arguments = ("compare", a, b, "--shape", "2,3")
        done = torchlet(*arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        c = json.loads(done.stdout)
        self.assertEqual(c["first_divergence"], 1)
        nodes = c["nodes"]
        self.assertEqual([(n["operator_a"], n["within"], n["inputs"]) for n in nodes],
                         [("aten::mul.Scalar", True, []), ("aten::add.Scalar", False, [0]), ("aten::relu", False, [1])])
        self.assertEqual((nodes[0]["sqnr_db"], nodes[1]["max_abs"]), ("inf", 2))
        text = torchlet(*arguments).stdout
        told = text[text.index("first divergence"):].splitlines()[1]
        self.assertIn("aten::add.Scalar", told)
        self.assertIn("code/__torch__.py:6", told)

    def test_the_tolerance_decides_on_the_status(self):
        arguments = ("compare", self.model("a.pt", 1), self.model("b.pt", 1.01), "--shape", "2,3")
        for tolerance, status in (((), 3), (("--rtol", "0.01"), 0), (("--rtol", "0", "--atol", "0.02"), 0),
                                  (("--atol", "0.001"), 3), (("--min-sqnr", "40"), 0), (("--min-sqnr", "60"), 3)):
            self.assertEqual(torchlet(*arguments, *tolerance).returncode, status, tolerance)

    def test_bundled_inputs_are_taken_where_none_are_named(self):
        done = torchlet("compare", f"{FIXTURES}/bundled.pt", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = torchlet("compare", MODEL)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--shape", done.stderr)

    def test_the_page_shows_everything_without_a_network(self):
        page_file = f"{self.folder}/page.html"
        done = torchlet("compare", MODEL, "--input", INPUT, "--report", page_file)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page_file, encoding="utf-8") as f:
            page = Markup(f.read())
        self.assertEqual(page.tags.count("circle"), 5)
        self.assertEqual(page.tags.count("svg"), 1)
        self.assertIn("features.4", page.text)
        self.assertFalse({"src", "href"} & {name for name, _ in page.attributes})
        self.assertIn(("content", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"),
                      page.attributes)

    def test_the_page_escapes_what_others_wrote(self):
        # As much of it as a file's name, a class and a dict's key can hold.
        name = "<script>alert(1)<\\script>&\"'.pt"
        file, page_file = f"{self.folder}/{name}", f"{self.folder}/page.html"
        write_model(file, "  def forward(self: __torch__.M, x: Tensor) -> Dict[str, Tensor]:\n"
                          "    return {\"</td><img src=x onerror=alert(2)>\": torch.relu(x), \"\\u0000\": x}\n")
        done = torchlet("compare", file, "--shape", "2", "--report", page_file)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page_file, encoding="utf-8") as f:
            text = f.read()
        page = Markup(text)
        self.assertEqual(page.tags.count("script"), 1)
        self.assertNotIn("img", page.tags)
        self.assertNotIn("<script>alert", text)
        self.assertTrue(any(name in part for part in page.text), page.text)
        self.assertTrue(any("</td><img src=x onerror=alert(2)>" in part for part in page.text))

    def test_wrong_use_and_failures_are_one_line(self):
        a = self.model("a.pt", 1)
        for status, arguments in ((2, ()), (2, (a, "--rtol", "-1")), (2, (a, "--min-sqnr", "x")), (2, (a, a, a)),
                                  (2, (a, "--device-b", "gpu")), (2, (a,)), (1, (a, f"{self.folder}/none.pt")),
                                  (1, (a, "--shape", "2", "--method", "none")), (1, (a, "--text", "x")),
                                  (1, (a, "--shape", "2", "--report", f"{self.folder}/none/page.html")),
                                  (1, (a, MODEL, "--shape", "2"))):
            done = torchlet("compare", *arguments)
            self.assertEqual(done.returncode, status, (arguments, done.stderr))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("torchlet: error: "), done.stderr)
        self.assertIn("in the second model", torchlet("compare", a, MODEL, "--shape", "2").stderr)
        self.assertEqual(os.listdir(self.folder), ["a.pt"])

    def test_prints_of_the_programs_stay_out_of_it(self):
        done = torchlet("compare", f"{FIXTURES}/api.pt", "--method", "talk", "--text", "Ann", "--json")
        self.assertEqual(json.loads(done.stdout)["outputs"][0]["a"], "'bye Ann'")


if __name__ == "__main__":
    unittest.main()
