#include "ops/engines/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/selection.h"
#include "base/thread_pool.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/fold.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kGrain = 16384;

// Scale and zero point of one run; the zero point is a float for kPerChannelAffineFloatQParams.
struct Affine {
  float scale;
  float zero_point;
  bool float_zero_point;
};

template <typename Q>
void quantize_run(const float* in, Q* out, int64_t count, const Affine& affine) {
  const float inverse = 1.0f / affine.scale;
  // Floats hold these integers exactly, and the loop becomes one of vectors.
  if (sizeof(Q) == 1 && !affine.float_zero_point && std::abs(affine.zero_point) < 0x1p20f) {
    const float low = std::numeric_limits<Q>::min() - affine.zero_point,
                high = std::numeric_limits<Q>::max() - affine.zero_point;
    const auto integer = [=, zero_point = affine.zero_point](float x) {
      const float q = std::nearbyint(x * inverse);
      const float raised = choose((q > low) & (q < 0x1p63f), q, low);  // as below
      return static_cast<int32_t>(choose(raised < high, raised, high) + zero_point);
    };
    const void* const operands[] = {in};
    return detail::run_steps(&detail::map_steps<Q, float, 1, decltype(integer)>, &integer, 1, out,
                             sizeof(Q), operands, sizeof(float), count);
  }
  constexpr double kLow = std::numeric_limits<Q>::min(), kHigh = std::numeric_limits<Q>::max();
  for (int64_t i = 0; i < count; ++i) {
    const double q = affine.float_zero_point
                         ? std::nearbyint(in[i] * inverse + affine.zero_point)
                         : static_cast<double>(std::nearbyint(in[i] * inverse)) +
                               static_cast<double>(affine.zero_point);
    // NaN and what does not fit an int64 (infinity) become the smallest value, as PyTorch's cast
    // does.
    const bool fits = q >= kLow && q < 0x1p63;
    out[i] = fits ? static_cast<Q>(std::min(q, kHigh)) : std::numeric_limits<Q>::min();
  }
}

template <typename Q>
void dequantize_run(const Q* in, float* out, int64_t count, const Affine& affine) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (static_cast<float>(in[i]) - affine.zero_point) * affine.scale;
  }
}

// Calls run(first element, count, affine) for the runs of one channel each (or of one tensor).
// `shape` is walked row-major.
template <typename Run>
void for_each_affine(IntSpan shape, const Quantizer& quantizer, const Run& run) {
  int64_t numel = 1;
  for (int64_t size : shape) numel *= size;
  if (quantizer.per_tensor()) {
    const Affine affine{static_cast<float>(quantizer.scale),
                        static_cast<float>(quantizer.zero_point), false};
    parallel_for(numel, kGrain,
                 [&](int64_t begin, int64_t end) { run(begin, end - begin, affine); });
    return;
  }
  const size_t axis = static_cast<size_t>(wrap_dim(quantizer.axis, std::ssize(shape)));
  const int64_t channels = shape.empty() ? 1 : shape[axis];
  TORCHLET_CHECK(quantizer.scales.numel() == channels && quantizer.zero_points.numel() == channels,
                 "a per-channel quantizer needs one scale and zero point for each of %lld channels",
                 static_cast<long long>(channels));
  int64_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const Tensor scales = quantizer.scales.to(DType::kFloat32).contiguous();
  const Tensor zero_points = quantizer.zero_points.to(DType::kFloat32).contiguous();
  const bool float_zero_point = quantizer.qscheme == QScheme::kPerChannelAffineFloatQParams;
  const int64_t rows = inner == 0 ? 0 : numel / inner;
  parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(inner, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t c = row % channels;
                   run(row * inner, inner,
                       Affine{scales.data_ptr<float>()[c], zero_points.data_ptr<float>()[c],
                              float_zero_point});
                 }
               });
}

template <typename Fn>
void with_integer_type(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kQUInt8:
      return fn(uint8_t{});
    case DType::kQInt8:
      return fn(int8_t{});
    case DType::kQInt32:
      return fn(int32_t{});
    default:
      fail(ErrorCode::kUnsupported,
           "quantized tensors of %s cannot be converted element by element",
           dtype_name(dtype).data());
  }
}

void require_quantized() {
  if constexpr (!selection::kHasQuantized) {
    fail(ErrorCode::kUnsupported,
         "quantized tensors, and this libtorchlet was built without them; build with "
         "TORCHLET_FEATURES=quantized");
  }
}

}  // namespace

Tensor dequantize(const Tensor& self) {
  if (!self.is_quantized()) return self.to(DType::kFloat32);
  require_quantized();
  TORCHLET_CHECK(self.impl()->quantizer, "a quantized tensor without scale and zero point");
  const Quantizer& quantizer = *self.impl()->quantizer;
  const bool flat =
      quantizer.per_tensor() && is_non_overlapping_and_dense(self.sizes(), self.strides());
  const Tensor from = flat ? self : self.contiguous();
  const Tensor result = empty_like(from, DType::kFloat32);
  if (is_meta(result)) return result;
  with_integer_type(self.dtype(), [&](auto zero) {
    using Q = decltype(zero);
    const Q* in = static_cast<const Q*>(from.raw_data());
    float* to = result.data_ptr<float>();
    for_each_affine(from.sizes(), quantizer, [&](int64_t at, int64_t count, const Affine& affine) {
      dequantize_run(in + at, to + at, count, affine);
    });
  });
  return result;
}

Tensor quantize(const Tensor& self, DType dtype, std::shared_ptr<const Quantizer> quantizer) {
  require_quantized();
  TORCHLET_CHECK(quantizer, "a quantized tensor without scale and zero point");
  Tensor from = self.to(DType::kFloat32);
  const bool flat =
      quantizer->per_tensor() && is_non_overlapping_and_dense(from.sizes(), from.strides());
  if (!flat) from = from.contiguous();
  const Tensor result = empty_like(from, dtype);
  result.impl()->quantizer = quantizer;
  if (is_meta(result)) return result;
  with_integer_type(dtype, [&](auto zero) {
    using Q = decltype(zero);
    const float* in = from.data_ptr<float>();
    Q* to = static_cast<Q*>(result.raw_data());
    for_each_affine(from.sizes(), *quantizer, [&](int64_t at, int64_t count, const Affine& affine) {
      quantize_run(in + at, to + at, count, affine);
    });
  });
  return result;
}

QParams choose_qparams(const Tensor& self, DType dtype) {
  float low = 0, high = 0;  // zero is always in the range
  const Tensor floats = self.to(DType::kFloat32);
  const auto extreme = [&](kernels::Fold fold_of) {
    return *fold(fold_of, floats, {}, false, DType::kFloat32).data_ptr<float>();
  };
  if (self.numel() > 0) {
    low = std::min(low, extreme(kernels::Fold::kMin));
    high = std::max(high, extreme(kernels::Fold::kMax));
  }
  return choose_qparams(low, high, dtype);
}

QParams choose_qparams(float low, float high, DType dtype) {
  const int64_t q_low = dtype == DType::kQInt8 ? -128 : 0, q_high = q_low + 255;
  double scale = (static_cast<double>(high) - low) / static_cast<double>(q_high - q_low);
  // A scale of 0, or so small that its inverse overflows, is as good as any.
  if (static_cast<float>(scale) == 0.0f || std::isinf(1.0f / static_cast<float>(scale))) {
    scale = 0.1;
  }
  constexpr float kSmallest = 6.1e-5f;
  if (scale < kSmallest) {
    const float widen = kSmallest / static_cast<float>(scale);
    scale = kSmallest;
    low *= widen;
    high *= widen;
  }
  // The zero point from the end that loses less.
  const double q_min = static_cast<double>(q_low), q_max = static_cast<double>(q_high);
  const double low_error = std::fabs(q_min) + std::fabs(low / scale);
  const double high_error = std::fabs(q_max) + std::fabs(high / scale);
  const double zero = low_error < high_error ? q_min - low / scale : q_max - high / scale;
  return {scale, saturating_int(std::nearbyint(std::clamp(zero, q_min, q_max)))};
}

Tensor quantize_unit(const Tensor& self, DType dtype, double low, double high) {
  const int bits = dtype == DType::kQInt32 ? 32 : 8;
  const double scale = std::ldexp(high - low, -bits);
  const double lowest = dtype == DType::kQUInt8 ? 0 : -std::ldexp(1.0, bits - 1);
  return quantize(self, dtype, per_tensor_quantizer(scale, saturating_int(lowest - low / scale)));
}

}  // namespace torchlet::ops
