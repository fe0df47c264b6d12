#include "device/cpu/conv_step.h"

namespace torchlet::cpu {
namespace {

double taps(const kernels::Window2dShape& w) {
  return static_cast<double>(w.out_h * w.out_w * w.kernel_h * w.kernel_w);
}

}  // namespace

double conv_flops(const kernels::ConvNhwcShape& s) {
  return 2 * taps(s.window) *
         static_cast<double>(s.batch * s.out_channels * (s.in_channels / s.groups));
}
double conv_flops(const kernels::DwConvShape& s) {
  return 2 * taps(s.window) * static_cast<double>(s.batch * s.channels);
}

const ConvKernels& conv_kernels(DType dtype) {
  using namespace kernels;
  static constexpr ConvKernels kInFloat32 = {conv_nhwc_f32_packed_bytes,
                                             conv_nhwc_f32_pack,
                                             dwconv_nhwc_f32_packed_bytes,
                                             dwconv_nhwc_f32_pack,
                                             "conv",
                                             "dwconv"};
  static constexpr ConvKernels kInFloat16 = {
      conv_nhwc_f16_packed_bytes, conv_nhwc_f16_pack, dwconv_nhwc_f16_packed_bytes,
      dwconv_nhwc_f16_pack,       "conv_f16",         "dwconv_f16"};
  return dtype == DType::kFloat16 ? kInFloat16 : kInFloat32;
}

}  // namespace torchlet::cpu
