"""Arrays and other values, into programs and out of them."""

import array
import collections

import numpy as np
import pytest
import torchlet

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_shared(identity, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    y = identity(x)
    assert y.dtype == x.dtype and y.shape == x.shape
    assert y.ctypes.data == x.ctypes.data
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_big_endian_arrays_are_converted(identity, dtype):
    x = (np.arange(6) + 300).reshape(2, 3).astype(np.dtype(dtype).newbyteorder(">"))
    y = identity(x)
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(x.astype(dtype), y)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "M8[s]", "U3", "O", "longdouble"])
def test_other_dtypes_are_refused(identity, dtype):
    with pytest.raises(torchlet.InvalidArgumentError, match="dtype"):
        identity(np.zeros(3, dtype))


def test_structured_arrays_are_refused(identity):
    with pytest.raises(torchlet.InvalidArgumentError):
        identity(np.zeros(3, [("a", "f4"), ("b", "i4")]))


def test_strides_are_kept(identity):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (x[:, ::2, 1:], x.transpose(2, 0, 1), x[1], np.broadcast_to(x[0], (5, 3, 4)).copy("K"), x.T):
        y = identity(view)
        assert y.ctypes.data == view.ctypes.data
        np.testing.assert_array_equal(view, y)


def test_negative_strides_are_copied(identity):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (x[::-1], x[:, ::-1], x[::-2, ::-3]):
        y = identity(view)
        assert not np.shares_memory(x, y)
        np.testing.assert_array_equal(view, y)


def test_odd_addresses_and_strides_are_copied(identity):
    raw = np.zeros(65, np.uint8)
    odd = raw[1:].view(np.float32)
    assert not np.shares_memory(identity(odd), raw)
    field = np.zeros(4, [("a", "u1"), ("b", "<f4")])
    field["b"] = [1, 2, 3, 4]
    np.testing.assert_array_equal(identity(field["b"]), [1, 2, 3, 4])


def test_read_only_arrays_are_copied(script):
    model = script("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.add_(x, 1)")
    x = np.ones(3, np.float32)
    x.flags.writeable = False
    np.testing.assert_array_equal(model(x), [2, 2, 2])
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_programs_write_to_what_they_are_given(script):
    model = script("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.add_(x, 1)")
    x = np.ones(3, np.float32)
    y = model(x)
    np.testing.assert_array_equal(x, [2, 2, 2])
    y[0] = 7
    assert x[0] == 7


def test_no_dimensions_and_no_elements(identity):
    y = identity(np.array(2.5))
    assert y.shape == () and y == 2.5
    for shape in ((0,), (3, 0), (0, 4, 0)):
        assert identity(np.zeros(shape, np.float32)).shape == shape
    assert identity(np.zeros((4, 5), np.float32)[:0, ::-1]).shape == (0, 5)


def test_many_dimensions(identity):
    x = np.zeros((1,) * 32, np.float32)
    assert identity(x).shape == x.shape


def test_buffers(identity):
    np.testing.assert_array_equal(identity(array.array("d", [1, 2])), [1.0, 2.0])
    data = bytearray(b"abc")
    assert np.shares_memory(identity(data), np.frombuffer(data, np.uint8))
    y = identity(b"abc")
    assert y.tolist() == [97, 98, 99] and y.dtype == np.uint8
    y[0] = 1  # a copy: bytes do not change


def test_objects_with_arrays(identity):
    class WithArray:
        def __init__(self, data):
            self.data = data

        def __array__(self, dtype=None, copy=None):
            return self.data

    class WithDlpack:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **kwargs):
            return self.data.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    x = np.arange(6, dtype=np.float32)[::2]
    for wrapper in (WithArray, WithDlpack):
        y = identity(wrapper(x))
        assert y.ctypes.data == x.ctypes.data
        np.testing.assert_array_equal(x, y)

    class Broken:
        def __dlpack__(self, **kwargs):
            raise RuntimeError("no array today")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(RuntimeError, match="no array today"):
        identity(Broken())


def test_dlpack_out(digits, seven):
    y = np.from_dlpack(torchlet.Tensor(digits(seven)))
    np.testing.assert_array_equal(y, digits(seven))


def test_pytorch(identity):
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    y = identity(x)
    assert y.ctypes.data == x.data_ptr()
    assert torch.from_dlpack(torchlet.Tensor(y)).data_ptr() == x.data_ptr()
    b = identity(x.to(torch.bfloat16))
    assert b.dtype == "bfloat16" and b.tolist() == x.tolist()


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -(2**63), 2**63 - 1, 2.5, float("inf"), 3 - 4j, "", "é\0ü", [], [1, 2], ["a"], (), (1, "a", None),
     {"a": 1, "b": 2}, {1: "x"}, [[1], [2, 3]], ({"a": [(1, 2.0)]}, None)],
)  # fmt: skip
def test_values_come_back(anything, value):
    y = anything(value)
    assert y == value and type(y) is type(value)


def test_containers_of_arrays(anything):
    x = np.arange(3.0)
    y = anything({"a": [x, x], "b": (x, None)})
    assert list(y) == ["a", "b"] and y["b"][1] is None
    assert all(one.ctypes.data == x.ctypes.data for one in (*y["a"], y["b"][0]))


def test_numpy_scalars_are_numbers(anything):
    assert anything(np.float32(2.5)) == 2.5 and type(anything(np.float32(2.5))) is float
    assert anything(np.int64(3)) == 3 and type(anything(np.int64(3))) is int
    assert anything(np.bool_(True)) is True


def test_named_tuples(anything, script):
    point = collections.namedtuple("point", "x y")
    assert anything(point(1, 2)) == (1, 2)
    model = script(
        "def forward(self: __torch__.M, x: Tensor) -> __torch__.Point:\n  return __torch__.Point(x, 3)",
        before="class Point(NamedTuple):\n  x : Tensor\n  count : int",
    )
    y = model(np.ones(2, np.float32))
    assert y.count == 3 and type(y).__name__ == "Point" and y._fields == ("x", "count")
    x, count = y
    np.testing.assert_array_equal(x, [1, 1])


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, {1, 2}, object(), lambda: 0, range(3), np.random.default_rng(0)])
def test_what_no_program_takes(anything, value):
    with pytest.raises(torchlet.InvalidArgumentError):
        anything(value)


def test_what_holds_itself(anything):
    a = []
    a.append(a)
    with pytest.raises(torchlet.Error):
        anything(a)
    d = {}
    d["a"] = d
    with pytest.raises(torchlet.Error):
        anything(d)


def test_lists_that_change_meanwhile(anything):
    items = []

    class Cutter:
        def __array__(self, dtype=None, copy=None):
            items.clear()
            return np.ones(1)

    items.extend([Cutter()] * 5)
    assert len(anything(items)) == 1


def test_keywords_and_defaults(script):
    model = script("def forward(self: __torch__.M, x: int, y: int=5, *, z: int=7) -> List[int]:\n  return [x, y, z]")
    assert model(1) == [1, 5, 7]
    assert model(x=1, y=2, z=3) == [1, 2, 3]
    assert model.forward(1, z=2) == [1, 5, 2]
    with pytest.raises(torchlet.InvalidArgumentError):
        model(1, nonsense=2)


def test_optional_and_lists_of_tensors(script):
    model = script(
        "def forward(self: __torch__.M, xs: List[Tensor], y: Optional[Tensor]=None) -> Tensor:\n  return torch.cat(xs)"
    )
    np.testing.assert_array_equal(model([np.ones(1), np.zeros(2)]), [1, 0, 0])
    np.testing.assert_array_equal(model((np.ones(1),), None), [1])


class TestTensor:
    def test_bfloat16(self, identity):
        t = torchlet.Tensor(np.array([1.5, -2.25]), "bfloat16")
        assert (t.dtype, t.shape, t.strides, t.ndim, t.size, t.nbytes) == ("bfloat16", (2,), (1,), 1, 2, 4)
        y = identity(t)
        assert isinstance(y, torchlet.Tensor) and y.data_ptr == t.data_ptr
        assert y.numpy().dtype == np.float32 and y.tolist() == [1.5, -2.25]
        assert np.asarray(y).tolist() == [1.5, -2.25]
        with pytest.raises(BufferError):
            memoryview(y)

    def test_ml_dtypes(self, identity):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        x = np.array([1.5, 2], ml_dtypes.bfloat16)
        assert identity(x).dtype == "bfloat16" and identity(x).tolist() == [1.5, 2]

    def test_quantized(self, script):
        t = torchlet.Tensor(np.array([128, 130], np.uint8), scale=0.5, zero_point=128)
        assert t.is_quantized and t.dtype == "quint8" and (t.scale, t.zero_point) == (0.5, 128)
        assert t.dequantize().tolist() == [0, 1] and t.int_repr().tolist() == [128, 130] and t.numpy().tolist() == [128, 130]
        model = script(
            "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.quantize_per_tensor(x, 0.25, 3, 12)"
        )
        q = model(np.array([0.5, 1], np.float32))
        assert q.dtype == "qint8" and q.int_repr().tolist() == [5, 7] and q.dequantize().tolist() == [0.5, 1]

    def test_quantized_per_channel(self, script):
        model = script(
            "def forward(self: __torch__.M, x: Tensor, s: Tensor, z: Tensor) -> Tensor:\n"
            "  return torch.quantize_per_channel(x, s, z, 0, 12)"
        )
        q = model(np.ones((2, 1), np.float32), np.array([0.5, 0.25]), np.array([0, 1]))
        assert q.scales.tolist() == [0.5, 0.25] and q.zero_points.tolist() == [0, 1] and q.axis == 0
        with pytest.raises(torchlet.Error):
            q.scale

    def test_sparse(self, script):
        model = script("def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.to_sparse(x)")
        s = model(np.array([[0, 2], [3, 0]], np.float32))
        assert s.layout == "sparse_coo" and s.values().tolist() == [2, 3] and s.indices().tolist() == [[0, 1], [1, 0]]
        assert s.to_dense().tolist() == [[0, 2], [3, 0]] == s.numpy().tolist()
        for refused in (lambda: s.strides, lambda: s.data_ptr, s.__dlpack__, s.int_repr):
            with pytest.raises(torchlet.Error):
                refused()
        with pytest.raises(BufferError):
            memoryview(s)

    def test_conversions(self):
        x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
        t = torchlet.Tensor(x)
        assert t.to("float32").data_ptr == t.data_ptr and t.to("int64").dtype == "int64"
        last = t.contiguous("channels_last")
        assert last.strides == (24, 1, 8, 2) and last.tolist() == x.tolist()
        assert t.clone().data_ptr != t.data_ptr and len(t) == 1
        assert torchlet.Tensor(np.float64([3])).item() == 3
        for wrong in (lambda: t.to("float7"), lambda: t.contiguous("x"), lambda: t.dequantize(), lambda: t.int_repr()):
            with pytest.raises(torchlet.InvalidArgumentError):
                wrong()
        with pytest.raises(TypeError):
            len(torchlet.Tensor(np.array(1.0)))

    def test_memoryview(self):
        x = np.arange(6, dtype=np.int16).reshape(2, 3)
        view = memoryview(torchlet.Tensor(x.T))
        assert view.shape == (3, 2) and view.strides == (2, 6) and view.format == "h" and not view.readonly
        assert view.tolist() == x.T.tolist()
