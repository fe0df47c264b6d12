#pragma once

#include <cstdint>

#include "kernels/half/float16.h"
#include "kernels/spatial/window.h"

namespace torchlet::kernels {

// Pooling of float32 NHWC images. Strides are from pixel to pixel, in elements. NaN goes through.
// All run on the threads of base/thread_pool.
struct PoolShape {
  int64_t batch = 1;
  int64_t channels = 0;
  Window2dShape window;
};

// The greatest value under the window, -inf if all of it is padding.
void max_pool_nhwc(const PoolShape& shape, const float* input, int64_t input_stride, float* output,
                   int64_t output_stride);

// Where it is in its plane: y * in_w + x of the first one, or of NaN; of a window that is all
// padding the first pixel behind its beginning. in_h * in_w < 2^31.
void max_pool_places_nhwc(const PoolShape& shape, const float* input, int64_t input_stride,
                          int64_t* output, int64_t output_stride);

// Images of zeros but for the input's pixels, each channel of which goes to its place in the plane.
// Points to the first place that is not in [0, out_pixels), with which it ends; null: there is
// none.
struct UnpoolShape {
  int64_t batch, channels, in_pixels, out_pixels;
};
const int64_t* max_unpool_nhwc(const UnpoolShape& shape, const float* input, int64_t input_stride,
                               const int64_t* places, int64_t places_stride, float* output,
                               int64_t output_stride);

// The sum under the window divided by `divisor`, or, where that is 0, by the number of pixels under
// the window: those of the input, and with count_include_pad also the pad_h and pad_w pixels around
// it. Dilation is 1.
void avg_pool_nhwc(const PoolShape& shape, bool count_include_pad, int64_t divisor,
                   const float* input, int64_t input_stride, float* output, int64_t output_stride);

// Output pixel (y, x) is the mean (the maximum) of rows [floor(y in_h / out_h), ceil((y + 1) in_h /
// out_h)) and of the columns alike.
struct AdaptivePoolShape {
  int64_t batch = 1;
  int64_t channels = 0;
  int64_t in_h, in_w;
  int64_t out_h, out_w;
};
void adaptive_avg_pool_nhwc(const AdaptivePoolShape& shape, const float* input,
                            int64_t input_stride, float* output, int64_t output_stride);
void adaptive_max_pool_nhwc(const AdaptivePoolShape& shape, const float* input,
                            int64_t input_stride, float* output, int64_t output_stride);

// output[n, c] = mean over the pixels of picture n.
void global_avg_pool_nhwc(int64_t batch, int64_t pixels, int64_t channels, const float* input,
                          int64_t input_stride, float* output, int64_t output_stride);

// The same in Float16 (kernels/half/float16.h), with sums in float32.
void max_pool_nhwc(const PoolShape& shape, const Float16* input, int64_t input_stride,
                   Float16* output, int64_t output_stride);
void avg_pool_nhwc(const PoolShape& shape, bool count_include_pad, int64_t divisor,
                   const Float16* input, int64_t input_stride, Float16* output,
                   int64_t output_stride);
void adaptive_max_pool_nhwc(const AdaptivePoolShape& shape, const Float16* input,
                            int64_t input_stride, Float16* output, int64_t output_stride);
void adaptive_avg_pool_nhwc(const AdaptivePoolShape& shape, const Float16* input,
                            int64_t input_stride, Float16* output, int64_t output_stride);
void global_avg_pool_nhwc(int64_t batch, int64_t pixels, int64_t channels, const Float16* input,
                          int64_t input_stride, Float16* output, int64_t output_stride);

}  // namespace torchlet::kernels
