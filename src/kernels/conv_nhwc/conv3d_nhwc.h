// Convolutions of volumes in float32, transposed ones too, with weights packed ahead.
//
// A volume is [batch, depth, height, width, channels], an image (kernels/nhwc.h) of `height` rows
// for each plane. What slides over planes or along the depth alone is a convolution of images
// (conv_nhwc.h) and better done as that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"

namespace torchlet::kernels {

// Output o reads inputs o * stride - pad + i * dilation, i < kernel; of a transposed convolution,
// input i adds to outputs i * stride - pad + k * dilation.
struct WindowAxis {
  int64_t in, out, kernel;
  int64_t stride = 1, pad = 0, dilation = 1;
};

struct Conv3dNhwcShape {
  int64_t batch, in_channels, out_channels;
  int64_t groups = 1;
  bool transposed = false;
  WindowAxis depth, height, width;
};

struct WinogradDepth;

class Conv3dNhwc {
 public:
  explicit Conv3dNhwc(const Conv3dNhwcShape& shape);

  // Packed weights belong to the instruction set that packed them, and serve all batches and sizes
  // for which form() is the same.
  int form() const { return winograd_ > 0 ? winograd_ : -static_cast<int>(form_); }
  size_t packed_bytes() const;
  // weight: [out_channels, in_channels / groups, kernel...] as in PyTorch, of a transposed one
  // [in_channels, out_channels / groups, kernel...]; `packed` is 64-byte aligned.
  void pack(const float* weight, float* packed) const;
  void pack(FiltersAt filters, float* packed) const;

  // Runs on the threads of base/thread_pool. The strides are those between pixels; the output
  // overlaps no input but a residual that is the output itself.
  void run(const float* input, int64_t input_stride, const float* packed,
           const EpilogueF32& epilogue, float* output, int64_t output_stride) const;

  double flops() const;

 private:
  enum class Form : uint8_t { kLines, kWindows, kTaps, kDepthwise, kFewOutputs };
  // Input pixels of a line that follow each other, from where a row begins.
  struct Run {
    int64_t begin, count;
  };
  // Some pixels of each line of the output. Row i of the product makes pixels [first_out + i *
  // out_step, + pixels_) from those that `runs` tell, from first_in + i * in_step on.
  struct Phase {
    int64_t rows, first_out, out_step, first_in, in_step;
    std::vector<Run> runs;
    int64_t run_pixels;  // of all runs
    int64_t packed;      // where its weights begin
  };

  void add_phase(int64_t first_out, int64_t out_step);
  bool packs_filters() const;
  void pack_filters(FiltersAt filters, float* packed) const;
  void pack_phase(const Phase& phase, const float* weight, float* packed) const;
  int64_t filter_size() const;
  int64_t taps() const { return shape_.depth.kernel * shape_.height.kernel; }
  int64_t depth_of(const Phase& phase) const { return taps() * phase.run_pixels * channels_; }
  ConvNhwcShape planes() const;
  WinogradDepth winograd_depth() const;
  DwConvShape line_of_filters() const;
  struct Lines;
  void run_lines(const float* input, int64_t input_stride, const float* packed,
                 const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void run_winograd(const float* input, int64_t input_stride, const float* packed,
                    const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void run_taps(const float* input, int64_t input_stride, const float* packed,
                const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void run_depthwise(const float* input, int64_t input_stride, const float* packed,
                     const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void run_few_outputs(const float* input, int64_t input_stride, const float* packed,
                       const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void run_windows(const float* input, int64_t input_stride, const float* packed,
                   const EpilogueF32& epilogue, float* output, int64_t output_stride) const;
  void copy_window(const float* input, int64_t input_stride, int64_t pixel, float* to) const;

  Conv3dNhwcShape shape_;
  int winograd_ = 0;  // the number of the tile, or 0
  Form form_ = Form::kLines;
  int64_t groups_, channels_, columns_;  // of a group: in, out; merged as is best
  int64_t pixels_ = 1;                   // of the output that a row of the product makes
  std::vector<Phase> phases_;
  int64_t line_begin_ = 0, line_end_ = 0;  // input pixels that lines are made of, with padding
};

}  // namespace torchlet::kernels
