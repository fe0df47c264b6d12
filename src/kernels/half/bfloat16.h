#pragma once

// Products of bfloat16 with sums in float32: vdpbf16ps of AVX512-BF16, twice the multiply-adds of
// float32. Activations stay float32 in memory and are rounded as they are read; only packed weights
// are bfloat16.

#include <cstdint>

// 1 if this compiler can make those kernels.
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 10)
#define TORCHLET_BFLOAT16 1
#else
#define TORCHLET_BFLOAT16 0
#endif

namespace torchlet::kernels {

// The upper half of a float32 as it lies in memory: its range with 8 bits of precision.
struct BFloat16 {
  uint16_t bits;
};

// Whether this compiler made those kernels and they may run (kernels/simd/isa.h). Elsewhere they
// must not be called.
bool has_bfloat16();

// A panel [rows, width], both even, rounded to nearest even: pairs of rows, their elements in turns
// (TileShape). Numbers below 2^-126 become zero.
void pack_bfloat16(const float* from, int64_t rows, int64_t width, BFloat16* to);

}  // namespace torchlet::kernels
