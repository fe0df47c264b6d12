#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spatial/pool_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/simd/simd-inl.h"
#include "kernels/spatial/pooled_pixel.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Channels [c, c + count) of one output pixel, kVectors of them side by side.
template <int kVectors, class Combine, class Finish>
HWY_INLINE void pool_vectors(const PooledPixel<float>& pixel, float start, int64_t c, int64_t count,
                             const Combine& combine, const Finish& finish) {
  V value[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) value[v] = hn::Set(d, start);
  for (int64_t i = 0; i < pixel.rows; ++i) {
    const float* in = pixel.input + i * pixel.row_step + c;
    for (int64_t j = 0; j < pixel.columns; ++j, in += pixel.column_step) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        value[v] = combine(value[v], load_first(d, in + v * kLanes, count - v * kLanes));
      }
    }
  }
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    store_first(finish(value[v]), d, pixel.output + c + v * kLanes, count - v * kLanes);
  }
}

template <class Combine, class Finish>
HWY_INLINE void pool_channels(const PooledPixel<float>& pixel, float start, int64_t channels,
                              const Combine& combine, const Finish& finish) {
  constexpr int64_t kStep = 4 * kLanes;
  int64_t c = 0;
  for (; c + kStep <= channels; c += kStep) {
    pool_vectors<4>(pixel, start, c, kStep, combine, finish);
  }
  for (; c < channels; c += kLanes) {
    pool_vectors<1>(pixel, start, c, channels - c, combine, finish);
  }
}

void max_pixel(const PooledPixel<float>& pixel, int64_t channels) {
  pool_channels(
      pixel, -std::numeric_limits<float>::infinity(), channels,
      [](V max, V v)
          HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Gt(v, max), hn::IsNaN(v)), v, max); },
      [](V max) HWY_ATTR { return max; });
}

void places_pixel(const PooledPlaces& pixel, int64_t channels) {
  constexpr hn::RebindToSigned<D> integers;
  constexpr hn::Half<decltype(integers)> half;
  constexpr hn::Rebind<int64_t, decltype(half)> wide;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t count = std::min(kLanes, channels - c);
    V max = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto place = hn::Set(integers, static_cast<int32_t>(pixel.first));
    for (int64_t i = 0; i < pixel.rows; ++i) {
      const float* in = pixel.input + i * pixel.row_step + c;
      int64_t here = pixel.first + i * pixel.row_places;
      for (int64_t j = 0; j < pixel.columns; ++j, in += pixel.column_step) {
        const V v = load_first(d, in, count);
        const auto is_greater = hn::Or(hn::Gt(v, max), hn::IsNaN(v));
        max = hn::IfThenElse(is_greater, v, max);
        place = hn::IfThenElse(hn::RebindMask(integers, is_greater),
                               hn::Set(integers, static_cast<int32_t>(here)), place);
        here += pixel.column_places;
      }
    }
    int64_t* to = pixel.output + c;
    store_first(hn::PromoteTo(wide, hn::LowerHalf(half, place)), wide, to, count);
    if (count > kLanes / 2) {
      store_first(hn::PromoteTo(wide, hn::UpperHalf(half, place)), wide, to + kLanes / 2,
                  count - kLanes / 2);
    }
  }
}

void mean_pixel(const PooledPixel<float>& pixel, int64_t channels) {
  const V divisor = hn::Set(d, pixel.divisor);
  pool_channels(
      pixel, 0.0f, channels, [](V sum, V v) HWY_ATTR { return hn::Add(sum, v); },
      [&](V sum) HWY_ATTR { return hn::Div(sum, divisor); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(max_pixel);
HWY_EXPORT(mean_pixel);
HWY_EXPORT(places_pixel);

void pool_max(const PooledPixel<float>& pixel, int64_t channels) {
  HWY_DYNAMIC_DISPATCH(max_pixel)(pixel, channels);
}
void pool_places(const PooledPlaces& pixel, int64_t channels) {
  HWY_DYNAMIC_DISPATCH(places_pixel)(pixel, channels);
}
void pool_mean(const PooledPixel<float>& pixel, int64_t channels) {
  HWY_DYNAMIC_DISPATCH(mean_pixel)(pixel, channels);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
