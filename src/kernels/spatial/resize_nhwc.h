#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Resizing of NHWC images. Strides are from pixel to pixel, in elements. Both kernels run on the
// threads of base/thread_pool; input and output do not overlap.
struct ResizeShape {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t in_h = 0, in_w = 0;
  int64_t out_h = 0, out_w = 0;
};

// Where an output lies between the inputs `index` and index + 1 (or the last one, if that is none):
// its value is (1 - weight) in[index] + weight in[index + 1].
struct LinearTap {
  int64_t index;
  float weight;
};

// The taps of one dimension as in PyTorch: `factor` is the scale factor that the user gave, or 0
// for out / in. (UpSample.h, area_pixel_compute_scale and area_pixel_compute_source_index)
void linear_taps(int64_t in, int64_t out, bool align_corners, double factor, LinearTap* taps);
// The input that each output takes; `exact` is nearest-exact.
void nearest_taps(int64_t in, int64_t out, bool exact, double factor, int64_t* taps);

// rows: out_h taps, columns: out_w.
void resize_linear_nhwc_f32(const ResizeShape& shape, const LinearTap* rows,
                            const LinearTap* columns, const float* input, int64_t input_stride,
                            float* output, int64_t output_stride);

// Pixels of `element_size` bytes a channel.
void resize_nearest_nhwc(int64_t element_size, const ResizeShape& shape, const int64_t* rows,
                         const int64_t* columns, const void* input, int64_t input_stride,
                         void* output, int64_t output_stride);

}  // namespace torchlet::kernels
