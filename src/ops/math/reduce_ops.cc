// Sums, means, products, and tests of all elements along dimensions.
#include <cmath>
#include <numeric>

#include "ops/core/op.h"
#include "ops/engines/fold.h"
#include "ops/engines/quantize.h"
#include "ops/engines/reduce.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

using kernels::Fold;

// Integers are added up as int64.
DType sum_type(const Tensor& self, std::optional<DType> dtype) {
  return dtype.value_or(is_integral(self.dtype(), true) ? DType::kInt64 : self.dtype());
}

IntSpan span_of(const std::optional<IntArray>& dims) { return dims ? IntSpan(*dims) : IntSpan(); }

Tensor prod(const Tensor& self, IntSpan dims, bool keepdim, std::optional<DType> dtype) {
  const DType result = sum_type(self, dtype);
  if (!is_complex(result)) return fold(Fold::kProduct, self, dims, keepdim, result).to(result);
  using Complex = std::complex<double>;
  return reduce<Complex>(self, dims, keepdim, result, [](const Complex* run, int64_t count) {
    return std::accumulate(run, run + count, Complex(1), std::multiplies<>());
  });
}

Tensor nansum(const Tensor& self, const std::optional<IntArray>& dim, bool keepdim,
              std::optional<DType> dtype) {
  if (is_integral(self.dtype(), true)) return sum(self, span_of(dim), keepdim, dtype);
  const DType result = sum_type(self, dtype);
  TORCHLET_CHECK(is_floating_point(result) || is_complex(result),
                 "nansum: numbers that are not NaN cannot be summed as %s",
                 dtype_name(result).data());
  return fold(Fold::kSumOfNumbers, self.to(result), span_of(dim), keepdim, result).to(result);
}

Tensor nanmean(const Tensor& self, const std::optional<IntArray>& dim, bool keepdim,
               std::optional<DType> dtype) {
  TORCHLET_CHECK(is_floating_point(self.dtype()) || is_complex(self.dtype()),
                 "nanmean(): expected input to have floating point dtype but got %s",
                 dtype_name(self.dtype()).data());
  const Tensor numbers = eq(self, self);
  return div(nansum(self, dim, keepdim, dtype), sum(numbers, span_of(dim), keepdim));
}

// bool, but uint8 for uint8.
DType truth_type(const Tensor& self) {
  return self.dtype() == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
}

// Sums and minima of nothing are what PyTorch says of it.
Tensor all_of(const Tensor& self, IntSpan dims, bool keepdim) {
  const Tensor least = fold(Fold::kMin, self.to(DType::kBool), dims, keepdim, DType::kFloat32);
  return least.to(DType::kBool).to(truth_type(self));
}
Tensor any_of(const Tensor& self, IntSpan dims, bool keepdim) {
  const Tensor count = fold(Fold::kSum, self.to(DType::kBool), dims, keepdim, DType::kFloat32);
  return count.to(DType::kBool).to(truth_type(self));
}

Tensor count_nonzero(const Tensor& self, IntSpan dims) { return sum(self.to(DType::kBool), dims); }

Tensor logsumexp(const Tensor& self, const IntArray& dim, bool keepdim) {
  const DType dtype = to_float_type(self.dtype());
  const Tensor x = self.to(element_size(dtype) == 2 ? DType::kFloat32 : dtype);
  if (x.numel() == 0) return log(sum(exp(x), dim, keepdim)).to(dtype);
  const Tensor shift = map<kMapReal | kMapSteps, 1>({amax(x, dim, true)}, x.dtype(), [](auto most) {
    return std::isinf(most) ? decltype(most)(0) : most;
  });
  const Tensor result = log(sum(exp(sub(x, shift)), dim, keepdim));
  return add(result, reshape(shift, result.sizes())).to(dtype);
}

// Adds up what broadcasting from `size` would have repeated.
Tensor sum_to_size(const Tensor& self, const IntArray& size) {
  if (size.empty()) return sum(self);
  const IntArray full = broadcast_shapes(size, self.sizes());
  TORCHLET_CHECK(std::ranges::equal(full, self.sizes()),
                 "size {%zu dimensions} is not expandable to size of %s", size.size(),
                 self.describe().c_str());
  const size_t lead = self.sizes().size() - size.size();
  IntArray dims;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (d < lead || (size[d - lead] == 1 && self.sizes()[d] != 1)) {
      dims.push_back(static_cast<int64_t>(d));
    }
  }
  return dims.empty() ? self : reshape(sum(self, dims, true), size);
}

}  // namespace

Tensor sum(const Tensor& self, IntSpan dims, bool keepdim, std::optional<DType> dtype) {
  const DType result = sum_type(self, dtype);
  if (!is_complex(result)) {
    constexpr int64_t kExact = 1 << 24;  // counts that a float has
    const bool is_count =
        self.dtype() == DType::kBool && result == DType::kInt64 && self.numel() <= kExact;
    const DType compute = is_count ? DType::kFloat32 : result;
    return fold(Fold::kSum, self, dims, keepdim, compute).to(result);
  }
  if (selection::kHasConversions && self.dtype() == result) {  // the sums of the parts
    IntArray places = normalize_dims(dims, self.dim());
    return view_as_complex(sum(view_as_real(self), places, keepdim, std::nullopt));
  }
  using Complex = std::complex<double>;
  return reduce<Complex>(self, dims, keepdim, result, [](const Complex* run, int64_t count) {
    return std::accumulate(run, run + count, Complex(0));
  });
}

Tensor mean(const Tensor& self, IntSpan dims, bool keepdim, std::optional<DType> dtype) {
  if (self.is_quantized()) {
    return map_quantized(self, [&](const Tensor& x) { return mean(x, dims, keepdim); });
  }
  const DType result = dtype.value_or(self.dtype());
  TORCHLET_CHECK(
      is_floating_point(result) || is_complex(result),
      "mean(): could not infer output dtype. Input dtype must be either a floating point "
      "or complex dtype. Got: %s",
      dtype_name(result).data());
  int64_t count = 1;
  for (int64_t d : normalize_dims(dims, self.dim())) count *= self.size(d);
  const Tensor total = is_complex(result) ? sum(self, dims, keepdim, result)
                                          : fold(Fold::kSum, self, dims, keepdim, result);
  return div(total, Scalar(static_cast<double>(count))).to(result);
}

// Of the whole tensor: what asks this in C++ need not bring the engine of reductions along.
bool all(const Tensor& self) {
  const Tensor bools = self.to(DType::kBool).contiguous();
  const bool* data = bools.data_ptr<bool>();
  return std::all_of(data, data + bools.numel(), [](bool value) { return value; });
}
bool any(const Tensor& self) {
  const Tensor bools = self.to(DType::kBool).contiguous();
  const bool* data = bools.data_ptr<bool>();
  return std::any_of(data, data + bools.numel(), [](bool value) { return value; });
}

TORCHLET_OP_WITH(sum, on_meta() | out("out"),
                 "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                 [](const Tensor& self, std::optional<DType> dtype) {
                   return sum(self, {}, false, dtype);
                 });
TORCHLET_OP_WITH(sum_dim_IntList, on_meta() | out("IntList_out"),
                 "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                 "ScalarType? dtype=None) -> Tensor",
                 [](const Tensor& self, const std::optional<IntArray>& dim, bool keepdim,
                    std::optional<DType> dtype) {
                   return sum(self, span_of(dim), keepdim, dtype);
                 });
TORCHLET_OP_WITH(mean, on_meta() | quantized_average(),
                 "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                 [](const Tensor& self, std::optional<DType> dtype) {
                   return mean(self, {}, false, dtype);
                 });
TORCHLET_OP_WITH(mean_dim, on_meta() | out("out") | quantized_average(),
                 "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
                 "dtype=None) -> Tensor",
                 [](const Tensor& self, const std::optional<IntArray>& dim, bool keepdim,
                    std::optional<DType> dtype) {
                   return mean(self, span_of(dim), keepdim, dtype);
                 });
TORCHLET_OP_WITH(prod, out("out"), "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                 [](const Tensor& self, std::optional<DType> dtype) {
                   return prod(self, {}, false, dtype);
                 });
TORCHLET_OP_WITH(prod_dim_int, out("int_out"),
                 "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
                 "dtype=None) -> Tensor",
                 [](const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
                   return prod(self, {&dim, 1}, keepdim, dtype);
                 });
TORCHLET_OP_WITH(nansum, out("out"),
                 "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
                 "ScalarType? dtype=None) -> Tensor",
                 nansum);
TORCHLET_OP_WITH(nanmean, out("out"),
                 "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
                 "ScalarType? dtype=None) -> Tensor",
                 nanmean);

TORCHLET_OP_WITH(all, out("all_out"), "aten::all(Tensor self) -> Tensor",
                 [](const Tensor& self) { return all_of(self, {}, false); });
TORCHLET_OP_WITH(all_dim, out("out"),
                 "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
                 [](const Tensor& self, int64_t dim, bool keepdim) {
                   return all_of(self, {&dim, 1}, keepdim);
                 });
TORCHLET_OP_WITH(any, out("all_out"), "aten::any(Tensor self) -> Tensor",
                 [](const Tensor& self) { return any_of(self, {}, false); });
TORCHLET_OP_WITH(any_dim, out("out"),
                 "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
                 [](const Tensor& self, int64_t dim, bool keepdim) {
                   return any_of(self, {&dim, 1}, keepdim);
                 });
TORCHLET_OP_WITH(count_nonzero, out("out"),
                 "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
                 [](const Tensor& self, std::optional<int64_t> dim) {
                   return count_nonzero(self, dim ? IntSpan(&*dim, 1) : IntSpan());
                 });
TORCHLET_OP_WITH(count_nonzero_dim_IntList, out("dim_IntList_out"),
                 "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
                 [](const Tensor& self, const IntArray& dim) { return count_nonzero(self, dim); });
TORCHLET_OP_WITH(logsumexp, out("out"),
                 "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                 logsumexp);
TORCHLET_OP_WITH(sum_to_size, may_alias(), "aten::sum_to_size(Tensor self, int[] size) -> Tensor",
                 sum_to_size);

}  // namespace torchlet::ops
