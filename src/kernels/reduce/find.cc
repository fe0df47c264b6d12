#include "kernels/reduce/find.h"

#define TORCHLET_NO_AVX3  // vectors wait for memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/find.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool kUpwards>
int64_t find(const float* x, int64_t begin, int64_t n, float limit) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  const auto border = hn::Set(d, limit);
  const auto stays = [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    return kUpwards ? hn::Le(v, border) : hn::Ge(v, border);
  };
  int64_t i = begin;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const auto first = hn::And(stays(i), stays(i + kLanes));
    const auto last = hn::And(stays(i + 2 * kLanes), stays(i + 3 * kLanes));
    if (!hn::AllTrue(d, hn::And(first, last))) break;
  }
  while (i < n && (kUpwards ? x[i] <= limit : x[i] >= limit)) ++i;
  return i;
}

int64_t find_beyond_f32(const float* x, int64_t begin, int64_t n, float limit, bool upwards) {
  return upwards ? find<true>(x, begin, n, limit) : find<false>(x, begin, n, limit);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(find_beyond_f32);

int64_t find_beyond(const float* x, int64_t begin, int64_t n, float limit, bool upwards) {
  return HWY_DYNAMIC_DISPATCH(find_beyond_f32)(x, begin, n, limit, upwards);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
