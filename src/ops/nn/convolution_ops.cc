// The many faces of convolution.
#include <algorithm>

#include "ops/nn/convolution.h"

#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

template <int64_t Spatial>
Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const IntArray& stride,
            const IntArray& padding, const IntArray& dilation, int64_t groups) {
  return convolution_nd(Spatial, input, weight, bias,
                        {.stride = stride,
                         .padding = padding,
                         .dilation = dilation,
                         .output_padding = {},
                         .groups = groups});
}

template <int64_t Spatial>
Tensor conv_padding(const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const IntArray& stride, const std::string& padding, const IntArray& dilation,
                    int64_t groups) {
  TORCHLET_CHECK(input.dim() == Spatial + 1 || input.dim() == Spatial + 2,
                 "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got %s",
                 static_cast<int>(Spatial + 1), static_cast<int>(Spatial + 2),
                 static_cast<int>(Spatial), input.describe().c_str());
  if (input.dim() == Spatial + 2) {
    return convolution_mode(input, weight, bias, stride, padding, dilation, groups);
  }
  return squeeze(
      convolution_mode(unsqueeze(input, 0), weight, bias, stride, padding, dilation, groups), 0);
}

template <int64_t Spatial>
Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const IntArray& stride, const IntArray& padding,
                      const IntArray& output_padding, int64_t groups, const IntArray& dilation) {
  return convolution_nd(Spatial, input, weight, bias,
                        {.stride = stride,
                         .padding = padding,
                         .dilation = dilation,
                         .transposed = true,
                         .output_padding = output_padding,
                         .groups = groups});
}

Tensor general(const Tensor& input, const Tensor& weight, const Tensor& bias,
               const IntArray& stride, const IntArray& padding, const IntArray& dilation,
               bool transposed, const IntArray& output_padding, int64_t groups) {
  return convolution_nd(weight.dim() - 2, input, weight, bias,
                        {.stride = stride,
                         .padding = padding,
                         .dilation = dilation,
                         .transposed = transposed,
                         .output_padding = output_padding,
                         .groups = groups});
}

// Input [time, batch, channels], weight [kernel, channels, outputs]: a product for each tap.
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TORCHLET_CHECK(self.dim() == 3 && weight.dim() == 3 && bias.dim() == 1,
                 "conv_tbc: input must have 3 dims: time, batch, in_channel, weight 3 dims: "
                 "kernel_width, in_channels, out_channels, and bias 1 dim: out_channels");
  const int64_t time = self.size(0), batch = self.size(1), channels = self.size(2);
  const int64_t kernel = weight.size(0), outputs = weight.size(2);
  const int64_t out_time = time - kernel + 1 + 2 * pad;
  TORCHLET_CHECK(weight.size(1) == channels && bias.size(0) == outputs && pad >= 0 && out_time >= 0,
                 "conv_tbc: an input %s, a weight %s, a bias %s and a padding of %lld do not fit",
                 self.describe().c_str(), weight.describe().c_str(), bias.describe().c_str(),
                 static_cast<long long>(pad));
  return compute_as<kMapAll>(self.dtype(), "conv_tbc", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(self), filter = dense_as<T>(weight);
    const Tensor out = empty(IntArray{out_time, batch, outputs}, DTypeOf<T>::value);
    out.copy_(expand(bias, out.sizes()));
    if (is_meta(out)) return out.to(self.dtype());
    for (int64_t k = 0; k < kernel; ++k) {
      // Outputs whose input at this tap is there.
      const int64_t begin = std::max<int64_t>(0, pad - k);
      const int64_t end = std::min(out_time, time + pad - k);
      if (begin >= end) continue;
      gemm<T>((end - begin) * batch, outputs, channels,
              {const_data<T>(in) + (begin + k - pad) * batch * channels, channels, 1},
              {const_data<T>(filter) + k * channels * outputs, outputs, 1},
              out.data_ptr<T>() + begin * batch * outputs, outputs, true);
    }
    return out.to(self.dtype());
  });
}

// slow_conv2d and its relatives repeat the kernel size, which the weight has anyway.
template <int64_t Spatial>
Tensor slow_conv(const Tensor& self, const Tensor& weight, const IntArray&, const Tensor& bias,
                 const IntArray& stride, const IntArray& padding) {
  return conv<Spatial>(self, weight, bias, stride, padding, {1}, 1);
}
template <int64_t Spatial>
Tensor slow_conv_dilated(const Tensor& self, const Tensor& weight, const IntArray&,
                         const Tensor& bias, const IntArray& stride, const IntArray& padding,
                         const IntArray& dilation) {
  return conv<Spatial>(self, weight, bias, stride, padding, dilation, 1);
}
template <int64_t Spatial>
Tensor slow_conv_transpose(const Tensor& self, const Tensor& weight, const IntArray&,
                           const Tensor& bias, const IntArray& stride, const IntArray& padding,
                           const IntArray& output_padding, const IntArray& dilation) {
  return conv_transpose<Spatial>(self, weight, bias, stride, padding, output_padding, 1, dilation);
}

}  // namespace

TORCHLET_OP_WITH(conv1d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
                 "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], "
                 "int[1] padding=[0], int[1] dilation=[1], int groups=1) -> Tensor",
                 conv<1>);
TORCHLET_OP_WITH(
    conv2d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] "
    "padding=0, int[2] dilation=1, int groups=1) -> Tensor",
    conv<2>);
TORCHLET_OP_WITH(
    conv3d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] "
    "padding=0, int[3] dilation=1, int groups=1) -> Tensor",
    conv<3>);
TORCHLET_OP_WITH(conv1d_padding, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
                 "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] "
                 "stride=[1], str padding=\"valid\", int[1] dilation=[1], int groups=1) -> Tensor",
                 conv_padding<1>);
TORCHLET_OP_WITH(
    conv2d_padding, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, "
    "str padding=\"valid\", int[2] dilation=1, int groups=1) -> Tensor",
    conv_padding<2>);
TORCHLET_OP_WITH(
    conv3d_padding, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, "
    "str padding=\"valid\", int[3] dilation=1, int groups=1) -> Tensor",
    conv_padding<3>);
TORCHLET_OP_WITH(conv_transpose1d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
                 "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] "
                 "stride=[1], int[1] padding=[0], int[1] output_padding=[0], int groups=1, int[1] "
                 "dilation=[1]) -> Tensor",
                 conv_transpose<1>);
TORCHLET_OP_WITH(
    conv_transpose2d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] "
    "stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) "
    "-> Tensor",
    conv_transpose<2>);
TORCHLET_OP_WITH(
    conv_transpose3d, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] "
    "stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) "
    "-> Tensor",
    conv_transpose<3>);
TORCHLET_OP_WITH(
    convolution, on_meta() | out("out") | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
    general);
TORCHLET_OP_WITH(
    _convolution, on_meta() | out("out") | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool "
    "deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    [](const Tensor& input, const Tensor& weight, const Tensor& bias, const IntArray& stride,
       const IntArray& padding, const IntArray& dilation, bool transposed,
       const IntArray& output_padding, int64_t groups, bool, bool, bool, bool) {
      return general(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                     groups);
    });
TORCHLET_OP_WITH(
    _convolution_deprecated, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] "
    "padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, "
    "bool deterministic, bool cudnn_enabled) -> Tensor",
    [](const Tensor& input, const Tensor& weight, const Tensor& bias, const IntArray& stride,
       const IntArray& padding, const IntArray& dilation, bool transposed,
       const IntArray& output_padding, int64_t groups, bool, bool, bool) {
      return general(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                     groups);
    });
TORCHLET_OP_WITH(
    _convolution_mode, on_meta() | keeps_rank() | dtype(DTypeRule::kWeight),
    "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str "
    "padding, int[] dilation, int groups) -> Tensor",
    [](const Tensor& input, const Tensor& weight, const Tensor& bias, const IntArray& stride,
       const std::string& padding, const IntArray& dilation, int64_t groups) {
      return convolution_mode(input, weight, bias, stride, padding, dilation, groups);
    });
TORCHLET_OP_WITH(conv_tbc, out("out"),
                 "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
                 conv_tbc);
TORCHLET_OP_WITH(
    thnn_conv2d, out("out"),
    "aten::thnn_conv2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] "
    "stride=1, int[2] padding=0) -> Tensor",
    slow_conv<2>);
TORCHLET_OP_WITH(
    _slow_conv2d_forward, out("output(output)"),
    "aten::_slow_conv2d_forward(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias, "
    "int[2] stride, int[2] padding) -> Tensor",
    slow_conv<2>);
TORCHLET_OP_WITH(
    slow_conv3d_forward, out("output(output)"),
    "aten::slow_conv3d_forward(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias, "
    "int[3] stride, int[3] padding) -> Tensor",
    slow_conv<3>);
TORCHLET_OP_WITH(
    slow_conv3d, out("out"),
    "aten::slow_conv3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] "
    "stride=1, int[3] padding=0) -> Tensor",
    slow_conv<3>);
TORCHLET_OP_WITH(
    slow_conv_dilated2d, out("out"),
    "aten::slow_conv_dilated2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, "
    "int[2] stride=1, int[2] padding=0, int[2] dilation=1) -> Tensor",
    slow_conv_dilated<2>);
TORCHLET_OP_WITH(
    slow_conv_dilated3d, out("out"),
    "aten::slow_conv_dilated3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, "
    "int[3] stride=1, int[3] padding=0, int[3] dilation=1) -> Tensor",
    slow_conv_dilated<3>);
TORCHLET_OP_WITH(
    slow_conv_transpose2d, out("out"),
    "aten::slow_conv_transpose2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? "
    "bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int[2] dilation=1) -> "
    "Tensor",
    slow_conv_transpose<2>);
TORCHLET_OP_WITH(
    slow_conv_transpose3d, out("out"),
    "aten::slow_conv_transpose3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? "
    "bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int[3] dilation=1) -> "
    "Tensor",
    slow_conv_transpose<3>);

}  // namespace torchlet::ops
