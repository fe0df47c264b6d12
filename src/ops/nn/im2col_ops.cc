// Sliding blocks as columns and back: torch.nn.functional.unfold and fold.
#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/spatial/window.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

kernels::Window2dShape make_window(int64_t in_h, int64_t in_w, const IntArray& kernel_size,
                                   const IntArray& dilation_size, const IntArray& padding_size,
                                   const IntArray& stride_size) {
  const IntArray kernel = expand_param(kernel_size, 2, "kernel_size");
  const IntArray dilation = expand_param(dilation_size, 2, "dilation");
  const IntArray padding = expand_param(padding_size, 2, "padding");
  const IntArray stride = expand_param(stride_size, 2, "stride");
  for (size_t d = 0; d < 2; ++d) {
    TORCHLET_CHECK(kernel[d] > 0, "kernel size should be greater than zero, but got %lld",
                   ll(kernel[d]));
    TORCHLET_CHECK(stride[d] > 0, "stride should be greater than zero, but got %lld",
                   ll(stride[d]));
    TORCHLET_CHECK(dilation[d] > 0, "dilation should be greater than zero, but got %lld",
                   ll(dilation[d]));
    TORCHLET_CHECK(padding[d] >= 0, "padding should be non-negative, but got %lld", ll(padding[d]));
  }
  kernels::Window2dShape w{.in_h = in_h,
                           .in_w = in_w,
                           .out_h = 0,
                           .out_w = 0,
                           .kernel_h = kernel[0],
                           .kernel_w = kernel[1]};
  w.stride_h = stride[0], w.stride_w = stride[1];
  w.pad_h = padding[0], w.pad_w = padding[1];
  w.dilation_h = dilation[0], w.dilation_w = dilation[1];
  w.out_h = kernels::sliding_output_size(in_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h);
  w.out_w = kernels::sliding_output_size(in_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
  TORCHLET_CHECK(w.out_h > 0 && w.out_w > 0,
                 "Given input with spatial size (%lld, %lld), calculated shape of the array of "
                 "sliding blocks as (%lld, %lld), which is too small",
                 ll(in_h), ll(in_w), ll(w.out_h), ll(w.out_w));
  return w;
}

// The places along one dimension at which a tap lies inside of the picture: outputs
// [begin, begin + count), of which the first sees element `from`.
struct Inside {
  int64_t begin, count, from;
};
Inside places_inside(int64_t left, int64_t stride, int64_t in, int64_t out) {
  const int64_t begin = left >= 0 ? 0 : (-left - 1) / stride + 1;
  const int64_t end = left >= in ? 0 : std::min((in - 1 - left) / stride + 1, out);
  return {begin, std::max<int64_t>(0, end - begin), left + begin * stride};
}

// Calls fn(tap, rows, columns) for every tap of the window that lies inside somewhere.
template <typename Fn>
void for_each_tap(const kernels::Window2dShape& w, Fn fn) {
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    const Inside y = places_inside(i * w.dilation_h - w.pad_h, w.stride_h, w.in_h, w.out_h);
    for (int64_t j = 0; j < w.kernel_w && y.count > 0; ++j) {
      const Inside x = places_inside(j * w.dilation_w - w.pad_w, w.stride_w, w.in_w, w.out_w);
      if (x.count > 0) fn(i * w.kernel_w + j, y, x);
    }
  }
}

Tensor im2col(const Tensor& self, const IntArray& kernel_size, const IntArray& dilation,
              const IntArray& padding, const IntArray& stride) {
  TORCHLET_CHECK(self.dim() == 3 || self.dim() == 4,
                 "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                 "non-zero dimensions for input, but got: %s",
                 self.describe().c_str());
  const size_t lead = static_cast<size_t>(self.dim()) - 3;
  for (int64_t size : self.sizes().last(3)) {
    TORCHLET_CHECK(size > 0, "im2col: expected non-zero dimensions but for the batch, got %s",
                   self.describe().c_str());
  }
  const auto w = make_window(self.size(-2), self.size(-1), kernel_size, dilation, padding, stride);
  const int64_t taps = w.kernel_h * w.kernel_w;
  const int64_t positions = checked_mul(w.out_h, w.out_w);
  IntArray shape(self.sizes().first(lead));
  shape.push_back(checked_mul(self.size(-3), taps));
  shape.push_back(positions);
  const Tensor in = self.dim() == 3 ? unsqueeze(self, 0) : self, out = zeros(shape, self.dtype());
  if (out.numel() == 0) return out;
  const int64_t columns = taps * positions;
  const IntArray to_strides{in.size(1) * columns, columns, w.out_w, 1};
  IntArray from_strides(in.strides());
  // With longer ones than that, a tap is inside once at most.
  from_strides[2] *= std::min(w.stride_h, w.in_h);
  from_strides[3] *= std::min(w.stride_w, w.in_w);
  for_each_tap(w, [&](int64_t tap, const Inside& y, const Inside& x) {
    const IntArray sizes{in.size(0), in.size(1), y.count, x.count};
    const int64_t from = in.storage_offset() + y.from * in.stride(2) + x.from * in.stride(3);
    const int64_t to = tap * positions + y.begin * w.out_w + x.begin;
    make_view(out, sizes, to_strides, to).copy_(make_view(in, sizes, from_strides, from));
  });
  return out;
}

Tensor col2im(const Tensor& self, const IntArray& output_size, const IntArray& kernel_size,
              const IntArray& dilation, const IntArray& padding, const IntArray& stride) {
  TORCHLET_CHECK(self.dim() == 2 || self.dim() == 3,
                 "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
                 "non-zero dimensions for input, but got: %s",
                 self.describe().c_str());
  const IntArray size = expand_param(output_size, 2, "output_size");
  const auto w = make_window(size[0], size[1], kernel_size, dilation, padding, stride);
  const int64_t taps = w.kernel_h * w.kernel_w;
  const int64_t positions = checked_mul(w.out_h, w.out_w);
  TORCHLET_CHECK(self.size(-2) > 0 && self.size(-2) % taps == 0,
                 "Expected size of input's dimension 1 to be divisible by the product of "
                 "kernel_size, but got input.size(1)=%lld and kernel_size=(%lld, %lld).",
                 ll(self.size(-2)), ll(w.kernel_h), ll(w.kernel_w));
  TORCHLET_CHECK(self.size(-1) == positions,
                 "Expected input.size(2) to match the calculated number of sliding blocks %lld * "
                 "%lld = %lld, but got input.size(2)=%lld.",
                 ll(w.out_h), ll(w.out_w), ll(positions), ll(self.size(-1)));
  IntArray shape(self.sizes().first(static_cast<size_t>(self.dim()) - 2));
  shape.push_back(self.size(-2) / taps);
  shape.push_back(size[0]);
  shape.push_back(size[1]);
  return compute_as<kMapAll>(self.dtype(), "col2im", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(self), out = zeros(shape, DTypeOf<T>::value);
    const int64_t plane = w.in_h * w.in_w;
    parallel_for(in.numel() / (taps * positions), 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* from = const_data<T>(in) + p * taps * positions;
        T* to = out.data_ptr<T>() + p * plane;
        for_each_tap(w, [&](int64_t tap, const Inside& y, const Inside& x) {
          for (int64_t i = 0; i < y.count; ++i) {
            const T* column = from + tap * positions + (y.begin + i) * w.out_w + x.begin;
            T* pixel = to + (y.from + i * w.stride_h) * w.in_w + x.from;
            for (int64_t k = 0; k < x.count; ++k) pixel[k * w.stride_w] += column[k];
          }
        });
      }
    });
    return out.to(self.dtype());
  });
}

}  // namespace

TORCHLET_OP_WITH(im2col, out("out"),
                 "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] "
                 "padding, int[2] stride) -> Tensor",
                 im2col);
TORCHLET_OP_WITH(col2im, out("out"),
                 "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] "
                 "dilation, int[2] padding, int[2] stride) -> Tensor",
                 col2im);

}  // namespace torchlet::ops
