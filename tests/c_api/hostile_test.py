#!/usr/bin/env python3
"""Damaged models through the C interface, from a path, from memory and from parts of open files, and numbers that nothing can be
right with: hostile_test.py LIBRARY [FILE...]. Each call ends with TORCHLET_OK, or with an error that is no bug of Torchlet's own,
a message and untouched outputs; nothing may crash. Files are loaded as they are, in place of the damaged copies."""

import collections
import ctypes
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hostile"))
import answers  # noqa: E402
import header  # noqa: E402
from answers import DOUBLE, INT64, SIZE, P  # noqa: E402
from mutations import mutations  # noqa: E402

SAMPLES = {"models/digits_mobilenet_v2.pt": 20, "tests/fixtures/values.pt": 60, "tests/fixtures/bundled.pt": 30,
           "tests/fixtures/scripted_convnet.pt": 40, "tests/fixtures/quantized_linear.pt": 40, "tests/fixtures/containers.pt": 40,
           "tests/fixtures/lite/places.ptl": 60, "tests/fixtures/lite/quantized.ff.ptl": 60, "tests/fixtures/lite/values.ff.ptl": 60}
OK, INVALID_ARGUMENT, FILE_FORMAT, IO, NOT_FOUND, INTERNAL = 0, 1, 2, 3, 4, 11
LARGEST = 2**63 - 1
UNTOUCHED = 12345


class Tried:
    """Calls functions, counts their statuses and keeps what is wrong."""

    def __init__(self, library):
        self.library, self.c = library, library.c
        self.c.torchlet_last_error.restype = ctypes.c_char_p
        self.c.torchlet_last_error_place.restype = ctypes.c_char_p
        self.c.torchlet_last_error_python_class.restype = ctypes.c_char_p
        self.statuses, self.wrong = collections.Counter(), []

    def call(self, name, *arguments):
        """The status."""
        status = getattr(self.c, "torchlet_" + name)(*arguments)
        self.statuses[status] += 1
        if status and not self.c.torchlet_last_error():
            self.wrong.append(f"{name}: status {status} without a message")
        if status and not self.c.torchlet_last_error().startswith(self.c.torchlet_last_error_message()):
            self.wrong.append(f"{name}: {self.c.torchlet_last_error()} does not begin with its message")
        if status == INTERNAL or not 0 <= status <= INTERNAL:
            self.wrong.append(f"{name}: status {status}, {self.c.torchlet_last_error().decode()}")
        if status:
            self.c.torchlet_last_error_place(0), self.c.torchlet_last_error_python_class()
        return status

    def make(self, kind, name, *arguments):
        """A handle, or None."""
        handle = P(UNTOUCHED)
        if self.call(name, *arguments, ctypes.byref(handle)) == OK:
            return answers.Handle(self.library, kind, handle)
        if handle.value != UNTOUCHED:
            self.wrong.append(f"{name}: failed and wrote its output")
        return None

    def text(self, name, *arguments):
        text = ctypes.c_void_p()
        if self.call(name, *arguments, ctypes.byref(text)) == OK:
            ctypes.string_at(text)
            self.c.torchlet_text_free(text)

    def expect(self, status, name, *arguments):
        if (got := self.call(name, *arguments)) != status:
            self.wrong.append(f"{name}{arguments}: status {got}, not {status}: {self.c.torchlet_last_error().decode()}")


def read(tried, value, depth=0):
    """Everything that a value holds."""
    c, kind = tried.c, tried.c.torchlet_value_kind(value)
    tried.text("value_describe", value)
    c.torchlet_value_item_kind(value), c.torchlet_value_key_kind(value)
    if kind == answers.TENSOR:
        tensor = tried.make("tensor", "value_to_tensor", value)
        dtype = c.torchlet_tensor_dtype(tensor)
        dense = tried.make("tensor", "tensor_to", tensor, dtype, answers.CONTIGUOUS)
        if dense:
            size = c.torchlet_tensor_numel(dense) * c.torchlet_tensor_element_size(dense)
            data = c.torchlet_tensor_data(dense)
            if data and size < 2**24:
                ctypes.string_at(data, size)
    size = SIZE()
    if kind in (answers.LIST, answers.TUPLE, answers.DICT) and depth < 20:
        tried.call("value_size", value, ctypes.byref(size))
        for i in range(min(size.value, 100)):
            for name in ("value_key", "value_item")[kind != answers.DICT :]:
                item = tried.make("value", name, value, SIZE(i))
                if item:
                    read(tried, item, depth + 1)
        tried.expect(INVALID_ARGUMENT, "value_item", value, SIZE(size.value), ctypes.byref(P()))
        tried.expect(INVALID_ARGUMENT, "value_item", value, SIZE(2**64 - 1), ctypes.byref(P()))


def explore(tried, module, inputs):
    """Everything that a model can be asked, and its methods called."""
    c = tried.c
    c.torchlet_module_type_name.restype = c.torchlet_module_method_name.restype = ctypes.c_char_p
    c.torchlet_module_type_name(module)
    tried.text("module_info", module)
    for i in range(c.torchlet_module_method_count(module)):
        name = c.torchlet_module_method_name(module, SIZE(i))
        tried.text("module_method_schema", module, name)
        for count in (0, 1):
            result = tried.make("value", "module_run", module, name, answers.pointers(inputs), SIZE(count), None, None, SIZE(0))
            if result:
                read(tried, result)
    tried.text("module_placement", module)
    for name, argument in (("module_attribute", b"weight"), ("module_attribute", b"a.b"), ("module_bundled_inputs", b"forward")):
        value = tried.make("value", name, module, argument)
        if value:
            read(tried, value)
    steps = tried.make("preprocess", "preprocess_of", module)
    if steps:
        tried.text("preprocess_json", steps)
    data, size = P(), SIZE()
    if tried.call("module_extra_file", module, b"labels.txt", ctypes.byref(data), ctypes.byref(size)) == OK:
        tried.c.torchlet_text_free(data)
    copy = tried.make("module", "module_copy", module)
    if copy:
        result = tried.make("value", "module_forward", copy, answers.pointers(inputs), SIZE(1))
        if result:
            read(tried, result)


def options_of(tried, number):
    options = tried.make("options", "options_new")
    tried.expect(OK, "options_set_time_limit", options, DOUBLE(5))
    tried.expect(OK, "options_set_memory_limit", options, SIZE(500 << 20))
    tried.expect(OK, "options_set_allow_unsupported", options, number % 2)
    return options


def load(tried, data, number, folder):
    """From memory, a path, or a part of a file at an odd offset."""
    options = options_of(tried, number // 3)
    if number % 3 == 0:
        return tried.make("module", "module_load_memory", data, SIZE(len(data)), options)
    offset = 0 if number % 3 == 1 else number * 37 % 5000
    path = f"{folder}/damaged"
    with open(path, "wb") as file:
        file.write(b"\xa5" * offset + data + b"\x5a" * (offset % 3))
    if number % 3 == 1:
        return tried.make("module", "module_load", path.encode(), options)
    with open(path, "rb") as file:
        return tried.make("module", "module_load_fd", file.fileno(), INT64(offset), INT64(len(data)), options)


def try_models(tried, folder, files):
    image = answers.tensor_of(tried.library, {"npy": "tests/fixtures/scripted_convnet.in0.npy", "dtype": "float32",
                                              "shape": answers_shape("tests/fixtures/scripted_convnet.in0.npy")}, "")
    inputs = [tried.library.make("value", "value_from_tensor", image)]
    loaded = total = 0
    cases = ([(open(file, "rb").read(), 1)] for file in files) if files else (
        ((damaged, i) for i, damaged in enumerate(mutations(open(path, "rb").read(), count))) for path, count in SAMPLES.items())
    for case in cases:
        for damaged, number in case:
            total += 1
            module = load(tried, damaged, number, folder)
            if module:
                loaded += 1
                explore(tried, module, inputs)
    return total, loaded


def answers_shape(path):
    with open(path, "rb") as file:
        text = file.read(300).split(b"'shape': (")[1].split(b")")[0]
    return [int(size) for size in text.split(b",") if size.strip()]


def try_parts_of_files(tried, folder):
    """Parts that are not there, and descriptors of what is no file."""
    path = "tests/fixtures/values.pt"
    size = os.path.getsize(path)
    module = ctypes.byref(P())
    with open(path, "rb") as file:
        fd = file.fileno()
        for offset, length in ((-1, -1), (-1, 10), (0, -2), (0, -(2**63)), (-(2**63), -(2**63)), (size + 1, -1), (0, size + 1), (1, size),
                               (LARGEST, LARGEST), (LARGEST, 1), (1, LARGEST), (LARGEST, -1), (2**62, 2**62)):
            tried.expect(INVALID_ARGUMENT, "module_load_fd", fd, INT64(offset), INT64(length), None, module)
        for offset, length in ((0, 0), (size, -1), (size, 0), (1, -1), (0, size - 1), (7, 100)):
            tried.expect(FILE_FORMAT, "module_load_fd", fd, INT64(offset), INT64(length), None, module)
        for offset, length in ((0, -1), (0, size)):
            made = tried.make("module", "module_load_fd", fd, INT64(offset), INT64(length), None)
            assert made, tried.c.torchlet_last_error()
    ends = os.pipe()
    others = [-1, 2**31 - 1, ends[0], ends[1], os.open(folder, os.O_RDONLY), os.open(f"{folder}/new", os.O_WRONLY | os.O_CREAT)]
    for fd in others:
        for offset, length in ((0, -1), (0, 10)):
            if tried.call("module_load_fd", fd, INT64(offset), INT64(length), None, module) == OK:
                tried.wrong.append(f"module_load_fd: a model of descriptor {fd}")
    for fd in others[2:]:
        os.close(fd)
    for path in (b"", b"no/such", folder.encode(), b"x" * 5000, b"/dev/null", b"\xff\xfe"):
        if tried.call("module_load", path, None, module) == OK:
            tried.wrong.append(f"module_load: a model at {path[:20]}")
    tried.expect(FILE_FORMAT, "module_load_memory", b"", SIZE(0), None, module)


def valid_of(tried):
    sizes = (INT64 * 2)(2, 3)
    tensor = tried.make("tensor", "tensor_new", 6, sizes, SIZE(2), 0)
    with open("models/samples/digit_7.png", "rb") as file:
        picture = file.read()
    return {"torchlet_options*": tried.make("options", "options_new"), "torchlet_tensor*": tensor,
            "torchlet_module*": tried.make("module", "module_load", b"tests/fixtures/values.pt", None),
            "torchlet_value*": tried.make("value", "value_from_tensor", tensor),
            "torchlet_image*": tried.make("image", "image_decode", picture, SIZE(len(picture))),
            "torchlet_profiler*": tried.make("profiler", "profiler_new"),
            "torchlet_preprocess*": tried.make("preprocess", "preprocess_new", b"{}")}


# Sizes and counts of arrays that the caller says to have: what lies beyond is the caller's own fault.
COUNTS = {"torchlet_value_from_string", "torchlet_value_to_ints", "torchlet_value_to_floats", "torchlet_value_from_items",
          "torchlet_value_from_dict", "torchlet_module_forward", "torchlet_module_run", "torchlet_image_decode",
          "torchlet_module_load_memory", "torchlet_tensor_new", "torchlet_tensor_from_memory"}
NUMBERS = {"size_t": (SIZE, (2**64 - 1, 2**63, 2**31)), "int64_t": (INT64, (-1, LARGEST, -(2**63), 2**31, 0)),
           "double": (DOUBLE, (float("nan"), float("inf"), -1e308, -1.0)), "int": (ctypes.c_int, (-1, 2**31 - 1, -(2**31)))}


def try_numbers(tried):
    """Each number and each constant of an enumeration of each function in turn: whatever it says, it is no bug and no crash."""
    valid = valid_of(tried)
    enumerations = {line.split(":")[0] for line in header.enumerations()}
    for function in header.functions():
        for place, kind in enumerate(function.parameters):
            make, numbers = NUMBERS.get(kind, (ctypes.c_int, (-1, 1, 17, 99, 2**31 - 1, -(2**31)) if kind in enumerations else ()))
            if kind == "size_t" and function.name in COUNTS:
                continue
            for number in numbers:
                arguments = [argument(k, valid, enumerations) for k in function.parameters]
                arguments[place] = make(number)
                entry = getattr(tried.c, function.name)
                if function.result == "torchlet_status":
                    tried.call(function.name[len("torchlet_") :], *arguments)
                else:
                    entry(*arguments)


def argument(kind, valid, enumerations):
    handle = kind.replace("const ", "")
    if handle in valid:
        return valid[handle]
    if kind == "const char*":
        return ctypes.c_char_p(b"forward")
    if "(" in kind:
        return ctypes.c_void_p()
    if kind.endswith("*"):
        return ctypes.create_string_buffer(64)
    return ctypes.c_int(0) if kind in enumerations else NUMBERS[kind][0](1 if kind == "int64_t" else 0)


def try_shapes(tried):
    tensor, memory = ctypes.byref(P()), ctypes.create_string_buffer(64)
    for sizes in ((-1,), (2, -3), (2**62, 4), (2**32, 2**32), (LARGEST,), (LARGEST, 0, LARGEST), (1,) * 65, (2**21,) * 3):
        array = (INT64 * len(sizes))(*sizes)
        if tried.call("tensor_new", 6, array, SIZE(len(sizes)), 0, tensor) == OK:
            tried.wrong.append(f"tensor_new: a tensor of {sizes}")
    for sizes in ((-1,), (2, -3), (2**62, 4), (2**32, 2**32), (1,) * 65):
        array = (INT64 * len(sizes))(*sizes)
        tried.expect(INVALID_ARGUMENT, "tensor_from_memory", memory, 6, array, None, SIZE(len(sizes)), None, None, tensor)
    sizes = (INT64 * 2)(2, 3)
    for strides in ((-1, 1), (LARGEST, LARGEST), (1, -(2**63))):
        array = (INT64 * 2)(*strides)
        tried.expect(INVALID_ARGUMENT, "tensor_from_memory", memory, 6, sizes, array, SIZE(2), None, None, tensor)
    for dtype in (-1, 12, 13, 14, 16, 17, 99):
        tried.expect(INVALID_ARGUMENT, "tensor_new", dtype, sizes, SIZE(2), 0, tensor)


class Pixels(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), ("data", P), ("width", INT64), ("height", INT64), ("row_stride", INT64)]


class Yuv(ctypes.Structure):
    _fields_ = [("y", P), ("u", P), ("v", P), ("width", INT64), ("height", INT64), ("y_row_stride", INT64), ("y_pixel_stride", INT64),
                ("uv_row_stride", INT64), ("uv_pixel_stride", INT64), ("matrix", ctypes.c_int)]


def try_pictures(tried):
    """Each field of a picture in turn."""
    data = ctypes.addressof(ctypes.create_string_buffer(4096))
    steps = tried.make("preprocess", "preprocess_new", b"{}")
    outputs = ctypes.byref(P())

    def refuse(picture, kind):
        tried.expect(INVALID_ARGUMENT, f"image_from_{kind}", ctypes.byref(picture), 0, outputs)
        tried.expect(INVALID_ARGUMENT, f"preprocess_run_{kind}", steps, ctypes.byref(picture), 0, outputs)

    bad = (0, -1, LARGEST, -(2**63))
    for field, numbers in (("format", (-1, 4, 99)), ("data", (None,)), ("width", bad), ("height", bad), ("row_stride", (0, 1, -1, 11))):
        for number in numbers:
            picture = Pixels(1, data, 4, 4, 12)
            setattr(picture, field, number)
            refuse(picture, "pixels")
    for field, numbers in (("y", (None,)), ("u", (None,)), ("v", (None,)), ("width", bad), ("height", bad), ("matrix", (-1, 4, 99)),
                           ("y_pixel_stride", (0, -1)), ("uv_pixel_stride", (0, -1))):
        for number in numbers:
            picture = Yuv(data, data, data, 4, 4, 4, 1, 2, 1, 0)
            setattr(picture, field, number)
            refuse(picture, "yuv")
    for rotation in (-90, 1, 360, 2**31 - 1):
        tried.expect(INVALID_ARGUMENT, "image_from_pixels", ctypes.byref(Pixels(1, data, 4, 4, 12)), rotation, outputs)
    for record in (b"", b"{", b"[" * 100000, b'{"resize": -1}', b'{"sharpen": 1}', b"\xff", b'{"mean": [1, 2]}', b'{"std": [0]}'):
        tried.expect(INVALID_ARGUMENT, "preprocess_new", record, outputs)
    with open("models/samples/digit_7.png", "rb") as file:
        picture = file.read()
    for damaged in mutations(picture, 300):
        image = tried.make("image", "image_decode", damaged, SIZE(len(damaged)))
        if image:
            tried.make("tensor", "preprocess_run", steps, image)


def main() -> None:
    library, *files = sys.argv[1:]
    files = [os.path.abspath(file) for file in files]
    tried = Tried(answers.Library(os.path.abspath(library)))
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    with tempfile.TemporaryDirectory() as folder:
        total, loaded = try_models(tried, folder, files)
        if not files:
            try_parts_of_files(tried, folder)
            try_numbers(tried)
            try_shapes(tried)
            try_pictures(tried)
    print("\n".join(tried.wrong))
    print(f"{total} damaged models, {loaded} of which load; {sum(tried.statuses.values())} calls, by status "
          f"{dict(sorted(tried.statuses.items()))}, {len(tried.wrong)} wrong")
    sys.exit(bool(tried.wrong) or total < 100 and not files)


if __name__ == "__main__":
    main()
