// Steps that convolve images; other steps are made of them.
#pragma once

#include "device/cpu/lower/epilogue_step.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"

namespace torchlet::cpu {

// Filters of a weight as floats, as kernels ask for them (kernels::FiltersAt).
class FilterReader {
 public:
  explicit FilterReader(const ByRows& weight) : reader_(weight.tensor) {}
  const float* operator()(int64_t first, int64_t end) {
    filters_ = reader_.rows(first, end).to(DType::kFloat32).contiguous();
    return filters_.data_ptr<float>();
  }

 private:
  RowReader reader_;
  Tensor filters_;
};

double conv_flops(const kernels::ConvNhwcShape& shape);
double conv_flops(const kernels::DwConvShape& shape);

// What plans read of weights [out, in / groups, kh, kw], or [out, in] of a linear layer,
// for convolutions of images of that dtype.
const void* pack_conv(PlanBuilder& plan, DType dtype, const kernels::ConvNhwcShape& shape,
                      const Tensor& weight);
const void* pack_depthwise(PlanBuilder& plan, DType dtype, const kernels::DwConvShape& shape,
                           const Tensor& weight);

// A convolution of images, or a linear layer: a pointwise convolution of an image of 1 x rows.
class ConvStep : public EpilogueStep {
 public:
  // With `reads_nchw` the input is a contiguous NCHW tensor in float32 and no image.
  ConvStep(DType dtype, const kernels::ConvNhwcShape& shape, Operand input, Operand output,
           const void* packed, const float* bias, bool reads_nchw = false)
      : EpilogueStep(bias),
        dtype_(dtype),
        shape_(shape),
        input_(reading(input)),
        output_(writing(output)),
        packed_(packed),
        reads_nchw_(reads_nchw) {}
  const char* kernel() const override {
    if (is_float16(dtype_)) return "conv_nhwc_f16";
    if (!has_residual() && kernels::conv_nhwc_f32_sums_pixels(shape_)) return "sum_pixels_f32";
    const bool is_bf16 = selection::kHasFloat16 &&
                         kernels::conv_nhwc_f32_weights(shape_) == kernels::WeightFormat::kBFloat16;
    if (kernels::conv_nhwc_f32_form(shape_) == kernels::kStrassen) return "strassen_f32";
    return is_bf16 ? "conv_nhwc_bf16" : "conv_nhwc_f32";
  }
  double flops() const override { return conv_flops(shape_); }
  void run(const Memory& m) const override {
    if (is_float16(dtype_)) {
      run_in<Float16>(m, kernels::conv_nhwc_f16, kernels::conv_nhwc_f16_from_nchw);
    } else {
      run_in<float>(m, kernels::conv_nhwc_f32, kernels::conv_nhwc_f32_from_nchw);
    }
  }

  DType dtype() const { return dtype_; }
  const kernels::ConvNhwcShape& shape() const { return shape_; }
  Operand input() const { return input_; }
  Operand output() const { return output_; }
  const void* packed() const { return packed_; }
  // One product for each pixel of an image.
  bool is_pointwise() const {
    const kernels::Window2dShape& w = shape_.window;
    return input_.form() == Form::kImage && !reads_nchw_ && shape_.groups == 1 && w.kernel_h == 1 &&
           w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 && w.pad_w == 0 &&
           w.out_h == w.in_h && w.out_w == w.in_w;  // padding below and right is in what it writes
  }

  // Are its packed weights those of a plain product?
  bool has_plain_panels() const {
    return is_pointwise() && (is_float16(dtype_) || kernels::conv_nhwc_f32_form(shape_) == 0);
  }

 private:
  template <typename T, typename Conv, typename ConvFromNchw>
  void run_in(const Memory& m, const Conv& conv, const ConvFromNchw& from_nchw) const {
    if (reads_nchw_) {
      from_nchw(shape_, m.data<float>(input_), packed_, epilogue<T>(m), m.data<T>(output_),
                m.stride(output_));
    } else {
      conv(shape_, m.data<T>(input_), m.stride(input_), packed_, epilogue<T>(m), m.data<T>(output_),
           m.stride(output_));
    }
  }

  DType dtype_;  // of the images
  kernels::ConvNhwcShape shape_;
  Operand input_, output_;
  const void* packed_;
  bool reads_nchw_;
};

// A convolution in which each channel has a filter of its own, or small groups of them do.
class DepthwiseStep : public EpilogueStep {
 public:
  DepthwiseStep(DType dtype, const kernels::DwConvShape& shape, Operand input, Operand output,
                const void* packed, const float* bias)
      : EpilogueStep(bias),
        dtype_(dtype),
        shape_(shape),
        input_(reading(input)),
        output_(writing(output)),
        packed_(packed) {}
  const char* kernel() const override {
    if (shape_.group > 1) return "group_conv_nhwc_f32";
    return is_float16(dtype_) ? "dwconv_nhwc_f16" : "dwconv_nhwc_f32";
  }
  double flops() const override { return conv_flops(shape_); }
  void run(const Memory& m) const override {
    if (is_float16(dtype_)) {
      run_in<Float16>(m, kernels::dwconv_nhwc_f16);
    } else {
      run_in<float>(m, kernels::dwconv_nhwc_f32);
    }
  }

  DType dtype() const { return dtype_; }
  const kernels::DwConvShape& shape() const { return shape_; }
  Operand input() const { return input_; }
  Operand output() const { return output_; }
  const void* packed() const { return packed_; }

 private:
  template <typename T, typename Conv>
  void run_in(const Memory& m, const Conv& conv) const {
    conv(shape_, m.data<T>(input_), m.stride(input_), packed_, epilogue<T>(m), m.data<T>(output_),
         m.stride(output_));
  }

  DType dtype_;
  kernels::DwConvShape shape_;
  Operand input_, output_;
  const void* packed_;
};

}  // namespace torchlet::cpu
