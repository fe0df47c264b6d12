#pragma once

#include <cstdint>
#include <optional>

#include "kernels/quantized/layer_q8.h"

namespace torchlet::kernels {

// Functions of quint8 matrices [rows, columns] whose rows are `stride` elements apart: images with
// their pixels as rows, or any tensor as one row. An output may be an input of the same stride; it
// may not overlap one otherwise. All run on the threads of base/thread_pool.

// real = (integer - zero_point) * scale.
struct AffineQ8 {
  float scale;
  uint8_t zero_point;
};

// y = clamp(round(x * (1 / scale)) + zero_point), halves to even; NaN, infinity and what is not
// below 2^63 become 0, as PyTorch's cast does.
void quantize_rows_q8(int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                      const AffineQ8& quantization, uint8_t* y, int64_t y_stride);
void dequantize_rows_q8(int64_t rows, int64_t columns, const uint8_t* x, int64_t x_stride,
                        const AffineQ8& quantization, float* y, int64_t y_stride);

// y = table[x]: any function of one number. `table` has 256 elements.
void map_rows_q8(int64_t rows, int64_t columns, const uint8_t* x, int64_t x_stride,
                 const uint8_t* table, uint8_t* y, int64_t y_stride);

// How QNNPACK adds (qnnpack/src/qnnpack/params.h): both integers are multiplied by their scale over
// the output's in 22 bits, added, and shifted back with halves away from zero.
struct AddQ8 {
  int32_t a_multiplier, b_multiplier;
  int32_t zero;  // what makes the sum of the zero points zero; wraps around
  int32_t shift;
  // Whether a negative sum of two bytes lies halfway between two integers, which has to be looked
  // for; seldom.
  bool has_negative_halves;
};
// Empty if the scales are too far apart for 32 bits.
std::optional<AddQ8> make_add_q8(const AffineQ8& a, const AffineQ8& b, float output_scale);
void add_rows_q8(const AddQ8& add, int64_t rows, int64_t columns, const uint8_t* a,
                 int64_t a_stride, const uint8_t* b, int64_t b_stride, const OutputQ8& result,
                 uint8_t* y, int64_t y_stride);

// Sums and products of the real numbers, quantized as quantize_rows_q8 does. `b` has a row for each
// `rows_per_b` rows of `a`: [rows, columns] for 1, or a row for each picture.
enum class BinaryOpQ8 : uint8_t { kAdd, kMul };
struct BinaryQ8 {
  BinaryOpQ8 op;
  AffineQ8 a, b;
  float output_scale;
};
void binary_rows_q8(const BinaryQ8& binary, int64_t rows, int64_t columns, const uint8_t* a,
                    int64_t a_stride, const uint8_t* b, int64_t b_stride, int64_t rows_per_b,
                    const OutputQ8& result, uint8_t* y, int64_t y_stride);

}  // namespace torchlet::kernels
