#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv_nchw/conv2d.h"
#include "kernels/quantized/layer_q8.h"

namespace torchlet::kernels {

// A 2d convolution of quint8 images (see nhwc.h) with qint8 weights, bit for bit as layer_q8.h
// says. A linear layer is one of a 1 x 1 window over an image of one row. Pixels outside of the
// input are real zeros. Depthwise convolutions have a kernel of their own, dwconv_nhwc_q8.h.

// What conv_nhwc_q8 reads instead of the layer: its weights in the order of the computation, and
// what can be computed in advance. The form belongs to the processor.
size_t conv_nhwc_q8_packed_bytes(const Conv2dShape& shape, const LayerQ8& layer);
// Packed weights of one layer serve all shapes of the same form; a shape is its input's size here.
int conv_nhwc_q8_form(const Conv2dShape& shape, const LayerQ8& layer);
// `packed` is aligned to 64 bytes.
void conv_nhwc_q8_pack(const Conv2dShape& shape, const LayerQ8& layer, void* packed);

// The strides are those of pixels, in elements. Runs on the threads of base/thread_pool.
void conv_nhwc_q8(const Conv2dShape& shape, const uint8_t* input, int64_t input_stride,
                  const void* packed, const OutputQ8& result, uint8_t* output,
                  int64_t output_stride);

}  // namespace torchlet::kernels
