// Arithmetic of integers.
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"

namespace torchlet::ops {
namespace {

// int32, rounded down; 0 for a divisor of 0, which is no error in NNAPI.
Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return map<kMapInt, 2>({self, other}, DType::kInt32, [](int64_t a, int64_t b) -> int64_t {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  });
}

}  // namespace

TORCHLET_OP_WITH(nnapi_floor_divide, pointwise(),
                 "nnapi::floor_divide(Tensor self, Tensor other) -> Tensor", floor_divide);

}  // namespace torchlet::ops
