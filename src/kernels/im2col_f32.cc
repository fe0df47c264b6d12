#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/im2col_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv_internal.h"
#include "kernels/gemm_driver.h"
#include "kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How one vector of output pixels finds its input pixels for one kernel position.
enum class Access : int32_t { kAllPadding, kContiguous, kEverySecond, kGather };

using IndexTag = hn::ScalableTag<int32_t>;
using IndexVec = hn::Vec<IndexTag>;
constexpr int kLanes = static_cast<int>(HWY_LANES(float));

// The input pixel of each lane as an index into its plane, or -1 where the lane falls on padding.
HWY_INLINE IndexVec pixel_index(IndexVec y, IndexVec x, int32_t h, int32_t w) {
  const IndexTag d;
  const auto minus_one = hn::Set(d, -1);
  const auto inside = hn::And(hn::And(hn::Gt(y, minus_one), hn::Gt(hn::Set(d, h), y)),
                              hn::And(hn::Gt(x, minus_one), hn::Gt(hn::Set(d, w), x)));
  return hn::IfThenElse(inside, hn::Add(hn::Mul(y, hn::Set(d, w)), x), minus_one);
}

HWY_INLINE Access classify(IndexVec index, int32_t plane) {
  const IndexTag d;
  const auto minus_one = hn::Set(d, -1);
  if (hn::AllTrue(d, hn::Eq(index, minus_one))) return Access::kAllPadding;
  const int32_t first = hn::GetLane(index);
  const auto offset = hn::Sub(index, hn::Set(d, first));
  const auto iota = hn::Iota(d, 0);
  if (first < 0) return Access::kGather;
  if (hn::AllTrue(d, hn::Eq(offset, iota))) return Access::kContiguous;
  // Two whole vectors are read: one element more than is used must still be in the plane.
  if (first + 2 * kLanes <= plane && hn::AllTrue(d, hn::Eq(offset, hn::Add(iota, iota)))) {
    return Access::kEverySecond;
  }
  return Access::kGather;
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> load_pixels(const float* plane, Access access,
                                                       const int32_t* index) {
  const hn::ScalableTag<float> d;
  const IndexTag di;
  switch (access) {
    case Access::kAllPadding:
      return hn::Zero(d);
    case Access::kContiguous:
      return hn::LoadU(d, plane + index[0]);
    case Access::kEverySecond: {
      const float* from = plane + index[0];
      return hn::ConcatEven(d, hn::LoadU(d, from + kLanes), hn::LoadU(d, from));
    }
    default:
      break;
  }
  const auto lane_index = hn::Load(di, index);
  const auto values = hn::GatherIndex(d, plane, hn::Max(lane_index, hn::Zero(di)));
  return hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(lane_index, hn::Zero(di))), values);
}

void pack_im2col(const Window2dShape& s, const float* const* planes, int64_t tap, int64_t k,
                 int64_t n0, int64_t n, int64_t width, float* HWY_RESTRICT to) {
  const IndexTag d;
  const int64_t vectors = width / kLanes;
  const int64_t taps = s.kernel_h * s.kernel_w;
  const int32_t in_h = static_cast<int32_t>(s.in_h), in_w = static_cast<int32_t>(s.in_w);

  // The input position of each pixel of the panel under the kernel's first tap. Beyond column n the
  // position is far outside of the plane, hence padding.
  const Scratch<int32_t> top(width), left(width);
  int64_t y = n0 / s.out_w, x = n0 % s.out_w;
  for (int64_t i = 0; i < width; ++i) {
    top[i] = i < n ? static_cast<int32_t>(y * s.stride_h - s.pad_h) : INT32_MIN / 2;
    left[i] = static_cast<int32_t>(x * s.stride_w - s.pad_w);
    if (++x == s.out_w) x = 0, ++y;
  }

  const Scratch<int32_t> index(taps * width);
  const Scratch<Access> access(taps * vectors);
  for (int64_t t = 0; t < taps; ++t) {
    const auto dy = hn::Set(d, static_cast<int32_t>(t / s.kernel_w * s.dilation_h));
    const auto dx = hn::Set(d, static_cast<int32_t>(t % s.kernel_w * s.dilation_w));
    for (int64_t v = 0; v < vectors; ++v) {
      const auto lanes = pixel_index(hn::Add(hn::Load(d, &top[v * kLanes]), dy),
                                     hn::Add(hn::Load(d, &left[v * kLanes]), dx), in_h, in_w);
      hn::Store(lanes, d, &index[t * width + v * kLanes]);
      access[t * vectors + v] = classify(lanes, in_h * in_w);
    }
  }

  const hn::ScalableTag<float> df;
  for (int64_t row = 0; row < k; ++row, to += width) {
    if (*planes == nullptr) {
      std::fill_n(to, width, 0.0f);
    } else {
      for (int64_t v = 0; v < vectors; ++v) {
        const auto pixels =
            load_pixels(*planes, access[tap * vectors + v], &index[tap * width + v * kLanes]);
        hn::StoreU(pixels, df, to + v * kLanes);
      }
    }
    if (++tap == taps) tap = 0, ++planes;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(pack_im2col);

void pack_im2col_f32(const Window2dShape& window, const float* const* planes, int64_t tap,
                     int64_t k, int64_t n0, int64_t n, float* to) {
  const int64_t width = panel_shape(to).width;
  HWY_DYNAMIC_DISPATCH(pack_im2col)(window, planes, tap, k, n0, n, width, to);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
