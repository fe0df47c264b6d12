// Tensors out of nothing: empty, zeros, ones, full and their _like and new_ forms; tensor() of
// Python numbers and lists.
#include <algorithm>

#include "ops/core/op.h"
#include "ops/creation/factory.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

using OptionalDType = std::optional<DType>;
using OptionalFormat = std::optional<MemoryFormat>;

// The dtype that a Python number has as a tensor.
DType scalar_dtype(const Scalar& value) { return wrapped_number(value).dtype(); }

Tensor filled(const Tensor& tensor, const Scalar& value) {
  tensor.copy_(element_of(tensor, value));
  return tensor;
}

MemoryFormat checked_format(OptionalFormat format) {
  TORCHLET_CHECK(format != MemoryFormat::kPreserve, "unsupported memory format Preserve");
  return format.value_or(MemoryFormat::kContiguous);
}

Tensor empty_op(const IntArray& size, OptionalDType dtype, const Value& layout, const Value& device,
                const Value&, OptionalFormat format) {
  return empty(size, factory_dtype(dtype, layout, device), checked_format(format));
}
Tensor empty_strided_op(const IntArray& size, const IntArray& stride, OptionalDType dtype,
                        const Value& layout, const Value& device, const Value&) {
  return empty_strided(size, stride, factory_dtype(dtype, layout, device));
}
Tensor zeros_op(const IntArray& size, OptionalDType dtype, const Value& layout, const Value& device,
                const Value&) {
  return zeros(size, factory_dtype(dtype, layout, device));
}
Tensor ones_op(const IntArray& size, OptionalDType dtype, const Value& layout, const Value& device,
               const Value&) {
  return full(size, 1, factory_dtype(dtype, layout, device));
}
Tensor full_op(const IntArray& size, const Scalar& value, OptionalDType dtype, const Value& layout,
               const Value& device, const Value&) {
  return filled(empty(size, factory_dtype(dtype, layout, device, scalar_dtype(value))), value);
}

Tensor empty_like_op(const Tensor& self, OptionalDType dtype, const Value& layout,
                     const Value& device, const Value&, OptionalFormat format) {
  const DType wanted = factory_dtype(dtype, layout, device, self.dtype());
  TORCHLET_CHECK(!self.is_quantized() || wanted == self.dtype(),
                 "It is currently not supported to specify a dtype that doesn't match the input "
                 "tensor's dtype via empty_like.  Specified: %s Input tensor's dtype: %s",
                 dtype_name(wanted).data(), dtype_name(self.dtype()).data());
  return empty_like(self, wanted, format);
}
Tensor full_like_op(const Tensor& self, const Scalar& value, OptionalDType dtype,
                    const Value& layout, const Value& device, const Value& pin,
                    OptionalFormat format) {
  return filled(empty_like_op(self, dtype, layout, device, pin, format), value);
}
Tensor zeros_like_op(const Tensor& self, OptionalDType dtype, const Value& layout,
                     const Value& device, const Value& pin, OptionalFormat format) {
  return full_like_op(self, 0, dtype, layout, device, pin, format);
}
Tensor ones_like_op(const Tensor& self, OptionalDType dtype, const Value& layout,
                    const Value& device, const Value& pin, OptionalFormat format) {
  return full_like_op(self, 1, dtype, layout, device, pin, format);
}

Tensor new_empty(const Tensor& self, const IntArray& size, OptionalDType dtype, const Value& layout,
                 const Value& device, const Value&) {
  const Tensor result = empty(size, factory_dtype(dtype, layout, device, self.dtype()));
  if (result.dtype() == self.dtype()) result.impl()->quantizer = self.impl()->quantizer;
  return result;
}
Tensor new_empty_strided(const Tensor& self, const IntArray& size, const IntArray& stride,
                         OptionalDType dtype, const Value& layout, const Value& device,
                         const Value&) {
  return empty_strided(size, stride, factory_dtype(dtype, layout, device, self.dtype()));
}
Tensor new_full(const Tensor& self, const IntArray& size, const Scalar& value, OptionalDType dtype,
                const Value& layout, const Value& device, const Value& pin) {
  return filled(new_empty(self, size, dtype, layout, device, pin), value);
}
Tensor new_zeros(const Tensor& self, const IntArray& size, OptionalDType dtype, const Value& layout,
                 const Value& device, const Value& pin) {
  return new_full(self, size, 0, dtype, layout, device, pin);
}
Tensor new_ones(const Tensor& self, const IntArray& size, OptionalDType dtype, const Value& layout,
                const Value& device, const Value& pin) {
  return new_full(self, size, 1, dtype, layout, device, pin);
}

// The out= forms take the dtype of `out`.
Tensor full_out(const IntArray& size, const Scalar& value, const Tensor& out) {
  resize_output(out, size);
  return filled(out, value);
}

// ---- tensor(data) ----

// Sizes of a nested list, taken along its first elements.
IntArray list_shape(const Value& data) {
  IntArray shape;
  const Value* at = &data;
  while (at->is_list()) {
    const std::vector<Value>& items = at->list_ref().items;
    shape.push_back(std::ssize(items));
    TORCHLET_CHECK(std::ssize(shape) <= kMaxDims, "too many nested lists for a tensor");
    if (items.empty()) break;
    at = &items[0];
  }
  return shape;
}

// What the innermost elements are: known even of an empty list by its type.
DType list_dtype(const Value& data) {
  const Value* at = &data;
  while (at->is_list() && !at->list_ref().items.empty()) at = &at->list_ref().items[0];
  if (at->is_scalar()) return scalar_dtype(at->to_scalar());
  TypePtr type = at->is_list() ? at->list_ref().element_type : nullptr;
  while (type && type->is(TypeKind::kList)) type = type->element(0);
  if (type) {
    if (type->is(TypeKind::kInt)) return DType::kInt64;
    if (type->is(TypeKind::kFloat)) return default_dtype();
    if (type->is(TypeKind::kBool)) return DType::kBool;
    if (type->is(TypeKind::kComplex)) return DType::kComplex64;
    if (type->is(TypeKind::kTensor)) return default_dtype();
  }
  fail(ErrorCode::kRuntime, "Input must be of ints, floats, or bools, got %s", at->kind_name());
}

// Stores the elements one by one at `to`, row-major.
class ListReader {
 public:
  ListReader(const Tensor& result) : shape_(result.sizes()), dtype_(result.dtype()) {
    at_ = static_cast<std::byte*>(result.raw_data());
  }

  void read(const Value& data, size_t depth) {
    if (depth == shape_.size()) return store(data);
    TORCHLET_CHECK(data.is_list(), "Expected a list at dim %zu, got %s", depth, data.kind_name());
    const std::vector<Value>& items = data.list_ref().items;
    TORCHLET_CHECK(std::ssize(items) == shape_[depth],
                   "Expected sequence of length %lld at dim %zu (got %zu)",
                   static_cast<long long>(shape_[depth]), depth, items.size());
    for (const Value& item : items) read(item, depth + 1);
  }

 private:
  void store(const Value& data) {
    TORCHLET_CHECK(data.is_scalar() || data.is_tensor(),
                   "Input must be of ints, floats, or bools, got %s", data.kind_name());
    const Scalar number = data.to_scalar();
    if (number.is_complex()) {
      const std::complex<double> value = number.to_complex();
      put(&value, DType::kComplex128);
    } else if (number.is_integral()) {
      const int64_t value = number.to_int();
      put(&value, DType::kInt64);
    } else {
      const double value = number.to_double();
      put(&value, DType::kFloat64);
    }
  }
  void put(const void* value, DType dtype) {
    convert_elements(value, dtype, 1, at_, dtype_, 1, 1);
    at_ += element_size(dtype_);
  }

  IntSpan shape_;
  DType dtype_;
  std::byte* at_;
};

Tensor tensor_of(const Value& data, OptionalDType dtype, const Value& device) {
  check_device(device);
  const Tensor result = empty(list_shape(data), dtype ? *dtype : list_dtype(data));
  ListReader(result).read(data, 0);
  return result;
}

Tensor tensor_op(const Value& data, OptionalDType dtype, const Value& device, bool requires_grad) {
  const Tensor result = tensor_of(data, dtype, device);
  result.impl()->requires_grad = requires_grad;
  return result;
}

Tensor as_tensor(const Tensor& data, OptionalDType dtype, const Value& device) {
  check_device(device);
  return data.to(dtype.value_or(data.dtype()));
}

Tensor scalar_tensor_op(const Scalar& value, OptionalDType dtype, const Value& layout,
                        const Value& device, const Value&) {
  return filled(empty({}, factory_dtype(dtype, layout, device)), value);
}

}  // namespace

TORCHLET_OP_WITH(empty_memory_format, varies(),
                 "aten::empty.memory_format(int[] size, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 empty_op);
TORCHLET_OP_WITH(
    empty_out, varies(),
    "aten::empty.out(int[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> "
    "Tensor(a!)",
    [](const IntArray& size, OptionalFormat, const Tensor& out) {
      resize_output(out, size);
      return out;
    });
TORCHLET_OP_WITH(empty_strided, varies(),
                 "aten::empty_strided(int[] size, int[] stride, *, " TORCHLET_FACTORY_ARGS
                 ") -> Tensor",
                 empty_strided_op);
TORCHLET_OP_WITH(zeros, rank(RankRule::kLength),
                 "aten::zeros(int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor", zeros_op);
TORCHLET_OP(zeros_out, "aten::zeros.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)",
            [](const IntArray& size, const Tensor& out) { return full_out(size, 0, out); });
TORCHLET_OP_WITH(ones, rank(RankRule::kLength),
                 "aten::ones(int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor", ones_op);
TORCHLET_OP(ones_out, "aten::ones.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)",
            [](const IntArray& size, const Tensor& out) { return full_out(size, 1, out); });
TORCHLET_OP(full,
            "aten::full(int[] size, Scalar fill_value, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            full_op);
TORCHLET_OP(full_out,
            "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)",
            full_out);
TORCHLET_OP(_efficientzerotensor,
            "aten::_efficientzerotensor(int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            zeros_op);

TORCHLET_OP_WITH(empty_like, out("out") | keeps_rank() | varies(),
                 "aten::empty_like(Tensor self, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 empty_like_op);
TORCHLET_OP_WITH(zeros_like, out("out") | keeps_rank(),
                 "aten::zeros_like(Tensor self, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 zeros_like_op);
TORCHLET_OP_WITH(ones_like, out("out") | keeps_rank(),
                 "aten::ones_like(Tensor self, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 ones_like_op);
TORCHLET_OP_WITH(full_like, out("out") | keeps_rank(),
                 "aten::full_like(Tensor self, Scalar fill_value, *, " TORCHLET_FACTORY_ARGS
                 ", MemoryFormat? memory_format=None) -> Tensor",
                 full_like_op);
TORCHLET_OP_WITH(new_empty, out("out") | varies(),
                 "aten::new_empty(Tensor self, int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 new_empty);
TORCHLET_OP_WITH(
    new_empty_strided, out("out") | varies(),
    "aten::new_empty_strided(Tensor self, int[] size, int[] stride, *, " TORCHLET_FACTORY_ARGS
    ") -> Tensor",
    new_empty_strided);
TORCHLET_OP_WITH(new_full, out("out"),
                 "aten::new_full(Tensor self, int[] size, Scalar fill_value, "
                 "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 new_full);
TORCHLET_OP_WITH(new_zeros, out("out"),
                 "aten::new_zeros(Tensor self, int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 new_zeros);
TORCHLET_OP_WITH(new_ones, out("out"),
                 "aten::new_ones(Tensor self, int[] size, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
                 new_ones);

TORCHLET_OP(tensor_float,
            "aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool "
            "requires_grad=False) -> Tensor",
            tensor_op);
TORCHLET_OP(tensor_int,
            "aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool "
            "requires_grad=False) -> Tensor",
            tensor_op);
TORCHLET_OP(tensor_bool,
            "aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool "
            "requires_grad=False) -> Tensor",
            tensor_op);
TORCHLET_OP(tensor_complex,
            "aten::tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool "
            "requires_grad=False) -> Tensor",
            tensor_op);
TORCHLET_OP(tensor,
            "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool "
            "requires_grad=False) -> Tensor",
            tensor_op);
TORCHLET_OP(as_tensor_float,
            "aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> "
            "Tensor",
            tensor_of);
TORCHLET_OP(as_tensor_int,
            "aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
            tensor_of);
TORCHLET_OP(
    as_tensor_bool,
    "aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    tensor_of);
TORCHLET_OP(as_tensor_complex,
            "aten::as_tensor.complex(complex t, *, ScalarType? dtype=None, Device? device=None) -> "
            "Tensor",
            tensor_of);
TORCHLET_OP(as_tensor,
            "aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> "
            "Tensor(b|a)",
            as_tensor);
TORCHLET_OP(as_tensor_list,
            "aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> "
            "Tensor",
            tensor_of);
TORCHLET_OP(scalar_tensor, "aten::scalar_tensor(Scalar s, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            scalar_tensor_op);
TORCHLET_OP(scalar_tensor_out, "aten::scalar_tensor.out(Scalar s, *, Tensor(a!) out) -> Tensor(a!)",
            [](const Scalar& value, const Tensor& out) { return full_out({}, value, out); });

}  // namespace torchlet::ops
