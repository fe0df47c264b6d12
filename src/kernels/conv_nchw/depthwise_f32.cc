#define TORCHLET_NO_AVX3  // of the reference alone
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nchw/depthwise_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv_internal.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/spatial/window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Output rows that are computed at once, so that an input is loaded once for all rows that it is
// part of.
constexpr int kBlockRows = 4;

struct DepthwiseRow {
  const float* weight;
  float bias, min, max;
};

// One block of output rows, the first `rows` of which exist. kernel (kK x kK) and stride (both ways
// kS) are known to the compiler; kK = 0 stands for any window.
template <int kK, int kS>
HWY_NOINLINE void convolve_block(const Window2dShape& s, const WindowBuffer& buffer, int64_t y,
                                 int64_t rows, const DepthwiseRow& p, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const int64_t row_stride = buffer.row_stride();
  const int64_t* tap_offset = buffer.tap_offsets();
  const auto lo = hn::Set(d, p.min), hi = hn::Set(d, p.max), bias = hn::Set(d, p.bias);
  for (int64_t x = 0; x < s.out_w; x += kWindowLanes) {
    const float* HWY_RESTRICT in = buffer.row(y * s.stride_h) + x;
    hn::Vec<decltype(d)> acc[kBlockRows] = {bias, bias, bias, bias};
    if constexpr (kK != 0) {
      HWY_UNROLL(5)
      for (int i = 0; i < kK; ++i) {
        HWY_UNROLL(5)
        for (int j = 0; j < kK; ++j) {
          const auto weight = hn::Set(d, p.weight[i * kK + j]);
          HWY_UNROLL(4)
          for (int r = 0; r < kBlockRows; ++r) {
            const auto pixels = hn::LoadU(d, in + (r * kS + i) * row_stride + tap_offset[j]);
            acc[r] = hn::MulAdd(weight, pixels, acc[r]);
          }
        }
      }
    } else {
      const float* weights = p.weight;
      for (int64_t i = 0; i < s.kernel_h; ++i) {
        for (int64_t j = 0; j < s.kernel_w; ++j) {
          const auto weight = hn::Set(d, *weights++);
          const float* pixels = in + i * s.dilation_h * row_stride + tap_offset[j];
          HWY_UNROLL(4)
          for (int r = 0; r < kBlockRows; ++r) {
            acc[r] = hn::MulAdd(weight, hn::LoadU(d, pixels), acc[r]);
            pixels += s.stride_h * row_stride;
          }
        }
      }
    }
    const int64_t left = s.out_w - x;
    HWY_UNROLL(4)
    for (int r = 0; r < kBlockRows; ++r) {
      if (r >= rows) break;
      const auto value = clamp(acc[r], lo, hi);
      store_first(value, d, out + r * s.out_w + x, left);
    }
  }
}

// The only row of a line, some vectors at once in place of rows.
template <int kVectors>
HWY_INLINE void convolve_vectors(const Window2dShape& s, const WindowBuffer& buffer,
                                 const DepthwiseRow& p, int64_t x, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> acc[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::Set(d, p.bias);
  const float* weights = p.weight;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const float* HWY_RESTRICT in = buffer.row(i * s.dilation_h) + x;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const auto weight = hn::Set(d, *weights++);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const auto pixels = hn::LoadU(d, in + buffer.tap_offsets()[j] + v * kWindowLanes);
        acc[v] = hn::MulAdd(weight, pixels, acc[v]);
      }
    }
  }
  const auto lo = hn::Set(d, p.min), hi = hn::Set(d, p.max);
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = x + v * kWindowLanes;
    store_first(clamp(acc[v], lo, hi), d, out + at, s.out_w - at);
  }
}

HWY_NOINLINE void convolve_line(const Window2dShape& s, const WindowBuffer& buffer, int64_t,
                                int64_t, const DepthwiseRow& p, float* out) {
  constexpr int kVectors = 4;
  int64_t x = 0;
  for (; x + kVectors * kWindowLanes <= s.out_w; x += kVectors * kWindowLanes) {
    convolve_vectors<kVectors>(s, buffer, p, x, out);
  }
  for (; x < s.out_w; x += kWindowLanes) convolve_vectors<1>(s, buffer, p, x, out);
}

using ConvolveBlock = void (*)(const Window2dShape&, const WindowBuffer&, int64_t, int64_t,
                               const DepthwiseRow&, float*);

ConvolveBlock choose_block(const Window2dShape& s) {
  if (s.out_h == 1) return convolve_line;
  const bool is_square = s.kernel_h == s.kernel_w && s.stride_h == s.stride_w;
  if (is_square && s.dilation_h == 1 && s.dilation_w == 1) {
    if (s.kernel_h == 3 && s.stride_h == 1) return convolve_block<3, 1>;
    if (s.kernel_h == 3 && s.stride_h == 2) return convolve_block<3, 2>;
  }
  return convolve_block<0, 0>;
}

// Planes [begin, end) of the input, counted over images and channels.
void depthwise_planes(const Conv2dShape& shape, const float* input, const float* weight,
                      const float* bias, float* output, float min, float max, int64_t begin,
                      int64_t end) {
  const Window2dShape& s = shape.window;
  const ConvolveBlock convolve = choose_block(s);
  const int64_t multiplier = shape.out_channels / shape.in_channels;

  const auto convolve_strip = [&](const WindowBuffer& buffer, int64_t plane, int64_t strip) {
    const int64_t rows = std::min(buffer.out_rows(), s.out_h - strip);
    for (int64_t i = 0; i < multiplier; ++i) {
      const int64_t channel = plane % shape.in_channels * multiplier + i;
      const DepthwiseRow row{weight + channel * s.kernel_h * s.kernel_w, bias ? bias[channel] : 0,
                             min, max};
      float* out = output + ((plane * multiplier + i) * s.out_h + strip) * s.out_w;
      for (int64_t y = 0; y < rows; y += kBlockRows) {
        convolve(s, buffer, y, std::min<int64_t>(kBlockRows, rows - y), row, out + y * s.out_w);
      }
    }
  };

  // One strip is loaded before the one before it is convolved: a vector that was just stored cannot
  // be loaded at another offset before it has reached the cache.
  const int64_t block_rows = s.out_h == 1 ? 1 : kBlockRows;
  WindowBuffer buffers[2] = {{s, block_rows, 0}, {s, block_rows, 0}};
  const int64_t strips = (s.out_h + buffers[0].out_rows() - 1) / buffers[0].out_rows();
  const auto plane_of = [&](int64_t step) { return step / strips; };
  const auto strip_of = [&](int64_t step) { return step % strips * buffers[0].out_rows(); };
  for (int64_t step = begin * strips; step <= end * strips; ++step) {
    if (step < end * strips) {
      buffers[step % 2].load(input + plane_of(step) * s.in_h * s.in_w, strip_of(step));
    }
    if (step > begin * strips) {
      convolve_strip(buffers[(step - 1) % 2], plane_of(step - 1), strip_of(step - 1));
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(depthwise_planes);

void depthwise_conv2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                          const float* bias, float* output, float min, float max) {
  const Window2dShape& s = shape.window;
  const int64_t ops = s.out_h * s.out_w * s.kernel_h * s.kernel_w;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, ops));
  parallel_for(shape.batch * shape.in_channels, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(depthwise_planes)
    (shape, input, weight, bias, output, min, max, begin, end);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
