#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nchw/im2col_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/conv_nchw/conv_internal.h"
#include "kernels/gemm/gemm_driver.h"
#include "kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IndexTag = hn::ScalableTag<int32_t>;
using IndexVec = hn::Vec<IndexTag>;
constexpr int kLanes = static_cast<int>(HWY_LANES(float));

// One vector of output pixels: where its lanes look in the input under the first tap of the window.
struct PixelVector {
  int32_t top[kLanes], left[kLanes];
  bool in_one_row;  // all lanes exist and are neighbours in one output row
};

// How such a vector reads the plane under one tap.
enum class Access : int32_t { kAllPadding, kContiguous, kEverySecond, kGather };
struct TapAccess {
  Access access;
  int32_t first;          // index of the first lane's pixel, if not kGather
  int32_t index[kLanes];  // of each lane's pixel or -1 for padding, if kGather
};

// Lanes from number `count` on do not exist: they look far outside of the plane, hence at padding.
void locate(const Window2dShape& s, int64_t pixel, int64_t count, PixelVector* v) {
  int64_t y = pixel / s.out_w, x = pixel % s.out_w;
  v->in_one_row = count >= kLanes && x + kLanes <= s.out_w;
  for (int lane = 0; lane < kLanes; ++lane) {
    v->top[lane] = lane < count ? static_cast<int32_t>(y * s.stride_h - s.pad_h) : INT32_MIN / 2;
    v->left[lane] = static_cast<int32_t>(x * s.stride_w - s.pad_w);
    if (++x == s.out_w) x = 0, ++y;
  }
}

void store_index(const Window2dShape& s, const PixelVector& v, int32_t dy, int32_t dx,
                 int32_t* index) {
  const IndexTag d;
  const auto minus_one = hn::Set(d, -1), w = hn::Set(d, static_cast<int32_t>(s.in_w));
  const auto y = hn::Add(hn::LoadU(d, v.top), hn::Set(d, dy));
  const auto x = hn::Add(hn::LoadU(d, v.left), hn::Set(d, dx));
  const auto inside =
      hn::And(hn::And(hn::Gt(y, minus_one), hn::Gt(hn::Set(d, static_cast<int32_t>(s.in_h)), y)),
              hn::And(hn::Gt(x, minus_one), hn::Gt(w, x)));
  hn::StoreU(hn::IfThenElse(inside, hn::Add(hn::Mul(y, w), x), minus_one), d, index);
}

void find_access(const Window2dShape& s, const PixelVector& v, int32_t dy, int32_t dx,
                 TapAccess* tap) {
  const int64_t y = v.top[0] + dy, x = v.left[0] + dx;
  const int64_t last_x = x + (kLanes - 1) * s.stride_w;
  tap->first = static_cast<int32_t>(y * s.in_w + x);
  tap->access = Access::kGather;
  if (v.in_one_row) {
    const bool is_inside = x >= 0 && last_x < s.in_w;
    if (y < 0 || y >= s.in_h) {
      tap->access = Access::kAllPadding;
    } else if (is_inside && s.stride_w == 1) {
      tap->access = Access::kContiguous;
    } else if (is_inside && s.stride_w == 2 && tap->first + 2 * kLanes <= s.in_h * s.in_w) {
      // Two whole vectors are read, one element more than is used.
      tap->access = Access::kEverySecond;
    }
  }
  if (tap->access == Access::kGather) store_index(s, v, dy, dx, tap->index);
}

HWY_INLINE hn::Vec<hn::ScalableTag<float>> load_pixels(const float* plane, const TapAccess& tap) {
  const hn::ScalableTag<float> d;
  switch (tap.access) {
    case Access::kAllPadding:
      return hn::Zero(d);
    case Access::kContiguous:
      return hn::LoadU(d, plane + tap.first);
    case Access::kEverySecond:
      return hn::ConcatEven(d, hn::LoadU(d, plane + tap.first + kLanes),
                            hn::LoadU(d, plane + tap.first));
    default:
      break;
  }
  const IndexTag di;
  const auto index = hn::LoadU(di, tap.index);
  const auto values = hn::GatherIndex(d, plane, hn::Max(index, hn::Zero(di)));
  return hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(index, hn::Zero(di))), values);
}

void pack_im2col(const Window2dShape& s, const float* const* planes, int64_t tap, int64_t k,
                 int64_t n0, int64_t n, int64_t width, float* HWY_RESTRICT to) {
  const int64_t vectors = (n + kLanes - 1) / kLanes;  // what is beyond is never read
  const int64_t taps = s.kernel_h * s.kernel_w;
  const Scratch<TapAccess> table(taps * vectors);
  for (int64_t v = 0; v < vectors; ++v) {
    PixelVector pixels;
    locate(s, n0 + v * kLanes, n - v * kLanes, &pixels);
    for (int64_t t = 0; t < taps; ++t) {
      find_access(s, pixels, static_cast<int32_t>(t / s.kernel_w * s.dilation_h),
                  static_cast<int32_t>(t % s.kernel_w * s.dilation_w), &table[t * vectors + v]);
    }
  }

  const hn::ScalableTag<float> d;
  for (int64_t row = 0; row < k; ++row, to += width) {
    for (int64_t v = 0; v < vectors; ++v) {
      hn::StoreU(*planes ? load_pixels(*planes, table[tap * vectors + v]) : hn::Zero(d), d,
                 to + v * kLanes);
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
