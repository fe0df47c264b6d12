// Copies and conversions: copy_, clone, contiguous, to, item.
#include <algorithm>

#include "kernels/layout/transpose.h"
#include "ops/core/op.h"
#include "ops/creation/factory.h"
#include "ops/engines/quantize.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {

void check_device(const Value& device) {
  if (device.is_none()) return;
  const std::string& name = device.to_string();
  if (name == "cpu" || name.starts_with("cpu:")) return;
  fail(ErrorCode::kUnsupported,
       "device '%s' is not available: Torchlet's tensors live on the CPU. Save the model "
       "with its tensors and device constants on the CPU",
       name.c_str());
}

void check_layout(const Value& layout) {
  if (layout.is_none() || layout.to_int() == static_cast<int64_t>(Layout::kStrided)) return;
  fail(ErrorCode::kUnsupported, "only the strided layout is supported here (torch.strided)");
}

DType factory_dtype(std::optional<DType> dtype, const Value& layout, const Value& device,
                    DType fallback) {
  check_layout(layout);
  check_device(device);
  return dtype.value_or(fallback);
}

Tensor copy_into(const Tensor& target, const Tensor& source) {
  check_no_internal_overlap(target);
  TensorImpl& to = *target.impl();
  if (to.quantizer && !source.is_quantized()) {
    target.copy_(quantize(source, to.dtype, to.quantizer));
    return target;
  }
  TORCHLET_CHECK(to.quantizer || !source.is_quantized(),
                 "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use "
                 "dequantize to get a float Tensor from a quantized Tensor");
  if (to.quantizer) {
    TORCHLET_CHECK(to.dtype == source.dtype(), "Quantized copy of %s into %s is not defined",
                   source.describe().c_str(), target.describe().c_str());
    to.quantizer = source.impl()->quantizer;
  }
  target.copy_(source);
  return target;
}

Tensor empty_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format) {
  const MemoryFormat wanted = format.value_or(MemoryFormat::kPreserve);
  if (wanted == MemoryFormat::kPreserve) return torchlet::empty_like(self, dtype);
  const Tensor result = empty(self.sizes(), dtype, wanted);
  if (dtype == self.dtype()) result.impl()->quantizer = self.impl()->quantizer;
  return result;
}

namespace {

// Sparse and nested tensors are made of dense ones; each is handled by itself.
template <typename Fn>
Tensor map_parts(const Tensor& self, const Fn& fn) {
  const TensorImpl& from = *self.impl();
  auto impl = make_ref<TensorImpl>();
  impl->sizes = from.sizes;
  impl->strides = from.strides;
  impl->numel = from.numel;
  impl->dtype = from.dtype;
  if (from.sparse) {
    SparseParts parts = *from.sparse;
    parts.values = fn(parts.values);
    impl->dtype = parts.values.dtype();
    impl->sparse = std::make_shared<const SparseParts>(std::move(parts));
  } else if (from.nested) {
    std::vector<Tensor> parts;
    for (const Tensor& part : *from.nested) parts.push_back(fn(part));
    if (!parts.empty()) impl->dtype = parts[0].dtype();
    impl->nested = std::make_shared<const std::vector<Tensor>>(std::move(parts));
  }
  return Tensor(std::move(impl));
}

}  // namespace

Tensor clone(const Tensor& self, std::optional<MemoryFormat> format) {
  if (!self.impl()->storage) {
    return map_parts(self, [&](const Tensor& part) { return clone(part, format); });
  }
  const Tensor result = empty_like(self, self.dtype(), format);
  result.copy_(self);
  return result;
}

namespace {

Tensor convert(const Tensor& self, DType dtype, bool copy, std::optional<MemoryFormat> format) {
  if (!self.impl()->storage) {
    if (dtype == self.dtype() && !copy) return self;
    return map_parts(self, [&](const Tensor& part) { return convert(part, dtype, copy, format); });
  }
  const MemoryFormat wanted = format.value_or(MemoryFormat::kPreserve);
  const bool same_layout =
      wanted == MemoryFormat::kPreserve || self.suggest_memory_format() == wanted;
  if (dtype == self.dtype()) {
    return same_layout && !copy ? self : clone(self, format);
  }
  TORCHLET_CHECK(
      !is_quantized(dtype) && !self.is_quantized(),
      "a tensor is quantized with quantize_per_tensor and back with dequantize, not with "
      "to()");
  const Tensor result = empty_like(self, dtype, format);
  result.copy_(self);
  return result;
}

Tensor to_dtype(const Tensor& self, DType dtype, bool, bool copy,
                std::optional<MemoryFormat> format) {
  return convert(self, dtype, copy, format);
}
Tensor to_device(const Tensor& self, const Value& device, DType dtype, bool, bool copy,
                 std::optional<MemoryFormat> format) {
  check_device(device);
  return convert(self, dtype, copy, format);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool, bool copy,
                std::optional<MemoryFormat> format) {
  return convert(self, other.dtype(), copy, format);
}
Tensor to_dtype_layout(const Tensor& self, std::optional<DType> dtype, const Value& layout,
                       const Value& device, const Value&, bool, bool copy,
                       std::optional<MemoryFormat> format) {
  return convert(self, factory_dtype(dtype, layout, device, self.dtype()), copy, format);
}
Tensor to_copy(const Tensor& self, std::optional<DType> dtype, const Value& layout,
               const Value& device, const Value&, bool, std::optional<MemoryFormat> format) {
  return convert(self, factory_dtype(dtype, layout, device, self.dtype()), true, format);
}
Tensor to_prim_device(const Tensor& self, const Value& device, std::optional<DType> dtype, bool,
                      bool copy) {
  check_device(device);
  return convert(self, dtype.value_or(self.dtype()), copy, std::nullopt);
}
Tensor to_prim_dtype(const Tensor& self, std::optional<DType> dtype, bool, bool copy) {
  return convert(self, dtype.value_or(self.dtype()), copy, std::nullopt);
}

template <DType kTo>
Tensor cast(const Tensor& self, bool) {
  return convert(self, kTo, false, std::nullopt);
}

// As Tensor::contiguous, by the kernel: programs rearrange whole images with it.
Tensor contiguous(const Tensor& self, MemoryFormat format) {
  const auto size = static_cast<int64_t>(element_size(self.dtype()));
  if (format == MemoryFormat::kPreserve || self.is_contiguous(format) || is_meta(self) ||
      self.dim() > kernels::kMaxCopyDims || size > 8) {
    return self.contiguous(format);
  }
  Tensor result = empty(self.sizes(), self.dtype(), format);
  result.impl()->quantizer = self.impl()->quantizer;
  kernels::copy_strided(size, static_cast<int>(self.dim()), self.sizes().data(),
                        self.impl()->data(), self.strides().data(), result.impl()->data(),
                        result.strides().data());
  return result;
}

// Python's number out of a tensor with one element.
Scalar item(const Tensor& self) { return Value(self).to_scalar(); }

}  // namespace

TORCHLET_OP(copy_,
            "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
            [](const Tensor& self, const Tensor& source, bool) { return copy_into(self, source); });
TORCHLET_OP(copy_Tensor, "aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
            [](const Tensor& self, const Tensor& other) { return copy_into(self, other); });
TORCHLET_OP(copy_int, "aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)",
            [](const Tensor& self, int64_t other) {
              return copy_into(self, scalar_tensor(other, DType::kInt64));
            });
TORCHLET_OP(copy_float, "aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)",
            [](const Tensor& self, double other) {
              return copy_into(self, scalar_tensor(other, DType::kFloat64));
            });
// As in PyTorch, a source of the same sizes and dtype is given back.
TORCHLET_OP_WITH(copy, out("out") | may_alias(),
                 "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
                 [](const Tensor& self, const Tensor& source, bool) {
                   if (std::ranges::equal(self.sizes(), source.sizes()) && !self.is_quantized() &&
                       !source.is_quantized()) {
                     return convert(source, self.dtype(), false, std::nullopt);
                   }
                   return copy_into(torchlet::empty_like(self), source);
                 });

TORCHLET_OP_WITH(clone, on_meta() | out("out") | keeps_rank() | keeps_dtype() | places(PlaceRule::kAll),
                 "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone);
TORCHLET_OP_WITH(
    contiguous, on_meta() | keeps_rank() | keeps_dtype() | places(PlaceRule::kAll),
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> "
    "Tensor(a)",
    contiguous);

TORCHLET_OP_WITH(
    to_device, on_meta() | keeps_rank(),
    "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool "
    "non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    to_device);
TORCHLET_OP_WITH(to_dtype, on_meta() | keeps_rank() | places(PlaceRule::kAll),
                 "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool "
                 "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
                 to_dtype);
TORCHLET_OP_WITH(to_other, keeps_rank(),
                 "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool "
                 "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
                 to_other);
TORCHLET_OP_WITH(to_dtype_layout, keeps_rank(),
                 "aten::to.dtype_layout(Tensor(a) self, *, " TORCHLET_FACTORY_ARGS
                 ", bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
                 "Tensor(a)",
                 to_dtype_layout);
TORCHLET_OP_WITH(to_prim_Device, keeps_rank(),
                 "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool "
                 "non_blocking=False, bool copy=False) -> Tensor(b|a)",
                 to_prim_device);
TORCHLET_OP_WITH(
    to_prim_dtype, keeps_rank(),
    "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool "
    "copy=False) -> Tensor(b|a)",
    to_prim_dtype);
TORCHLET_OP_WITH(to_prim_other, keeps_rank(),
                 "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> "
                 "Tensor(b|a)",
                 [](const Tensor& self, bool, bool copy) {
                   return copy ? clone(self, std::nullopt) : self;
                 });
TORCHLET_OP(_to_copy,
            "aten::_to_copy(Tensor self, *, " TORCHLET_FACTORY_ARGS
            ", bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
            to_copy);
TORCHLET_OP_WITH(type_as, keeps_rank() | may_alias(),
                 "aten::type_as(Tensor self, Tensor other) -> Tensor",
                 [](const Tensor& self, const Tensor& other) {
                   return convert(self, other.dtype(), false, std::nullopt);
                 });
TORCHLET_OP_WITH(_cast_Byte, keeps_rank() | may_alias(),
                 "aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kUInt8>);
TORCHLET_OP_WITH(_cast_Char, keeps_rank() | may_alias(),
                 "aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kInt8>);
TORCHLET_OP_WITH(_cast_Short, keeps_rank() | may_alias(),
                 "aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kInt16>);
TORCHLET_OP_WITH(_cast_Int, keeps_rank() | may_alias(),
                 "aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kInt32>);
TORCHLET_OP_WITH(_cast_Long, keeps_rank() | may_alias(),
                 "aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kInt64>);
TORCHLET_OP_WITH(_cast_Half, keeps_rank() | may_alias(),
                 "aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kFloat16>);
TORCHLET_OP_WITH(_cast_Float, keeps_rank() | may_alias(),
                 "aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kFloat32>);
TORCHLET_OP_WITH(_cast_Double, keeps_rank() | may_alias(),
                 "aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor",
                 cast<DType::kFloat64>);
TORCHLET_OP(cpu, "aten::cpu(Tensor(a) self) -> Tensor(b|a)",
            [](const Tensor& self) { return self; });
TORCHLET_OP(cuda, "aten::cuda(Tensor(a) self) -> Tensor(b|a)", [](const Tensor& self) {
  check_device(Value::device("cuda"));
  return self;
});
TORCHLET_OP_WITH(_to_cpu, may_alias(), "aten::_to_cpu(Tensor[] tensors) -> Tensor[]",
                 [](const std::vector<Tensor>& tensors) { return tensors; });
TORCHLET_OP(pin_memory, "aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)",
            [](const Tensor& self, const Value&) { return self; });

TORCHLET_OP(item, "aten::item(Tensor self) -> Scalar", item);
TORCHLET_OP(_local_scalar_dense, "aten::_local_scalar_dense(Tensor self) -> Scalar", item);

}  // namespace torchlet::ops
