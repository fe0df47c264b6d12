#pragma once

// How the k of an NHWC convolution's matrix product is laid out, [kernel_h, kernel_w, channels],
// and cut into runs: elements that follow each other in the image as well as in the packed weights,
// where the channels of a tap are filled up to TileShape::packed_depth.

#include <algorithm>
#include <cstdint>

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::kernels {

// Groups with few output channels leave most of a vector empty. Several of them together fill it:
// one group whose weights between different ones of them are zero.
inline int64_t most_merged_groups(const ConvNhwcShape& shape) {
  constexpr int64_t kColumns = 16;
  const int64_t columns = std::max<int64_t>(1, shape.out_channels / shape.groups);
  return std::clamp<int64_t>(kColumns / columns, 1, shape.groups);
}
inline ConvNhwcShape merge_groups(const ConvNhwcShape& shape) {
  int64_t merged = most_merged_groups(shape);
  while (shape.groups % merged != 0) --merged;
  ConvNhwcShape result = shape;
  result.groups /= merged;
  return result;
}

// For the output pixel whose window begins at (y0, x0), the `length` elements of the `width` pixels
// from (y0 + y, x0 + x) on. In the packed weights it has `depth` >= length of them.
struct ConvRun {
  int64_t y, x;
  int64_t width;
  int64_t length, depth;
  int64_t b_row;
};

// One group of a convolution.
struct ConvRuns {
  Window2dShape window;
  int64_t batch;
  int64_t channels, columns;  // in and out, of the group
  int64_t packed_channels;    // in, as packed
  int64_t input_stride;
  bool pointwise;  // the pixels of the image are the rows of A
  bool dense;      // the pixels of a kernel row follow each other without gaps
  int64_t count;   // of runs

  ConvRuns(const ConvNhwcShape& shape, int64_t stride, const TileShape& tile)
      : window(shape.window),
        batch(shape.batch),
        channels(shape.in_channels / shape.groups),
        columns(shape.out_channels / shape.groups),
        packed_channels(tile.packed_depth(channels)),
        input_stride(stride) {
    Window2dShape& w = window;
    pointwise = w.kernel_h * w.kernel_w * w.stride_h * w.stride_w == 1 && w.pad_h == 0 &&
                w.pad_w == 0 && w.in_h == w.out_h && w.in_w == w.out_w;
    if (pointwise) {  // one line of all pixels
      w.in_w = w.out_w = batch * w.in_h * w.in_w;
      w.in_h = w.out_h = 1;
      batch = 1;
    }
    dense = w.dilation_w == 1 && channels == stride && channels == packed_channels;
    count = w.kernel_h * (dense ? 1 : w.kernel_w);
  }

  int64_t pixels() const { return batch * window.out_h * window.out_w; }
  int64_t depth() const { return window.kernel_h * window.kernel_w * packed_channels; }
  int64_t run_length() const { return dense ? window.kernel_w * channels : channels; }

  ConvRun run(int64_t i) const {
    const int64_t per_row = dense ? 1 : window.kernel_w;
    return {.y = i / per_row * window.dilation_h,
            .x = i % per_row * window.dilation_w,
            .width = dense ? window.kernel_w : 1,
            .length = run_length(),
            .depth = dense ? run_length() : packed_channels,
            .b_row = i * (dense ? run_length() : packed_channels)};
  }
};

}  // namespace torchlet::kernels
