// Convolutions and matrix products over NHWC images (kernels/nhwc.h) with weights packed ahead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "kernels/nhwc.h"
#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// A linear layer is a pointwise convolution of an image of 1 x rows pixels.
struct ConvNhwcShape {
  int64_t batch = 1;
  int64_t in_channels, out_channels;
  int64_t groups = 1;
  Window2dShape window;
  // Whether Winograd's algorithm may be taken where it is faster: its results differ from the plain
  // sum by up to about 3e-6 of the largest.
  bool winograd = true;
  // Whether its weights, which are up to four times as many, have to gain much for their memory.
  bool lean = false;
  // Whether Strassen's algorithm may be taken where it is faster: its packed weights are 7/4 as
  // many, and serve other numbers of pixels only if the form is the same.
  bool strassen = false;
  // What they may be rounded to, if they are many: conv_nhwc_f32_weights() says whether they are.
  WeightFormat weights = WeightFormat::kFloat32;
};

// In what the packed weights of a float32 layer are. Winograd's are rounded to Float16 when they
// are transformed, which makes the error some times as large, and not to bfloat16.
WeightFormat conv_nhwc_f32_weights(const ConvNhwcShape& shape);

// Whether a layer to a few channels, without a residual, is made of sums along pixels.
bool conv_nhwc_f32_sums_pixels(const ConvNhwcShape& shape);

// Packed weights belong to the instruction set that packed them.
size_t conv_nhwc_f32_packed_bytes(const ConvNhwcShape& shape);
// Packed weights of one layer serve all batches and image sizes for which this is the same: the
// number of a tile of Winograd (winograd_f32.h), kVectorsOfPixels (conv_few_outputs.h), kStrassen
// (strassen_f32.h), or 0.
constexpr int kVectorsOfPixels = -1, kStrassen = -2;
int conv_nhwc_f32_form(const ConvNhwcShape& shape);

// weight: [out_channels, in_channels / groups, kernel_h, kernel_w] as in PyTorch, 64-byte aligned
// target.
void conv_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed);
// Gives [first, end) of the first dimension of a weight, which stay until the next call. All are
// asked for once and in their order, all at once if need be.
using FiltersAt = FunctionRef<const float*(int64_t first, int64_t end)>;
void conv_nhwc_f32_pack(const ConvNhwcShape& shape, FiltersAt filters, void* packed);

// Runs on the threads of base/thread_pool. The strides are those between pixels; the output
// overlaps no input but a residual that is the output itself.
void conv_nhwc_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                   const void* packed, const EpilogueF32& epilogue, float* output,
                   int64_t output_stride);

// Whether the packed weights of a pointwise layer without groups can be scaled: if they are panels
// of floats.
bool conv_nhwc_f32_may_scale(const ConvNhwcShape& shape);
// The packed weights of such a layer for an input whose channels are yet to be multiplied by
// `scale` [in_channels]. On the threads of base/thread_pool; `scaled` is as large as `packed`.
void conv_nhwc_f32_scale(const ConvNhwcShape& shape, const void* packed, const float* scale,
                         void* scaled);

// The same in Float16 (kernels/half/float16.h), with weights that are given as float32. Winograd's
// algorithm is never taken, and packed weights serve all batches and image sizes.
size_t conv_nhwc_f16_packed_bytes(const ConvNhwcShape& shape);
void conv_nhwc_f16_pack(const ConvNhwcShape& shape, const float* weight, void* packed);
void conv_nhwc_f16(const ConvNhwcShape& shape, const Float16* input, int64_t input_stride,
                   const void* packed, const EpilogueF16& epilogue, Float16* output,
                   int64_t output_stride);

// The first layer of a network may read a contiguous float32 NCHW image itself, at no cost: true
// for images of up to four channels.
bool conv_nhwc_reads_nchw(const ConvNhwcShape& shape);
void conv_nhwc_f32_from_nchw(const ConvNhwcShape& shape, const float* input, const void* packed,
                             const EpilogueF32& epilogue, float* output, int64_t output_stride);
void conv_nhwc_f16_from_nchw(const ConvNhwcShape& shape, const float* input, const void* packed,
                             const EpilogueF16& epilogue, Float16* output, int64_t output_stride);

// The transposed convolution (torch.nn.ConvTranspose2d): input pixel (y, x) adds to the output at
// (y * stride_h - pad_h + i * dilation_h, x * stride_w - pad_w + j * dilation_w). The weight is
// [in_channels, out_channels / groups, kernel_h, kernel_w]. Packed weights serve all batches and
// image sizes.
size_t conv_transpose_nhwc_f32_packed_bytes(const ConvNhwcShape& shape);
void conv_transpose_nhwc_f32_pack(const ConvNhwcShape& shape, const float* weight, void* packed);
void conv_transpose_nhwc_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                             const void* packed, const EpilogueF32& epilogue, float* output,
                             int64_t output_stride);

// Whether each channel has a filter of its own, and the stride is none that makes thousands of
// small convolutions.
bool conv_transpose_is_depthwise(const ConvNhwcShape& shape);

}  // namespace torchlet::kernels
