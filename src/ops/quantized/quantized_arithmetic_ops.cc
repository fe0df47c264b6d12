// quantized::* operators that compute on real numbers and quantize the result: every one is exact
// up to the rounding of its output, which is also PyTorch's (fbgemm) contract.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/matmul.h"
#include "ops/engines/quantize.h"
#include "ops/nn/norm.h"

namespace torchlet::ops {
namespace {

struct QRange {
  double low, high;
};
QRange range_of(DType dtype) {
  if (dtype == DType::kQInt8) return {-128, 127};
  if (dtype == DType::kQInt32) return {-2147483648.0, 2147483647.0};
  return {0, 255};
}

Tensor quantize_like(const Tensor& real, const Tensor& like, double scale, int64_t zero_point) {
  return quantize(real, like.dtype(), per_tensor_quantizer(scale, zero_point));
}

template <typename F>
Tensor map_quantized(const Tensor& qx, double scale, int64_t zero_point, F f) {
  return quantize_like(map<kMapReal, 1>({dequantize(qx)}, DType::kFloat32, f), qx, scale,
                       zero_point);
}

// QNNPACK's addition of bytes in fixed point (qnnpack/src/operator:
// compute_add_quantization_params): both inputs are multiplied by their scale over the output's
// with 21 bits, added, and shifted with rounding half away from zero.
struct FixedPointAdd {
  FixedPointAdd(const Tensor& a, const Tensor& b, double scale, int64_t zero_point, bool relu)
      : output_zero(static_cast<int32_t>(zero_point)), low(relu ? output_zero : 0) {
    const float out_scale = static_cast<float>(scale);
    const float a_scale = static_cast<float>(a.q_scale()) / out_scale;
    const float b_scale = static_cast<float>(b.q_scale()) / out_scale;
    if (!std::isfinite(a_scale) || !std::isfinite(b_scale)) return;
    int exponent;
    std::frexp(std::max(a_scale, b_scale), &exponent);  // scale = m * 2^exponent, m in [0.5, 1)
    shift = 22 - exponent;
    if (!valid()) return;
    a_multiplier = static_cast<int64_t>(std::lrint(std::ldexp(a_scale, shift)));
    b_multiplier = static_cast<int64_t>(std::lrint(std::ldexp(b_scale, shift)));
    zero_product = -(a_multiplier * a.q_zero_point() + b_multiplier * b.q_zero_point());
  }
  // The ranges for which QNNPACK's 32-bit arithmetic holds.
  bool valid() const { return shift >= 13 && shift <= 31; }

  int64_t operator()(int64_t a, int64_t b) const {
    const int64_t sum = zero_product + a * a_multiplier + b * b_multiplier;
    const int64_t mask = (int64_t{1} << shift) - 1;
    const int64_t remainder = (sum & mask) - (sum < 0);
    const int64_t rounded = (sum >> shift) + (remainder > (mask >> 1));
    return std::clamp<int64_t>(rounded + output_zero, low, 255);
  }

  int64_t a_multiplier = 0, b_multiplier = 0, zero_product = 0;
  int shift = 0;
  int32_t output_zero, low;
};

Tensor as_bytes(const Tensor& q) {
  return make_tensor(q.impl()->storage, DType::kUInt8, q.sizes(), q.strides(), q.storage_offset());
}

template <bool kRelu>
Tensor add(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  if (qa.dtype() == DType::kQUInt8 && qb.dtype() == DType::kQUInt8) {
    const FixedPointAdd fixed(qa, qb, scale, zero_point, kRelu);
    if (fixed.valid()) {
      const Tensor bytes = map<kMapInt, 2>({as_bytes(qa), as_bytes(qb)}, DType::kUInt8, fixed);
      const Tensor result = make_tensor(bytes.impl()->storage, DType::kQUInt8, bytes.sizes(),
                                        bytes.strides(), bytes.storage_offset());
      result.impl()->quantizer = per_tensor_quantizer(scale, zero_point);
      return result;
    }
  }
  const Tensor sum = map<kMapReal, 2>(
      {dequantize(qa), dequantize(qb)}, DType::kFloat32,
      [](auto a, auto b) { return kRelu ? std::max(a + b, decltype(a)(0)) : a + b; });
  return quantize_like(sum, qa, scale, zero_point);
}

template <bool kRelu>
Tensor mul(const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
  const Tensor product = map<kMapReal, 2>(
      {dequantize(qa), dequantize(qb)}, DType::kFloat32,
      [](auto a, auto b) { return kRelu ? std::max(a * b, decltype(a)(0)) : a * b; });
  return quantize_like(product, qa, scale, zero_point);
}

// A number is rounded to the input's scale, so that the integers can stay as they are and only the
// zero point moves; if it would leave the type, the scale grows instead (qadd.cpp).
template <bool kRelu>
Tensor add_scalar(const Tensor& qa, const Scalar& b) {
  const double scale = qa.q_scale(), zero_point = static_cast<double>(qa.q_zero_point());
  const QRange range = range_of(qa.dtype());
  const double shift = std::nearbyint(b.to_double() / scale);
  const double moved = zero_point - shift;
  double new_scale = scale, new_zero = moved;
  if (moved < range.low) {
    new_scale = (range.high - moved) / (range.high - range.low) * scale;
    new_zero = range.low;
  } else if (moved > range.high) {
    new_scale = (moved - range.low) / (range.high - range.low) * scale;
    new_zero = range.high;
  }
  return map_quantized(qa, new_scale, saturating_int(new_zero), [=](auto x) {
    using T = decltype(x);
    const T sum = x + static_cast<T>(shift * scale);
    return kRelu ? std::max(sum, T(0)) : sum;
  });
}

// The integers stay and the scale is multiplied; a negative number mirrors them (qmul.cpp).
template <bool kRelu>
Tensor mul_scalar(const Tensor& qa, const Scalar& b) {
  const double factor = b.to_double();
  const QRange range = range_of(qa.dtype());
  double scale = qa.q_scale() * std::fabs(factor);
  int64_t zero_point = qa.q_zero_point();
  if (factor == 0) {
    scale = 1;
    zero_point = 0;
  } else if (factor < 0) {
    zero_point = static_cast<int64_t>(range.high) - (zero_point - static_cast<int64_t>(range.low));
  }
  return map_quantized(qa, scale, zero_point, [=](auto x) {
    using T = decltype(x);
    const T product = x * static_cast<T>(factor);
    return kRelu ? std::max(product, T(0)) : product;
  });
}

template <bool kRelu>
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim, std::optional<double> scale,
           std::optional<int64_t> zero_point) {
  TORCHLET_CHECK(!tensors.empty(), "quantized::cat needs at least one tensor");
  static const Operator* const concatenate = find_operator("aten::cat", "");
  std::vector<Tensor> real;
  for (const Tensor& tensor : tensors) real.push_back(dequantize(tensor));
  Value args[] = {make_tensor_list(std::move(real)), Value(dim)}, result;
  concatenate->call(args, {&result, 1});
  Tensor joined = result.to_tensor();
  if (kRelu) {
    joined = map<kMapReal, 1>({joined}, DType::kFloat32,
                              [](auto x) { return std::max(x, decltype(x)(0)); });
  }
  const Tensor& first = tensors[0];
  return quantize_like(joined, first, scale.value_or(first.q_scale()),
                       zero_point.value_or(first.q_zero_point()));
}

Tensor clamp(const Tensor& qx, std::optional<Scalar> low, std::optional<Scalar> high) {
  const double least = low ? low->to_double() : -INFINITY,
               most = high ? high->to_double() : INFINITY;
  return map_quantized(qx, qx.q_scale(), qx.q_zero_point(), [=](auto x) {
    using T = decltype(x);
    return std::min(std::max(x, static_cast<T>(least)), static_cast<T>(most));
  });
}

template <bool kRelu>
Tensor batch_norm(const Tensor& qx, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                  const Tensor& var, double eps, double scale, int64_t zero_point) {
  Tensor real = ops::batch_norm(dequantize(qx), weight, bias, mean, var, false, 0, eps).output;
  if (kRelu) {
    real = map<kMapReal, 1>({real}, DType::kFloat32,
                            [](auto x) { return std::max(x, decltype(x)(0)); });
  }
  return quantize_like(real, qx, scale, zero_point);
}

Tensor quantized_groups(const Tensor& qx, int64_t groups, const Tensor& weight, const Tensor& bias,
                        double eps, double scale, int64_t zero_point) {
  return quantize_like(ops::group_norm(dequantize(qx), groups, weight, bias, eps).output, qx, scale,
                       zero_point);
}

Tensor elu(const Tensor& qx, double scale, int64_t zero_point, double alpha, double factor,
           double input_factor) {
  return map_quantized(qx, scale, zero_point, [=](auto x) {
    using T = decltype(x);
    return x > 0 ? x * static_cast<T>(factor)
                 : std::expm1(x * static_cast<T>(input_factor)) * static_cast<T>(alpha * factor);
  });
}

Tensor call_float(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  Value result;
  op->call(args, {&result, 1});
  return result.to_tensor();
}

}  // namespace

#define TORCHLET_QUANTIZED_BINARY(id, name, fn, scalar_fn)                                       \
  TORCHLET_OP_WITH(quantized_##id, on_meta(),                                                    \
                   "quantized::" name                                                            \
                   "(Tensor qa, Tensor qb, float scale, int zero_point) -> "                     \
                   "Tensor qc",                                                                  \
                   fn);                                                                          \
  TORCHLET_OP(quantized_##id##_Scalar,                                                           \
              "quantized::" name ".Scalar(Tensor qa, Scalar b) -> Tensor qc", scalar_fn);        \
  TORCHLET_OP(quantized_##id##_Scalar2,                                                          \
              "quantized::" name ".Scalar2(Scalar b, Tensor qa) -> Tensor qc",                   \
              [](const Scalar& b, const Tensor& qa) { return scalar_fn(qa, b); });               \
  TORCHLET_OP(quantized_##id##_out,                                                              \
              "quantized::" name "_out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out", \
              [](const Tensor& qa, const Tensor& qb, const Tensor& out) {                        \
                out.copy_(fn(qa, qb, out.q_scale(), out.q_zero_point()));                        \
                return out;                                                                      \
              })
TORCHLET_QUANTIZED_BINARY(add, "add", add<false>, add_scalar<false>);
TORCHLET_QUANTIZED_BINARY(add_relu, "add_relu", add<true>, add_scalar<true>);
TORCHLET_QUANTIZED_BINARY(mul, "mul", mul<false>, mul_scalar<false>);
TORCHLET_QUANTIZED_BINARY(mul_relu, "mul_relu", mul<true>, mul_scalar<true>);
#undef TORCHLET_QUANTIZED_BINARY

#define TORCHLET_QUANTIZED_SCALAR(id, name, fn)                                             \
  TORCHLET_OP(quantized_##id, "quantized::" name "(Tensor qa, Scalar b) -> Tensor qc", fn); \
  TORCHLET_OP(quantized_##id##_Tensor,                                                      \
              "quantized::" name ".Tensor(Tensor qa, Tensor b) -> Tensor qc", fn)
TORCHLET_QUANTIZED_SCALAR(add_scalar, "add_scalar", add_scalar<false>);
TORCHLET_QUANTIZED_SCALAR(add_scalar_relu, "add_scalar_relu", add_scalar<true>);
TORCHLET_QUANTIZED_SCALAR(mul_scalar, "mul_scalar", mul_scalar<false>);
TORCHLET_QUANTIZED_SCALAR(mul_scalar_relu, "mul_scalar_relu", mul_scalar<true>);
#undef TORCHLET_QUANTIZED_SCALAR

TORCHLET_OP_WITH(quantized_cat, on_meta(),
                 "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
                 cat<false>);
TORCHLET_OP_WITH(
    quantized_cat_relu, on_meta(),
    "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    cat<true>);
TORCHLET_OP(quantized_matmul,
            "quantized::matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
            [](const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
              return quantize_like(matmul(dequantize(qa), dequantize(qb)), qa, scale, zero_point);
            });

TORCHLET_OP_WITH(quantized_clamp, on_meta(),
                 "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
                 clamp);
TORCHLET_OP(quantized_relu6, "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor",
            [](const Tensor& qx, bool inplace) {
              const Tensor result = clamp(qx, Scalar(0.0), Scalar(6.0));
              if (!inplace) return result;
              qx.copy_(result);
              return qx;
            });
TORCHLET_OP(quantized_threshold,
            "quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
            [](const Tensor& qx, double threshold, double value) {
              return map_quantized(qx, qx.q_scale(), qx.q_zero_point(), [=](auto x) {
                using T = decltype(x);
                return x > static_cast<T>(threshold) ? x : static_cast<T>(value);
              });
            });
TORCHLET_OP_WITH(
    quantized_leaky_relu, on_meta(),
    "quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int "
    "output_zero_point) -> Tensor",
    [](const Tensor& qx, double slope, bool, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [=](auto x) {
        using T = decltype(x);
        return x > 0 ? x : x * static_cast<T>(slope);
      });
    });
TORCHLET_OP(quantized_prelu,
            "quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) "
            "-> Tensor",
            [](const Tensor& qx, const Tensor& weight, double scale, int64_t zero_point) {
              return quantize_like(
                  call_float("aten::prelu", "", {dequantize(qx), dequantize(weight)}), qx, scale,
                  zero_point);
            });
TORCHLET_OP_WITH(
    quantized_elu, on_meta(),
    "quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, Scalar "
    "scale=1, Scalar input_scale=1) -> Tensor",
    elu);
TORCHLET_OP(quantized_celu,
            "quantized::celu(Tensor self, float output_scale, int output_zero_point, Scalar "
            "alpha=1) -> Tensor",
            [](const Tensor& qx, double scale, int64_t zero_point, double alpha) {
              TORCHLET_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
              return elu(qx, scale, zero_point, alpha, 1, 1 / alpha);
            });
TORCHLET_OP_WITH(
    quantized_hardswish, on_meta(),
    "quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [](auto x) {
        using T = decltype(x);
        return x * std::min(std::max(x + 3, T(0)), T(6)) / 6;
      });
    });
TORCHLET_OP_WITH(
    quantized_sigmoid, on_meta(),
    "quantized::sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [](auto x) { return 1 / (1 + std::exp(-x)); });
    });
TORCHLET_OP_WITH(
    quantized_softmax, on_meta(),
    "quantized::softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, int64_t dim, double scale, int64_t zero_point) {
      return quantize_like(call_float("aten::softmax", "int", {dequantize(qx), dim, Value()}), qx,
                           scale, zero_point);
    });
TORCHLET_OP_WITH(
    quantized_dropout, may_alias(),
    "quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, bool "
    "training=False) -> Tensor",
    [](const Tensor& qx, double, int64_t, const Scalar&, bool) { return qx; });

#define TORCHLET_QUANTIZED_BATCH_NORM(id, name, fn)                                   \
  TORCHLET_OP(quantized_##id,                                                         \
              "quantized::" name                                                      \
              "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "        \
              "var, float eps, float output_scale, int output_zero_point) -> Tensor", \
              fn)
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm, "batch_norm", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm1d, "batch_norm1d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm2d, "batch_norm2d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm3d, "batch_norm3d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm_relu, "batch_norm_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm1d_relu, "batch_norm1d_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm2d_relu, "batch_norm2d_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm3d_relu, "batch_norm3d_relu", batch_norm<true>);
#undef TORCHLET_QUANTIZED_BATCH_NORM
TORCHLET_OP(aten_quantized_batch_norm,
            "aten::quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, "
            "Tensor var, "
            "float eps, float output_scale, int output_zero_point) -> Tensor",
            batch_norm<false>);
TORCHLET_OP(quantized_layer_norm,
            "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? "
            "bias, float eps, "
            "float output_scale, int output_zero_point) -> Tensor",
            [](const Tensor& qx, const IntArray& shape, const Tensor& weight, const Tensor& bias,
               double eps, double scale, int64_t zero_point) {
              return quantize_like(layer_norm(dequantize(qx), shape, weight, bias, eps), qx, scale,
                                   zero_point);
            });
TORCHLET_OP(quantized_group_norm,
            "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, "
            "float eps, float "
            "output_scale, int output_zero_point) -> Tensor",
            quantized_groups);
TORCHLET_OP(quantized_instance_norm,
            "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float "
            "output_scale, "
            "int output_zero_point) -> Tensor",
            [](const Tensor& qx, const Tensor& weight, const Tensor& bias, double eps, double scale,
               int64_t zero_point) {
              return quantized_groups(qx, qx.size(1), weight, bias, eps, scale, zero_point);
            });

}  // namespace torchlet::ops
