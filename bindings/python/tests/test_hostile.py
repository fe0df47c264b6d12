"""Damaged models, pictures, records and arrays: a torchlet.Error each, or an answer; never a crash."""

import ctypes
import io
import random
import struct
import sys
import zipfile
import zlib

import numpy as np
import pytest
import torchlet
from conftest import DIGITS, FIXTURES, ROOT, SEVEN

sys.path.insert(0, str(ROOT / "tests" / "hostile"))
from mutations import mutations  # noqa: E402

LIMITS = {"time_limit": 5, "memory_limit": "500M", "print": False}

# ---- models ----

SAMPLES = {
    "models/digits_mobilenet_v2.pt": 40,
    "tests/fixtures/values.pt": 80,
    "tests/fixtures/containers.pt": 60,
    "tests/fixtures/dtypes.pt": 60,
    "tests/fixtures/script_class.pt": 60,
    "tests/fixtures/quantized_linear.pt": 60,
    "tests/fixtures/scripted_convnet.pt": 60,
    "tests/fixtures/bundled.pt": 60,
    "tests/fixtures/nnapi_quantized.pt": 40,
    "tests/fixtures/lite/places.ptl": 80,
    "tests/fixtures/lite/values.ptl": 80,
    "tests/fixtures/lite/quantized.ff.ptl": 80,
    "tests/fixtures/lite/values.ff.ptl": 80,
}


def example_of(kind):
    """A value of the type that a method declares."""
    if kind.startswith("Optional["):
        return None
    if kind.startswith("List["):
        return [example_of(kind[5:-1])] * 2
    if kind.startswith("Dict["):
        return {}
    examples = {"int": 2, "float": 0.5, "bool": True, "str": "a", "number": 1, "Any": 1, "complex": 1j}
    return examples.get(kind, np.ones((1, 3, 32, 32), np.float32))


def explore(model, first):
    """Everything that a model can be asked, and its methods called. How many of them gave an answer."""
    asked = [
        lambda: (model.type_name, model.info, model.operators, model.unsupported_operators, repr(model)),
        lambda: model.graph,
        lambda: model.attributes,
        lambda: (model.named_parameters(), model.named_buffers(), model.named_children()),
        lambda: (model.bundled_methods(), model.bundled_inputs()),
        lambda: (torchlet.preprocess_of(model), torchlet.labels_of(model)),
        lambda: model(first),
        lambda: model.__deepcopy__()(first),
        lambda: model.placement,
    ]
    for method in model.methods.values():
        asked += [
            lambda m=method: (m.schema, m.graph, repr(m)),
            lambda m=method: m(*(example_of(a.type) for a in m.arguments if not a.has_default)),
            lambda m=method: m.optimized_graph,
        ]
    return sum(answers(ask) for ask in asked)


def answers(ask):
    """Did it give an answer, or an error that is none of Torchlet's own?"""
    try:
        ask()
        return True
    except torchlet.InternalError:
        raise
    except torchlet.Error as error:
        assert error.message and str(error).startswith(error.message)
        return False


@pytest.mark.parametrize("sample", SAMPLES)
def test_models(sample, tmp_path):
    path = ROOT / sample
    array = path.with_name(path.stem.split(".")[0] + ".in0.npy")
    first = np.load(array) if array.exists() else np.ones((1, 3, 32, 32), np.float32)
    explore(torchlet.load(path, allow_unsupported=True, **LIMITS), first)
    for number, damaged in enumerate(mutations(path.read_bytes(), SAMPLES[sample])):
        model = []
        if number % 2:
            (tmp_path / "damaged.pt").write_bytes(damaged)
            answers(lambda: model.append(torchlet.load(tmp_path / "damaged.pt", allow_unsupported=number % 4 > 1, **LIMITS)))
            answers(lambda: torchlet.extra_files(tmp_path / "damaged.pt"))
        else:
            answers(lambda: model.append(torchlet.load(damaged, allow_unsupported=number % 4 > 1, **LIMITS)))
        for one in model:
            explore(one, first)


@pytest.mark.parametrize("tool", ["optimize", "convert", "quantize", "compare", "bench", "bundle", "unbundle", "ops", "save"])
def test_tools(tool, tmp_path):
    """The tools read files of their own."""
    array = np.load(FIXTURES / "scripted_convnet.in0.npy")
    out, limits = tmp_path / "out.ptl", {"time_limit": 5, "memory_limit": "500M"}
    calls = {
        "optimize": lambda f: torchlet.optimize(f, out, inputs=[array], **limits),
        "convert": lambda f: torchlet.convert(f, out, **limits),
        "quantize": lambda f: torchlet.quantize(f, out, calibration=[array], **limits),
        "compare": lambda f: torchlet.compare(f, inputs=[array], **limits),
        "bench": lambda f: torchlet.bench(f, inputs=[array], iterations=1, warmup=0, **limits),
        "bundle": lambda f: torchlet.bundle(f, out, calls=[[array]], **limits),
        "unbundle": lambda f: torchlet.unbundle(f, out),
        "ops": lambda f: torchlet.ops(f),
        "save": lambda f: torchlet.save(f, out),
    }
    data = (FIXTURES / "scripted_convnet.pt").read_bytes()
    for damaged in [data, *mutations(data, 25, seed=len(tool))]:
        (tmp_path / "damaged.pt").write_bytes(damaged)
        answers(lambda: calls[tool](tmp_path / "damaged.pt"))


# ---- pictures ----


def use(image):
    assert image.numpy().shape == (image.height, image.width, 3)
    image.resize(8, 9).rotate(90).center_crop(20, 20)


def pictures():
    for path in (SEVEN, *sorted((FIXTURES / "image").glob("*.[pj][np]g"))):
        yield path.read_bytes()


def test_pictures(tmp_path):
    choice = random.Random(3)
    decoded = refused = 0
    for data in pictures():
        damaged = [data[: len(data) * part // 40] for part in range(40)]
        for _ in range(120):
            copy = bytearray(data)
            for _ in range(choice.choice((1, 4, 30))):
                copy[choice.randrange(len(copy))] = choice.choice((choice.randrange(256), 0, 255))
            damaged.append(bytes(copy))
        for number, one in enumerate(damaged):
            (tmp_path / "damaged").write_bytes(one)
            read = [lambda: torchlet.Image.decode(one), lambda: torchlet.Image.read(str(tmp_path / "damaged"))][number % 2]
            if answers(lambda: use(read())):
                decoded += 1
            else:
                refused += 1
            answers(lambda: torchlet.load_image(one if number % 2 else tmp_path / "damaged"))
    assert decoded > 20 and refused > 200


def test_noise_with_the_right_beginning():
    choice = random.Random(4)
    for head in (b"", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"\xff\xd8\xff\xe1\0\x40Exif\0\0II*\0"):
        for size in (0, 1, 20, 500):
            assert not answers(lambda: torchlet.Image.decode(head + choice.randbytes(size)))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize("width, height", [(2**31 - 1, 2**31 - 1), (2**32 - 1, 1), (0, 5), (60000, 60000), (2**27, 1), (1, 2**27 + 1)])
def test_headers_that_lie(width, height):
    """With checksums that are right: nothing of that size is allocated, and there is an error at once."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")
    with pytest.raises(torchlet.FileFormatError):
        torchlet.Image.decode(data)


@pytest.mark.parametrize("number", [-1, 0, 2**28, 2**31, 2**40, 2**62, -(2**63)])
def test_sizes_of_pictures(number):
    image = torchlet.Image(np.zeros((4, 5, 3), np.uint8))
    for wrong in (
        lambda: image.resize(number, 5),
        lambda: image.resize(5, number),
        lambda: image.resize(1, number),
        lambda: image.resize(number, number),
        lambda: image.resize_shorter_side(number),
        lambda: image.crop(0, 0, number, 5),
        lambda: image.crop(0, 0, 5, number),
        lambda: image.center_crop(number, number),
        lambda: torchlet.load_image(image, resize=[number, 5], crop=0),
        lambda: torchlet.load_image(image, resize=5, crop=[5, number]),
        lambda: torchlet.Preprocess(crop=[number, number])(image),
        lambda: torchlet.Preprocess(crop=[60000, 60000])(image),
    ):
        with pytest.raises(torchlet.Error) as caught:
            wrong()
        assert not isinstance(caught.value, torchlet.InternalError)
    assert not image.crop(number, number, 2, 3).numpy().any()  # black where it leaves the picture


# ---- records ----

RECORDS = [
    "", "{", "[]", "null", "7", '"imagenet"', "{} {}", "{" * 100000, "[" * 100000, '{"resize":' * 50000, "\x00",
    '{"resize": 1e400}', '{"resize": -1}', '{"resize": 0}', '{"resize": 2.5}', '{"resize": true}', '{"resize": "7"}', '{"resize": []}',
    '{"resize": [1]}', '{"resize": [1, 2, 3]}', '{"resize": [1, null]}', '{"resize": 9223372036854775808}', '{"resize": {}}',
    '{"crop": -1}', '{"crop": [4, -4]}', '{"crop": 0}', '{"antialias": 1}', '{"antialias": "true"}', '{"interpolation": 2}',
    '{"interpolation": "lanczos"}', '{"channels": "rgb"}', '{"channels": 3}', '{"mean": []}', '{"mean": [1, 2]}',
    '{"mean": [1, 2, 3, 4]}', '{"mean": ["a"]}', '{"mean": [NaN]}', '{"mean": [1e999]}', '{"std": [0]}', '{"std": [0, 1, 1]}',
    '{"std": [NaN]}', '{"std": [null]}', '{"channels": "GREY", "mean": [1, 2, 3]}', '{"dtype": "int8"}',
    '{"dtype": 6}', '{"dtype": "uint8", "mean": [0.5]}', '{"memory_format": "NHWC"}', '{"memory_format": null}', '{"sharpen": true}',
    '{"resize": 5, "resize": 6, "x": 1}', '{"mean": [' + "0," * 100000 + "0]}",
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: ascii(record[:40]))
def test_records(record):
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.Preprocess.parse(record)


def test_damaged_records():
    """Letters turned over: what is a record all the same, does what it says or tells why not."""
    image = torchlet.Image(np.zeros((30, 40, 3), np.uint8))
    text = torchlet.Preprocess(resize=[20, 30], crop=16, mean=[0.5], std=[0.25], interpolation="bicubic").json()
    choice, taken = random.Random(5), 0
    for _ in range(1500):
        damaged = list(text)
        for _ in range(choice.choice((1, 2))):
            damaged[choice.randrange(len(damaged))] = choice.choice('0123456789-+.eE{}[]",: \\nulltrefas\x7f\xe9')
        steps = []
        if answers(lambda: steps.append(torchlet.Preprocess.parse("".join(damaged)))):
            taken += answers(lambda: steps[0](image))
    assert taken > 20


def test_records_and_labels_in_models(tmp_path):
    """A damaged record is an error when it is used, and the model itself runs."""
    source = (FIXTURES / "linear.pt").read_bytes()
    for content in (b"", b"\xff\xfe", b"{", b"[" * 100000, b'{"resize": -1}', b"\0" * 1000):
        file = io.BytesIO(source)
        with zipfile.ZipFile(file, "a") as archive:
            root = archive.namelist()[0].split("/")[0]
            archive.writestr(f"{root}/extra/preprocess.json", content)
            archive.writestr(f"{root}/extra/labels.txt", content)
        model = torchlet.load(file.getvalue())
        with pytest.raises(torchlet.FileFormatError):
            torchlet.preprocess_of(model)
        with pytest.raises(torchlet.FileFormatError):
            torchlet.load_image(SEVEN, model)
        answers(lambda: torchlet.labels_of(model))
        assert model(np.load(FIXTURES / "linear.in0.npy")).dtype == np.float32


# ---- arrays ----


def equal(anything, array):
    np.testing.assert_array_equal(np.asarray(anything(array)), array)


def test_odd_arrays(anything):
    base = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    read_only = base.copy()
    read_only.flags.writeable = False
    for array in (
        base[::-1], base[:, ::-2, ::-1], base[:, ::2], base.T, base[1:1], base[..., :0], np.zeros((0, 2**40), np.int8), base[0, 0, 0:1][0:0],
        np.float32(3) * np.ones(()), read_only, np.broadcast_to(read_only[:1], (5, 3, 4)), base.astype(">f4"), base.astype(">i8"),
        base.astype(">c16"),
        np.ndarray((3,), np.float32, bytearray(13), offset=1), np.ndarray((3,), np.float32, bytearray(40), strides=(9,)),
        np.asfortranarray(base), np.ones((1,) * 32, np.uint8),
    ):  # fmt: skip
        equal(anything, array)
        equal(lambda a: torchlet.Tensor(a).numpy(), array)


@pytest.mark.parametrize(
    "array",
    [np.array([None, 1]), np.array(["a"]), np.array([b"a"]), np.zeros(3, "u2"), np.zeros(3, "u8"), np.zeros(3, "m8[s]"), np.zeros(3, "M8[s]"),
     np.zeros(3, [("x", "f4"), ("y", "i1")]), np.zeros(3, "V7"), np.zeros(3, np.longdouble), np.zeros(2, np.clongdouble), np.zeros(0, object),
     np.zeros(1, "S0")],
    ids=lambda array: str(getattr(array, "dtype", array)),
)  # fmt: skip
def test_arrays_of_no_dtype(array, anything, identity):
    for call in (anything, identity, torchlet.Tensor, torchlet.Image, torchlet.top_classes):
        with pytest.raises(torchlet.InvalidArgumentError) as caught:
            call(array)
        assert str(caught.value) and not caught.value.places


def test_arrays_that_reach_too_far(anything):
    """Their elements are one in memory, and more than there is memory for when they are copied."""
    huge = np.broadcast_to(np.zeros(1, np.uint8), (2**46,))
    with pytest.raises(torchlet.OutOfMemoryError):
        anything(huge)
    with pytest.raises(torchlet.OutOfMemoryError):
        torchlet.Image(huge.reshape(2**23, 2**23))


def test_lists_that_hold_themselves(anything):
    endless, around = [], {}
    endless.append(endless)
    around["x"] = (around,)
    deep = []
    for _ in range(100000):
        deep = [deep]
    for value in (endless, around, deep):
        with pytest.raises(torchlet.ModelError, match="nested more than 1000 levels deep"):
            anything(value)


class Grows(list):
    """Changes while it is read."""

    def __getitem__(self, index):
        self.clear()
        return 1


class Raises:
    """Whatever it is asked, it raises."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise ZeroDivisionError(name)


class Wrong:
    """Has the methods of arrays, which give what is none."""

    def __init__(self, value):
        self.value = value

    def __dlpack__(self, **_):
        return self.value

    def __dlpack_device__(self):
        return self.value

    def __array__(self, *_, **__):
        return self.value


def test_objects_that_lie(anything):
    for value in (Raises(), [Raises()], Wrong(None), Wrong(7), Wrong([1]), Wrong("x"), Wrong(np.array(None)), Grows([1, 2, 3])):
        try:
            anything(value)
        except (torchlet.Error, TypeError, ValueError, ZeroDivisionError):
            pass
    assert anything(1) == 1


# ---- DLPack ----


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip


class Capsule:
    """What __dlpack__ gives: four floats, but for what the arguments say."""

    def __init__(self, name=b"dltensor", device=1, code=2, bits=32, lanes=1, shape=(4,), strides=None, offset=0):
        self.numbers = (ctypes.c_float * 16)(*range(16))
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        self.tensor = DLTensor(ctypes.addressof(self.numbers), Device(device, 0), len(shape), code, bits, lanes, self.shape, self.strides, offset)
        self.name, self.device = name, device

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), self.name, None)


def test_dlpack(anything):
    np.testing.assert_array_equal(anything(Capsule()), [0, 1, 2, 3])
    np.testing.assert_array_equal(anything(Capsule(shape=(2, 2), strides=(4, 1))), [[0, 1], [4, 5]])
    np.testing.assert_array_equal(anything(Capsule(offset=8)), [2, 3, 4, 5])


@pytest.mark.parametrize(
    "wrong",
    [{"device": 2}, {"device": 99}, {"code": 3}, {"code": 77}, {"bits": 7}, {"bits": 0}, {"bits": 128}, {"lanes": 4}, {"lanes": 0},
     {"name": b"used_dltensor"}, {"name": b"other"}, {"name": b""}, {"shape": (-1,)},
     {"shape": (2**62, 2**62)}, {"shape": (4,), "strides": (-1,)}, {"code": 1, "bits": 16}],
    ids=str,
)  # fmt: skip
def test_dlpack_of_no_tensor(wrong, anything):
    with pytest.raises(torchlet.InvalidArgumentError):
        anything(Capsule(**wrong))
    with pytest.raises(torchlet.InvalidArgumentError):
        torchlet.Tensor(Capsule(**wrong))


def test_capsules_are_taken_once(anything):
    owner = Capsule()
    capsule = owner.__dlpack__()

    class Once:
        source = owner

        def __dlpack__(self, **_):
            return capsule

    np.testing.assert_array_equal(anything(Once()), [0, 1, 2, 3])
    with pytest.raises(torchlet.InvalidArgumentError):
        anything(Once())


# ---- kinds of errors ----


@pytest.fixture
def values():
    def load(**options):
        return torchlet.load(FIXTURES / "values.pt", **options)

    return load


def caught_of(call):
    with pytest.raises(torchlet.Error) as caught:
        call()
    error = caught.value
    assert str(error) == "\n  ".join([error.message, *error.places])
    return type(error), error.code, error.message, error.python_class


def test_each_kind_of_error(digits, values, tmp_path):
    code, missing, cancelled = torchlet.ErrorCode, tmp_path / "missing.pt", values()
    cancelled.cancel()
    kinds = {
        lambda: digits(1): (torchlet.InvalidArgumentError, code.INVALID_ARGUMENT, "expected a value of type 'Tensor', got an int"),
        lambda: torchlet.Image.decode(b"x"): (
            torchlet.FileFormatError, code.FILE_FORMAT, "the picture is neither PNG nor JPEG; convert it to one of them"),
        lambda: torchlet.load(missing): (torchlet.IoError, code.IO, f"cannot open '{missing}': No such file or directory"),
        lambda: digits.method("x"): (
            torchlet.NotFoundError, code.NOT_FOUND, "the module __torch__.DigitsMobileNetV2 has no method 'x'; it has: forward"),
        lambda: torchlet.load(FIXTURES / "unsupported.pt"): (
            torchlet.UnsupportedError, code.UNSUPPORTED,
            "the model uses 2 operators that Torchlet does not have: aten::cudnn_affine_grid_generator, aten::cudnn_grid_sampler"),
        lambda: values(memory_limit=10): (
            torchlet.MemoryLimitError, code.MEMORY_LIMIT,
            "the program asks for 88 bytes while it holds 0 of the 10 that it may (Options::memory_limit)"),
        lambda: values(time_limit=0.05).spin(10**12): (
            torchlet.TimeLimitError, code.TIME_LIMIT, "the program has run for the 0.05 seconds that it may (Options::time_limit)"),
        lambda: cancelled.spin(10**12): (torchlet.CancelledError, code.CANCELLED, "the program was cancelled (Options::cancel)"),
    }  # fmt: skip
    for call, expected in kinds.items():
        assert caught_of(call) == (*expected, "")
    assert caught_of(lambda: values().fails(7)) == (torchlet.ModelError, code.RUNTIME, "too large: 7", "builtins.ValueError")
    kind, error_code, message, _ = caught_of(lambda: torchlet.random_tensor([2**50]))
    assert (kind, error_code) == (torchlet.OutOfMemoryError, code.OUT_OF_MEMORY)
    assert message.startswith("a tensor of 9007199254740992 bytes does not fit into the ")


@pytest.mark.parametrize("code", list(torchlet.ErrorCode))
def test_each_code_has_its_class(code):
    """Of the extension, which numbers them from 0; that of bugs, too, of which there is none to be had."""
    made = torchlet._errors.make(code - 1, "what\n  place", "what", ("place",), "builtins.ValueError")
    assert type(made).code is made.code is code and isinstance(made, torchlet.Error)
    assert (str(made), made.message, made.places, made.python_class) == ("what\n  place", "what", ("place",), "builtins.ValueError")
    of_python = type(made)("what")
    assert (str(of_python), of_python.message, of_python.places, of_python.code) == ("what", "what", (), code)


def test_null_characters(digits, tmp_path):
    """Where C's strings end, messages and paths do not."""
    assert caught_of(lambda: digits.method("a\0b"))[2] == "the module __torch__.DigitsMobileNetV2 has no method 'a\\0b'; it has: forward"
    (tmp_path / "a").write_bytes(DIGITS.read_bytes())
    for call in (torchlet.load, torchlet.extra_files, torchlet.Image.read, torchlet.read_labels, lambda path: torchlet.save(digits, path)):
        with pytest.raises(torchlet.IoError):
            call(f"{tmp_path}/a\0b")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
