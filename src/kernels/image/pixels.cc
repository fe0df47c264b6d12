#define TORCHLET_NO_AVX3  // mostly bound by memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image/pixels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/image/pixels.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using V16 = hn::Vec<D16>;
constexpr D8 d8;
constexpr D16 d16;
constexpr D32 d32;
constexpr DF df;
constexpr hn::Rebind<uint8_t, D32> d32_bytes;  // as many bytes as there are lanes of 32 bits
// One pixel.
constexpr hn::CappedTag<float, 4> d_pixel;

constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
constexpr int64_t kWords = static_cast<int64_t>(HWY_LANES(int16_t));
constexpr int64_t kInts = static_cast<int64_t>(HWY_LANES(int32_t));

void row_from_rgb(const uint8_t* rgb, int64_t count, uint8_t* rgbx) {
  int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    hn::Vec<D8> r, g, b;
    hn::LoadInterleaved3(d8, rgb + 3 * i, r, g, b);
    hn::StoreInterleaved4(r, g, b, r, d8, rgbx + 4 * i);
  }
  for (; i < count; ++i) {
    for (int64_t c = 0; c < 3; ++c) rgbx[4 * i + c] = rgb[3 * i + c];
  }
}

// (a * b) / 2^15, rounded.
HWY_INLINE int16_t times(int a, int b) { return static_cast<int16_t>((a * b + 0x4000) >> 15); }

void terms(const YuvWeights& w, const uint8_t* u, const uint8_t* v, int64_t count, int16_t* red,
           int16_t* green, int16_t* blue) {
  constexpr hn::Rebind<uint8_t, D16> half;
  const V16 center = hn::Set(d16, 128);
  const V16 red_v = hn::Set(d16, w.red_v), green_u = hn::Set(d16, w.green_u),
            green_v = hn::Set(d16, w.green_v), blue_u = hn::Set(d16, w.blue_u);
  int64_t i = 0;
  for (; i + kWords <= count; i += kWords) {
    const V16 du = hn::ShiftLeft<8>(hn::Sub(hn::PromoteTo(d16, hn::LoadU(half, u + i)), center));
    const V16 dv = hn::ShiftLeft<8>(hn::Sub(hn::PromoteTo(d16, hn::LoadU(half, v + i)), center));
    hn::StoreU(hn::MulFixedPoint15(dv, red_v), d16, red + i);
    const V16 minus = hn::Add(hn::MulFixedPoint15(du, green_u), hn::MulFixedPoint15(dv, green_v));
    hn::StoreU(hn::Neg(minus), d16, green + i);
    hn::StoreU(hn::MulFixedPoint15(du, blue_u), d16, blue + i);
  }
  for (; i < count; ++i) {
    const int du = (u[i] - 128) * 256, dv = (v[i] - 128) * 256;
    red[i] = times(dv, w.red_v);
    green[i] = static_cast<int16_t>(-times(du, w.green_u) - times(dv, w.green_v));
    blue[i] = times(du, w.blue_u);
  }
}

// Even and odd pixels lie in the halves of 16-bit lanes, and so do the results: each lane of terms
// is for both.
HWY_INLINE hn::Vec<D8> color(V16 even, V16 odd, const int16_t* term) {
  const V16 t = hn::Add(hn::LoadU(d16, term), hn::Set(d16, 32));
  const V16 zero = hn::Zero(d16), most = hn::Set(d16, 255);
  const auto rounded = [&](V16 y) HWY_ATTR {
    return hn::Min(hn::Max(hn::ShiftRight<6>(hn::SaturatedAdd(y, t)), zero), most);
  };
  return hn::BitCast(d8, hn::Or(rounded(even), hn::ShiftLeft<8>(rounded(odd))));
}

void row_from_yuv(const YuvWeights& w, const uint8_t* y, int64_t count, const int16_t* red,
                  const int16_t* green, const int16_t* blue, uint8_t* rgbx) {
  const V16 low = hn::Set(d16, 255), offset = hn::Set(d16, w.y_offset),
            scale = hn::Set(d16, w.y_scale);
  const hn::RebindToUnsigned<D16> du16;
  const auto scaled = [&](V16 luma) HWY_ATTR {
    return hn::MulFixedPoint15(hn::ShiftLeft<7>(hn::Sub(luma, offset)), scale);
  };
  int64_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    const V16 pair = hn::BitCast(d16, hn::LoadU(d8, y + i));
    const V16 even = scaled(hn::And(pair, low));
    const V16 odd = scaled(hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, pair))));
    const hn::Vec<D8> r = color(even, odd, red + i / 2), g = color(even, odd, green + i / 2),
                      b = color(even, odd, blue + i / 2);
    hn::StoreInterleaved4(r, g, b, r, d8, rgbx + 4 * i);
  }
  for (; i < count; ++i) {
    const int luma = times((y[i] - w.y_offset) * 128, w.y_scale);
    const int16_t* const chroma[3] = {red, green, blue};
    for (int64_t c = 0; c < 3; ++c) {
      const int sum = std::min(luma + chroma[c][i / 2] + 32, 32767);
      rgbx[4 * i + c] = static_cast<uint8_t>(std::clamp(sum >> 6, 0, 255));
    }
  }
}

constexpr int kFraction = 22;
constexpr int32_t kHalf = 1 << (kFraction - 1);

// The sum of one pixel or of two.
template <class D>
HWY_INLINE hn::Vec<hn::CappedTag<int32_t, 4>> one_pixel(D, hn::Vec<D> pixels) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return pixels;
  } else {
    const hn::Half<D> half;
    return hn::Add(hn::LowerHalf(half, pixels), hn::UpperHalf(half, pixels));
  }
}

// As many pixels of a window at once as a vector holds, two at most.
void resample_bytes(const uint8_t* rgbx, const Window* windows, int64_t count,
                    const int32_t* weights, uint8_t* output) {
  constexpr hn::CappedTag<int32_t, 8> d;
  constexpr hn::CappedTag<int32_t, 4> d4;
  constexpr hn::Rebind<uint8_t, decltype(d)> bytes;
  constexpr hn::Rebind<uint8_t, decltype(d4)> bytes4;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(d)) / 4;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* at = rgbx + windows[i].first * 4;
    const int32_t* weight = weights + windows[i].weights;
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < windows[i].count; k += kStep) {
      const auto pixels = hn::PromoteTo(d, hn::LoadU(bytes, at + 4 * k));
      sum = hn::Add(sum, hn::Mul(pixels, hn::LoadU(d, weight + 4 * k)));
    }
    const auto all = hn::Add(one_pixel(d, sum), hn::Set(d4, kHalf));
    hn::StoreU(hn::DemoteTo(bytes4, hn::ShiftRight<kFraction>(all)), bytes4, output + 4 * i);
  }
}

void blend_bytes(const uint8_t* const* rows, const int32_t* weights, int64_t count, int64_t size,
                 uint8_t* output) {
  int64_t i = 0;
  for (; i + kInts <= size; i += kInts) {
    auto sum = hn::Set(d32, kHalf);
    for (int64_t k = 0; k < count; ++k) {
      const auto pixels = hn::PromoteTo(d32, hn::LoadU(d32_bytes, rows[k] + i));
      sum = hn::Add(sum, hn::Mul(pixels, hn::Set(d32, weights[k])));
    }
    hn::StoreU(hn::DemoteTo(d32_bytes, hn::ShiftRight<kFraction>(sum)), d32_bytes, output + i);
  }
  for (; i < size; ++i) {
    int32_t sum = kHalf;
    for (int64_t k = 0; k < count; ++k) sum += rows[k][i] * weights[k];
    output[i] = static_cast<uint8_t>(std::clamp(sum >> kFraction, 0, 255));
  }
}

void resample_floats(const float* rgbx, const Window* windows, int64_t count, const float* weights,
                     float* output) {
  for (int64_t i = 0; i < count; ++i) {
    const float* at = rgbx + windows[i].first * 4;
    const float* weight = weights + windows[i].weights;
    int64_t k = windows[i].count - 1;
    auto sum = hn::Mul(hn::LoadU(d_pixel, at + 4 * k), hn::Set(d_pixel, weight[k]));
    while (k-- > 0) {
      sum = hn::MulAdd(hn::LoadU(d_pixel, at + 4 * k), hn::Set(d_pixel, weight[k]), sum);
    }
    hn::StoreU(sum, d_pixel, output + 4 * i);
  }
}

void blend_floats(const float* const* rows, const float* weights, int64_t count, int64_t size,
                  float* output) {
  int64_t i = 0;
  for (; i + kInts <= size; i += kInts) {
    int64_t k = count - 1;
    auto sum = hn::Mul(hn::LoadU(df, rows[k] + i), hn::Set(df, weights[k]));
    while (k-- > 0) {
      sum = hn::MulAdd(hn::LoadU(df, rows[k] + i), hn::Set(df, weights[k]), sum);
    }
    hn::StoreU(sum, df, output + i);
  }
  for (; i < size; ++i) {
    int64_t k = count - 1;
    float sum = rows[k][i] * weights[k];
    while (k-- > 0) sum = std::fma(rows[k][i], weights[k], sum);
    output[i] = sum;
  }
}

void to_floats(const uint8_t* bytes, int64_t count, float* floats) {
  int64_t i = 0;
  for (; i + kInts <= count; i += kInts) {
    hn::StoreU(hn::ConvertTo(df, hn::PromoteTo(d32, hn::LoadU(d32_bytes, bytes + i))), df,
               floats + i);
  }
  for (; i < count; ++i) floats[i] = bytes[i];
}

void to_bytes(const float* floats, int64_t count, uint8_t* bytes) {
  int64_t i = 0;
  for (; i + kInts <= count; i += kInts) {
    hn::StoreU(hn::DemoteTo(d32_bytes, hn::NearestInt(hn::LoadU(df, floats + i))), d32_bytes,
               bytes + i);
  }
  for (; i < count; ++i) {
    bytes[i] = static_cast<uint8_t>(std::clamp(std::nearbyint(floats[i]), 0.0f, 255.0f));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(row_from_rgb);
HWY_EXPORT(terms);
HWY_EXPORT(row_from_yuv);
HWY_EXPORT(resample_bytes);
HWY_EXPORT(blend_bytes);
HWY_EXPORT(resample_floats);
HWY_EXPORT(blend_floats);
HWY_EXPORT(to_floats);
HWY_EXPORT(to_bytes);

void rgbx_from_rgb(const uint8_t* rgb, int64_t count, uint8_t* rgbx) {
  HWY_DYNAMIC_DISPATCH(row_from_rgb)(rgb, count, rgbx);
}

void chroma_terms(const YuvWeights& weights, const uint8_t* u, const uint8_t* v, int64_t count,
                  int16_t* red, int16_t* green, int16_t* blue) {
  HWY_DYNAMIC_DISPATCH(terms)(weights, u, v, count, red, green, blue);
}

void rgbx_from_yuv(const YuvWeights& weights, const uint8_t* y, int64_t count, const int16_t* red,
                   const int16_t* green, const int16_t* blue, uint8_t* rgbx) {
  HWY_DYNAMIC_DISPATCH(row_from_yuv)(weights, y, count, red, green, blue, rgbx);
}

void resample_row(const uint8_t* rgbx, const Window* windows, int64_t count, const int32_t* weights,
                  uint8_t* output) {
  HWY_DYNAMIC_DISPATCH(resample_bytes)(rgbx, windows, count, weights, output);
}

void blend_rows(const uint8_t* const* rows, const int32_t* weights, int64_t count, int64_t size,
                uint8_t* output) {
  HWY_DYNAMIC_DISPATCH(blend_bytes)(rows, weights, count, size, output);
}

void resample_row(const float* rgbx, const Window* windows, int64_t count, const float* weights,
                  float* output) {
  HWY_DYNAMIC_DISPATCH(resample_floats)(rgbx, windows, count, weights, output);
}

void blend_rows(const float* const* rows, const float* weights, int64_t count, int64_t size,
                float* output) {
  HWY_DYNAMIC_DISPATCH(blend_floats)(rows, weights, count, size, output);
}

void floats_from_bytes(const uint8_t* bytes, int64_t count, float* floats) {
  HWY_DYNAMIC_DISPATCH(to_floats)(bytes, count, floats);
}

void bytes_from_floats(const float* floats, int64_t count, uint8_t* bytes) {
  HWY_DYNAMIC_DISPATCH(to_bytes)(floats, count, bytes);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
