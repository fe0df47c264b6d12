// The windows of a pooling, and volumes as its loops read them. For max_pool.cc and
// average_pool.cc.
#pragma once

#include <algorithm>
#include <array>

#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "kernels/spatial/window.h"
#include "ops/engines/compute.h"
#include "ops/nn/pooling.h"

namespace torchlet::ops {

// What each output index of one dimension looks at: inputs begin, begin + step, ... below end.
struct PoolAxis {
  int64_t in = 1, out = 1, step = 1;
  // For each output, unless the tensor is empty.
  CountedVector<int64_t> begin{0}, end{1};
  CountedVector<int64_t> covered{1};  // inputs under the window, those in the padding included
};
// Depth, height, width; the leading ones may be of size 1.
using PoolAxes = std::array<PoolAxis, 3>;

// Of the pooled dimensions of `self`, checked as PyTorch checks them.
PoolAxes sliding_axes(int64_t spatial, const Tensor& self, const PoolWindow& window,
                      int64_t least_out);
PoolAxes adaptive_axes(int64_t spatial, const Tensor& self, IntSpan output_size);

IntArray pooled_shape(int64_t spatial, const Tensor& self, const PoolAxes& axes);
// Of the dimensions before the pooled ones.
int64_t plane_count(int64_t spatial, const Tensor& self);
// Of images and lines.
kernels::Window2dShape kernel_window(const PoolAxes& axes, const PoolWindow& window,
                                     int64_t spatial);

// Calls fn(plane, plane_in, output_offset, d, h, w) for every output element.
template <typename T, typename Fn>
void for_each_window(const Tensor& in, int64_t planes, const PoolAxes& axes, Fn fn) {
  const int64_t in_size = axes[0].in * axes[1].in * axes[2].in;
  const int64_t out_size = axes[0].out * axes[1].out * axes[2].out;
  const T* data = const_data<T>(in);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, in_size));
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t at = plane * out_size;
      for (size_t d = 0; d < axes[0].begin.size(); ++d) {
        for (size_t h = 0; h < axes[1].begin.size(); ++h) {
          for (size_t w = 0; w < axes[2].begin.size(); ++w)
            fn(data + plane * in_size, at++, d, h, w);
        }
      }
    }
  });
}

// [N, C, D, H, W]
Tensor as_volume(int64_t spatial, const Tensor& tensor);
// Whether the channels of a pixel lie side by side and are worth a loop.
bool has_channels_inside(const Tensor& volume);

// The elements of [N, C, D, H, W].
template <typename T>
struct Volume {
  explicit Volume(const Tensor& tensor) : data(tensor.data_ptr<T>()) {
    std::ranges::copy(tensor.strides(), strides);
  }
  T* at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return data + n * strides[0] + c * strides[1] + d * strides[2] + h * strides[3] +
           w * strides[4];
  }
  T* data;
  int64_t strides[5];
};

}  // namespace torchlet::ops
