// The largest and smallest elements and where they are. NaN counts as beyond both ends, and the
// first of equal elements is found.
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/fold.h"
#include "ops/engines/quantize.h"
#include "ops/engines/reduce.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

template <bool Largest, typename C>
int64_t extreme(const C* run, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 1; i < count && !is_nan(run[best]); ++i) {
    if ((Largest ? run[i] > run[best] : run[i] < run[best]) || is_nan(run[i])) best = i;
  }
  return best;
}

void check_not_empty(const char* name, const Tensor& self, IntSpan dims) {
  if (self.numel() != 0) return;
  TORCHLET_CHECK(!dims.empty(),
                 "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                 "reduction dim with the 'dim' argument.",
                 name);
  for (int64_t dim : dims) {
    TORCHLET_CHECK(self.size(dim) != 0, "%s(): Expected reduction dim %lld to have non-zero size.",
                   name, static_cast<long long>(wrap_dim(dim, self.dim())));
  }
}

template <bool Largest>
Tensor extreme_value(const char* name, const Tensor& self, IntSpan dims, bool keepdim) {
  check_not_empty(name, self, dims);
  if (self.is_quantized()) {
    return map_quantized(
        self, [&](const Tensor& x) { return extreme_value<Largest>(name, x, dims, keepdim); });
  }
  const DType compute = element_size(self.dtype()) <= 2 ? DType::kFloat32 : self.dtype();  // exact
  return fold(Largest ? kernels::Fold::kMax : kernels::Fold::kMin, self, dims, keepdim, compute)
      .to(self.dtype());
}

// Values and indices along one dimension; `values` may be undefined.
template <bool Largest>
std::tuple<Tensor, Tensor> extreme_at(const Tensor& self, IntSpan dims, bool keepdim,
                                      bool with_values) {
  const IntArray reduced = normalize_dims(dims, self.dim());
  const IntArray shape = reduced_shape(self.sizes(), reduced, keepdim);
  const Tensor indices = empty(shape, DType::kInt64);
  int64_t* at = indices.data_ptr<int64_t>();
  const Tensor values = visit_compute<kMapReal | kMapInt>(self.dtype(), [&](auto zero) -> Tensor {
    using C = decltype(zero);
    const Tensor found = empty(with_values ? IntSpan(shape) : IntSpan(), DTypeOf<C>::value);
    C* value = found.template data_ptr<C>();
    for_each_run<C>(self, reduced, [&](const C* in, int64_t count, int64_t i) {
      at[i] = extreme<Largest>(in, count);
      if (with_values) value[i] = in[at[i]];
    });
    return with_values ? found.to(self.dtype()) : Tensor();
  });
  return {values, indices};
}

template <bool Largest>
std::tuple<Tensor, Tensor> extreme_dim(const Tensor& self, int64_t dim, bool keepdim) {
  wrap_dim(dim, self.dim());
  check_not_empty(Largest ? "max" : "min", self, {&dim, 1});
  if (self.is_quantized()) {
    auto [values, indices] = extreme_at<Largest>(dequantize(self), {&dim, 1}, keepdim, true);
    return {quantize(values, self.dtype(), self.impl()->quantizer), indices};
  }
  return extreme_at<Largest>(self, {&dim, 1}, keepdim, true);
}

template <bool Largest>
Tensor arg_extreme(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  check_not_empty(Largest ? "argmax" : "argmin", self, dims);
  return std::get<1>(extreme_at<Largest>(self, dims, keepdim, false));
}

std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  TORCHLET_CHECK(
      self.numel() > 0 || dim,
      "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
      "identity.");
  // PyTorch gives a kept dimension to a 0-d tensor too.
  const Tensor input = self.dim() == 0 && dim && keepdim ? reshape(self, IntArray{1}) : self;
  return {extreme_value<false>("aminmax", input, dims, keepdim),
          extreme_value<true>("aminmax", input, dims, keepdim)};
}

}  // namespace

Tensor amax(const Tensor& self, IntSpan dims, bool keepdim) {
  return extreme_value<true>("amax", self, dims, keepdim);
}
Tensor amin(const Tensor& self, IntSpan dims, bool keepdim) {
  return extreme_value<false>("amin", self, dims, keepdim);
}
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return arg_extreme<true>(self, dim, keepdim);
}

TORCHLET_OP_WITH(max, quantized_as_input(), "aten::max(Tensor self) -> Tensor",
                 [](const Tensor& self) { return extreme_value<true>("max", self, {}, false); });
TORCHLET_OP_WITH(min, quantized_as_input(), "aten::min(Tensor self) -> Tensor",
                 [](const Tensor& self) { return extreme_value<false>("min", self, {}, false); });
TORCHLET_OP_WITH(
    max_dim, out("dim_max(max, max_values)") | quantized_as_input(),
    "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    extreme_dim<true>);
TORCHLET_OP_WITH(
    min_dim, out("dim_min(min, min_indices)") | quantized_as_input(),
    "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    extreme_dim<false>);
TORCHLET_OP_WITH(amax, out("out"),
                 "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                 [](const Tensor& self, const IntArray& dim, bool keepdim) {
                   return amax(self, dim, keepdim);
                 });
TORCHLET_OP_WITH(amin, out("out"),
                 "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                 [](const Tensor& self, const IntArray& dim, bool keepdim) {
                   return amin(self, dim, keepdim);
                 });
TORCHLET_OP_WITH(argmax, out("out"),
                 "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                 arg_extreme<true>);
TORCHLET_OP_WITH(argmin, out("out"),
                 "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
                 arg_extreme<false>);
TORCHLET_OP_WITH(aminmax, out("out(min, max)"),
                 "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor "
                 "min, Tensor max)",
                 aminmax);
TORCHLET_OP_WITH(_aminmax, out("out(out0, out1)"),
                 "aten::_aminmax(Tensor self) -> (Tensor, Tensor)",
                 [](const Tensor& self) { return aminmax(self, std::nullopt, false); });
TORCHLET_OP_WITH(_aminmax_dim, out("dim_out(out0, out1)"),
                 "aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
                 [](const Tensor& self, int64_t dim, bool keepdim) {
                   return aminmax(self, dim, keepdim);
                 });

}  // namespace torchlet::ops
