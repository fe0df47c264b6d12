#include "kernels/conv_nhwc/conv_scatter.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Of the products and of the sums of a task.
constexpr int64_t kCachedBytes = int64_t{256} << 10;

// The products of `pixels`: [taps, out_channels] of each.
ConvNhwcShape product_shape(const ConvNhwcShape& s, int64_t pixels) {
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  return {
      .in_channels = s.in_channels,
      .out_channels = taps * s.out_channels,
      .window = {
          .in_h = 1, .in_w = pixels, .out_h = 1, .out_w = pixels, .kernel_h = 1, .kernel_w = 1}};
}

void add(const float* __restrict from, int64_t count, float* __restrict to) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int64_t k = 0; k < 4; ++k) to[i + k] += from[i + k];
  }
  for (; i < count; ++i) to[i] += from[i];
}

// Repeats the first `step` numbers, by what is there already, twice as much each time.
void repeat(int64_t step, int64_t count, float* to) {
  for (int64_t done = step, more; done < count; done += more) {
    more = std::min(done, count - done);
    std::copy_n(to, more, to + done);
  }
}

// Some lines of the output of one picture, as sums that begin with the bias.
class Lines {
 public:
  // `sums` [end - begin, out_w, out_channels].
  Lines(const ConvNhwcShape& shape, const float* bias, int64_t begin, int64_t end, float* sums)
      : shape_(shape),
        w_(shape.window),
        begin_(begin),
        end_(end),
        line_(w_.out_w * shape.out_channels),
        sums_(sums) {
    for (int64_t c = 0; c < shape.out_channels; ++c) sums[c] = bias ? bias[c] : 0;
    repeat(shape.out_channels, (end - begin) * line_, sums);
  }

  // Of all pixels of the picture that reach them.
  void add_products(const float* picture, int64_t stride, const void* packed) {
    const int64_t first = std::max<int64_t>(
        0, ceil_div(begin_ + w_.pad_h - (w_.kernel_h - 1) * w_.dilation_h, w_.stride_h));
    const int64_t last = std::min(w_.in_h, (end_ - 1 + w_.pad_h) / w_.stride_h + 1);
    const int64_t columns = w_.kernel_h * w_.kernel_w * shape_.out_channels;
    const int64_t line_bytes = w_.in_w * columns * static_cast<int64_t>(sizeof(float));
    const int64_t most =
        std::clamp<int64_t>(kCachedBytes / std::max<int64_t>(1, line_bytes), 1, w_.in_h + 1);
    const Scratch<float> products(most * w_.in_w * columns);
    for (int64_t y = first; y < last; y += most) {
      const int64_t lines = std::min(most, last - y);
      conv_nhwc_f32(product_shape(shape_, lines * w_.in_w), picture + y * w_.in_w * stride, stride,
                    packed, {.activation = {}}, products.data(), columns);
      for (int64_t i = 0; i < lines; ++i) {
        add_line(y + i, products.data() + i * w_.in_w * columns, columns);
      }
    }
  }

  void store(const EpilogueF32& epilogue, float* output, int64_t output_stride,
             int64_t first_pixel) const {
    const int64_t most = tile_shape<float>().rows, pixels = (end_ - begin_) * w_.out_w;
    for (int64_t i = 0; i < pixels; i += most) {
      multiply_strip(StripJob<float>{.segments = nullptr,
                                     .segment_count = 0,
                                     .b = nullptr,
                                     .depth = 0,
                                     .first_column = 0,
                                     .last_column = shape_.out_channels,
                                     .rows = std::min(most, pixels - i),
                                     .partial = sums_ + i * shape_.out_channels,
                                     .partial_stride = shape_.out_channels,
                                     .is_first = false,
                                     .epilogue = &epilogue,
                                     .output = output,
                                     .output_stride = output_stride,
                                     .pixel = first_pixel + i,
                                     .channel = 0});
    }
  }

 private:
  void add_line(int64_t in_y, const float* products, int64_t columns) {
    const int64_t run = w_.kernel_w * shape_.out_channels;
    for (int64_t i = 0; i < w_.kernel_h; ++i) {
      const int64_t y = in_y * w_.stride_h - w_.pad_h + i * w_.dilation_h;
      if (y < begin_ || y >= end_) continue;
      float* line = sums_ + (y - begin_) * line_;
      for (int64_t x = 0; x < w_.in_w; ++x) {
        const int64_t to = x * w_.stride_w - w_.pad_w;
        const float* from = products + x * columns + i * run;
        if (w_.dilation_w == 1 && to >= 0 && to + w_.kernel_w <= w_.out_w) {
          add(from, run, line + to * shape_.out_channels);
          continue;
        }
        for (int64_t j = 0; j < w_.kernel_w; ++j) {
          const int64_t at = to + j * w_.dilation_w;
          if (at < 0 || at >= w_.out_w) continue;
          add(from + j * shape_.out_channels, shape_.out_channels, line + at * shape_.out_channels);
        }
      }
    }
  }

  const ConvNhwcShape& shape_;
  const Window2dShape& w_;
  int64_t begin_, end_;
  int64_t line_;  // floats of a line of the output
  float* sums_;
};

}  // namespace

bool suits_scatter(const ConvNhwcShape& shape) {
  const int64_t lanes = tile_shape<float>().lanes, channels = shape.out_channels;
  // Of more channels that leave a part of their last vector empty, if windows are small: each tap
  // is added to memory.
  constexpr int64_t kMostVectors = 4, kFewTaps = 16;
  const bool has_few_taps = shape.window.kernel_h * shape.window.kernel_w <= kFewTaps;
  return shape.groups == 1 && (channels < lanes || (has_few_taps && channels % lanes != 0 &&
                                                    channels < kMostVectors * lanes));
}

size_t conv_scatter_packed_bytes(const ConvNhwcShape& shape) {
  return conv_nhwc_f32_packed_bytes(product_shape(shape, 1));
}

void conv_scatter_pack(const ConvNhwcShape& shape, const float* weight, void* packed) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  const int64_t columns = taps * shape.out_channels;
  const Scratch<float> product(columns * shape.in_channels);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < shape.out_channels; ++c) {
      float* to = product.data() + (tap * shape.out_channels + c) * shape.in_channels;
      for (int64_t k = 0; k < shape.in_channels; ++k) to[k] = weight[k * columns + c * taps + tap];
    }
  }
  conv_nhwc_f32_pack(product_shape(shape, 1), product.data(), packed);
}

void conv_scatter(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                  const void* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride) {
  const Window2dShape& w = shape.window;
  const int64_t line_bytes = w.out_w * shape.out_channels * static_cast<int64_t>(sizeof(float));
  int64_t lines = std::clamp<int64_t>(kCachedBytes / line_bytes, 1, w.out_h);
  // Neighbouring tasks both multiply the lines that they share, so tasks are few.
  if (num_threads() > 1) lines = std::min(lines, ceil_div(w.out_h, 2 * num_threads()));
  const int64_t blocks = ceil_div(w.out_h, lines);
  const bool is_in_place = !epilogue.residual && output_stride == shape.out_channels;
  parallel_for(shape.batch * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks, y = i % blocks * lines, last = std::min(w.out_h, y + lines);
      const int64_t first_pixel = image * w.out_h * w.out_w + y * w.out_w;
      const int64_t count = (last - y) * w.out_w * shape.out_channels;
      const Scratch<float> apart(is_in_place ? 0 : count);
      float* const sums = is_in_place ? output + first_pixel * shape.out_channels : apart.data();
      Lines block(shape, epilogue.bias, y, last, sums);
      block.add_products(input + image * w.in_h * w.in_w * input_stride, input_stride, packed);
      if (is_in_place) {
        activate_f32(epilogue.activation, sums, count, 1, count);
      } else {
        block.store(epilogue, output, output_stride, first_pixel);
      }
    }
  });
}

}  // namespace torchlet::kernels
