// The largest and smallest elements and where they are. NaN counts as beyond both ends, and the
// first of equal elements is found.
#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "ops/core/dense_order.h"
#include "ops/core/op.h"
#include "ops/engines/fold.h"
#include "ops/engines/quantize.h"
#include "ops/engines/reduce.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kShortRun = 8;
constexpr int64_t kMostPlaces = int64_t{1} << 24;  // that a float can hold

// The first place of `value`, which is in the run; NaN, if there is one.
template <typename C>
int64_t position(const C* run, int64_t count, C value) {
  const auto is_there = [&](int64_t i) {
    return static_cast<int>(run[i] == value) | static_cast<int>(run[i] != run[i]);
  };
  int64_t at = 0;
  if (count > kShortRun) {
    while (at + 1 < count && !is_there(at)) ++at;
  } else {  // not worth a branch that nobody foresees
    for (int64_t i = count; i-- > 0;) at = is_there(i) ? i : at;
  }
  return at;
}

// As numbers lie in loops; small ones fit a float exactly.
DType compute_type(const Tensor& self) {
  if (element_size(self.dtype()) <= 2) return DType::kFloat32;
  return self.dtype() == DType::kInt32 ? DType::kInt64 : self.dtype();
}

template <bool Largest>
constexpr kernels::Fold kExtreme = Largest ? kernels::Fold::kMax : kernels::Fold::kMin;

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
  return fold(kExtreme<Largest>, self, dims, keepdim, compute_type(self)).to(self.dtype());
}

// The same for results that lie side by side: from the last element on, so that the first stays.
// Places are kept as numbers of C: a step of many has no branch, which nobody would foresee.
template <typename C>
void find_across(const C* x, int64_t outer, int64_t count, int64_t inner, C* value, int64_t* at) {
  constexpr int64_t kParallelGrain = 32768;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (count * inner));
  const int64_t in_steps = inner / detail::kStep * detail::kStep;
  parallel_for(outer, grain, [=](int64_t begin, int64_t end) {
    const kernels::Scratch<C> places(inner);
    for (int64_t o = begin; o < end; ++o) {
      const C* const from = x + o * count * inner;
      C* const best = value + o * inner;
      int64_t* const to = at + o * inner;
      std::fill_n(places.data(), inner, C(0));
      for (int64_t i = count; i-- > 0;) {
        const auto nearer = [i](C number, C extreme, C place) {
          return choose((number == extreme) | (number != number), static_cast<C>(i), place);
        };
        const C* const row = from + i * inner;
        const void* const operands[] = {row, best, places.data()};
        detail::map_steps<C, C, 3, decltype(nearer)>(&nearer, places.data(), operands, in_steps);
        for (int64_t k = in_steps; k < inner; ++k) places[k] = nearer(row[k], best[k], places[k]);
      }
      for (int64_t k = 0; k < inner; ++k) {
        to[k] = static_cast<int64_t>(places[k]);
        best[k] = from[to[k] * inner + k];  // of zeros, the first
      }
    }
  });
}

// Of contiguous [outer, count, inner] over the middle: values and indices [outer, inner].
template <bool Largest>
std::tuple<Tensor, Tensor> extreme_between(const Tensor& x, DType compute) {
  constexpr int64_t kShort = 512;
  const int64_t outer = x.size(0), count = x.size(1), inner = x.size(2);
  if (inner < detail::kStep && outer * inner >= detail::kStep && outer > 1 && count <= kShort) {
    // Together they are wide.
    const Tensor wide = permute(x, IntArray{1, 2, 0}).contiguous();
    const auto [values, indices] =
        extreme_between<Largest>(view(wide, IntArray{1, count, inner * outer}), compute);
    const auto back = [&](const Tensor& results) {
      return transpose(view(results, IntArray{inner, outer}), 0, 1).contiguous();
    };
    return {back(values), back(indices)};
  }
  const Tensor values = fold(kExtreme<Largest>, x, IntArray{1}, false, compute);
  const Tensor indices = empty(values.sizes(), DType::kInt64);
  int64_t* at = indices.data_ptr<int64_t>();
  visit_compute<kMapReal | kMapInt>(compute, [&](auto zero) {
    using C = decltype(zero);
    C* value = values.template data_ptr<C>();
    if (inner >= detail::kStep && count <= kMostPlaces) {
      return find_across(x.template data_ptr<C>(), outer, count, inner, value, at);
    }
    const Tensor runs = inner > 1 ? transpose(x, 1, 2).contiguous() : x;
    for_each_run<C>(runs, IntArray{inner > 1 ? 2 : 1}, [&](const C* run, int64_t, int64_t i) {
      at[i] = position(run, count, value[i]);
      value[i] = run[at[i]];  // of zeros, the first
    });
  });
  return {values, indices};
}

// Values and indices along dimensions.
template <bool Largest>
std::tuple<Tensor, Tensor> extreme_at(const Tensor& input, IntSpan dims, bool keepdim) {
  const DType compute = compute_type(input);
  const Tensor self = input.to(compute);
  const IntArray reduced = normalize_dims(dims, self.dim());
  if (self.dim() > 0 && reduced.size() == 1 && self.size(reduced[0]) == 1 && !is_meta(self)) {
    const IntArray sizes = reduced_shape(self.sizes(), reduced, keepdim);
    return {reshape(input.clone(), sizes), zeros(sizes, DType::kInt64)};
  }
  if (reduced.size() == 1 && self.is_contiguous() && self.numel() > 0 && self.dim() > 0) {
    const int64_t count = self.size(reduced[0]);
    int64_t inner = 1;
    for (int64_t d = reduced[0] + 1; d < self.dim(); ++d) inner *= self.size(d);
    const Tensor matrices = view(self, IntArray{self.numel() / (count * inner), count, inner});
    const auto [values, indices] = extreme_between<Largest>(matrices, compute);
    const IntArray sizes = reduced_shape(self.sizes(), reduced, keepdim);
    return {view(values.to(input.dtype()), sizes), view(indices, sizes)};
  }
  const Tensor values = fold(kExtreme<Largest>, self, dims, keepdim, compute);
  const Tensor indices = empty(values.sizes(), DType::kInt64);
  int64_t* at = indices.data_ptr<int64_t>();
  visit_compute<kMapReal | kMapInt>(compute, [&](auto zero) {
    using C = decltype(zero);
    C* value = values.template data_ptr<C>();
    for_each_run<C>(self, reduced, [&](const C* run, int64_t count, int64_t i) {
      at[i] = position(run, count, value[i]);
      value[i] = run[at[i]];  // of zeros, the first
    });
  });
  return {values.to(input.dtype()), indices};
}

// The same along one dimension, in the order of memory.
template <bool Largest>
std::tuple<Tensor, Tensor> extreme_along(const Tensor& self, int64_t dim, bool keepdim) {
  const auto order = dense_order(self);
  if (self.is_contiguous() || !order) return extreme_at<Largest>(self, {&dim, 1}, keepdim);
  const IntArray places = inverse_order(*order);
  const int64_t place = places[static_cast<size_t>(wrap_dim(dim, self.dim()))];
  const auto [values, indices] = extreme_at<Largest>(permute(self, *order), {&place, 1}, true);
  const auto back = [&](const Tensor& x) {
    const Tensor kept = permute(x, places).contiguous();
    return keepdim ? kept : squeeze(kept, dim);
  };
  return {back(values), back(indices)};
}

template <bool Largest>
std::tuple<Tensor, Tensor> extreme_dim(const Tensor& self, int64_t dim, bool keepdim) {
  wrap_dim(dim, self.dim());
  check_not_empty(Largest ? "max" : "min", self, {&dim, 1});
  if (self.is_quantized()) {
    auto [values, indices] = extreme_along<Largest>(dequantize(self), dim, keepdim);
    return {quantize(values, self.dtype(), self.impl()->quantizer), indices};
  }
  return extreme_along<Largest>(self, dim, keepdim);
}

template <bool Largest>
Tensor arg_extreme(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const IntSpan dims = dim ? IntSpan(&*dim, 1) : IntSpan();
  check_not_empty(Largest ? "argmax" : "argmin", self, dims);
  return std::get<1>(extreme_at<Largest>(self, dims, keepdim));
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
TORCHLET_OP_WITH(amax, out("out") | on_meta(),
                 "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
                 [](const Tensor& self, const IntArray& dim, bool keepdim) {
                   return amax(self, dim, keepdim);
                 });
TORCHLET_OP_WITH(amin, out("out") | on_meta(),
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
