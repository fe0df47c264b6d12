#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/nhwc.h"
#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// Depthwise convolution of NHWC images in float32: each channel has a filter of its own. Or one of
// small groups, as many channels of the output as of the input, if dwconv_takes() says so.
struct DwConvShape {
  int64_t batch = 1;
  int64_t channels = 0;
  Window2dShape window;
  int64_t group = 1;  // channels that belong together
};

// Whether it takes such groups, of 2 to 64 channels; in float32.
bool dwconv_takes(const DwConvShape& shape);

// Whether filters [channels, group, kernel_h, kernel_w] are of the rarer kinds that have tiles:
// wide windows, and groups. A build for models without them leaves the tiles out.
bool dwconv_is_rare(int64_t channels, int64_t group, int64_t kernel_w);

// The filters [channels, group, kernel_h, kernel_w] in the order in which the kernel of this
// instruction set reads them, the same for all batches and image sizes that have the same form.
// `packed` has dwconv_nhwc_f32_packed_bytes(shape) bytes, 64-byte aligned for speed.
constexpr int kDwConvWinograd = 1;  // a form
int dwconv_nhwc_f32_form(const DwConvShape& shape);
size_t dwconv_nhwc_f32_packed_bytes(const DwConvShape& shape);
void dwconv_nhwc_f32_pack(const DwConvShape& shape, const float* weight, void* packed);

// Runs on the threads of base/thread_pool. Strides are from pixel to pixel, in elements. The output
// overlaps neither the input nor the residual.
void dwconv_nhwc_f32(const DwConvShape& shape, const float* input, int64_t input_stride,
                     const void* packed, const EpilogueF32& epilogue, float* output,
                     int64_t output_stride);

// The same in Float16 (kernels/half/float16.h), with weights that are given as float32.
size_t dwconv_nhwc_f16_packed_bytes(const DwConvShape& shape);
void dwconv_nhwc_f16_pack(const DwConvShape& shape, const float* weight, void* packed);
void dwconv_nhwc_f16(const DwConvShape& shape, const Float16* input, int64_t input_stride,
                     const void* packed, const EpilogueF16& epilogue, Float16* output,
                     int64_t output_stride);

// The same for a contiguous NCHW image `input` if `reads_planes`, and for such a result if
// `writes_planes`, in pieces that stay in the second-level cache between the change of order and
// the sums: much faster than copies of the whole. A stride counts where that side is an NHWC image.
// No residual.
void dwconv_planes_f32(const DwConvShape& shape, bool reads_planes, const float* input,
                       int64_t input_stride, const void* packed, const EpilogueF32& epilogue,
                       bool writes_planes, float* output, int64_t output_stride);

// Of float or Float16: rows [row_begin, row_end) of the output of one picture, on the calling
// thread. input_rows[y] is row y of the input; only rows that those outputs read have to exist.
// `output` is where row row_begin goes, and epilogue.residual the residual of that row.
template <typename T>
void dwconv_nhwc_rows(const DwConvShape& shape, const T* const* input_rows, int64_t input_stride,
                      const void* packed, const Epilogue<T>& epilogue, T* output,
                      int64_t output_stride, int64_t row_begin, int64_t row_end);

}  // namespace torchlet::kernels
