#pragma once

// Half precision, for plans that ask for it: an element type of activations and packed weights.
// Kernels of Float16 exist where the processor computes with it: AVX512-FP16 on x86-64, the
// half-precision instructions of Armv8.2-A on 64-bit Arm. Elsewhere they must not be called.

#include <cstdint>

// 1 if this compiler can make those kernels.
#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC) || \
    (!defined(__clang__) && __GNUC__ >= 12 && (defined(__x86_64__) || defined(__aarch64__)))
#define TORCHLET_FLOAT16 1
#else
#define TORCHLET_FLOAT16 0
#endif

namespace torchlet::kernels {

// IEEE 754 binary16 as it lies in memory. Numbers beyond 65504 become infinite.
struct Float16 {
  uint16_t bits;
};

// Whether this compiler made those kernels and they may run (kernels/simd/isa.h).
bool has_float16();

// Rounds to nearest even, or widens, `count` elements on the calling thread.
void to_float16(const float* from, Float16* to, int64_t count);
void to_float32(const Float16* from, float* to, int64_t count);

// Matrices [rows, columns] whose rows are `stride` elements apart, on the threads of
// base/thread_pool.
void to_float16_rows(int64_t rows, int64_t columns, const float* from, int64_t from_stride,
                     Float16* to, int64_t to_stride);
void to_float32_rows(int64_t rows, int64_t columns, const Float16* from, int64_t from_stride,
                     float* to, int64_t to_stride);

}  // namespace torchlet::kernels
