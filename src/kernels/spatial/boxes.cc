#include "kernels/spatial/boxes.h"

#define TORCHLET_NO_AVX3  // of the reference alone
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spatial/boxes.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void mark(const BoxArrays& b, int64_t box, int64_t begin, int64_t end, float most, uint8_t* marks) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  const auto x1 = hn::Set(d, b.x1[box]), y1 = hn::Set(d, b.y1[box]);
  const auto x2 = hn::Set(d, b.x2[box]), y2 = hn::Set(d, b.y2[box]);
  const auto area = hn::Set(d, b.areas[box]), limit = hn::Set(d, most), zero = hn::Zero(d);
  for (int64_t i = begin; i < end; i += kLanes) {
    const int64_t rest = std::min(kLanes, end - i);
    const auto load = [&](const float* x) HWY_ATTR { return load_first(d, x + i, rest); };
    const auto w = hn::Sub(hn::Min(x2, load(b.x2)), hn::Max(x1, load(b.x1)));
    const auto h = hn::Sub(hn::Min(y2, load(b.y2)), hn::Max(y1, load(b.y1)));
    const auto shared = hn::Mul(hn::Max(w, zero), hn::Max(h, zero));
    const auto share = hn::Div(shared, hn::Sub(hn::Add(area, load(b.areas)), shared));
    if (hn::AllFalse(d, hn::Gt(share, limit))) continue;
    HWY_ALIGN float shares[kLanes];
    hn::Store(share, d, shares);
    for (int64_t k = 0; k < rest; ++k) marks[i + k] |= shares[k] > most;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(mark);

void mark_overlapping(const BoxArrays& boxes, int64_t box, int64_t begin, int64_t end, float most,
                      uint8_t* marks) {
  HWY_DYNAMIC_DISPATCH(mark)(boxes, box, begin, end, most, marks);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
