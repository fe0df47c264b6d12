// Arrays of Python as tensors, and tensors as arrays, over the same memory.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/error.h"
#include "ops/engines/quantize.h"
#include "ops/sparse/sparse.h"
#include "python.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::python {
namespace {

std::string class_of(nb::handle object) {
  return std::string(nb::str(nb::object(object.type().attr("__name__"))).c_str());
}

// ---- from Python ----

// The letters of the struct module, without the order of bytes.
std::optional<DType> dtype_of_format(std::string_view format, size_t item_size) {
  const auto integer = [&](bool is_signed) -> std::optional<DType> {
    if (item_size == 1) return is_signed ? DType::kInt8 : DType::kUInt8;
    if (!is_signed) return std::nullopt;
    if (item_size == 2) return DType::kInt16;
    if (item_size == 4) return DType::kInt32;
    if (item_size == 8) return DType::kInt64;
    return std::nullopt;
  };
  if (format == "Zf") return DType::kComplex64;
  if (format == "Zd") return DType::kComplex128;
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return integer(true);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return integer(false);
    case 'c':
      return DType::kUInt8;
    case '?':
      return DType::kBool;
    case 'e':
      return DType::kFloat16;
    case 'f':
      return DType::kFloat32;
    case 'd':
      return DType::kFloat64;
    default:
      return std::nullopt;
  }
}

class KeptBuffer : public Kept {
 public:
  KeptBuffer() = default;
  ~KeptBuffer() override {
    if (view.obj) PyBuffer_Release(&view);
  }
  Py_buffer view{};
};

class KeptArray : public Kept {
 public:
  KeptArray(nb::ndarray<> a, nb::handle o) : array(std::move(a)), owner(nb::borrow(o)) {}
  nb::ndarray<> array;
  nb::object owner;
};

// Swaps the bytes of numbers of `size` bytes each.
void swap_bytes(std::byte* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

constexpr bool kBigEndianHere = std::endian::native == std::endian::big;

// Can a tensor lie there as it is?
bool can_share(const Py_buffer& view, size_t size) {
  if (view.readonly || reinterpret_cast<uintptr_t>(view.buf) % std::min<size_t>(size, 8) != 0)
    return false;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0 || view.strides[i] % static_cast<Py_ssize_t>(size) != 0) return false;
  }
  return !view.suboffsets;
}

Tensor from_buffer(std::unique_ptr<KeptBuffer> kept, DType dtype, bool swapped) {
  Py_buffer& view = kept->view;
  const size_t size = element_size(dtype);
  std::vector<int64_t> sizes(view.shape, view.shape + view.ndim), strides;
  if (!swapped && can_share(view, size)) {
    for (int i = 0; i < view.ndim; ++i)
      strides.push_back(view.strides[i] / static_cast<int64_t>(size));
    Kept* owner = kept.get();
    Tensor tensor = from_blob(view.buf, sizes, dtype, strides, [owner](void*) { owner->drop(); });
    kept.release();
    return tensor;
  }
  const Tensor copy = empty(sizes, dtype);
  if (PyBuffer_ToContiguous(copy.raw_data(), &view, view.len, 'C') != 0) throw nb::python_error();
  if (swapped) {
    const bool is_pair = is_complex(dtype);
    swap_bytes(static_cast<std::byte*>(copy.raw_data()),
               static_cast<size_t>(copy.numel()) * (is_pair ? 2 : 1), is_pair ? size / 2 : size);
  }
  return copy;
}

// An undefined tensor if the object's buffer is of no dtype.
Tensor tensor_of_buffer(nb::handle object) {
  auto kept = std::make_unique<KeptBuffer>();
  if (PyObject_GetBuffer(object.ptr(), &kept->view, PyBUF_RECORDS_RO) != 0) {
    kept->view.obj = nullptr;
    PyErr_Clear();
    return Tensor();
  }
  std::string_view format = kept->view.format ? kept->view.format : "B";
  bool swapped = false;
  if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) {
    swapped = (format[0] == '>' || format[0] == '!') != kBigEndianHere && format[0] != '@' &&
              format[0] != '=';
    format.remove_prefix(1);
  }
  const std::optional<DType> dtype =
      dtype_of_format(format, static_cast<size_t>(kept->view.itemsize));
  if (!dtype || element_size(*dtype) != static_cast<size_t>(kept->view.itemsize)) return Tensor();
  return from_buffer(std::move(kept), *dtype, swapped && kept->view.itemsize > 1);
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype d) {
  using Code = nb::dlpack::dtype_code;
  if (d.lanes != 1) return std::nullopt;
  switch (static_cast<Code>(d.code)) {
    case Code::Bool:
      return DType::kBool;
    case Code::Bfloat:
      return d.bits == 16 ? std::optional(DType::kBFloat16) : std::nullopt;
    case Code::UInt:
      return d.bits == 8 ? std::optional(DType::kUInt8) : std::nullopt;
    case Code::Int:
      return d.bits == 8    ? std::optional(DType::kInt8)
             : d.bits == 16 ? std::optional(DType::kInt16)
             : d.bits == 32 ? std::optional(DType::kInt32)
             : d.bits == 64 ? std::optional(DType::kInt64)
                            : std::nullopt;
    case Code::Float:
      return d.bits == 16   ? std::optional(DType::kFloat16)
             : d.bits == 32 ? std::optional(DType::kFloat32)
             : d.bits == 64 ? std::optional(DType::kFloat64)
                            : std::nullopt;
    case Code::Complex:
      return d.bits == 64    ? std::optional(DType::kComplex64)
             : d.bits == 128 ? std::optional(DType::kComplex128)
                             : std::nullopt;
    default:
      return std::nullopt;
  }
}

// nanobind marks a capsule that it is given as used, so that no other can own its memory, too.
nb::object capsule_of(nb::handle object) {
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_BufferError)) throw;
  }
  if (!capsule.is_valid()) capsule = object.attr("__dlpack__")();
  if (PyCapsule_CheckExact(capsule.ptr())) return capsule;
  fail(ErrorCode::kInvalidArgument, "__dlpack__() of a '" + class_of(object) + "' gives a '" +
                                        class_of(capsule) + "' and no capsule");
}

// What __dlpack__ gives, which is memory of the processor. Read-only arrays are copied.
Tensor tensor_of_dlpack(nb::handle object) {
  const nb::object capsule = capsule_of(object);
  nb::ndarray<> array;
  const bool is_shared = nb::try_cast<nb::ndarray<>>(capsule, array);
  nb::ndarray<nb::ro> constant;
  if (!is_shared && !nb::try_cast<nb::ndarray<nb::ro>>(capsule, constant)) {
    fail(ErrorCode::kInvalidArgument, "the array of a '" + class_of(object) +
                                          "' cannot be read: its capsule was used before, or "
                                          "holds what DLPack does not have");
  }
  const auto read = [&](const auto& from) -> Tensor {
    if (from.device_type() != nb::device::cpu::value) {
      fail(ErrorCode::kInvalidArgument,
           "the array is in a device's memory: copy it to the processor's first");
    }
    const std::optional<DType> dtype = dtype_of_dlpack(from.dtype());
    if (!dtype)
      fail(ErrorCode::kInvalidArgument,
           "tensors do not have the dtype of this '" + class_of(object) + "'");
    std::vector<int64_t> sizes, strides;
    for (size_t i = 0; i < from.ndim(); ++i) {
      sizes.push_back(static_cast<int64_t>(from.shape(i)));
      strides.push_back(from.stride(i));
    }
    void* data = const_cast<void*>(static_cast<const void*>(from.data()));
    if (!is_shared) return from_blob(data, sizes, *dtype, strides).clone();
    auto kept = std::make_unique<KeptArray>(array, object);
    Kept* owner = kept.get();
    Tensor tensor = from_blob(data, sizes, *dtype, strides, [owner](void*) { owner->drop(); });
    kept.release();
    return tensor;
  };
  return is_shared ? read(array) : read(constant);
}

// bfloat16 has no letter in buffers: its bits, for an array of ml_dtypes' bfloat16.
Tensor tensor_of_bfloat16(nb::handle array) {
  const Tensor bits = tensor_of_buffer(array.attr("view")("int16"));
  if (!bits.defined() || bits.dtype() != DType::kInt16)
    fail(ErrorCode::kInvalidArgument, "the bits of a '" + class_of(array) + "' cannot be read");
  return make_tensor(bits.impl()->storage, DType::kBFloat16, bits.sizes(), bits.strides(),
                     bits.storage_offset());
}

const nb::object& numpy() {
  static const nb::object* module = new nb::object(nb::module_::import_("numpy"));
  return *module;
}

std::string dtype_text(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return "";
  return std::string(nb::str(nb::object(object.attr("dtype"))).c_str());
}

Tensor tensor_of_any(nb::handle object) {
  if (nb::isinstance<PyTensor>(object)) return nb::cast<PyTensor&>(object).tensor;
  if (PyObject_CheckBuffer(object.ptr())) {
    Tensor tensor = tensor_of_buffer(object);
    if (tensor.defined()) return tensor;
    const std::string dtype = dtype_text(object);
    if (dtype == "bfloat16") return tensor_of_bfloat16(object);
    fail(ErrorCode::kInvalidArgument, "tensors do not have the dtype of this '" + class_of(object) +
                                          "'" + (dtype.empty() ? "" : ", " + dtype) +
                                          ": convert it first, by astype() for one");
  }
  if (nb::hasattr(object, "__dlpack__")) return tensor_of_dlpack(object);
  if (nb::hasattr(object, "__array__") || nb::hasattr(object, "__array_interface__")) {
    return tensor_of_any(numpy().attr("asarray")(object));
  }
  return Tensor();
}

// ---- to Python ----

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kQUInt8:
      return "B";
    case DType::kInt8:
    case DType::kQInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
    case DType::kQInt32:
      return "i";
    case DType::kInt64:
      return "q";
    case DType::kFloat16:
      return "e";
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
    case DType::kBool:
      return "?";
    default:
      return nullptr;
  }
}

bool is_strided(const Tensor& tensor) { return tensor.impl()->storage.get() != nullptr; }

// What a buffer of a tensor holds.
struct Exported {
  std::vector<Py_ssize_t> shape, strides;  // in bytes
};

int refuse_buffer(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  static std::byte nothing[16];
  view->obj = nullptr;
  if (!nb::inst_ready(self)) return refuse_buffer("the tensor was not made by Tensor()");
  const Tensor& tensor = nb::inst_ptr<PyTensor>(self)->tensor;
  const char* format = format_of(tensor.dtype());
  if (!is_strided(tensor))
    return refuse_buffer("a tensor that is not strided has no buffer: to_dense() gives one");
  if (!format) return refuse_buffer("buffers cannot be of this dtype: numpy() converts it");
  const auto needs = [&](int flag) { return (flags & flag) == flag; };
  const bool is_c = tensor.is_contiguous();
  if ((needs(PyBUF_C_CONTIGUOUS) || needs(PyBUF_ANY_CONTIGUOUS) || !needs(PyBUF_STRIDES)) &&
      !is_c) {
    return refuse_buffer("the tensor is not contiguous");
  }
  if (needs(PyBUF_F_CONTIGUOUS) && tensor.dim() > 1)
    return refuse_buffer("the tensor is not in Fortran's order");
  auto exported = std::make_unique<Exported>();
  const auto size = static_cast<Py_ssize_t>(element_size(tensor.dtype()));
  for (const int64_t s : tensor.sizes()) exported->shape.push_back(static_cast<Py_ssize_t>(s));
  for (const int64_t s : tensor.strides())
    exported->strides.push_back(static_cast<Py_ssize_t>(s) * size);
  view->buf = tensor.raw_data() ? tensor.raw_data() : nothing;
  view->len = static_cast<Py_ssize_t>(tensor.numel()) * size;
  view->itemsize = size;
  view->readonly = 0;
  view->ndim = static_cast<int>(tensor.dim());
  view->format = needs(PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->shape = needs(PyBUF_ND) ? exported->shape.data() : nullptr;
  view->strides = needs(PyBUF_STRIDES) ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported.release();
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete static_cast<Exported*>(view->internal);
}

nb::object array_of(const Tensor& tensor) {
  static const nb::object* asarray = new nb::object(numpy().attr("asarray"));
  return (*asarray)(nb::cast(PyTensor(tensor)));
}

// As torchlet.Tensor.numpy() says.
nb::object numpy_of(const Tensor& tensor) {
  if (!is_strided(tensor)) return numpy_of(ops::to_dense(tensor));
  if (tensor.dtype() == DType::kBFloat16) return array_of(tensor.to(DType::kFloat32));
  if (tensor.dtype() == DType::kComplex32) return array_of(tensor.to(DType::kComplex64));
  return array_of(tensor);
}

nb::dlpack::dtype dlpack_of(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [&](Code code) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code),
                             static_cast<uint8_t>(element_size(dtype) * 8), 1};
  };
  if (dtype == DType::kBool) return make(Code::Bool);
  if (dtype == DType::kBFloat16) return make(Code::Bfloat);
  if (is_floating_point(dtype)) return make(Code::Float);
  if (is_complex(dtype)) return make(Code::Complex);
  if (dtype == DType::kUInt8) return make(Code::UInt);
  if (is_integral(dtype, false)) return make(Code::Int);
  fail(ErrorCode::kUnsupported, "DLPack has no quantized tensors: dequantize() or numpy() first");
}

nb::object dlpack(nb::handle self, const nb::kwargs& kwargs) {
  const Tensor& tensor = nb::cast<PyTensor&>(self).tensor;
  if (!is_strided(tensor))
    fail(ErrorCode::kUnsupported, "DLPack has strided tensors only: to_dense() gives one");
  const std::vector<size_t> shape(tensor.sizes().begin(), tensor.sizes().end());
  const std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  const nb::ndarray<nb::array_api> array(tensor.raw_data(), shape.size(), shape.data(), self,
                                         strides.data(), dlpack_of(tensor.dtype()),
                                         nb::device::cpu::value, 0);
  return nb::cast(array).attr("__dlpack__")(**kwargs);
}

DType parse_dtype(const std::string& name) {
  if (const auto dtype = dtype_of_name(name)) return *dtype;
  fail(ErrorCode::kInvalidArgument, "there is no dtype '" + name + "'");
}

const char* layout_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.nested) return "nested";
  if (!impl.sparse) return "strided";
  return impl.sparse->layout == Layout::kSparseCsr ? "sparse_csr" : "sparse_coo";
}

const TensorImpl& strided(const Tensor& tensor) {
  if (!is_strided(tensor))
    fail(ErrorCode::kInvalidArgument,
         std::string("a ") + layout_of(tensor) + " tensor has no strides");
  return *tensor.impl();
}

const SparseParts& sparse_parts(const Tensor& tensor) {
  if (!tensor.impl()->sparse) fail(ErrorCode::kInvalidArgument, "the tensor is not sparse");
  return *tensor.impl()->sparse;
}

DType integers_of(DType dtype) {
  if (dtype == DType::kQUInt8) return DType::kUInt8;
  if (dtype == DType::kQInt8) return DType::kInt8;
  if (dtype == DType::kQInt32) return DType::kInt32;
  fail(ErrorCode::kInvalidArgument,
       "the tensor is not quantized: " + std::string(dtype_name(dtype)));
}

// The integers of a quantized tensor, or the tensor of integers; over the same memory.
Tensor reinterpret(const Tensor& tensor, DType dtype,
                   std::shared_ptr<const Quantizer> quantizer = nullptr) {
  const TensorImpl& impl = strided(tensor);
  Tensor result =
      make_tensor(impl.storage, dtype, tensor.sizes(), tensor.strides(), tensor.storage_offset());
  result.impl()->quantizer = std::move(quantizer);
  return result;
}

Tensor quantized(const Tensor& integers, double scale, int64_t zero_point) {
  if (!(scale > 0) || std::isinf(scale)) {
    fail(ErrorCode::kInvalidArgument, "the scale of a quantized tensor is positive, not %g", scale);
  }
  for (const DType dtype : {DType::kQUInt8, DType::kQInt8, DType::kQInt32}) {
    if (integers_of(dtype) == integers.dtype())
      return reinterpret(integers, dtype, per_tensor_quantizer(scale, zero_point));
  }
  fail(ErrorCode::kInvalidArgument,
       "quantized tensors are of uint8, int8 or int32, not " + integers.describe());
}

MemoryFormat parse_format(const std::string& name) {
  if (name == "contiguous") return MemoryFormat::kContiguous;
  if (name == "channels_last") return MemoryFormat::kChannelsLast;
  if (name == "channels_last_3d") return MemoryFormat::kChannelsLast3d;
  fail(ErrorCode::kInvalidArgument,
       "there is no memory format '" + name + "': contiguous, channels_last or channels_last_3d");
}

PyTensor make(nb::handle array, const std::optional<std::string>& dtype,
              std::optional<double> scale, std::optional<int64_t> zero_point) {
  Tensor tensor = to_tensor(array);
  if (dtype) tensor = tensor.to(parse_dtype(*dtype));
  if (scale || zero_point) tensor = quantized(tensor, scale.value_or(1), zero_point.value_or(0));
  return PyTensor(tensor);
}

}  // namespace

std::optional<DType> dtype_of_name(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

nb::tuple tuple_of(IntSpan numbers) {
  nb::list list;
  for (const int64_t number : numbers) list.append(number);
  return nb::tuple(list);
}

Tensor to_tensor(nb::handle object) {
  Tensor tensor = tensor_of_any(object);
  if (!tensor.defined()) {
    fail(ErrorCode::kInvalidArgument, "expected an array, got a '" + class_of(object) + "'");
  }
  return tensor;
}

nb::object from_tensor(const Tensor& tensor) {
  if (is_strided(tensor) && !tensor.is_quantized() && format_of(tensor.dtype()))
    return array_of(tensor);
  return nb::cast(PyTensor(tensor));
}

void bind_tensor(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  nb::class_<PyTensor>(
      m, "Tensor", nb::type_slots(slots),
      "A tensor of a model: what NumPy has no array for (bfloat16, quantized, sparse), or any.\n\n"
      "It has the buffer protocol and DLPack, so numpy.asarray() and torch.from_dlpack() share "
      "its\n"
      "memory; it keeps that memory alive.")
      .def(
          "__init__",
          [](PyTensor* self, nb::handle array, const std::optional<std::string>& dtype,
             std::optional<double> scale, std::optional<int64_t> zero_point) {
            new (self) PyTensor(make(array, dtype, scale, zero_point));
          },
          nb::arg("array"), nb::arg("dtype") = nb::none(), nb::arg("scale") = nb::none(),
          nb::arg("zero_point") = nb::none(),
          nb::sig("def __init__(self, array: typing.Any, dtype: str | None = None, scale: float | "
                  "None = None, "
                  "zero_point: int | None = None) -> None"),
          "Shares the array's memory, unless `dtype` converts it. With `scale`, a quantized tensor "
          "over integers.")
      .def_prop_ro(
          "dtype", [](const PyTensor& t) { return std::string(dtype_name(t.tensor.dtype())); },
          "\"float32\", \"bfloat16\", \"quint8\": PyTorch's names")
      .def_prop_ro(
          "shape", [](const PyTensor& t) { return tuple_of(t.tensor.sizes()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "strides",
          [](const PyTensor& t) {
            strided(t.tensor);
            return tuple_of(t.tensor.strides());
          },
          nb::sig("def strides(self) -> tuple[int, ...]"),
          "In elements, as in PyTorch; not in bytes, as in NumPy.")
      .def_prop_ro("ndim", [](const PyTensor& t) { return t.tensor.dim(); })
      .def_prop_ro(
          "size", [](const PyTensor& t) { return t.tensor.numel(); }, "Number of elements.")
      .def_prop_ro("nbytes",
                   [](const PyTensor& t) {
                     return static_cast<size_t>(t.tensor.numel()) * element_size(t.tensor.dtype());
                   })
      .def_prop_ro(
          "layout", [](const PyTensor& t) { return layout_of(t.tensor); },
          "\"strided\", \"sparse_coo\", \"sparse_csr\" or \"nested\".")
      .def_prop_ro(
          "data_ptr",
          [](const PyTensor& t) {
            strided(t.tensor);
            return reinterpret_cast<uintptr_t>(t.tensor.raw_data());
          },
          "Address of the first element.")
      .def_prop_ro("is_quantized", [](const PyTensor& t) { return t.tensor.is_quantized(); })
      .def_prop_ro(
          "scale", [](const PyTensor& t) { return t.tensor.q_scale(); },
          "Of a tensor with one scale.")
      .def_prop_ro("zero_point", [](const PyTensor& t) { return t.tensor.q_zero_point(); })
      .def_prop_ro(
          "scales", [](const PyTensor& t) { return numpy_of(t.tensor.q_per_channel_scales()); },
          nb::sig("def scales(self) -> Array"), "Of a tensor with a scale for each channel.")
      .def_prop_ro(
          "zero_points",
          [](const PyTensor& t) { return numpy_of(t.tensor.q_per_channel_zero_points()); },
          nb::sig("def zero_points(self) -> Array"))
      .def_prop_ro(
          "axis", [](const PyTensor& t) { return t.tensor.q_per_channel_axis(); },
          "Of the channels.")
      .def(
          "numpy", [](const PyTensor& t) { return numpy_of(t.tensor); },
          nb::sig("def numpy(self) -> Array"),
          "An array over the same memory: of a quantized tensor its integers. What NumPy cannot "
          "hold is copied:\n"
          "bfloat16 as float32, sparse tensors as dense ones.")
      .def(
          "__array__",
          [](const PyTensor& t, const nb::object& dtype, const nb::object& copy) {
            nb::object array = numpy_of(t.tensor);
            if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
            return !copy.is_none() && cast_to<bool>(copy, "copy") ? nb::object(array.attr("copy")())
                                                                  : array;
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                  "Array"))
      .def("__dlpack__", dlpack,
           nb::sig("def __dlpack__(self, **kwargs: typing.Any) -> typing.Any"))
      .def(
          "__dlpack_device__", [](const PyTensor&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "int_repr",
          [](const PyTensor& t) {
            return numpy_of(reinterpret(t.tensor, integers_of(t.tensor.dtype())));
          },
          nb::sig("def int_repr(self) -> Array"),
          "The integers of a quantized tensor, over the same memory.")
      .def(
          "dequantize",
          [](const PyTensor& t) {
            integers_of(t.tensor.dtype());
            return numpy_of(ops::dequantize(t.tensor));
          },
          nb::sig("def dequantize(self) -> Array"),
          "The real numbers that a quantized tensor stands for, float32.")
      .def(
          "to_dense", [](const PyTensor& t) { return numpy_of(ops::to_dense(t.tensor)); },
          nb::sig("def to_dense(self) -> Array"))
      .def(
          "indices", [](const PyTensor& t) { return numpy_of(sparse_parts(t.tensor).indices); },
          nb::sig("def indices(self) -> Array"), "Of a sparse tensor, [sparse dims, nnz].")
      .def(
          "values", [](const PyTensor& t) { return numpy_of(sparse_parts(t.tensor).values); },
          nb::sig("def values(self) -> Array"), "Of a sparse tensor, [nnz, ...].")
      .def(
          "to",
          [](const PyTensor& t, const std::string& dtype) {
            return PyTensor(t.tensor.to(parse_dtype(dtype)));
          },
          nb::arg("dtype"), "Converted; the tensor itself if it has that dtype.")
      .def(
          "contiguous",
          [](const PyTensor& t, const std::string& format) {
            return PyTensor(t.tensor.contiguous(parse_format(format)));
          },
          nb::arg("memory_format") = "contiguous",
          "In that order in memory: contiguous, channels_last or channels_last_3d.")
      .def(
          "clone", [](const PyTensor& t) { return PyTensor(t.tensor.clone()); }, "A copy.")
      .def(
          "tolist", [](const PyTensor& t) { return numpy_of(t.tensor).attr("tolist")(); },
          nb::sig("def tolist(self) -> typing.Any"))
      .def(
          "item", [](const PyTensor& t) { return numpy_of(t.tensor).attr("item")(); },
          nb::sig("def item(self) -> typing.Any"))
      .def("__len__",
           [](const PyTensor& t) {
             if (t.tensor.dim() == 0) throw nb::type_error("len() of a tensor without dimensions");
             return t.tensor.size(0);
           })
      .def("__repr__",
           [](const PyTensor& t) { return "torchlet.Tensor(" + t.tensor.describe() + ")"; });
}

}  // namespace torchlet::python
