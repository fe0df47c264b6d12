#include "kernels/peak/peak_flops.h"

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak/peak_flops.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `rounds` multiply-adds on each of kSums independent vectors; returns the operations. `result`
// keeps them from being left out.
int64_t multiply_add(int64_t rounds, volatile float* result) {
  constexpr int kSums = 12;
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.5f);
  auto y = x;
  hn::Vec<decltype(d)> sum[kSums];
  HWY_UNROLL(12)
  for (int i = 0; i < kSums; ++i) sum[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (int i = 0; i < kSums; ++i) sum[i] = hn::MulAdd(sum[i], y, x);
  }
  HWY_UNROLL(12)
  for (int i = 0; i < kSums; ++i) y = hn::Add(y, sum[i]);
  *result = hn::GetLane(y);
  return rounds * kSums * 2 * static_cast<int64_t>(hn::Lanes(d));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/peak/best_rate.h"

namespace torchlet::kernels {

HWY_EXPORT(multiply_add);

double measure_peak_flops() {
  volatile float result = 0;
  return best_rate([&] { return HWY_DYNAMIC_DISPATCH(multiply_add)(20000, &result); });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
