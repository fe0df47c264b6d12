"""cmake/link_for_size.py on assembly as LLVM writes it. scripts/test_small.sh runs what it links."""

import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/link_for_size.py"
SPEC = importlib.util.spec_from_file_location("link_for_size", SCRIPT)
link_for_size = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(link_for_size)

FRAME = """	.cfi_def_cfa w29, 16
	.cfi_offset w30, -8
	.cfi_offset w29, -16
"""


def function(name, body, begin=""):
    return (f"{name}:\n\t.cfi_startproc\n{begin}{body}.Lend_{name}:\n\t.size\t{name}, .Lend_{name}-{name}\n"
            "\t.cfi_endproc\n")


def linked(*functions):
    """The functions' text, and the records of all."""
    tables = link_for_size.Tables()
    return link_for_size.FUNCTION.sub(tables.function, "".join(functions)), "".join(tables.text)


class LinkForSize(unittest.TestCase):
    def test_what_calls_nothing_needs_no_record(self):
        for last in "ret", "b\tother", "br\tx8", "bl\tOUTLINED_FUNCTION_PROLOG_FRAME0_x30x29\n\tret":
            text, tables = linked(function("outlined", f"\tmov\tx0, x19\n\t{last}\n", FRAME))
            self.assertNotIn(".cfi_", text)
            self.assertNotIn("outlined", tables)

    def test_functions_share_what_they_have_in_common(self):
        text, tables = linked(function("a", FRAME + "\tbl\tf\n\tret\n"), function("b", FRAME + "\tblr\tx8\n\tret\n"),
                              function("c", "\t.cfi_def_cfa_offset 16\n\t.cfi_offset w30, -16\n\tbl\tf\n\tret\n"))
        self.assertNotIn(".cfi_", text)
        self.assertEqual(tables.count(".asciz\t\"zR\""), 2)
        for name in "abc":
            self.assertIn(f"\t.4byte\t{name}-.\n\t.4byte\t.Lend_{name}-{name}\n\t.byte\t0\n", tables)
        # DW_CFA_def_cfa x29, 16; x29 at -2, x30 at -1 units; then with sp, and x30 at -2.
        self.assertIn("\t.byte\t12, 29, 16, 157, 2, 158, 1\n", tables)
        self.assertIn("\t.byte\t12, 31, 16, 158, 2\n", tables)

    def test_handlers_and_signed_addresses(self):
        begin = "\t.cfi_personality 156, DW.ref.__gxx_personality_v0\n\t.cfi_lsda 28, .Lexception0\n"
        sign = "\t.cfi_negate_ra_state\n"
        _, tables = linked(function("a", sign + FRAME + "\t.cfi_offset b8, -24\n\tbl\tf\n", begin))
        self.assertIn("zPLR", tables)
        self.assertIn("\t.4byte\tDW.ref.__gxx_personality_v0-.\n", tables)
        self.assertIn("\t.byte\t4\n\t.4byte\t.Lexception0-.\n", tables)
        self.assertIn("\t.byte\t12, 29, 16, 157, 2, 158, 1, 5, 72, 3, 45\n", tables)

    def test_registers_that_move_between_calls_and_what_is_unknown_stay_as_they_are(self):
        moves = function("a", FRAME + "\tbl\tf\n\t.cfi_def_cfa_offset 32\n\tbl\tg\n")
        unknown = function("b", FRAME + "\t.cfi_window_save\n\tbl\tf\n")
        for text in moves, unknown:
            kept, tables = linked(text)
            self.assertEqual(kept, text)
            self.assertNotIn(".4byte", tables)

    def test_what_happens_after_the_last_call_does_not_count(self):
        text, tables = linked(function("a", FRAME + "\tbl\tf\n\t.cfi_def_cfa wsp, 0\n\t.cfi_same_value w30\n\tret\n"))
        self.assertNotIn(".cfi_", text)
        self.assertIn("\t.byte\t12, 29, 16, 157, 2, 158, 1\n", tables)


if __name__ == "__main__":
    unittest.main()
