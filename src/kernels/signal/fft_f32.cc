#define TORCHLET_NO_AVX3
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/signal/fft_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/signal/fft_stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void stage_f32(const FftStage<float>& stage) { any_stage(stage); }
void multiply_f32(const RowProducts<float>& rows) { multiply_any(rows); }
void split_f32(const float* from, float* re, float* im, int64_t count) {
  split_any(from, re, im, count);
}
void join_f32(const float* re, const float* im, float scale, float* to, int64_t count) {
  join_any(re, im, scale, to, count);
}

// What z[n - k] mirrors of z[k], and what it does not.
void split_pairs_f32(const RealPairs& pairs) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  const auto half = hn::Set(d, pairs.half);
  for (int64_t l = 0; l < pairs.lines; ++l) {
    const float *const re = pairs.re + l * pairs.n, *const im = pairs.im + l * pairs.n;
    float *const a = pairs.to + 2 * l * pairs.to_step, *const b = a + pairs.to_step;
    const auto split_one = [&](int64_t k, int64_t mirrored) {
      a[2 * k] = (re[k] + re[mirrored]) * pairs.half;
      a[2 * k + 1] = (im[k] - im[mirrored]) * pairs.half;
      b[2 * k] = (im[k] + im[mirrored]) * pairs.half;
      b[2 * k + 1] = (re[mirrored] - re[k]) * pairs.half;
    };
    split_one(0, 0);
    int64_t k = 1;
    for (; k + kLanes <= pairs.count; k += kLanes) {
      const int64_t mirrored = pairs.n - k - kLanes + 1;
      const auto x = hn::LoadU(d, re + k), x2 = hn::Reverse(d, hn::LoadU(d, re + mirrored));
      const auto y = hn::LoadU(d, im + k), y2 = hn::Reverse(d, hn::LoadU(d, im + mirrored));
      hn::StoreInterleaved2(hn::Mul(hn::Add(x, x2), half), hn::Mul(hn::Sub(y, y2), half), d,
                            a + 2 * k);
      hn::StoreInterleaved2(hn::Mul(hn::Add(y, y2), half), hn::Mul(hn::Sub(x2, x), half), d,
                            b + 2 * k);
    }
    for (; k < pairs.count; ++k) split_one(k, pairs.n - k);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(stage_f32);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(split_f32);
HWY_EXPORT(join_f32);
HWY_EXPORT(split_pairs_f32);

template <>
void run_stage(const FftStage<float>& stage) {
  HWY_DYNAMIC_DISPATCH(stage_f32)(stage);
}
template <>
void multiply_rows(const RowProducts<float>& rows) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)(rows);
}
void split_complex(const float* from, float* re, float* im, int64_t count) {
  HWY_DYNAMIC_DISPATCH(split_f32)(from, re, im, count);
}
void join_complex(const float* re, const float* im, float scale, float* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(join_f32)(re, im, scale, to, count);
}
void split_pairs(const RealPairs& pairs) { HWY_DYNAMIC_DISPATCH(split_pairs_f32)(pairs); }

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
