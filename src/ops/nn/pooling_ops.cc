// Max, average and adaptive pooling.
#include "ops/nn/pooling.h"

#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

using TensorPair = std::tuple<Tensor, Tensor>;

// PyTorch pools lines as pictures of one row, but for max_pool1d; so the result of a batch of lines
// whose channels lie inside lies like them.
Tensor as_row(const Tensor& lines) { return unsqueeze(lines, -2); }
Tensor as_line(const Tensor& rows) { return squeeze(rows, -2); }
[[gnu::noinline]] IntArray in_row(const IntArray& of_line, int64_t of_height, const char* name) {
  return {of_height, expand_param(of_line, 1, name)[0]};
}
[[gnu::noinline]] PoolWindow in_row(const PoolWindow& w) {
  return {in_row(w.kernel, 1, "kernel_size"),
          w.stride.empty() ? w.stride : in_row(w.stride, 1, "stride"),
          in_row(w.padding, 0, "padding"), in_row(w.dilation, 1, "dilation"), w.ceil_mode};
}

template <int64_t Spatial>
TensorPair max_pool_with_indices(const Tensor& self, const IntArray& kernel, const IntArray& stride,
                                 const IntArray& padding, const IntArray& dilation,
                                 bool ceil_mode) {
  auto [values, indices] = max_pool(Spatial, self, {kernel, stride, padding, dilation, ceil_mode});
  return {values, indices};
}

TensorPair max_pool1d_with_indices(const Tensor& self, const IntArray& kernel,
                                   const IntArray& stride, const IntArray& padding,
                                   const IntArray& dilation, bool ceil_mode) {
  const PoolWindow window = in_row({kernel, stride, padding, dilation, ceil_mode});
  const auto [values, indices] = max_pool(2, as_row(self), window);
  return {as_line(values), as_line(indices)};
}

template <int64_t Spatial>
Tensor max_pool_nd(const Tensor& self, const IntArray& kernel, const IntArray& stride,
                   const IntArray& padding, const IntArray& dilation, bool ceil_mode) {
  return max_pool_values(Spatial, self, {kernel, stride, padding, dilation, ceil_mode});
}

template <int64_t Spatial>
Tensor avg_pool_nd(const Tensor& self, const IntArray& kernel, const IntArray& stride,
                   const IntArray& padding, bool ceil_mode, bool count_include_pad,
                   std::optional<int64_t> divisor) {
  return avg_pool(Spatial, self, {kernel, stride, padding, {1}, ceil_mode}, count_include_pad,
                  divisor);
}

Tensor avg_pool1d(const Tensor& self, const IntArray& kernel, const IntArray& stride,
                  const IntArray& padding, bool ceil_mode, bool count_include_pad) {
  const PoolWindow window = in_row({kernel, stride, padding, {1}, ceil_mode});
  return as_line(avg_pool(2, as_row(self), window, count_include_pad, std::nullopt));
}

template <int64_t Spatial>
Tensor adaptive_avg(const Tensor& self, const IntArray& output_size) {
  return adaptive_avg_pool(Spatial, self, output_size);
}

template <int64_t Spatial>
TensorPair adaptive_max(const Tensor& self, const IntArray& output_size) {
  auto [values, indices] = adaptive_max_pool(Spatial, self, output_size);
  return {values, indices};
}

Tensor adaptive_avg_pool1d(const Tensor& self, const IntArray& output_size) {
  const IntArray size = in_row(output_size, 1, "output_size");
  return as_line(adaptive_avg_pool(2, as_row(self), size));
}
TensorPair adaptive_max_pool1d(const Tensor& self, const IntArray& output_size) {
  const IntArray size = in_row(output_size, 1, "output_size");
  const auto [values, indices] = adaptive_max_pool(2, as_row(self), size);
  return {as_line(values), as_line(indices)};
}

}  // namespace

TORCHLET_OP_WITH(max_pool1d, on_meta() | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
                 "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
                 max_pool_nd<1>);
TORCHLET_OP_WITH(
    max_pool2d, on_meta() | keeps_rank() | keeps_dtype() | quantized_as_input(),
    "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
    "int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    max_pool_nd<2>);
TORCHLET_OP_WITH(
    max_pool3d, on_meta() | keeps_rank() | keeps_dtype() | quantized_as_input(),
    "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
    "int[3] dilation=1, bool ceil_mode=False) -> Tensor",
    max_pool_nd<3>);
TORCHLET_OP(max_pool1d_with_indices,
            "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
            "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
            max_pool1d_with_indices);
TORCHLET_OP_WITH(
    max_pool2d_with_indices, out("out(out, indices)"),
    "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
    "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    max_pool_with_indices<2>);
TORCHLET_OP_WITH(
    max_pool3d_with_indices, out("out(out, indices)"),
    "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
    "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    max_pool_with_indices<3>);
TORCHLET_OP_WITH(avg_pool1d, on_meta() | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
                 "padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
                 avg_pool1d);
TORCHLET_OP_WITH(
    avg_pool2d, on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_average(),
    "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    avg_pool_nd<2>);
TORCHLET_OP_WITH(
    avg_pool3d, on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_average(),
    "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    avg_pool_nd<3>);
TORCHLET_OP_WITH(adaptive_avg_pool1d,
                 on_meta() | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
                 adaptive_avg_pool1d);
TORCHLET_OP_WITH(adaptive_avg_pool2d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
                 adaptive_avg<2>);
TORCHLET_OP_WITH(_adaptive_avg_pool2d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
                 adaptive_avg<2>);
TORCHLET_OP_WITH(adaptive_avg_pool3d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor",
                 adaptive_avg<3>);
TORCHLET_OP_WITH(_adaptive_avg_pool3d,
                 out("out") | on_meta() | keeps_rank() | keeps_dtype() | quantized_average(),
                 "aten::_adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor",
                 adaptive_avg<3>);
TORCHLET_OP_WITH(adaptive_max_pool1d, keeps_rank(),
                 "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
                 adaptive_max_pool1d);
TORCHLET_OP_WITH(adaptive_max_pool2d, out("out(out, indices)") | keeps_rank(),
                 "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
                 adaptive_max<2>);
TORCHLET_OP_WITH(adaptive_max_pool3d, out("out(out, indices)") | keeps_rank(),
                 "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
                 adaptive_max<3>);

}  // namespace torchlet::ops
