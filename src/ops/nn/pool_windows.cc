#include "ops/nn/pool_windows.h"

#include "base/checked.h"
#include "base/limits.h"
#include "kernels/spatial/window_size.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// The tables are left empty for an empty tensor, which may have any size.
PoolAxis empty_axis(int64_t in, int64_t out, int64_t step, bool is_empty) {
  if (!is_empty) require_memory(out, 3 * sizeof(int64_t), "windows of a pooling");
  return {.in = in, .out = out, .step = step, .begin = {}, .end = {}, .covered = {}};
}

PoolAxis sliding_axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                      bool ceil_mode, int64_t least_out, bool is_empty) {
  TORCHLET_CHECK(kernel > 0, "kernel size should be greater than zero, but got %lld", ll(kernel));
  TORCHLET_CHECK(stride > 0, "stride should be greater than zero, but got %lld", ll(stride));
  TORCHLET_CHECK(dilation > 0, "dilation should be greater than zero, but got %lld", ll(dilation));
  TORCHLET_CHECK(pad >= 0 && pad <= kernel / 2,
                 "pad should be at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                 ll(pad), ll(kernel));
  const int64_t out = kernels::pooled_output_size(in, kernel, stride, pad, dilation, ceil_mode);
  TORCHLET_CHECK(out >= least_out,
                 "Given input size %lld, calculated output size %lld is too small", ll(in),
                 ll(out));
  PoolAxis axis = empty_axis(in, out, dilation, is_empty);
  for (int64_t i = 0; i < out && !is_empty; ++i) {
    int64_t begin = i * stride - pad;
    const int64_t end = begin + dilation * (kernel - 1) + 1;
    axis.covered.push_back(std::min(end, in + pad) - begin);
    if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
    axis.begin.push_back(begin);
    axis.end.push_back(std::min(end, in));
  }
  return axis;
}

PoolAxis adaptive_axis(int64_t in, int64_t out, bool is_empty) {
  TORCHLET_CHECK(out >= 0,
                 "adaptive pooling: elements of output_size must be greater than or "
                 "equal to 0, but got %lld",
                 ll(out));
  PoolAxis axis = empty_axis(in, out, 1, is_empty);
  for (int64_t i = 0; i < out && !is_empty; ++i) {
    axis.begin.push_back(checked_mul(i, in) / out);
    axis.end.push_back((checked_mul(i + 1, in) - 1) / out + 1);
    axis.covered.push_back(axis.end.back() - axis.begin.back());
  }
  return axis;
}

// The pooled dimensions of `self`, checked as PyTorch checks them.
IntSpan spatial_sizes(int64_t spatial, const Tensor& self) {
  TORCHLET_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2,
                 "pooling: expected a %lldD or %lldD (batch mode) input, but got %s",
                 ll(spatial + 1), ll(spatial + 2), self.describe().c_str());
  for (int64_t d = self.dim() - spatial; d < self.dim(); ++d) {
    TORCHLET_CHECK(self.size(d) > 0,
                   "pooling: expected input to have non-zero size for non-batch dimensions, but "
                   "got %s",
                   self.describe().c_str());
  }
  return self.sizes().last(static_cast<size_t>(spatial));
}

}  // namespace

PoolAxes sliding_axes(int64_t spatial, const Tensor& self, const PoolWindow& window,
                      int64_t least_out) {
  const IntSpan sizes = spatial_sizes(spatial, self);
  TORCHLET_CHECK(self.size(-spatial - 1) > 0,
                 "pooling: expected a %lldD or %lldD (batch mode) tensor with optional 0 dim batch "
                 "size for input, but got %s",
                 ll(spatial + 1), ll(spatial + 2), self.describe().c_str());
  const size_t count = sizes.size();
  const IntArray kernel = expand_param(window.kernel, count, "kernel_size");
  const IntArray stride =
      window.stride.empty() ? kernel : expand_param(window.stride, count, "stride");
  const IntArray padding = expand_param(window.padding, count, "padding");
  const IntArray dilation = expand_param(window.dilation, count, "dilation");
  PoolAxes axes;
  for (size_t d = 0; d < count; ++d) {
    axes[3 - count + d] = sliding_axis(sizes[d], kernel[d], stride[d], padding[d], dilation[d],
                                       window.ceil_mode, least_out, self.numel() == 0);
  }
  return axes;
}

PoolAxes adaptive_axes(int64_t spatial, const Tensor& self, IntSpan output_size) {
  const IntSpan sizes = spatial_sizes(spatial, self);
  const IntArray out = expand_param(output_size, sizes.size(), "output_size");
  PoolAxes axes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    axes[3 - sizes.size() + d] = adaptive_axis(sizes[d], out[d], self.numel() == 0);
  }
  return axes;
}

IntArray pooled_shape(int64_t spatial, const Tensor& self, const PoolAxes& axes) {
  IntArray shape(self.sizes());
  const size_t lead = shape.size() - static_cast<size_t>(spatial);
  for (size_t d = lead; d < shape.size(); ++d) {
    shape[d] = axes[3 - static_cast<size_t>(spatial) + d - lead].out;
  }
  return shape;
}

int64_t plane_count(int64_t spatial, const Tensor& self) {
  return checked_numel(self.sizes().first(self.sizes().size() - static_cast<size_t>(spatial)));
}

kernels::Window2dShape kernel_window(const PoolAxes& axes, const PoolWindow& window,
                                     int64_t spatial) {
  const PoolAxis &height = axes[1], &width = axes[2];
  auto last = [](const IntArray& values, int64_t none) {
    return values.empty() ? none : values.back();
  };
  auto first = [](const IntArray& values, int64_t none) {
    return values.empty() ? none : values.front();
  };
  kernels::Window2dShape shape{.in_h = height.in,
                               .in_w = width.in,
                               .out_h = height.out,
                               .out_w = width.out,
                               .kernel_h = 1,
                               .kernel_w = last(window.kernel, 1)};
  shape.stride_w = last(window.stride, shape.kernel_w);
  shape.pad_w = last(window.padding, 0);
  shape.dilation_w = width.step;
  if (spatial == 1) return shape;
  shape.kernel_h = first(window.kernel, 1);
  shape.stride_h = first(window.stride, shape.kernel_h);
  shape.pad_h = first(window.padding, 0);
  shape.dilation_h = height.step;
  return shape;
}

Tensor as_volume(int64_t spatial, const Tensor& tensor) {
  Tensor volume = tensor.dim() == spatial + 1 ? unsqueeze(tensor, 0) : tensor;
  while (volume.dim() < 5) volume = unsqueeze(volume, 2);
  return volume;
}

bool has_channels_inside(const Tensor& volume) {
  constexpr int64_t kMany = 8;  // what MaxOfChannels needs
  return volume.stride(1) == 1 && volume.size(1) >= kMany && volume.numel() > 0 && !is_meta(volume);
}

}  // namespace torchlet::ops
