// Steps that convolve images; other steps are made of them.
#pragma once

#include "device/cpu/fusion.h"
#include "kernels/conv_nhwc.h"
#include "kernels/dwconv_nhwc.h"

namespace torchlet::cpu {

double conv_flops(const kernels::ConvNhwcShape& shape);
double conv_flops(const kernels::DwConvShape& shape);

// A convolution of images, or a linear layer: a pointwise convolution of an image of 1 x rows.
class ConvStep : public EpilogueStep {
 public:
  // With `reads_nchw` the input is a contiguous NCHW tensor and no image.
  ConvStep(const kernels::ConvNhwcShape& shape, Operand input, Operand output, const void* packed,
           const float* bias, bool reads_nchw = false)
      : EpilogueStep(bias),
        shape_(shape),
        input_(input),
        output_(output),
        packed_(packed),
        reads_nchw_(reads_nchw) {}
  const char* kernel() const override { return "conv_nhwc_f32"; }
  double flops() const override { return conv_flops(shape_); }
  bool reads_strides() const override { return true; }
  void run(const Memory& m) const override {
    if (reads_nchw_) {
      return kernels::conv_nhwc_f32_from_nchw(shape_, m.data<float>(input_.id), packed_,
                                              epilogue(m), m.data<float>(writes),
                                              m.stride(output_));
    }
    kernels::conv_nhwc_f32(shape_, m.data<float>(input_.id), m.stride(input_), packed_, epilogue(m),
                           m.data<float>(writes), m.stride(output_));
  }

  const kernels::ConvNhwcShape& shape() const { return shape_; }
  Operand input() const { return input_; }
  Operand output() const { return output_; }
  const void* packed() const { return packed_; }
  // One product for each pixel of an image.
  bool is_pointwise() const {
    const kernels::Window2dShape& w = shape_.window;
    return input_.is_image && !reads_nchw_ && shape_.groups == 1 && w.kernel_h == 1 &&
           w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 && w.pad_w == 0;
  }

 private:
  kernels::ConvNhwcShape shape_;
  Operand input_, output_;
  const void* packed_;
  bool reads_nchw_;
};

// A convolution in which each channel has a filter of its own.
class DepthwiseStep : public EpilogueStep {
 public:
  DepthwiseStep(const kernels::DwConvShape& shape, Operand input, Operand output,
                const void* packed, const float* bias)
      : EpilogueStep(bias), shape_(shape), input_(input), output_(output), packed_(packed) {}
  const char* kernel() const override { return "dwconv_nhwc_f32"; }
  double flops() const override { return conv_flops(shape_); }
  bool reads_strides() const override { return true; }
  void run(const Memory& m) const override {
    kernels::dwconv_nhwc_f32(shape_, m.data<float>(input_.id), m.stride(input_), packed_,
                             epilogue(m), m.data<float>(writes), m.stride(output_));
  }

  const kernels::DwConvShape& shape() const { return shape_; }
  Operand input() const { return input_; }
  const void* packed() const { return packed_; }

 private:
  kernels::DwConvShape shape_;
  Operand input_, output_;
  const void* packed_;
};

}  // namespace torchlet::cpu
