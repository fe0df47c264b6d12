#define HWY_WANT_AVX3_DL  // for its lookup of bytes
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized/elementwise_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/quantized/elementwise_q8.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/simd/split.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr int64_t kBytesU8 = static_cast<int64_t>(HWY_LANES(uint8_t));

// Calls body(i, count, is_full) for vectors of bytes: the last one may have fewer than a vector.
template <typename Body>
HWY_INLINE void for_each_vector(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kBytesU8 <= count; i += kBytesU8) body(i, kBytesU8);
  if (i < count) body(i, count - i);
}

// A part of a vector is worked on in a whole one.
template <typename T>
struct Padded {
  alignas(64) T data[HWY_LANES(uint8_t)];
  HWY_INLINE const T* from(const T* x, int64_t count) {
    if (count == kBytesU8) return x;
    std::memcpy(data, x, static_cast<size_t>(count) * sizeof(T));
    return data;
  }
};

// To an integer near it, or at least one that saturates as it does; PyTorch's cast makes what no
// int64 holds the smallest value.
HWY_INLINE VecI32 round_guarded(VecF32 x) {
  const TagF32 d;
  const VecF32 fits = hn::IfThenElse(hn::Lt(x, hn::Set(d, 0x1p63f)), x, hn::Set(d, -65536.0f));
  return round_to_i32(hn::Min(hn::Max(fits, hn::Set(d, -65536.0f)), hn::Set(d, 65536.0f)));
}

void quantize_row(const float* x, int64_t count, const AffineQ8& quantization, uint8_t* y) {
  const VecF32 inverse = hn::Set(TagF32(), 1.0f / quantization.scale);
  const RequantizeQ8 requantize({quantization.zero_point}, false);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<float> padded;
    const float* from = padded.from(x + i, n);
    VecI32 q[4];
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      q[v] = round_guarded(hn::Mul(hn::LoadU(TagF32(), from + v * kLanesI32), inverse));
    }
    store_bytes(in_order(requantize.pack(q[0], q[1], q[2], q[3])), y + i, n);
  });
}

HWY_INLINE VecF32 real_number(VecI32 q, VecF32 zero_point, VecF32 scale) {
  return hn::Mul(hn::Sub(hn::ConvertTo(TagF32(), q), zero_point), scale);
}

void dequantize_row(const uint8_t* x, int64_t count, const AffineQ8& quantization, float* y) {
  const TagF32 d;
  const VecF32 zero_point = hn::Set(d, quantization.zero_point);
  const VecF32 scale = hn::Set(d, quantization.scale);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<uint8_t> padded;
    const uint8_t* from = padded.from(x + i, n);
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      const int64_t left = n - v * kLanesI32;
      if (left <= 0) break;
      store_first(real_number(load_i32(from, v), zero_point, scale), d, y + i + v * kLanesI32,
                  left);
    }
  });
}

#if HWY_TARGET == HWY_AVX3_DL
struct TableLookup {
  explicit TableLookup(const uint8_t* table) {
    for (int i = 0; i < 4; ++i) parts[i] = hn::LoadU(TagU8(), table + i * kBytesU8);
  }
  HWY_INLINE VecU8 operator()(VecU8 x) const {
    const __m512i lower = _mm512_permutex2var_epi8(parts[0].raw, x.raw, parts[1].raw);
    const __m512i upper = _mm512_permutex2var_epi8(parts[2].raw, x.raw, parts[3].raw);
    return VecU8{_mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(x.raw), upper)};
  }
  VecU8 parts[4];
};

void map_row(const uint8_t* x, int64_t count, const uint8_t* table, uint8_t* y) {
  const TableLookup lookup(table);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<uint8_t> padded;
    store_bytes(lookup(hn::LoadU(TagU8(), padded.from(x + i, n))), y + i, n);
  });
}
#else
void map_row(const uint8_t* x, int64_t count, const uint8_t* table, uint8_t* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}
#endif

// Sums of any two bytes.
void add_row_of_any(const AddQ8& add, const uint8_t* a, const uint8_t* b, int64_t count,
                    const OutputQ8& result, uint8_t* y) {
  const TagI32 d;
  const VecI32 a_multiplier = hn::Set(d, add.a_multiplier), zero = hn::Set(d, add.zero);
  const VecI32 b_multiplier = hn::Set(d, add.b_multiplier);
  const VecI16 one = hn::Set(TagI16(), 1), output_zero = hn::Set(TagI16(), result.zero_point);
  const VecU8 low = hn::Set(TagU8(), result.low), high = hn::Set(TagU8(), result.high);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<uint8_t> padded_a, padded_b;
    const uint8_t *from_a = padded_a.from(a + i, n), *from_b = padded_b.from(b + i, n);
    VecI32 sum[4];
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      const VecI32 product_a = hn::Mul(load_i32(from_a, v), a_multiplier);
      const VecI32 product_b = hn::Mul(load_i32(from_b, v), b_multiplier);
      sum[v] = hn::Add(hn::Add(product_a, product_b), zero);
      // Halves away from zero: a negative number is rounded after a step down. The last bit is
      // shifted out below, so that adding a half cannot overflow.
      sum[v] = hn::Add(sum[v], hn::ShiftRight<31>(sum[v]));
      sum[v] = hn::ShiftRightSame(sum[v], add.shift - 1);
    }
    const auto rounded = [&](VecI16 twice) {
      return hn::SaturatedAdd(hn::ShiftRight<1>(hn::SaturatedAdd(twice, one)), output_zero);
    };
    const VecU8 bytes =
        pack_u8(rounded(pack_i16(sum[0], sum[1])), rounded(pack_i16(sum[2], sum[3])));
    store_bytes(in_order(hn::Min(hn::Max(bytes, low), high)), y + i, n);
  });
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// sums + the products of both 16-bit numbers of each lane.
HWY_INLINE VecI32 add_pairs(VecI32 sums, VecI16 pairs, VecI16 multipliers) {
#if HWY_TARGET == HWY_AVX3_DL
  // As assembly, since Highway does not ask the compiler for VNNI.
  asm("vpdpwssd %2, %1, %0" : "+v"(sums.raw) : "v"(pairs.raw), "v"(multipliers.raw));
  return sums;
#elif HWY_TARGET == HWY_AVX3
  return hn::Add(sums, VecI32{_mm512_madd_epi16(pairs.raw, multipliers.raw)});
#else
  return hn::Add(sums, VecI32{_mm256_madd_epi16(pairs.raw, multipliers.raw)});
#endif
}

// Both products in one instruction, of the lower bits of the multipliers and then of the upper
// ones: what is shifted out in between has no say in what is left, as halves are rounded up.
void add_row(const AddQ8& add, const uint8_t* a, const uint8_t* b, int64_t count,
             const OutputQ8& result, uint8_t* y) {
  if (add.has_negative_halves) return add_row_of_any(add, a, b, count, result, y);
  constexpr int kLowBits = 11;
  const TagI32 d;
  const TagU8 d8;
  const auto pair = [&](int32_t of_a, int32_t of_b) {
    return hn::BitCast(TagI16(), hn::Set(d, of_b << 16 | of_a));
  };
  const VecI16 low_bits = pair(add.a_multiplier & ((1 << kLowBits) - 1),
                               add.b_multiplier & ((1 << kLowBits) - 1));
  const VecI16 high_bits = pair(add.a_multiplier >> kLowBits, add.b_multiplier >> kLowBits);
  const VecI32 zero = hn::Set(d, add.zero), shift = hn::Set(d, add.shift - 1 - kLowBits);
  const VecI16 one = hn::Set(TagI16(), 1), output_zero = hn::Set(TagI16(), result.zero_point);
  const VecU8 low = hn::Set(d8, result.low), high = hn::Set(d8, result.high);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<uint8_t> padded_a, padded_b;
    const VecU8 from_a = hn::LoadU(d8, padded_a.from(a + i, n));
    const VecU8 from_b = hn::LoadU(d8, padded_b.from(b + i, n));
    // Interleaving, here and below, and packing work within blocks of 128 bits: all is in order in
    // the end.
    const VecU8 lower = hn::InterleaveLower(d8, from_a, from_b);
    const VecU8 upper = hn::InterleaveUpper(d8, from_a, from_b);
    const auto sum = [&](VecU8 bytes) {
      const VecI16 pairs = hn::BitCast(TagI16(), bytes);
      const VecI32 sums = hn::ShiftRight<kLowBits>(add_pairs(zero, pairs, low_bits));
      return hn::Shr(add_pairs(sums, pairs, high_bits), shift);
    };
    const VecU8 zeros = hn::Zero(d8);
    const auto rounded = [&](VecU8 bytes) {
      const VecI16 twice = pack_i16(sum(hn::InterleaveLower(d8, bytes, zeros)),
                                    sum(hn::InterleaveUpper(d8, bytes, zeros)));
      return hn::SaturatedAdd(hn::ShiftRight<1>(hn::SaturatedAdd(twice, one)), output_zero);
    };
    const VecU8 bytes = pack_u8(rounded(lower), rounded(upper));
    store_bytes(hn::Min(hn::Max(bytes, low), high), y + i, n);
  });
}
#else
void add_row(const AddQ8& add, const uint8_t* a, const uint8_t* b, int64_t count,
             const OutputQ8& result, uint8_t* y) {
  add_row_of_any(add, a, b, count, result, y);
}
#endif

template <BinaryOpQ8 kOp, bool kGuards>
void binary_row(const BinaryQ8& p, const uint8_t* a, const uint8_t* b, int64_t count,
                const OutputQ8& result, uint8_t* y) {
  const TagF32 d;
  const VecF32 a_zero = hn::Set(d, p.a.zero_point), b_zero = hn::Set(d, p.b.zero_point);
  const VecF32 a_scale = hn::Set(d, p.a.scale), b_scale = hn::Set(d, p.b.scale);
  const VecF32 inverse = hn::Set(d, 1.0f / p.output_scale);
  const RequantizeQ8 requantize(result, false);
  for_each_vector(count, [&](int64_t i, int64_t n) {
    Padded<uint8_t> padded_a, padded_b;
    const uint8_t *from_a = padded_a.from(a + i, n), *from_b = padded_b.from(b + i, n);
    VecI32 q[4];
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) {
      const VecF32 real_a = real_number(load_i32(from_a, v), a_zero, a_scale);
      const VecF32 real_b = real_number(load_i32(from_b, v), b_zero, b_scale);
      const VecF32 real =
          kOp == BinaryOpQ8::kAdd ? hn::Add(real_a, real_b) : hn::Mul(real_a, real_b);
      const VecF32 scaled = hn::Mul(real, inverse);
      q[v] = kGuards ? round_guarded(scaled) : round_to_i32(scaled);
    }
    store_bytes(in_order(requantize.pack(q[0], q[1], q[2], q[3])), y + i, n);
  });
}

void binary_row_of(const BinaryQ8& p, const uint8_t* a, const uint8_t* b, int64_t count,
                   const OutputQ8& result, uint8_t* y) {
  const float most_a = 255 * p.a.scale, most_b = 255 * p.b.scale;
  const bool adds = p.op == BinaryOpQ8::kAdd;
  const float most = adds ? most_a + most_b : most_a * most_b;
  const bool fits = most * (1.0f / p.output_scale) < 0x1p30f;
  if (fits && adds) return binary_row<BinaryOpQ8::kAdd, false>(p, a, b, count, result, y);
  if (fits) return binary_row<BinaryOpQ8::kMul, false>(p, a, b, count, result, y);
  if (adds) return binary_row<BinaryOpQ8::kAdd, true>(p, a, b, count, result, y);
  binary_row<BinaryOpQ8::kMul, true>(p, a, b, count, result, y);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(quantize_row);
HWY_EXPORT(dequantize_row);
HWY_EXPORT(map_row);
HWY_EXPORT(add_row);
HWY_EXPORT(binary_row_of);

namespace {

constexpr int64_t kElementsPerTask = 8192;

// Calls body(row, column, count) for runs that cover the matrix; if it has no gaps, runs are long.
void for_each_run(int64_t rows, int64_t columns, bool contiguous,
                  FunctionRef<void(int64_t row, int64_t column, int64_t count)> body) {
  if (contiguous || rows == 1) {
    parallel_for(rows * columns, even_grain(rows * columns, 64, rows * columns, kElementsPerTask),
                 [&](int64_t begin, int64_t end) { body(0, begin, end - begin); });
    return;
  }
  parallel_for(rows, even_grain(rows, 1, rows * columns, kElementsPerTask),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) body(row, 0, columns);
               });
}

}  // namespace

void quantize_rows_q8(int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                      const AffineQ8& quantization, uint8_t* y, int64_t y_stride) {
  for_each_run(rows, columns, x_stride == columns && y_stride == columns,
               [&](int64_t row, int64_t column, int64_t count) {
                 HWY_DYNAMIC_DISPATCH(quantize_row)
                 (x + row * x_stride + column, count, quantization, y + row * y_stride + column);
               });
}

void dequantize_rows_q8(int64_t rows, int64_t columns, const uint8_t* x, int64_t x_stride,
                        const AffineQ8& quantization, float* y, int64_t y_stride) {
  for_each_run(rows, columns, x_stride == columns && y_stride == columns,
               [&](int64_t row, int64_t column, int64_t count) {
                 HWY_DYNAMIC_DISPATCH(dequantize_row)
                 (x + row * x_stride + column, count, quantization, y + row * y_stride + column);
               });
}

void map_rows_q8(int64_t rows, int64_t columns, const uint8_t* x, int64_t x_stride,
                 const uint8_t* table, uint8_t* y, int64_t y_stride) {
  for_each_run(rows, columns, x_stride == columns && y_stride == columns,
               [&](int64_t row, int64_t column, int64_t count) {
                 HWY_DYNAMIC_DISPATCH(map_row)
                 (x + row * x_stride + column, count, table, y + row * y_stride + column);
               });
}

namespace {

// Is a * a_multiplier + b * b_multiplier + zero, for some bytes a and b, negative and an odd
// multiple of half of 2^shift?
bool has_negative_halves(int64_t a_multiplier, int64_t b_multiplier, int64_t zero, int shift) {
  const int zeros = std::min(shift, std::countr_zero(static_cast<uint64_t>(b_multiplier)));
  const int64_t unit = int64_t{1} << zeros, period = int64_t{1} << (shift - zeros);
  // The inverse modulo 2^32 of an odd number: each step doubles the bits that are right.
  const auto odd = static_cast<uint32_t>(b_multiplier >> zeros);
  uint32_t inverse = odd;
  for (int i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  for (int64_t a = 0; a < 256; ++a) {
    const int64_t rest = (int64_t{1} << (shift - 1)) - a * a_multiplier - zero;
    if (rest % unit != 0) continue;
    // Those b whose product is the rest modulo 2^shift.
    const auto first = static_cast<uint32_t>(rest / unit) * inverse;
    for (int64_t b = first & (period - 1); b < 256; b += period) {
      if (a * a_multiplier + b * b_multiplier + zero < 0) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<AddQ8> make_add_q8(const AffineQ8& a, const AffineQ8& b, float output_scale) {
  const float a_scale = a.scale / output_scale, b_scale = b.scale / output_scale;
  int exponent = 0;
  std::frexp(std::max(a_scale, b_scale), &exponent);  // scale = m * 2^exponent, m in [0.5, 1)
  const int shift = 22 - exponent;
  if (!(shift >= 13 && shift <= 31)) return std::nullopt;
  const int64_t a_multiplier = std::lrint(std::ldexp(a_scale, shift));
  const int64_t b_multiplier = std::lrint(std::ldexp(b_scale, shift));
  const int64_t zero = -(a_multiplier * a.zero_point + b_multiplier * b.zero_point);
  return AddQ8{static_cast<int32_t>(a_multiplier), static_cast<int32_t>(b_multiplier),
               static_cast<int32_t>(static_cast<uint32_t>(zero)), shift,
               has_negative_halves(a_multiplier, b_multiplier, zero, shift)};
}

void add_rows_q8(const AddQ8& add, int64_t rows, int64_t columns, const uint8_t* a,
                 int64_t a_stride, const uint8_t* b, int64_t b_stride, const OutputQ8& result,
                 uint8_t* y, int64_t y_stride) {
  const bool contiguous = a_stride == columns && b_stride == columns && y_stride == columns;
  for_each_run(rows, columns, contiguous, [&](int64_t row, int64_t column, int64_t count) {
    HWY_DYNAMIC_DISPATCH(add_row)
    (add, a + row * a_stride + column, b + row * b_stride + column, count, result,
     y + row * y_stride + column);
  });
}

void binary_rows_q8(const BinaryQ8& binary, int64_t rows, int64_t columns, const uint8_t* a,
                    int64_t a_stride, const uint8_t* b, int64_t b_stride, int64_t rows_per_b,
                    const OutputQ8& result, uint8_t* y, int64_t y_stride) {
  const bool contiguous =
      a_stride == columns && b_stride == columns && y_stride == columns && rows_per_b == 1;
  for_each_run(rows, columns, contiguous, [&](int64_t row, int64_t column, int64_t count) {
    HWY_DYNAMIC_DISPATCH(binary_row_of)
    (binary, a + row * a_stride + column, b + row / rows_per_b * b_stride + column, count, result,
     y + row * y_stride + column);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
