#pragma once

#include <cstdint>

namespace torchlet::kernels {

// How a number lies in memory. A bool is a byte of 0 or 1.
enum class NumberType : uint8_t { kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kBool };

// The numbers of one array as those of another type, on the calling thread; false, and nothing is
// written, if there is no loop for the two types here. As C++ casts, but: a float beyond an
// integer, or NaN, becomes the lowest int64, or the low bits of the lowest int32 for the types up
// to that; int64 becomes a 16-bit float by way of float.
bool convert(NumberType from_type, const void* from, NumberType to_type, void* to, int64_t count);

// to[i] = answers[x[i] + 2 y[i] + 4 z[i]] of bools, on the calling thread. `to` may be an input.
void look_up_bools(const uint8_t (&answers)[8], const uint8_t* x, const uint8_t* y,
                   const uint8_t* z, uint8_t* to, int64_t count);

}  // namespace torchlet::kernels
