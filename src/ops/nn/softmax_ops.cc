// softmax and log_softmax.
#include <cmath>

#include "kernels/elementwise/normalize.h"
#include "ops/core/op.h"
#include "ops/engines/dim_apply.h"
#include "ops/engines/elementwise.h"
#include "ops/math/math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

template <typename C>
void softmax_slice(const C* x, C* y, int64_t n, bool logarithm) {
  C largest = x[0];
  for (int64_t i = 1; i < n; ++i) {
    if (x[i] > largest || std::isnan(x[i])) largest = x[i];
  }
  C total = 0;
  for (int64_t i = 0; i < n; ++i) total += y[i] = std::exp(x[i] - largest);
  if (logarithm) {
    const C shift = largest + std::log(total);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - shift;
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] /= total;
  }
}

Tensor softmax_like(const Tensor& self, int64_t dim, std::optional<DType> dtype, bool logarithm) {
  const Tensor input = dtype ? self.to(*dtype) : self;
  TORCHLET_CHECK(is_floating_point(input.dtype()), "\"softmax\" not implemented for '%s'",
                 dtype_name(input.dtype()).data());
  dim = wrap_dim(dim, input.dim());
  const Tensor out = empty_like(input);
  if (input.numel() == 0 || is_meta(out)) return out;
  const int64_t count = input.dim() == 0 ? 1 : input.size(dim);
  if (input.dtype() == DType::kFloat32 && input.is_contiguous() && out.is_contiguous() &&
      dim == std::max<int64_t>(input.dim() - 1, 0)) {
    (logarithm ? kernels::log_softmax_f32 : kernels::softmax_f32)(
        input.data_ptr<float>(), out.data_ptr<float>(), input.numel() / count, count);
  } else if (input.dtype() == DType::kFloat64) {
    dim_apply<double>(input, dim, out, Tensor(), [=](const double* x, double* y, int64_t*) {
      softmax_slice(x, y, count, logarithm);
    });
  } else if (logarithm) {
    dim_apply<float>(input, dim, out, Tensor(), [=](const float* x, float* y, int64_t*) {
      kernels::log_softmax_f32(x, y, 1, count);
    });
  } else {
    dim_apply<float>(input, dim, out, Tensor(), [=](const float* x, float* y, int64_t*) {
      kernels::softmax_f32(x, y, 1, count);
    });
  }
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

TORCHLET_OP_WITH(softmax_int, on_meta() | out("int_out") | keeps_rank(),
                 "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                 softmax);
TORCHLET_OP_WITH(log_softmax_int, on_meta() | out("int_out") | keeps_rank(),
                 "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                 log_softmax);
TORCHLET_OP_WITH(_softmax, on_meta() | out("out") | keeps_rank(),
                 "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                 plain_softmax);
TORCHLET_OP_WITH(_log_softmax, on_meta() | out("out") | keeps_rank(),
                 "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                 plain_log_softmax);
TORCHLET_OP(special_softmax,
            "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            softmax);
TORCHLET_OP(special_log_softmax,
            "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            log_softmax);

}  // namespace torchlet::ops
