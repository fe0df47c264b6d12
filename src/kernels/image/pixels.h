#pragma once

#include <cstdint>

// Rows of pictures. RGBX is 4 bytes a pixel: red, green, blue, and one of no meaning; as floats it
// is 4 floats. Rows do not overlap.
namespace torchlet::kernels {

// What the kernels below may read behind the last pixel of a row of RGBX that they resize.
constexpr int64_t kRowSlack = 8;  // pixels

void rgbx_from_rgb(const uint8_t* rgb, int64_t count, uint8_t* rgbx);

// Fixed-point numbers of YUV's conversion: with luma and chroma centred to y' = y - y_offset,
// u' = u - 128 and v' = v - 128,
//   red = y_scale y' + red_v v',  green = y_scale y' - green_u u' - green_v v',
//   blue = y_scale y' + blue_u u'.
// y_scale has 14 bits of fraction, the others 13. Results are within 0.52 of the exact sums.
struct YuvWeights {
  int16_t y_offset, y_scale, red_v, green_u, green_v, blue_u;
};

// What `count` pairs of chroma, contiguous, add to red, green and blue: with 6 bits of fraction.
void chroma_terms(const YuvWeights& weights, const uint8_t* u, const uint8_t* v, int64_t count,
                  int16_t* red, int16_t* green, int16_t* blue);
// `count` pixels, of which each two share their terms.
void rgbx_from_yuv(const YuvWeights& weights, const uint8_t* y, int64_t count, const int16_t* red,
                   const int16_t* green, const int16_t* blue, uint8_t* rgbx);

// One output pixel of a row: the sum of `count` neighbours from `first` on, times the weights that
// begin at `weights`.
struct Window {
  int64_t first, count, weights;
};

// Weights of 22 bits of fraction, as PIL's: sums are rounded to 8 bits and saturated. Each weight
// of a row stands there four times, and windows have zeros up to an even count.
void resample_row(const uint8_t* rgbx, const Window* windows, int64_t count, const int32_t* weights,
                  uint8_t* output);
// The sum of `rows` of `size` bytes, times one weight each.
void blend_rows(const uint8_t* const* rows, const int32_t* weights, int64_t count, int64_t size,
                uint8_t* output);

// The same in float32. The last product is rounded, and the others are added to it in one step
// each, as PyTorch's build does for contiguous tensors.
void resample_row(const float* rgbx, const Window* windows, int64_t count, const float* weights,
                  float* output);
void blend_rows(const float* const* rows, const float* weights, int64_t count, int64_t size,
                float* output);

void floats_from_bytes(const uint8_t* bytes, int64_t count, float* floats);
// To the nearest, halves to even; saturated.
void bytes_from_floats(const float* floats, int64_t count, uint8_t* bytes);

}  // namespace torchlet::kernels
