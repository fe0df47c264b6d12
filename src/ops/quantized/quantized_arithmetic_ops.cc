// Sums and products of quantized tensors.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/core/op.h"
#include "ops/quantized/quantized_map.h"

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

}  // namespace torchlet::ops
