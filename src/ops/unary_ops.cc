// Element-by-element functions of one tensor.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/op.h"

namespace torchlet::ops {
namespace {

// Integers are computed as float, as PyTorch's unary "float ops".
template <typename F>
Tensor unary_float(const Tensor& self, F f) {
  return map<kMapReal | kMapComplex, 1>({self}, to_float_type(self.dtype()), f);
}

}  // namespace

TORCHLET_OP_VARIANTS(sin, inplace() | out("out"), "aten::sin(Tensor self) -> Tensor",
                     [](const Tensor& self) {
                       return unary_float(self, [](auto x) { return std::sin(x); });
                     });

}  // namespace torchlet::ops
