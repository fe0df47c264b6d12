"""scripts/check_includes.py on small trees that break one rule each."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(files: dict):
    """Runs the script on a tree of `files` (path -> text); gives its exit status and its message."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"src/base/span.h": "", "include/torchlet/error.h": "", **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "scripts/check_includes.py", folder],
                              capture_output=True, text=True)
    return done.returncode, done.stderr


class CheckIncludes(unittest.TestCase):
    def test_lower_stages_system_and_public_headers_are_fine(self):
        self.assertEqual(check({
            "src/tensor/a.cc": '#include <vector>\n#include <torchlet/error.h>\n#include "base/span.h"\n',
            "examples/a.cc": "#include <torchlet/error.h>\n",
        }), (0, ""))

    def assert_refused(self, path: str, include: str, message: str):
        status, text = check({path: f"\n#include {include}\n", "src/graph/graph.h": "",
                              "include/torchlet/module.h": ""})
        self.assertEqual((status, text), (1, f"{path}:2: {message}\n"))

    def test_a_higher_stage(self):
        self.assert_refused("src/tensor/a.h", '"graph/graph.h"', "tensor may not include graph: graph/graph.h")

    def test_a_kernel_sees_only_base(self):
        self.assert_refused("src/kernels/a.cc", '"graph/graph.h"', "kernels may not include graph: graph/graph.h")

    def test_a_public_header_of_a_higher_stage(self):
        self.assert_refused("src/base/a.cc", "<torchlet/module.h>", "base may not include api: torchlet/module.h")

    def test_an_include_beside_the_file(self):
        self.assert_refused("src/base/a.cc", '"span.h"',
                            '"span.h" is not a file under src/, from where includes are written')

    def test_an_inner_header_in_the_public_ones(self):
        self.assert_refused("include/torchlet/a.h", '"base/span.h"',
                            'only public headers, as <torchlet/...>, not "base/span.h"')

    def test_neuralnetworks_sees_itself_and_the_stages_and_is_seen_by_none(self):
        self.assertEqual(check({
            "neuralnetworks/model/model.h": "",
            "neuralnetworks/api/a.cc": '#include "base/span.h"\n#include "neuralnetworks/model/model.h"\n',
        }), (0, ""))
        self.assert_refused("neuralnetworks/api/a.cc", '"neuralnetworks/model/b.h"',
                            '"neuralnetworks/model/b.h" is not a file')
        self.assert_refused("neuralnetworks/api/a.cc", "<torchlet/quantize.h>",
                            "neuralnetworks may not include quant: torchlet/quantize.h")
        self.assert_refused("src/base/a.cc", '"neuralnetworks/model/model.h"',
                            '"neuralnetworks/model/model.h" is not a file under src/, from where includes are written')

    def test_an_unknown_stage(self):
        status, text = check({"src/misc/a.cc": ""})
        self.assertEqual((status, text), (1, "src/misc:1: no such stage in scripts/check_includes.py\n"))


if __name__ == "__main__":
    unittest.main()
