"""scripts/check_operator_names.py on small trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(path: str, text: str):
    """Runs the script on a tree of one file; gives its exit status and its message."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, path)
        file.parent.mkdir(parents=True)
        file.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "scripts/check_operator_names.py", folder],
                              capture_output=True, text=True)
    return done.returncode, done.stderr


def names(count: int) -> str:
    return " ".join(f'"aten::op{i}"' for i in range(count))


class CheckOperatorNames(unittest.TestCase):
    def test_the_operators_that_a_pass_rewrites(self):
        self.assertEqual(check("src/passes/a.cc", f"{names(7)} // {names(20)}\n"), (0, ""))

    def test_a_list_of_names(self):
        self.assertEqual(check("src/passes/a.cc", names(8)),
                         (1, "src/passes/a.cc: names 8 operators; what they have in common is a fact of each "
                             "(graph/facts.h)\n"))

    def test_a_table_of_a_device_is_its_own(self):
        self.assertEqual(check("src/device/cpu/lower/a.cc", names(50)), (0, ""))
        self.assertEqual(check("src/device/cpu/plan.cc", names(50))[0], 1)

    def test_parts_of_names(self):
        for text in ['node.kind().name().starts_with("rand")', 'node.kind().str() == "aten::add"',
                     'op.name.name() == "add"']:
            self.assertEqual(check("src/device/a.cc", f"\n{text}\n"),
                             (1, "src/device/a.cc:2: looks at a part of an operator's name; compare Symbols, or ask for "
                                 "a fact\n"), text)

    def test_messages_and_tests_may(self):
        self.assertEqual(check("src/device/a.cc", 'decline(node.kind().str() + " there")'), (0, ""))
        self.assertEqual(check("src/passes/a_test.cc", names(50)), (0, ""))


if __name__ == "__main__":
    unittest.main()
