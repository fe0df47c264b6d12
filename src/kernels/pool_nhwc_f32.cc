#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/pool_nhwc.h"
#include "kernels/scratch.h"
#include "kernels/simd-inl.h"
#include "kernels/split.h"

#ifndef TORCHLET_KERNELS_POOL_NHWC_PIXEL_
#define TORCHLET_KERNELS_POOL_NHWC_PIXEL_
namespace torchlet::kernels {
// What lies under the window of one output pixel: `rows` x `columns` pixels of the input.
struct PooledPixel {
  const float* input;
  int64_t rows, row_step;  // steps in elements
  int64_t columns, column_step;
  float divisor;  // of the sum
  float* output;
};
}  // namespace torchlet::kernels
#endif

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
HWY_INLINE void pool_vectors(const PooledPixel& pixel, float start, int64_t c, int64_t count,
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
HWY_INLINE void pool_channels(const PooledPixel& pixel, float start, int64_t channels,
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

void max_pixel(const PooledPixel& pixel, int64_t channels) {
  pool_channels(
      pixel, -std::numeric_limits<float>::infinity(), channels,
      [](V max, V v)
          HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Gt(v, max), hn::IsNaN(v)), v, max); },
      [](V max) HWY_ATTR { return max; });
}

void mean_pixel(const PooledPixel& pixel, int64_t channels) {
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

namespace {

using PoolPixel = void (*)(const PooledPixel&, int64_t channels);

void dispatch_max(const PooledPixel& pixel, int64_t channels) {
  HWY_DYNAMIC_DISPATCH(max_pixel)(pixel, channels);
}
void dispatch_mean(const PooledPixel& pixel, int64_t channels) {
  HWY_DYNAMIC_DISPATCH(mean_pixel)(pixel, channels);
}

// One dimension under the window of one output: taps on the input from `begin` on, and the count
// that divides the sum.
struct Span {
  int64_t begin, taps, count;
};

Span window_span(int64_t out, int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                 int64_t dilation, bool count_include_pad) {
  const int64_t first = out * stride - pad;
  const int64_t skipped = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
  const int64_t end = first >= in ? 0 : std::min(kernel, (in - 1 - first) / dilation + 1);
  const int64_t taps = std::max<int64_t>(0, end - skipped);
  const int64_t padded = std::min(first + kernel, in + pad) - first;
  return {first + skipped * dilation, taps, count_include_pad ? padded : taps};
}

Span adaptive_span(int64_t out, int64_t in, int64_t outs) {
  const int64_t begin = out * in / outs, end = ((out + 1) * in + outs - 1) / outs;
  return {begin, end - begin, end - begin};
}

// Calls pool for each pixel of rows [begin, end) of batch * out_h; row_span(y) and column_span(x)
// say what is under its window.
template <class RowSpan, class ColumnSpan>
void pool_rows(const PoolShape& shape, PoolPixel pool, int64_t divisor, const float* input,
               int64_t input_stride, float* output, int64_t output_stride, const RowSpan& row_span,
               const ColumnSpan& column_span) {
  const Window2dShape& s = shape.window;
  const int64_t ops = s.out_w * std::max<int64_t>(1, s.kernel_h * s.kernel_w) * shape.channels;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / std::max<int64_t>(1, ops));
  parallel_for(shape.batch * s.out_h, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Span y = row_span(row % s.out_h);
      const float* from = input + (row / s.out_h * s.in_h + y.begin) * s.in_w * input_stride;
      for (int64_t column = 0; column < s.out_w; ++column) {
        const Span x = column_span(column);
        const int64_t count = divisor ? divisor : std::max<int64_t>(1, y.count * x.count);
        pool({from + x.begin * input_stride, y.taps, s.dilation_h * s.in_w * input_stride, x.taps,
              s.dilation_w * input_stride, static_cast<float>(count),
              output + (row * s.out_w + column) * output_stride},
             shape.channels);
      }
    }
  });
}

void pool_windows(const PoolShape& shape, PoolPixel pool, bool count_include_pad, int64_t divisor,
                  const float* input, int64_t input_stride, float* output, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  pool_rows(
      shape, pool, divisor, input, input_stride, output, output_stride,
      [&](int64_t y) {
        return window_span(y, s.in_h, s.kernel_h, s.stride_h, s.pad_h, s.dilation_h,
                           count_include_pad);
      },
      [&](int64_t x) {
        return window_span(x, s.in_w, s.kernel_w, s.stride_w, s.pad_w, s.dilation_w,
                           count_include_pad);
      });
}

void pool_adaptive(const AdaptivePoolShape& shape, PoolPixel pool, const float* input,
                   int64_t input_stride, float* output, int64_t output_stride) {
  const Window2dShape window{.in_h = shape.in_h,
                             .in_w = shape.in_w,
                             .out_h = shape.out_h,
                             .out_w = shape.out_w,
                             .kernel_h = (shape.in_h + shape.out_h - 1) / shape.out_h,
                             .kernel_w = (shape.in_w + shape.out_w - 1) / shape.out_w};
  pool_rows(
      {shape.batch, shape.channels, window}, pool, 0, input, input_stride, output, output_stride,
      [&](int64_t y) { return adaptive_span(y, shape.in_h, shape.out_h); },
      [&](int64_t x) { return adaptive_span(x, shape.in_w, shape.out_w); });
}

}  // namespace

void max_pool_nhwc_f32(const PoolShape& shape, const float* input, int64_t input_stride,
                       float* output, int64_t output_stride) {
  pool_windows(shape, dispatch_max, false, 1, input, input_stride, output, output_stride);
}

void avg_pool_nhwc_f32(const PoolShape& shape, bool count_include_pad, int64_t divisor,
                       const float* input, int64_t input_stride, float* output,
                       int64_t output_stride) {
  pool_windows(shape, dispatch_mean, count_include_pad, divisor, input, input_stride, output,
               output_stride);
}

void adaptive_avg_pool_nhwc_f32(const AdaptivePoolShape& shape, const float* input,
                                int64_t input_stride, float* output, int64_t output_stride) {
  pool_adaptive(shape, dispatch_mean, input, input_stride, output, output_stride);
}

void adaptive_max_pool_nhwc_f32(const AdaptivePoolShape& shape, const float* input,
                                int64_t input_stride, float* output, int64_t output_stride) {
  pool_adaptive(shape, dispatch_max, input, input_stride, output, output_stride);
}

void global_avg_pool_nhwc_f32(int64_t batch, int64_t pixels, int64_t channels, const float* input,
                              int64_t input_stride, float* output, int64_t output_stride) {
  constexpr int64_t kCacheLine = 16, kElementsPerTask = int64_t{1} << 14;
  const int64_t elements = pixels * channels;
  // Parts of the pixels, each with its share of the mean.
  const int64_t parts = is_cut_by_columns(pixels)
                            ? 1
                            : std::clamp<int64_t>(elements / kElementsPerTask, 1, num_threads());
  const int64_t share_stride = (channels - 1) / kCacheLine * kCacheLine + kCacheLine;
  const Scratch<float> shares(parts * share_stride);
  for (int64_t n = 0; n < batch; ++n) {
    const float* from = input + n * pixels * input_stride;
    float* to = output + n * output_stride;
    const auto mean = [&](int64_t pixel, int64_t pixel_end, int64_t begin, int64_t end, float* y) {
      dispatch_mean({from + pixel * input_stride + begin, 1, 0, pixel_end - pixel, input_stride,
                     static_cast<float>(pixels), y + begin},
                    end - begin);
    };
    if (parts == 1) {
      const int64_t grain = even_grain(channels, kCacheLine, elements, kElementsPerTask);
      parallel_for(channels, grain,
                   [&](int64_t begin, int64_t end) { mean(0, pixels, begin, end, to); });
      continue;
    }
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        mean(part * pixels / parts, (part + 1) * pixels / parts, 0, channels,
             shares.data() + part * share_stride);
      }
    });
    for (int64_t c = 0; c < channels; ++c) {
      float sum = shares[c];
      for (int64_t part = 1; part < parts; ++part) sum += shares[part * share_stride + c];
      to[c] = sum;
    }
  }
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
