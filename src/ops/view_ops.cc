// Operators that return a view of their input.
#include "ops/common.h"
#include "ops/op.h"

namespace torchlet::ops {

TORCHLET_OP(view, "aten::view(Tensor(a) self, int[] size) -> Tensor(a)",
            [](const Tensor& self, const IntArray& size) { return view(self, size); });
TORCHLET_OP(reshape, "aten::reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
            [](const Tensor& self, const IntArray& shape) { return reshape(self, shape); });
TORCHLET_OP(permute, "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
            [](const Tensor& self, const IntArray& dims) { return permute(self, dims); });

}  // namespace torchlet::ops
