#pragma once

// Inside of conv_nhwc: pointwise layers of many channels with an eighth of the multiplications
// less, by Strassen's algorithm in Winograd's form (V. Strassen, "Gaussian elimination is not
// optimal", 1969; N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section
// 23).
//
// Pixels, input channels and output channels are cut in two, and four quarters of the result are
// made of seven products of quarters instead of eight. The sums of weights are made when they are
// packed, those of pixels for a few rows at a time, and those of products in the first-level cache.
// Packed weights are 7/4 as large. The error is a few times that of the plain product, relative to
// the largest of the two pixels that a pair is: what one of them has, infinities and NaN too, shows
// in the other.

#include "kernels/conv_nhwc/conv_nhwc.h"

namespace torchlet::kernels {

// Whether this is the better way.
bool suits_strassen(const ConvNhwcShape& shape);

// As of conv_nhwc_f32, for shapes that it suits.
size_t strassen_f32_packed_bytes(const ConvNhwcShape& shape);
void strassen_f32_pack(const ConvNhwcShape& shape, const float* weight, float* packed);
void strassen_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                  const float* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride);

}  // namespace torchlet::kernels
