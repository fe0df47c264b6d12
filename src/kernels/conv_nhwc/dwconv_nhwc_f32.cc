#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/dwconv_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "base/selection.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
constexpr D d;
using T = float;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

HWY_INLINE V zero() { return hn::Zero(d); }
HWY_INLINE V set(float x) { return hn::Set(d, x); }
HWY_INLINE V load(const float* from) { return hn::LoadU(d, from); }
HWY_INLINE V load_first(const float* from, int64_t count) { return load_first(d, from, count); }
HWY_INLINE V load_bias_first(const float* from, int64_t count) {
  return count <= 0 ? zero() : load_first(from, count);
}
HWY_INLINE void store(V v, float* to) { hn::StoreU(v, d, to); }
HWY_INLINE void store_first(V v, float* to, int64_t count) { store_first(v, d, to, count); }
HWY_INLINE V mul_add(V a, V b, V c) { return hn::MulAdd(a, b, c); }
HWY_INLINE V apply_hardswish(V x) { return activate_hardswish(d, x); }

constexpr int kWideTile = 8;
#if HWY_TARGET <= HWY_AVX3
using Part = hn::Mask<D>;
constexpr int64_t kLeastChannels = 1;
HWY_INLINE Part part_of(int64_t count) { return hn::FirstN(d, static_cast<size_t>(count)); }
HWY_INLINE V load(const float* from, Part part) { return hn::MaskedLoad(part, d, from); }
HWY_INLINE V load_bias(const float* from, Part part) { return load(from, part); }
HWY_INLINE void store(V v, float* to, Part part) { hn::BlendedStore(v, part, d, to); }
#else
struct Part {};  // tiles have whole vectors
constexpr int64_t kLeastChannels = kDwConvBlock<float>;
HWY_INLINE Part part_of(int64_t) { return {}; }
HWY_INLINE V load(const float* from, Part) { return load(from); }
HWY_INLINE V load_bias(const float* from, Part) { return load(from); }
HWY_INLINE void store(V v, float* to, Part) { store(v, to); }
#endif

using DI = hn::RebindToSigned<D>;
struct Lookup {
  explicit Lookup(const int32_t* lane) : lanes(hn::SetTableIndices(d, lane)) {}
  HWY_INLINE V operator()(V v) const { return hn::TableLookupLanes(v, lanes); }
  decltype(hn::SetTableIndices(d, static_cast<const int32_t*>(nullptr))) lanes;
};
// Lanes from kLanes on are those of the second vector.
#if HWY_TARGET <= HWY_AVX3
struct Lookup2 {
  explicit Lookup2(const int32_t* lane) : lanes(hn::LoadU(DI(), lane)) {}
  HWY_INLINE V operator()(V first, V second) const {
    return V{_mm512_permutex2var_ps(first.raw, lanes.raw, second.raw)};
  }
  hn::Vec<DI> lanes;
};
#else
struct Lookup2 {
  explicit Lookup2(const int32_t* lane)
      : Lookup2(hn::LoadU(DI(), lane), hn::Set(DI(), kLanes - 1)) {}
  Lookup2(hn::Vec<DI> lane, hn::Vec<DI> last)
      : lanes(hn::IndicesFromVec(d, hn::And(lane, last))),
        is_second(hn::RebindMask(d, hn::Gt(lane, last))) {}
  HWY_INLINE V operator()(V first, V second) const {
    return hn::IfThenElse(is_second, hn::TableLookupLanes(second, lanes),
                          hn::TableLookupLanes(first, lanes));
  }
  decltype(hn::IndicesFromVec(d, hn::Zero(DI()))) lanes;
  hn::Mask<D> is_second;
};
#endif
#define TORCHLET_DWCONV_RARE 1  // wide windows and groups

#include "kernels/conv_nhwc/dwconv_nhwc-inl.h"

int64_t least_channels() { return kLeastChannels; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convolve);
HWY_EXPORT(least_channels);

void dwconv_task(const DwConvTask<float>& task) { HWY_DYNAMIC_DISPATCH(convolve)(task); }
int64_t dwconv_least_channels() { return HWY_DYNAMIC_DISPATCH(least_channels)(); }

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
