#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv2d.h"
#include "kernels/gemm/gemm.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {
namespace {

constexpr int64_t kColumnElements = int64_t{1} << 18;  // 1 MB of columns at a time

// The x for which 0 <= x * stride + offset < limit, cut to [0, count).
struct Range {
  int64_t begin, end;
};
Range positions_inside(int64_t offset, int64_t stride, int64_t limit, int64_t count) {
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = limit <= offset ? 0 : (limit - offset - 1) / stride + 1;
  return {begin, std::min(end, count)};
}

// Adds one channel's columns [kernel_h, kernel_w, out_h, out_w] to the plane [in_h, in_w] they came
// from.
void add_columns(const Window2dShape& w, const float* columns, float* plane) {
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    const int64_t top = i * w.dilation_h - w.pad_h;
    const Range ys = positions_inside(top, w.stride_h, w.in_h, w.out_h);
    for (int64_t j = 0; j < w.kernel_w; ++j, columns += w.out_h * w.out_w) {
      const int64_t left = j * w.dilation_w - w.pad_w;
      const Range xs = positions_inside(left, w.stride_w, w.in_w, w.out_w);
      for (int64_t y = ys.begin; y < ys.end; ++y) {
        const float* from = columns + y * w.out_w;
        float* to = plane + (y * w.stride_h + top) * w.in_w + left;
        for (int64_t x = xs.begin; x < xs.end; ++x) to[x * w.stride_w] += from[x];
      }
    }
  }
}

}  // namespace

// Per image and group, columns [out_channels * taps, pixels] = weight^T [.., in_channels] x input
// [in_channels, pixels], a few output channels at a time, which are then summed where windows
// overlap.
void conv_transpose2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                          const float* bias, float* output) {
  const Window2dShape& w = shape.window;
  const int64_t taps = w.kernel_h * w.kernel_w;
  const int64_t pixels = w.out_h * w.out_w;
  const int64_t out_plane = w.in_h * w.in_w;
  const int64_t in_rows = shape.in_channels / shape.groups;
  const int64_t out_rows = shape.out_channels / shape.groups;
  const int64_t channel_elements = std::max<int64_t>(1, taps * pixels);
  const int64_t channels = std::clamp<int64_t>(kColumnElements / channel_elements, 1,
                                               std::max<int64_t>(1, out_rows / num_threads()));
  const int64_t chunks = (out_rows + channels - 1) / channels;

  parallel_for(shape.batch * shape.groups * chunks, 1, [&](int64_t begin, int64_t end) {
    const Scratch<float> columns(channels * channel_elements);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t index = task / chunks;  // image * groups + group
      const int64_t group = index % shape.groups;
      const int64_t first = task % chunks * channels;
      const int64_t count = std::min(channels, out_rows - first);
      const ConstMatrix<float> weight_t{weight + (group * in_rows * out_rows + first) * taps, 1,
                                        out_rows * taps};
      gemm_f32(count * taps, pixels, in_rows, weight_t,
               {input + index * in_rows * pixels, pixels, 1}, columns.data(), pixels);
      for (int64_t c = 0; c < count; ++c) {
        float* plane = output + (index * out_rows + first + c) * out_plane;
        std::fill_n(plane, out_plane, bias ? bias[group * out_rows + first + c] : 0.0f);
        add_columns(w, columns.data() + c * taps * pixels, plane);
      }
    }
  });
}

}  // namespace torchlet::kernels
