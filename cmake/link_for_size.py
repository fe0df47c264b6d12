#!/usr/bin/env python3
"""Links objects of -flto for 64-bit Arm, with smaller tables for exceptions than LLVM makes (docs/size.md).

    link_for_size.py COMPILER ARGUMENT...    the command that would link; cmake/Compiler.cmake names this as its launcher

The linker writes what it compiled as assembly, which says by .cfi_* directives where each function keeps the registers of
its caller. The assembler makes a record of .eh_frame of them for each function. Here,

- a function that calls nothing gets none. No exception passes through it: it returns, or jumps to what it would have
  called, which then returns to its caller. Nearly all pieces of code that LLVM's outliner shares are such functions.
- the others' records say only where the function is and where its handlers are. What they have in common, where registers
  are during calls, is said once, by the record (CIE) that they refer to. It holds from the function's first instruction
  on, where it is not yet true; but exceptions come from calls.

Formats: DWARF 4, 6.4, and the Linux Standard Base, "Exception Frames"; DWARF for the Arm 64-bit Architecture.
"""
import os
import re
import subprocess
import sys

FUNCTION = re.compile(r"^\t\.cfi_startproc\n(?P<body>.*?)^\t\.size\t(?P<name>\S+), (?P<size>\S+)\n\t\.cfi_endproc\n",
                      re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^\t\.cfi_.*\n", re.MULTILINE)
# Jumps to what saves and restores registers are part of a function's beginning and end.
CALL = re.compile(r"blr?\t(?!OUTLINED_FUNCTION_(?:PROLOG|EPILOG))")
REGISTERS = {"wsp": 31, **{f"{bank}{n}": first + n for bank, first in (("w", 0), ("b", 64)) for n in range(31)}}
PERSONALITY = "DW.ref.__gxx_personality_v0"
POINTER = 0x1B  # to what is at a distance of 32 bits


def uleb128(number):
    low = number & 0x7F
    return [low] if number < 0x80 else [low | 0x80] + uleb128(number >> 7)


class Places:
    """Where the caller's stack ends (the CFA), and where its registers are, at some instruction."""

    def __init__(self):
        self.cfa, self.saved, self.is_signed = (REGISTERS["wsp"], 0), {}, False

    def apply(self, directive, operands):
        """Whether the directive is known."""
        if directive == "def_cfa":
            self.cfa = (REGISTERS[operands[0]], int(operands[1]))
        elif directive == "def_cfa_offset":
            self.cfa = (self.cfa[0], int(operands[0]))
        elif directive == "offset":
            self.saved[REGISTERS[operands[0]]] = int(operands[1])
        elif directive == "same_value":
            self.saved.pop(REGISTERS[operands[0]], None)
        elif directive == "negate_ra_state":
            self.is_signed = not self.is_signed
        else:
            return False
        return True

    def instructions(self):
        code = [0x0C, *uleb128(self.cfa[0]), *uleb128(self.cfa[1])]  # DW_CFA_def_cfa
        for register, offset in sorted(self.saved.items()):
            code += [0x80 | register] if register < 64 else [0x05, *uleb128(register)]  # DW_CFA_offset, ..._extended
            code += uleb128(offset // -8)
        return (*code, 0x2D) if self.is_signed else tuple(code)  # DW_CFA_AARCH64_negate_ra_state


class Tables:
    def __init__(self):
        self.common = {}  # (instructions, has handlers): label
        self.text = ['\t.section\t.eh_frame,"a",@progbits\n']

    def record(self, label, content):
        self.text.append(f"\t.balign\t4\n{label}:\n\t.4byte\t{label}_end-{label}-4\n{content}\t.balign\t4, 0\n{label}_end:\n")

    def common_record(self, instructions, has_handlers):
        key = instructions, has_handlers
        if key not in self.common:
            label = self.common[key] = f".Lcommon{len(self.common)}"
            handlers = f"\t.byte\t{0x80 | POINTER:#x}\n\t.4byte\t{PERSONALITY}-.\n\t.byte\t{POINTER:#x}\n"
            self.record(
                label, "\t.4byte\t0\n\t.byte\t1\n"
                f"\t.asciz\t\"{'zPLR' if has_handlers else 'zR'}\"\n"
                "\t.byte\t4, 0x78, 30\n"  # units of instructions and of the stack, 4 and -8 bytes; x30 is where it returns
                f"\t.byte\t{7 if has_handlers else 1}\n{handlers if has_handlers else ''}\t.byte\t{POINTER:#x}\n"
                f"\t.byte\t{', '.join(map(str, instructions))}\n")
        return self.common[key]

    def add(self, name, size, instructions, handlers):
        common = self.common_record(instructions, bool(handlers))
        handlers = f"\t.byte\t4\n\t.4byte\t{handlers}-.\n" if handlers else "\t.byte\t0\n"
        self.record(f".Lrecord_{name}", f"\t.4byte\t.-{common}\n\t.4byte\t{name}-.\n\t.4byte\t{size}\n{handlers}")

    def function(self, match):
        """The function's text, with its directives only if registers move between calls, or none of this is known."""
        places, at_calls, handlers = Places(), set(), None
        for line in match["body"].splitlines():
            if CALL.match(line.strip()):
                at_calls.add(places.instructions())
            elif line.startswith("\t.cfi_"):
                directive, _, operands = line.removeprefix("\t.cfi_").partition(" ")
                operands = operands.split(", ")
                if directive == "lsda":
                    handlers = operands[1]
                elif directive != "personality" and not places.apply(directive, operands):
                    return match[0]
        if len(at_calls) > 1:
            return match[0]
        if at_calls:
            self.add(match["name"], match["size"], at_calls.pop(), handlers)
        return DIRECTIVE.sub("", match[0])


def main(command):
    at = command.index("-o") + 1
    assembly, compiled = command[at] + ".s", command[at] + ".o"
    subprocess.run([*command[:at], assembly, *command[at + 1:], "-Wl,--lto-emit-asm"], check=True)
    with open(assembly, encoding="utf-8") as file:
        text = file.read()
    tables = Tables()
    text = FUNCTION.sub(tables.function, text)
    with open(assembly, "w", encoding="utf-8") as file:
        file.write(text + "".join(tables.text))
    target = [word for word in command if word.startswith("--target=")]
    every_instruction = "-march=armv8.6-a+fp16"  # kernels for some processors are in it
    subprocess.run([command[0], *target, every_instruction, "-c", assembly, "-o", compiled], check=True)
    rest = [word for word in command if not word.endswith(".o")]
    subprocess.run([*rest, compiled], check=True)
    os.remove(assembly)
    os.remove(compiled)


if __name__ == "__main__":
    main(sys.argv[1:])
