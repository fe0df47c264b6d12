#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv_nchw/conv2d.h"
#include "kernels/quantized/layer_q8.h"

namespace torchlet::kernels {

// The depthwise convolution of quint8 images, groups == in_channels == out_channels; else as
// conv_nhwc_q8.h.
size_t dwconv_nhwc_q8_packed_bytes(const Conv2dShape& shape, const LayerQ8& layer);
// Packed weights of one layer serve all shapes of the same form; a shape is its input's size here.
int dwconv_nhwc_q8_form(const Conv2dShape& shape, const LayerQ8& layer);
// `packed` is aligned to 64 bytes.
void dwconv_nhwc_q8_pack(const Conv2dShape& shape, const LayerQ8& layer, void* packed);

// The strides are those of pixels, in elements. Runs on the threads of base/thread_pool.
void dwconv_nhwc_q8(const Conv2dShape& shape, const uint8_t* input, int64_t input_stride,
                    const void* packed, const OutputQ8& result, uint8_t* output,
                    int64_t output_stride);

}  // namespace torchlet::kernels
