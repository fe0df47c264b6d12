// softmax and log_softmax.
#include <algorithm>

#include "kernels/elementwise/normalize.h"
#include "ops/core/op.h"
#include "ops/math/math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

Tensor softmax_like(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool logarithm) {
  const DType result = dtype.value_or(self.dtype());
  TORCHLET_CHECK(is_floating_point(result), "\"softmax\" not implemented for '%s'",
                 dtype_name(result).data());
  dim = wrap_dim(dim, self.dim());
  const Tensor out = empty_like(self, result);
  if (self.numel() == 0 || is_meta(out)) return out;
  const Tensor x = self.to(element_size(result) == 2 ? DType::kFloat32 : result).contiguous();
  Tensor y;
  if (x.dtype() == DType::kFloat32) {
    const int64_t count = x.dim() == 0 ? 1 : x.size(dim);
    int64_t inner = 1;
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    const int64_t outer = x.numel() / count / inner;
    y = empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    if (inner == 1) {
      (logarithm ? kernels::log_softmax_f32 : kernels::softmax_f32)(from, to, outer, count);
    } else {
      (logarithm ? kernels::log_softmax_columns_f32 : kernels::softmax_columns_f32)(from, to, outer,
                                                                                    count, inner);
    }
  } else {
    const Tensor below = sub(x, amax(x, {&dim, 1}, true)), e = exp(below);
    const Tensor total = sum(e, {&dim, 1}, true);
    y = logarithm ? sub(below, log(total)) : div(e, total);
  }
  if (out.is_contiguous()) return y.to(result);
  out.copy_(y);
  return out;
}

// half_to_float is for CUDA only.
Tensor plain_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  TORCHLET_CHECK(!half_to_float, "softmax with half to float conversion is not supported on CPU");
  return softmax(self, dim);
}
Tensor plain_log_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  TORCHLET_CHECK(!half_to_float, "softmax with half to float conversion is not supported on CPU");
  return log_softmax(self, dim);
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_like(self, dim, dtype, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return softmax_like(self, dim, dtype, true);
}

TORCHLET_OP_WITH(softmax_int,
                 on_meta() | out("int_out") | keeps_rank() | places(PlaceRule::kButDim),
                 "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                 softmax);
TORCHLET_OP_WITH(log_softmax_int,
                 on_meta() | out("int_out") | keeps_rank() | places(PlaceRule::kButDim),
                 "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                 log_softmax);
TORCHLET_OP_WITH(_softmax, on_meta() | out("out") | keeps_rank() | places(PlaceRule::kButDim),
                 "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                 plain_softmax);
TORCHLET_OP_WITH(_log_softmax, on_meta() | out("out") | keeps_rank() | places(PlaceRule::kButDim),
                 "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                 plain_log_softmax);
TORCHLET_OP(special_softmax,
            "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            softmax);
TORCHLET_OP(special_log_softmax,
            "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            log_softmax);

}  // namespace torchlet::ops
