#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <limits>

#include "kernels/reduce/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void fold_f32(Fold fold, const FoldRows& matrix, void* into) {
  fold_any<float>(fold, matrix, into);
}

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kD;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
// Numbers that a row is folded into first, then one half with the other.
constexpr int64_t kSums = 32;
constexpr int64_t kVectors = kSums / kLanes;

template <class Combine, class Tag>
HWY_INLINE float fold_lanes(Tag, hn::Vec<Tag> v) {
  const Combine combine;
  if constexpr (hn::MaxLanes(Tag()) > 4) {
    const hn::Half<Tag> half;
    return fold_lanes<Combine>(half, combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    v = combine(v, hn::Shuffle1032(v));
    return hn::GetLane(combine(v, hn::Shuffle2301(v)));
  }
}

template <class Bring, class Combine>
HWY_NOINLINE void fold_runs_with(const FoldRuns& m, float identity, float* into,
                                 int64_t into_stride) {
  const Bring bring;
  const Combine combine;
  for (int64_t r = 0; r < m.runs; ++r, into += into_stride) {
    const float* const x = m.x + r * m.stride;
    const V near = m.center ? hn::Set(kD, m.center[r * into_stride]) : hn::Zero(kD);
    V all[kVectors];
    HWY_UNROLL(8)
    for (int64_t v = 0; v < kVectors; ++v) all[v] = hn::Set(kD, identity);
    int64_t i = 0;
    for (; i + kSums <= m.count; i += kSums) {
      HWY_UNROLL(8)
      for (int64_t v = 0; v < kVectors; ++v) {
        all[v] = combine(all[v], bring(hn::LoadU(kD, x + i + v * kLanes), near));
      }
    }
    for (int64_t v = 0; i < m.count; ++v, i += kLanes) {
      const int64_t left = m.count - i;
      const V some = combine(all[v], bring(load_first(kD, x + i, left), near));
      const auto is_there = hn::FirstN(kD, static_cast<size_t>(left < kLanes ? left : kLanes));
      all[v] = hn::IfThenElse(is_there, some, all[v]);
    }
    HWY_UNROLL(3)
    for (int64_t half = kVectors / 2; half > 0; half /= 2) {
      for (int64_t v = 0; v < half; ++v) all[v] = combine(all[v], all[v + half]);
    }
    *into = fold_lanes<Combine>(kD, all[0]);
  }
}

void fold_runs_f32(Fold fold, const FoldRuns& m, float* into, int64_t into_stride) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (fold) {
    case Fold::kSum:
      return fold_runs_with<Same, Add>(m, 0, into, into_stride);
    case Fold::kProduct:
      return fold_runs_with<Same, Multiply>(m, 1, into, into_stride);
    case Fold::kMax:
      return fold_runs_with<Same, Extreme<true>>(m, -kInfinity, into, into_stride);
    case Fold::kMin:
      return fold_runs_with<Same, Extreme<false>>(m, kInfinity, into, into_stride);
    case Fold::kSumOfAbs:
      return fold_runs_with<Magnitude, Add>(m, 0, into, into_stride);
    case Fold::kSumOfSquares:
      return fold_runs_with<Square, Add>(m, 0, into, into_stride);
    case Fold::kSumOfDistances:
      return fold_runs_with<Distance, Add>(m, 0, into, into_stride);
    case Fold::kSumOfNumbers:
      return fold_runs_with<Number, Add>(m, 0, into, into_stride);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(fold_f32);
HWY_EXPORT(fold_runs_f32);

void fold_rows(Fold fold, const FoldRows& matrix, void* into) {
  if (matrix.type != FoldType::kFloat32) return fold_rows_wide(fold, matrix, into);
  HWY_DYNAMIC_DISPATCH(fold_f32)(fold, matrix, into);
}

void fold_runs(Fold fold, const FoldRuns& matrix, float* into, int64_t into_stride) {
  HWY_DYNAMIC_DISPATCH(fold_runs_f32)(fold, matrix, into, into_stride);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
