// Activations of whole matrices, which all kernels share: in every set of instructions one function
// that they call directly.
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/activation_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/activation-inl.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Function>
HWY_INLINE void map_rows(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t rows,
                         int64_t columns, const Function& function) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kStep = static_cast<int64_t>(HWY_LANES(float));
  if (x_stride == columns && y_stride == columns) {
    columns *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    for (int64_t i = 0; i < columns; i += kStep) {
      store_first(function(load_first(d, x + i, columns - i)), d, y + i, columns - i);
    }
  }
}

void activate_rows(const Activation& activation, const float* x, int64_t x_stride, float* y,
                   int64_t y_stride, int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const bool divides = !kIterates || divides_fast();
  const V low = hn::Set(d, activation.low), high = hn::Set(d, activation.high);
  const auto run = [&](const auto& function)
                       HWY_ATTR { map_rows(x, x_stride, y, y_stride, rows, columns, function); };
  switch (activation.kind) {
    case ActivationKind::kNone:
      if (x != y) run([](V v) HWY_ATTR { return v; });
      return;
    case ActivationKind::kClamp:
      return run([&](V v) HWY_ATTR { return clamp(v, low, high); });
    case ActivationKind::kLeakyRelu:
      return run([&](V v) HWY_ATTR { return activate_leaky_relu(d, v, low); });
    case ActivationKind::kHardswish:
      return run([&](V v) HWY_ATTR { return activate_hardswish(d, v); });
    case ActivationKind::kHardsigmoid:
      return run([&](V v) HWY_ATTR { return activate_hardsigmoid(d, v); });
    case ActivationKind::kSigmoid:
      return run([&](V v) HWY_ATTR { return activate_sigmoid(d, v); });
    case ActivationKind::kSilu:
      if (divides) return run([&](V v) HWY_ATTR { return activate_silu<true>(d, v); });
      return run([&](V v) HWY_ATTR { return activate_silu<!kIterates>(d, v); });
    case ActivationKind::kTanh:
      return run([&](V v) HWY_ATTR { return activate_tanh(d, v); });
    case ActivationKind::kGelu:
      if (divides) return run([&](V v) HWY_ATTR { return activate_gelu<true>(d, v); });
      return run([&](V v) HWY_ATTR { return activate_gelu<!kIterates>(d, v); });
    case ActivationKind::kGeluTanh:
      return run([&](V v) HWY_ATTR { return activate_gelu_tanh(d, v); });
  }
}

void add_rows(const float* residual, int64_t residual_stride, float* y, int64_t stride,
              int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kStep = static_cast<int64_t>(HWY_LANES(float));
  if (residual_stride == columns && stride == columns) {
    columns *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row, y += stride, residual += residual_stride) {
    for (int64_t i = 0; i < columns; i += kStep) {
      const int64_t left = columns - i;
      store_first(hn::Add(load_first(d, y + i, left), load_first(d, residual + i, left)), d, y + i,
                  left);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();
