// Quantizing and dequantizing, the properties of quantized tensors, and fake quantization.
#include <algorithm>
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/quantize.h"

namespace torchlet::ops {
namespace {

std::shared_ptr<const Quantizer> per_channel(const Tensor& scales, const Tensor& zero_points,
                                             int64_t axis) {
  auto quantizer = std::make_shared<Quantizer>();
  const bool float_zero_points = is_floating_point(zero_points.dtype());
  quantizer->qscheme =
      float_zero_points ? QScheme::kPerChannelAffineFloatQParams : QScheme::kPerChannelAffine;
  quantizer->scales = scales.to(float_zero_points ? DType::kFloat32 : DType::kFloat64).contiguous();
  quantizer->zero_points =
      zero_points.to(float_zero_points ? DType::kFloat32 : DType::kInt64).contiguous();
  quantizer->axis = axis;
  return quantizer;
}

Tensor quantize_per_tensor(const Tensor& self, double scale, int64_t zero_point, DType dtype) {
  TORCHLET_CHECK(is_floating_point(self.dtype()), "Quantize only works on Float Tensor, got %s",
                 dtype_name(self.dtype()).data());
  TORCHLET_CHECK(is_quantized(dtype), "quantize_per_tensor needs a quantized dtype, got %s",
                 dtype_name(dtype).data());
  return quantize(self, dtype, per_tensor_quantizer(scale, zero_point));
}

Tensor quantize_per_channel(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                            int64_t axis, DType dtype) {
  axis = wrap_dim(axis, self.dim());
  TORCHLET_CHECK(scales.numel() == self.size(axis) && zero_points.numel() == self.size(axis),
                 "length of scales and zero_points must equal to channel");
  return quantize(self, dtype, per_channel(scales, zero_points, axis));
}

// The same memory as plain integers.
Tensor int_repr(const Tensor& self) {
  const DType dtype = self.dtype() == DType::kQInt8    ? DType::kInt8
                      : self.dtype() == DType::kQInt32 ? DType::kInt32
                                                       : DType::kUInt8;
  TORCHLET_CHECK(self.is_quantized(), "int_repr needs a quantized tensor, got %s",
                 self.describe().c_str());
  const Tensor copy = self.clone();
  return make_tensor(copy.impl()->storage, dtype, copy.sizes(), copy.strides(), 0);
}

Tensor with_quantizer(const Tensor& self, std::shared_ptr<const Quantizer> quantizer) {
  const DType dtype = self.dtype() == DType::kInt8    ? DType::kQInt8
                      : self.dtype() == DType::kInt32 ? DType::kQInt32
                                                      : DType::kQUInt8;
  const Tensor copy = self.clone();
  Tensor result = make_tensor(copy.impl()->storage, dtype, copy.sizes(), copy.strides(), 0);
  result.impl()->quantizer = std::move(quantizer);
  return result;
}

Value dequantize_any(const Value& value) {
  if (value.is_tensor()) return dequantize(value.to_tensor());
  const DepthGuard guard;
  std::vector<Value> items;
  for (const Value& item : value.to_list()) items.push_back(dequantize_any(item));
  return value.is_tuple() ? Value::tuple(std::move(items))
                          : make_list(types::tensor(), std::move(items));
}

// The integers are round(x / scale) + zero_point; zero points that are floats are added before
// rounding.
template <typename T>
[[gnu::always_inline]] inline T fake_integer(T x, T scale, T zero_point, bool float_zero_point) {
  const T real = x * (T(1) / scale);
  return choose(float_zero_point, std::nearbyint(real + zero_point),
                std::nearbyint(real) + zero_point);
}

template <typename T>
T clamped(T x, int64_t low, int64_t high) {
  const T lowest = static_cast<T>(low), most = static_cast<T>(high);
  const T raised = choose(x < lowest, lowest, x);
  return choose(most < raised, most, raised);
}

// (q - zero_point) * scale with q clamped.
Tensor fake_quantize(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t low,
                     int64_t high, bool float_zero_point = false) {
  TORCHLET_CHECK(low <= high, "`quant_min` should be less than or equal to `quant_max`");
  return map<kMapReal | kMapSteps, 3>(
      {self, scale, zero_point}, self.dtype(), [=](auto x, auto s, auto z) {
        return (clamped(fake_integer(x, s, z, float_zero_point), low, high) - z) * s;
      });
}

Tensor in_range_mask(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t low,
                     int64_t high, bool float_zero_point = false) {
  return map_bool<kMapReal | kMapSteps, 3>({self, scale, zero_point}, self.dtype(),
                                           [=](auto x, auto s, auto z) {
                                             const auto q = fake_integer(x, s, z, float_zero_point);
                                             return clamped(q, low, high) == q;
                                           });
}

void check_zero_point(double value, int64_t low, int64_t high) {
  TORCHLET_CHECK(static_cast<double>(low) <= value && value <= static_cast<double>(high),
                 "`zero_point` must be between `quant_min` and `quant_max`");
}

void check_zero_points(const Tensor& zero_points, int64_t low, int64_t high) {
  const Tensor values = zero_points.to(DType::kFloat64).contiguous();
  const double* data = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) check_zero_point(data[i], low, high);
}

// [C] as a shape that broadcasts along `axis`.
Tensor along_axis(const Tensor& values, int64_t rank, int64_t axis) {
  IntArray shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(wrap_dim(axis, rank))] = values.numel();
  return view(values.to(DType::kFloat32).contiguous(), shape);
}

Tensor float_scalar(double value) { return scalar_tensor(Scalar(value), DType::kFloat32); }

Tensor double_scalar(double value) { return scalar_tensor(Scalar(value), DType::kFloat64); }

}  // namespace

TORCHLET_OP_WITH(
    quantize_per_tensor, on_meta() | keeps_rank(),
    "aten::quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) "
    "-> Tensor",
    quantize_per_tensor);
TORCHLET_OP(
    quantize_per_tensor_tensor_qparams,
    "aten::quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
    "ScalarType dtype) -> Tensor",
    quantize_per_tensor);
TORCHLET_OP(
    quantize_per_tensor_tensors,
    "aten::quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, "
    "ScalarType dtype) -> Tensor[]",
    [](const std::vector<Tensor>& tensors, const Tensor& scales, const Tensor& zero_points,
       DType dtype) {
      std::vector<Tensor> results;
      for (size_t i = 0; i < tensors.size(); ++i) {
        const int64_t index = static_cast<int64_t>(i);
        results.push_back(quantize_per_tensor(tensors[i], select(scales, 0, index).item<double>(),
                                              select(zero_points, 0, index).item<int64_t>(),
                                              dtype));
      }
      return results;
    });
TORCHLET_OP(quantize_per_channel,
            "aten::quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, "
            "ScalarType "
            "dtype) -> Tensor",
            quantize_per_channel);
TORCHLET_OP(
    quantize_per_tensor_dynamic,
    "aten::quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor",
    [](const Tensor& self, DType dtype, bool /*reduce_range*/) {
      const QParams qparams = choose_qparams(self, dtype);
      return quantize_per_tensor(self, qparams.scale, qparams.zero_point, dtype);
    });
TORCHLET_OP(
    choose_qparams_per_tensor,
    "aten::_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)",
    [](const Tensor& self, bool /*reduce_range*/) {
      const QParams qparams = choose_qparams(self, DType::kQUInt8);
      return std::tuple(qparams.scale, qparams.zero_point);
    });

TORCHLET_OP_WITH(dequantize_self, on_meta() | out("self_out") | keeps_rank() | may_alias(),
                 "aten::dequantize.self(Tensor self) -> Tensor",
                 [](const Tensor& self) { return dequantize(self); });
TORCHLET_OP_WITH(dequantize_tensor, on_meta() | keeps_rank() | may_alias(),
                 "aten::dequantize.tensor(Tensor qtensor) -> Tensor",
                 [](const Tensor& self) { return dequantize(self); });
TORCHLET_OP_WITH(dequantize_tensors, per_type("tensors list") | may_alias(),
                 "aten::dequantize.$(Tensor[] tensors) -> Tensor[]", dequantize_any);
TORCHLET_OP_WITH(dequantize_any, may_alias(), "aten::dequantize.any(Any tensors) -> Any",
                 dequantize_any);

TORCHLET_OP(q_scale, "aten::q_scale(Tensor self) -> float",
            [](const Tensor& self) { return self.q_scale(); });
TORCHLET_OP(q_zero_point, "aten::q_zero_point(Tensor self) -> int",
            [](const Tensor& self) { return self.q_zero_point(); });
TORCHLET_OP(q_per_channel_scales, "aten::q_per_channel_scales(Tensor self) -> Tensor",
            [](const Tensor& self) { return self.q_per_channel_scales(); });
TORCHLET_OP(q_per_channel_zero_points, "aten::q_per_channel_zero_points(Tensor self) -> Tensor",
            [](const Tensor& self) { return self.q_per_channel_zero_points(); });
TORCHLET_OP(q_per_channel_axis, "aten::q_per_channel_axis(Tensor self) -> int",
            [](const Tensor& self) { return self.q_per_channel_axis(); });
TORCHLET_OP(qscheme, "aten::qscheme(Tensor self) -> QScheme",
            [](const Tensor& self) { return self.qscheme(); });
TORCHLET_OP(int_repr, "aten::int_repr(Tensor self) -> Tensor", int_repr);
TORCHLET_OP(
    make_per_tensor_quantized_tensor,
    "aten::_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
    [](const Tensor& self, double scale, int64_t zero_point) {
      return with_quantizer(self, per_tensor_quantizer(scale, zero_point));
    });
TORCHLET_OP(make_per_channel_quantized_tensor,
            "aten::_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor "
            "zero_point, int axis) "
            "-> Tensor",
            [](const Tensor& self, const Tensor& scales, const Tensor& zero_points, int64_t axis) {
              return with_quantizer(self,
                                    per_channel(scales, zero_points, wrap_dim(axis, self.dim())));
            });
TORCHLET_OP_WITH(
    empty_affine_quantized, varies(),
    "aten::_empty_affine_quantized(int[] size, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? "
    "device=None, bool? pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? "
    "memory_format=0) -> Tensor",
    [](const IntArray& size, std::optional<DType> dtype, const Value&, const Value&, const Value&,
       double scale, int64_t zero_point, std::optional<MemoryFormat> format) {
      return empty_quantized(size, dtype.value_or(DType::kQUInt8),
                             per_tensor_quantizer(scale, zero_point),
                             format.value_or(MemoryFormat::kContiguous));
    });
TORCHLET_OP_WITH(empty_per_channel_affine_quantized, varies(),
                 "aten::_empty_per_channel_affine_quantized(int[] size, *, Tensor scales, Tensor "
                 "zero_points, int "
                 "axis, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
                 "pin_memory=None, "
                 "MemoryFormat? memory_format=0) -> Tensor",
                 [](const IntArray& size, const Tensor& scales, const Tensor& zero_points,
                    int64_t axis, std::optional<DType> dtype, const Value&, const Value&,
                    const Value&, std::optional<MemoryFormat> format) {
                   return empty_quantized(size, dtype.value_or(DType::kQInt8),
                                          per_channel(scales, zero_points, axis),
                                          format.value_or(MemoryFormat::kContiguous));
                 });

// ---- fake quantization ----

TORCHLET_OP(fake_quantize_per_tensor_affine,
            "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int "
            "quant_min, int "
            "quant_max) -> Tensor",
            [](const Tensor& self, double scale, int64_t zero_point, int64_t low, int64_t high) {
              check_zero_point(static_cast<double>(zero_point), low, high);
              return fake_quantize(self, double_scalar(scale),
                                   double_scalar(static_cast<double>(zero_point)), low, high);
            });
TORCHLET_OP(fake_quantize_per_tensor_affine_tensor_qparams,
            "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, "
            "Tensor zero_point, "
            "int quant_min, int quant_max) -> Tensor",
            [](const Tensor& self, double scale, int64_t zero_point, int64_t low, int64_t high) {
              return fake_quantize(self, float_scalar(scale),
                                   float_scalar(static_cast<double>(zero_point)), low, high);
            });
TORCHLET_OP(
    fake_quantize_per_tensor_affine_cachemask,
    "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int "
    "quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    [](const Tensor& self, double scale, int64_t zero_point, int64_t low, int64_t high) {
      check_zero_point(static_cast<double>(zero_point), low, high);
      const Tensor s = double_scalar(scale), z = double_scalar(static_cast<double>(zero_point));
      return std::tuple(fake_quantize(self, s, z, low, high), in_range_mask(self, s, z, low, high));
    });
TORCHLET_OP(fake_quantize_per_channel_affine,
            "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
            "int axis, int "
            "quant_min, int quant_max) -> Tensor",
            [](const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
               int64_t low, int64_t high) {
              check_zero_points(zero_point, low, high);
              return fake_quantize(self, along_axis(scale, self.dim(), axis),
                                   along_axis(zero_point, self.dim(), axis), low, high,
                                   is_floating_point(zero_point.dtype()));
            });
TORCHLET_OP(fake_quantize_per_channel_affine_cachemask,
            "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor "
            "zero_point, int "
            "axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
            [](const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
               int64_t low, int64_t high) {
              check_zero_points(zero_point, low, high);
              const Tensor s = along_axis(scale, self.dim(), axis),
                           z = along_axis(zero_point, self.dim(), axis);
              const bool is_float = is_floating_point(zero_point.dtype());
              return std::tuple(fake_quantize(self, s, z, low, high, is_float),
                                in_range_mask(self, s, z, low, high, is_float));
            });
TORCHLET_OP(fake_quantize_learnable_per_tensor,
            "aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor "
            "zero_point, int "
            "quant_min, int quant_max, float grad_factor=1.) -> Tensor",
            [](const Tensor& self, double scale, double zero_point, int64_t low, int64_t high,
               double) {
              const double z = std::clamp(std::nearbyint(zero_point), static_cast<double>(low),
                                          static_cast<double>(high));
              return fake_quantize(self, float_scalar(scale), float_scalar(z), low, high);
            });
TORCHLET_OP(fake_quantize_learnable_per_channel,
            "aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor "
            "zero_point, int "
            "axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
            [](const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
               int64_t low, int64_t high, double) {
              const Tensor z =
                  map<kMapReal, 1>({zero_point.to(DType::kFloat32)}, DType::kFloat32, [&](auto x) {
                    using T = decltype(x);
                    return std::clamp(std::nearbyint(x), static_cast<T>(low), static_cast<T>(high));
                  });
              return fake_quantize(self, along_axis(scale, self.dim(), axis),
                                   along_axis(z, self.dim(), axis), low, high);
            });
// Values that binary16 can hold.
TORCHLET_OP(saturate_weight_to_fp16, "aten::_saturate_weight_to_fp16(Tensor weight) -> Tensor",
            [](const Tensor& weight) {
              return map<kMapReal, 1>({weight}, weight.dtype(), [](auto x) {
                using T = decltype(x);
                return std::clamp(x, T(-65504), T(65504));
              });
            });

}  // namespace torchlet::ops
