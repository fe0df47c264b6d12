#include "kernels/spatial/pool_nhwc.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"
#include "kernels/spatial/pooled_pixel.h"

namespace torchlet::kernels {
namespace {

template <typename T>
using PoolPixel = void (*)(const PooledPixel<T>&, int64_t channels);

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

auto row_spans(const Window2dShape& s, bool count_include_pad) {
  return [&s, count_include_pad](int64_t y) {
    return window_span(y, s.in_h, s.kernel_h, s.stride_h, s.pad_h, s.dilation_h, count_include_pad);
  };
}
auto column_spans(const Window2dShape& s, bool count_include_pad) {
  return [&s, count_include_pad](int64_t x) {
    return window_span(x, s.in_w, s.kernel_w, s.stride_w, s.pad_w, s.dilation_w, count_include_pad);
  };
}

Span adaptive_span(int64_t out, int64_t in, int64_t outs) {
  const int64_t begin = out * in / outs, end = ((out + 1) * in + outs - 1) / outs;
  return {begin, end - begin, end - begin};
}

// Calls body(pixel of the output, picture, y, x) for each pixel, where row_span(y) and
// column_span(x) have said what is under its window.
template <class RowSpan, class ColumnSpan, class Body>
void for_each_pixel(const PoolShape& shape, const RowSpan& row_span, const ColumnSpan& column_span,
                    const Body& body) {
  const Window2dShape& s = shape.window;
  const int64_t ops = s.out_w * std::max<int64_t>(1, s.kernel_h * s.kernel_w) * shape.channels;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 17) / std::max<int64_t>(1, ops));
  parallel_for(shape.batch * s.out_h, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Span y = row_span(row % s.out_h);
      for (int64_t column = 0; column < s.out_w; ++column) {
        body(row * s.out_w + column, row / s.out_h, y, column_span(column));
      }
    }
  });
}

template <typename T, class RowSpan, class ColumnSpan>
void pool_pixels(const PoolShape& shape, PoolPixel<T> pool, int64_t divisor, const T* input,
                 int64_t input_stride, T* output, int64_t output_stride, const RowSpan& row_span,
                 const ColumnSpan& column_span) {
  const Window2dShape& s = shape.window;
  for_each_pixel(
      shape, row_span, column_span,
      [&](int64_t pixel, int64_t picture, const Span& y, const Span& x) {
        const T* from = input + ((picture * s.in_h + y.begin) * s.in_w + x.begin) * input_stride;
        const int64_t count = divisor ? divisor : std::max<int64_t>(1, y.count * x.count);
        pool({from, y.taps, s.dilation_h * s.in_w * input_stride, x.taps,
              s.dilation_w * input_stride, static_cast<float>(count),
              output + pixel * output_stride},
             shape.channels);
      });
}

// Columns that lie without gaps and under no window together are channels of one column.
bool are_columns_apart(const PoolShape& shape, int64_t input_stride, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  return s.kernel_w == 1 && s.stride_w == 1 && s.pad_w == 0 && s.in_w == s.out_w &&
         input_stride == shape.channels && output_stride == shape.channels;
}

template <typename T>
void pool_windows(PoolShape shape, PoolPixel<T> pool, bool count_include_pad, int64_t divisor,
                  const T* input, int64_t input_stride, T* output, int64_t output_stride) {
  Window2dShape& s = shape.window;
  if (are_columns_apart(shape, input_stride, output_stride)) {
    shape.channels *= s.in_w;
    input_stride = output_stride = shape.channels;
    s.in_w = s.out_w = 1;
  }
  pool_pixels(shape, pool, divisor, input, input_stride, output, output_stride,
              row_spans(s, count_include_pad), column_spans(s, count_include_pad));
}

template <typename T>
void pool_adaptive(const AdaptivePoolShape& shape, PoolPixel<T> pool, const T* input,
                   int64_t input_stride, T* output, int64_t output_stride) {
  const Window2dShape window{.in_h = shape.in_h,
                             .in_w = shape.in_w,
                             .out_h = shape.out_h,
                             .out_w = shape.out_w,
                             .kernel_h = (shape.in_h + shape.out_h - 1) / shape.out_h,
                             .kernel_w = (shape.in_w + shape.out_w - 1) / shape.out_w};
  pool_pixels(
      {shape.batch, shape.channels, window}, pool, 0, input, input_stride, output, output_stride,
      [&](int64_t y) { return adaptive_span(y, shape.in_h, shape.out_h); },
      [&](int64_t x) { return adaptive_span(x, shape.in_w, shape.out_w); });
}

}  // namespace

void max_pool_nhwc(const PoolShape& shape, const float* input, int64_t input_stride, float* output,
                   int64_t output_stride) {
  pool_windows<float>(shape, pool_max, false, 1, input, input_stride, output, output_stride);
}

void max_pool_places_nhwc(const PoolShape& shape, const float* input, int64_t input_stride,
                          int64_t* output, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  for_each_pixel(shape, row_spans(s, false), column_spans(s, false),
                 [&](int64_t pixel, int64_t picture, const Span& y, const Span& x) {
                   const int64_t first = y.begin * s.in_w + x.begin;
                   pool_places(
                       {input + (picture * s.in_h * s.in_w + first) * input_stride, y.taps,
                        s.dilation_h * s.in_w * input_stride, x.taps, s.dilation_w * input_stride,
                        first, s.dilation_h * s.in_w, s.dilation_w, output + pixel * output_stride},
                       shape.channels);
                 });
}

const int64_t* max_unpool_nhwc(const UnpoolShape& shape, const float* input, int64_t input_stride,
                               const int64_t* places, int64_t places_stride, float* output,
                               int64_t output_stride) {
  const int64_t channels = shape.channels;
  for (int64_t n = 0; n < shape.batch; ++n) {
    for (int64_t i = 0; i < shape.out_pixels; ++i) {
      std::fill_n(output + i * output_stride, channels, 0.0f);
    }
    for (int64_t i = 0; i < shape.in_pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        if (places[c] < 0 || places[c] >= shape.out_pixels) return places + c;
        output[places[c] * output_stride + c] = input[c];
      }
      input += input_stride;
      places += places_stride;
    }
    output += shape.out_pixels * output_stride;
  }
  return nullptr;
}

void avg_pool_nhwc(const PoolShape& shape, bool count_include_pad, int64_t divisor,
                   const float* input, int64_t input_stride, float* output, int64_t output_stride) {
  pool_windows<float>(shape, pool_mean, count_include_pad, divisor, input, input_stride, output,
                      output_stride);
}

void adaptive_avg_pool_nhwc(const AdaptivePoolShape& shape, const float* input,
                            int64_t input_stride, float* output, int64_t output_stride) {
  pool_adaptive<float>(shape, pool_mean, input, input_stride, output, output_stride);
}

void adaptive_max_pool_nhwc(const AdaptivePoolShape& shape, const float* input,
                            int64_t input_stride, float* output, int64_t output_stride) {
  pool_adaptive<float>(shape, pool_max, input, input_stride, output, output_stride);
}

void global_avg_pool_nhwc(int64_t batch, int64_t pixels, int64_t channels, const float* input,
                          int64_t input_stride, float* output, int64_t output_stride) {
  constexpr int64_t kCacheLine = 16, kElementsPerTask = int64_t{1} << 14;
  const int64_t elements = pixels * channels;
  // Parts of the pixels, each with its share of the mean. A sum of a part is exact to a few units.
  constexpr int64_t kPixelsPerPart = 256;
  const int64_t parts =
      is_cut_by_columns(pixels)
          ? 1
          : std::max(ceil_div(pixels, kPixelsPerPart),
                     std::clamp<int64_t>(elements / kElementsPerTask, 1, num_threads()));
  const int64_t share_stride = (channels - 1) / kCacheLine * kCacheLine + kCacheLine;
  const Scratch<float> shares(parts * share_stride);
  for (int64_t n = 0; n < batch; ++n) {
    const float* from = input + n * pixels * input_stride;
    float* to = output + n * output_stride;
    const auto mean = [&](int64_t pixel, int64_t pixel_end, int64_t begin, int64_t end, float* y) {
      pool_mean({from + pixel * input_stride + begin, 1, 0, pixel_end - pixel, input_stride,
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

void max_pool_nhwc(const PoolShape& shape, const Float16* input, int64_t input_stride,
                   Float16* output, int64_t output_stride) {
  pool_windows<Float16>(shape, pool_max, false, 1, input, input_stride, output, output_stride);
}

void avg_pool_nhwc(const PoolShape& shape, bool count_include_pad, int64_t divisor,
                   const Float16* input, int64_t input_stride, Float16* output,
                   int64_t output_stride) {
  pool_windows<Float16>(shape, pool_mean, count_include_pad, divisor, input, input_stride, output,
                        output_stride);
}

void adaptive_avg_pool_nhwc(const AdaptivePoolShape& shape, const Float16* input,
                            int64_t input_stride, Float16* output, int64_t output_stride) {
  pool_adaptive<Float16>(shape, pool_mean, input, input_stride, output, output_stride);
}

void adaptive_max_pool_nhwc(const AdaptivePoolShape& shape, const Float16* input,
                            int64_t input_stride, Float16* output, int64_t output_stride) {
  pool_adaptive<Float16>(shape, pool_max, input, input_stride, output, output_stride);
}

void global_avg_pool_nhwc(int64_t batch, int64_t pixels, int64_t channels, const Float16* input,
                          int64_t input_stride, Float16* output, int64_t output_stride) {
  constexpr int64_t kCacheLine = 32, kElementsPerTask = int64_t{1} << 14;
  const int64_t grain = even_grain(channels, kCacheLine, pixels * channels, kElementsPerTask);
  for (int64_t n = 0; n < batch; ++n) {
    const Float16* from = input + n * pixels * input_stride;
    Float16* to = output + n * output_stride;
    parallel_for(channels, grain, [&](int64_t begin, int64_t end) {
      const float divisor = static_cast<float>(pixels);
      pool_mean({from + begin, 1, 0, pixels, input_stride, divisor, to + begin}, end - begin);
    });
  }
}

}  // namespace torchlet::kernels
