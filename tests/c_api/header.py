"""The functions that include/torchlet/c_api.h declares, read from its text."""

import os
import re
from typing import List, NamedTuple

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/torchlet/c_api.h")


class Function(NamedTuple):
    result: str  # "torchlet_status", "void", "const char*"
    name: str
    parameters: List[str]  # types: "const torchlet_module*", "size_t"; of a callback the whole declaration

    def prototype(self) -> str:
        return f"{self.result} {self.name}({', '.join(self.parameters) or 'void'})"


def split_parameters(text: str) -> List[str]:
    """At the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def type_of(parameter: str) -> str:
    return parameter if "(" in parameter else re.sub(r"\s*\w+$", "", parameter)


def functions() -> List[Function]:
    with open(HEADER) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = []
    for declaration in re.findall(r"^TORCHLET_API ([^;]*);", text, flags=re.M):
        declaration = re.sub(r"\s+", " ", declaration)
        result, name, parameters = re.fullmatch(r"(.*?) ?(torchlet_\w+)\((.*)\)", declaration).groups()
        types = [] if parameters == "void" else [type_of(part) for part in split_parameters(parameters)]
        declared.append(Function(result, name, types))
    return declared


def enumerations() -> List[str]:
    """ "torchlet_status: TORCHLET_OK = 0, ..." """
    with open(HEADER) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = re.findall(r"typedef enum (\w+)[^{]*\{(.*?)\}", text, flags=re.S)
    return [f"{name}: " + ", ".join(re.findall(r"\w+ = \d+", body)) for name, body in found]


def structures() -> List[str]:
    """ "torchlet_pixels: torchlet_pixel_format format; ..." """
    with open(HEADER) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = re.findall(r"typedef struct (\w+) \{(.*?)\}", text, flags=re.S)
    return [f"{name}: " + re.sub(r"\s+", " ", body).strip() for name, body in found]


if __name__ == "__main__":
    print("\n".join([*enumerations(), *structures(), *(function.prototype() for function in functions())]))
