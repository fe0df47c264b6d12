// Integers of 8 to 32 bits, two by two in their own width: a vector holds two to eight times as
// many of them as of the int64 that the elementwise engine computes integers in.
#pragma once

#include "base/selection.h"
#include "ops/core/common.h"

namespace torchlet::ops {

enum class NarrowOp : uint8_t {
  kAdd,
  kSub,
  kMul,  // all three modulo the range
  kAnd,
  kOr,
  kXor,
  kMax,
  kMin,
  kFloorDivide,  // an Error if a divisor is 0, as of the next one
  kFloorRemainder,
  kEqual,  // bool, as are those below
  kUnequal,
  kLess,
  kLessEqual,
};

// bool has tables, but where a result is written into an operand; of it, bits may be combined.
inline bool is_narrow(DType dtype) {
  return selection::kHasConversions && is_integral(dtype, false) && element_size(dtype) < 8;
}

// Of two broadcast operands of any integer dtype, brought to a narrow one; into `into`, if there is
// one, which may be an operand.
Tensor narrow_map(NarrowOp op, const Tensor& self, const Tensor& other, DType dtype,
                  const Tensor* into = nullptr);

// The same for |x|, where the least number is its own, and for x in [min, max], which is `max` if
// that is less than `min`.
Tensor narrow_abs(const Tensor& self);
Tensor narrow_clamp(const Tensor& self, const Tensor& min, const Tensor& max, DType dtype);

}  // namespace torchlet::ops
