#pragma once

// Inside of conv_nhwc and conv3d_nhwc: convolutions to few channels, at most one and a half vectors
// of them; of volumes also transposed ones (those of images: conv_scatter.h). Vectors that hold
// channels of the output would be empty in part; here they hold pixels that lie side by side, and
// no window has to be copied.
//
// The channels of a block of the input are copied as planes, with their padding, so that pixels
// follow each other across the ends of lines: what a tap adds to a block is one run of
// multiply-adds, whose last few in each line are nobody's.

#include "kernels/conv_nhwc/conv3d_nhwc.h"

namespace torchlet::kernels {

// A convolution of images as one of volumes of one plane.
Conv3dNhwcShape flat_volume(const ConvNhwcShape& shape);

// Whether this is the better way.
bool suits_few_outputs(const Conv3dNhwcShape& shape);

// As of Conv3dNhwc, for shapes that it suits.
size_t few_outputs_packed_bytes(const Conv3dNhwcShape& shape);
void few_outputs_pack(const Conv3dNhwcShape& shape, const float* weight, float* packed);
void conv_few_outputs(const Conv3dNhwcShape& shape, const float* input, int64_t input_stride,
                      const float* packed, const EpilogueF32& epilogue, float* output,
                      int64_t output_stride);

// `rows` outputs, at most kMostFewOutputs, of `count` pixels: output r of pixel x is bias[r] plus
// the sum over channels c and taps t of weight[(c * taps + t) * rows + r] * in[c * plane +
// offsets[t] + x], clamped; or it is added to what is there. Up to kFewOutputsSlack more pixels are
// read, and written.
constexpr int kMostFewOutputs = 4;
constexpr int64_t kFewOutputsSlack = 128;
struct FewOutputsJob {
  const float* in;
  int64_t plane, channels;
  const int64_t* offsets;
  int64_t taps;
  const float* weight;
  const float* bias;  // or null
  bool adds;
  Bounds bounds;
  int64_t rows, count;
  float* out;
  int64_t out_plane;
};
void few_outputs_job(const FewOutputsJob& job);

}  // namespace torchlet::kernels
