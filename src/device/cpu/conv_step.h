#pragma once

#include "device/cpu/fusion.h"
#include "kernels/conv_nhwc.h"

namespace torchlet::cpu {

// A convolution of images, or a linear layer: a pointwise convolution of an image of 1 x rows.
class ConvStep : public EpilogueStep {
 public:
  ConvStep(const kernels::ConvNhwcShape& shape, Operand input, Operand output, const void* packed,
           const float* bias, bool reads_nchw = false)
      : shape_(shape), input_(input), output_(output), packed_(packed), reads_nchw_(reads_nchw) {
    bias_ = bias;
  }
  const char* kernel() const override { return "conv_nhwc_f32"; }
  bool reads_strides() const override { return true; }
  double flops() const override {
    const kernels::Window2dShape& w = shape_.window;
    return 2.0 *
           static_cast<double>(shape_.batch * w.out_h * w.out_w * shape_.out_channels *
                               (shape_.in_channels / shape_.groups) * w.kernel_h * w.kernel_w);
  }
  void run(const Memory& m) const override {
    if (reads_nchw_) {
      return kernels::conv_nhwc_f32_from_nchw(shape_, m.data<float>(input_.id), packed_,
                                              epilogue(m), m.data<float>(writes),
                                              m.stride(output_));
    }
    kernels::conv_nhwc_f32(shape_, m.data<float>(input_.id), m.stride(input_), packed_, epilogue(m),
                           m.data<float>(writes), m.stride(output_));
  }

 private:
  kernels::ConvNhwcShape shape_;
  Operand input_, output_;
  const void* packed_;
  bool reads_nchw_;  // the input is contiguous
};

}  // namespace torchlet::cpu
