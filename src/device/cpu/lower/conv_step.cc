#include "device/cpu/lower/conv_step.h"

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
  return 2 * taps(s.window) * static_cast<double>(s.batch * s.channels * s.group);
}

namespace {

using kernels::ConvNhwcShape;
using kernels::DwConvShape;

void fill_conv(void* to, const DType& dtype, const LayerForm<ConvNhwcShape>& layer,
               const ByRows& weight) {
  FilterReader filters(weight);
  if (!is_float16(dtype)) return kernels::conv_nhwc_f32_pack(layer.shape, filters, to);
  kernels::conv_nhwc_f16_pack(layer.shape, filters(0, layer.shape.out_channels), to);
}

void fill_depthwise(void* to, const DType& dtype, const LayerForm<DwConvShape>& layer,
                    const Tensor& weight) {
  const Tensor dense = weight.to(DType::kFloat32).contiguous();
  const auto pack =
      is_float16(dtype) ? kernels::dwconv_nhwc_f16_pack : kernels::dwconv_nhwc_f32_pack;
  pack(layer.shape, dense.data_ptr<float>(), to);
}

}  // namespace

const void* pack_conv(PlanBuilder& plan, DType dtype, const ConvNhwcShape& shape,
                      const Tensor& weight) {
  const size_t nbytes = is_float16(dtype) ? kernels::conv_nhwc_f16_packed_bytes(shape)
                                          : kernels::conv_nhwc_f32_packed_bytes(shape);
  const int form = is_float16(dtype) ? 0 : kernels::conv_nhwc_f32_form(shape);
  return plan.packed(nbytes, fill_conv, dtype, {shape, form}, weight);
}

const void* pack_depthwise(PlanBuilder& plan, DType dtype, const DwConvShape& shape,
                           const Tensor& weight) {
  const size_t nbytes = is_float16(dtype) ? kernels::dwconv_nhwc_f16_packed_bytes(shape)
                                          : kernels::dwconv_nhwc_f32_packed_bytes(shape);
  const int form = is_float16(dtype) ? 0 : kernels::dwconv_nhwc_f32_form(shape);
  return plan.packed(nbytes, fill_depthwise, dtype, {shape, form}, weight);
}

}  // namespace torchlet::cpu
