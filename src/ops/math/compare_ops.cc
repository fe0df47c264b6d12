// Comparisons, logic, minimum and maximum of two operands, clamp, where.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/narrow.h"
#include "ops/engines/quantize.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

constexpr int kOrdered = kMapReal | kMapInt | kMapSteps;

Tensor eq_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kEqual, self, other, dtype);
  return binary_bool<kMapAll | kMapSteps>(self, other, dtype,
                                          [](auto a, auto b) { return a == b; });
}
Tensor ne_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kUnequal, self, other, dtype);
  return binary_bool<kMapAll | kMapSteps>(self, other, dtype,
                                          [](auto a, auto b) { return a != b; });
}
Tensor lt_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kLess, self, other, dtype);
  return binary_bool<kOrdered>(self, other, dtype, [](auto a, auto b) { return a < b; });
}
Tensor le_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kLessEqual, self, other, dtype);
  return binary_bool<kOrdered>(self, other, dtype, [](auto a, auto b) { return a <= b; });
}
Tensor gt_as(const Tensor& self, const Tensor& other, DType dtype) {
  return lt_as(other, self, dtype);
}
Tensor ge_as(const Tensor& self, const Tensor& other, DType dtype) {
  return le_as(other, self, dtype);
}

// a or b if it is NaN, so that NaN wins in minimum and maximum, and the other one in fmin and fmax.
template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

Tensor maximum_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kMax, self, other, dtype);
  if (has_kernel(dtype)) return kernel_map(kernels::MatrixBinaryOp::kMax, self, other, dtype);
  return binary<kOrdered>(self, other, dtype,
                          [](auto a, auto b) { return is_nan(a) || a > b ? a : b; });
}
Tensor minimum_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kMin, self, other, dtype);
  if (has_kernel(dtype)) return kernel_map(kernels::MatrixBinaryOp::kMin, self, other, dtype);
  return binary<kOrdered>(self, other, dtype,
                          [](auto a, auto b) { return is_nan(a) || a < b ? a : b; });
}
Tensor fmax_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kMax, self, other, dtype);
  return binary<kOrdered>(self, other, dtype,
                          [](auto a, auto b) { return is_nan(b) || a > b ? a : b; });
}
Tensor fmin_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kMin, self, other, dtype);
  return binary<kOrdered>(self, other, dtype,
                          [](auto a, auto b) { return is_nan(b) || a < b ? a : b; });
}

// ---- logic: every dtype, zero is false ----

Tensor logical_not(const Tensor& self) {
  return map_bool<kMapAll | kMapSteps, 1>({self}, self.dtype(),
                                          [](auto x) { return x == decltype(x)(0); });
}
Tensor logical_and(const Tensor& self, const Tensor& other) {
  return binary_bool<kMapInt>(self.to(DType::kBool), other.to(DType::kBool), DType::kBool,
                              [](auto a, auto b) { return a && b; });
}
Tensor logical_or(const Tensor& self, const Tensor& other) {
  return binary_bool<kMapInt>(self.to(DType::kBool), other.to(DType::kBool), DType::kBool,
                              [](auto a, auto b) { return a || b; });
}
Tensor logical_xor(const Tensor& self, const Tensor& other) {
  return ne_as(self.to(DType::kBool), other.to(DType::kBool), DType::kBool);
}

// ---- classes of numbers ----

Tensor all_of(const Tensor& self, bool answer) {
  const Tensor out = empty_like(self, DType::kBool);
  fill(out, Scalar(answer));
  return out;
}

template <typename F>
Tensor classify(const Tensor& self, F f) {
  if (is_integral(self.dtype(), true)) return all_of(self, f(0.0, 0.0));  // as any integer is
  return map_bool<kMapReal | kMapComplex | kMapSteps, 1>({self}, self.dtype(), [f](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return f(x, T(0));
    } else {
      return f(x.real(), x.imag());
    }
  });
}
Tensor isnan(const Tensor& self) {
  return classify(self, [](auto re, auto im) { return std::isnan(re) || std::isnan(im); });
}
Tensor isinf(const Tensor& self) {
  return classify(self, [](auto re, auto im) { return std::isinf(re) || std::isinf(im); });
}
Tensor isfinite(const Tensor& self) {
  return classify(self, [](auto re, auto im) { return std::isfinite(re) && std::isfinite(im); });
}
Tensor isreal(const Tensor& self) {
  if (!is_complex(self.dtype())) return all_of(self, true);
  return map_bool<kMapComplex, 1>({self}, self.dtype(), [](auto z) { return z.imag() == 0; });
}
Tensor isposinf(const Tensor& self) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "isposinf does not support complex inputs.");
  return classify(self, [](auto re, auto) { return re == INFINITY; });
}
Tensor isneginf(const Tensor& self) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "isneginf does not support complex inputs.");
  return classify(self, [](auto re, auto) { return re == -INFINITY; });
}

// ---- closeness and equality ----

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TORCHLET_CHECK(self.dtype() == other.dtype(), "%s did not match %s",
                 dtype_name(self.dtype()).data(), dtype_name(other.dtype()).data());
  TORCHLET_CHECK(rtol >= 0 && atol >= 0, "rtol and atol must be greater than or equal to zero");
  auto close = [=](auto a, auto b) {
    using T = decltype(a);
    if (a == b) return true;
    if constexpr (std::is_integral_v<T>) {
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      return std::abs(x - y) <= atol + rtol * std::abs(y);
    } else {
      if (a != a || b != b) return equal_nan && a != a && b != b;
      const double distance = static_cast<double>(std::abs(a - b));
      return std::isfinite(distance) &&
             distance <= atol + std::abs(rtol * static_cast<double>(std::abs(b)));
    }
  };
  return map_bool<kMapAll, 2>({self, other}, self.dtype(), close);
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all(isclose(self, other, rtol, atol, equal_nan));
}

// ---- clamp and where ----

Tensor clamp_tensors(const Tensor& self, const Tensor& min, const Tensor& max) {
  TORCHLET_CHECK(min.defined() || max.defined(),
                 "torch.clamp: At least one of 'min' or 'max' must not be None");
  ResultType type;
  type.add(self);
  if (min.defined()) type.add(min);
  if (max.defined()) type.add(max);
  const DType dtype = type.get();
  if (!max.defined()) return maximum_as(self, min, dtype);
  if (!min.defined()) return minimum_as(self, max, dtype);
  if (is_narrow(dtype)) return narrow_clamp(self, min, max, dtype);
  return map<kOrdered, 3>({self, min, max}, dtype, [](auto x, auto lo, auto hi) {
    const auto raised = choose(is_nan(x) | (x >= lo), x, lo);
    return choose(is_nan(raised) | (raised <= hi), raised, hi);
  });
}

Tensor clamp_min(const Tensor& self, const Scalar& min) { return clamp(self, min, std::nullopt); }
Tensor clamp_max(const Tensor& self, const Scalar& max) { return clamp(self, std::nullopt, max); }
Tensor clamp_min_tensor(const Tensor& self, const Tensor& min) {
  return clamp_tensors(self, min, Tensor());
}
Tensor clamp_max_tensor(const Tensor& self, const Tensor& max) {
  return clamp_tensors(self, Tensor(), max);
}

// Of tensors that lie alike in memory: bytes, which the elementwise engine computes as int64.
Tensor where_bytes(const Tensor& condition, const Tensor& self, const Tensor& other) {
  const Tensor out = empty_like(self);
  const auto *take = static_cast<const uint8_t*>(condition.raw_data()),
             *yes = static_cast<const uint8_t*>(self.raw_data()),
             *no = static_cast<const uint8_t*>(other.raw_data());
  auto* const to = static_cast<uint8_t*>(out.raw_data());
  const auto chosen = [=](int64_t i) {
    const auto mask = static_cast<uint8_t>(-(take[i] != 0));
    return static_cast<uint8_t>((yes[i] & mask) | (no[i] & ~mask));
  };
  parallel_for(self.numel(), 65536, [&](int64_t begin, int64_t end) {
    constexpr int64_t kStep = 64;
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) {  // of which compilers make vectors
      uint8_t step[kStep];
      for (int64_t k = 0; k < kStep; ++k) step[k] = chosen(i + k);
      std::memcpy(to + i, step, sizeof(step));
    }
    for (; i < end; ++i) to[i] = chosen(i);
  });
  return out;
}

Tensor where_as(const Tensor& condition, const Tensor& self, const Tensor& other, DType dtype) {
  TORCHLET_CHECK(condition.dtype() == DType::kBool || condition.dtype() == DType::kUInt8,
                 "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                 dtype_name(condition.dtype()).data());
  const auto lies_as_self = [&](const Tensor& x) {
    return !is_meta(x) && std::ranges::equal(x.sizes(), self.sizes()) &&
           std::ranges::equal(x.strides(), self.strides());
  };
  if ((dtype == DType::kBool || dtype == DType::kUInt8 || dtype == DType::kInt8) &&
      self.dtype() == dtype && other.dtype() == dtype && lies_as_self(self) &&
      lies_as_self(condition) && lies_as_self(other) &&
      is_non_overlapping_and_dense(self.sizes(), self.strides())) {
    return where_bytes(condition, self, other);
  }
  return map<kMapAll | kMapSteps, 3>({condition, self, other}, dtype, [](auto c, auto a, auto b) {
    return c != decltype(c)(0) ? a : b;
  });
}
Tensor where_scalars(const Tensor& condition, const Scalar& self, const Scalar& other) {
  const DType dtype = ResultType().add(self).add(other).get();
  return where_as(condition, scalar_tensor(self, dtype), scalar_tensor(other, dtype), dtype);
}
Tensor where_scalar_other(const Tensor& condition, const Tensor& self, const Scalar& other) {
  const DType dtype = result_type(self, other);
  return where_as(condition, self, scalar_tensor(other, dtype), dtype);
}
Tensor where_scalar_self(const Tensor& condition, const Scalar& self, const Tensor& other) {
  const DType dtype = result_type(other, self);
  return where_as(condition, scalar_tensor(self, dtype), other, dtype);
}

// Quantized tensors are compared by their real numbers.
Tensor real_numbers(const Tensor& tensor) {
  return tensor.is_quantized() ? dequantize(tensor) : tensor;
}
template <BinaryFn Fn>
Tensor compare(const Tensor& self, const Tensor& other) {
  return tensors<Fn>(real_numbers(self), real_numbers(other));
}
template <BinaryFn Fn>
Tensor compare_scalar(const Tensor& self, const Scalar& other) {
  return with_scalar<Fn>(real_numbers(self), other);
}

}  // namespace

Tensor eq(const Tensor& self, const Tensor& other) { return tensors<eq_as>(self, other); }
Tensor eq(const Tensor& self, const Scalar& other) { return with_scalar<eq_as>(self, other); }
Tensor ne(const Tensor& self, const Scalar& other) { return with_scalar<ne_as>(self, other); }
Tensor maximum(const Tensor& self, const Tensor& other) { return tensors<maximum_as>(self, other); }
Tensor minimum(const Tensor& self, const Tensor& other) { return tensors<minimum_as>(self, other); }

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return where_as(condition, self, other, result_type(self, other));
}

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min,
             const std::optional<Scalar>& max) {
  TORCHLET_CHECK(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (self.is_quantized()) {
    return map_quantized(self, [&](const Tensor& x) { return clamp(x, min, max); });
  }
  ResultType type;
  type.add(self);
  if (min) type.add(*min);
  if (max) type.add(*max);
  const DType dtype = type.get();
  auto bound = [&](const std::optional<Scalar>& value) {
    return value ? scalar_tensor(*value, dtype) : Tensor();
  };
  const Tensor lo = bound(min), hi = bound(max);
  if (is_floating_point(dtype) && !is_meta(min ? lo : hi)) {
    // The usual case, without streams of repeated bounds.
    const double low = min ? lo.item<double>() : -INFINITY,
                 high = max ? hi.item<double>() : INFINITY;
    if (!std::isnan(low) && !std::isnan(high)) {
      if (has_kernel(dtype)) {
        return kernel_map(kernels::clamp_f32, self, dtype, static_cast<float>(low),
                          static_cast<float>(high));
      }
      return map<kMapReal, 1>({self}, dtype, [low, high](auto x) {
        using T = decltype(x);
        const T raised = x < static_cast<T>(low) ? static_cast<T>(low) : x;
        return raised > static_cast<T>(high) ? static_cast<T>(high) : raised;
      });
    }
  }
  return clamp_tensors(self.to(dtype), lo, hi);
}

namespace {
// A small part first, then ever larger ones: what differs does so soon, as a rule.
bool equal_parts(const Tensor& self, const Tensor& other) {
  constexpr int64_t kFewElements = 4096;
  if (!selection::kHasConversions || self.numel() <= kFewElements || self.is_quantized() ||
      other.is_quantized()) {
    return all(compare<eq_as>(self, other));
  }
  int64_t widest = -1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) > 1 && (widest < 0 || self.stride(d) > self.stride(widest))) widest = d;
  }
  const int64_t size = self.size(widest), half = size / 2;
  return equal_parts(narrow(self, widest, 0, half), narrow(other, widest, 0, half)) &&
         all(compare<eq_as>(narrow(self, widest, half, size - half),
                            narrow(other, widest, half, size - half)));
}
}  // namespace

bool equal(const Tensor& self, const Tensor& other) {
  return std::ranges::equal(self.sizes(), other.sizes()) && equal_parts(self, other);
}

constexpr Traits kComparison = pointwise(DTypeRule::kUnknown) | quantized_as_input();
#define TORCHLET_COMPARISON(name)                                                 \
  TORCHLET_OP_WITH(name##_Tensor, inplace() | out("Tensor_out") | kComparison,    \
                   "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor", \
                   compare<name##_as>);                                           \
  TORCHLET_OP_WITH(name##_Scalar, inplace() | out("Scalar_out") | kComparison,    \
                   "aten::" #name ".Scalar(Tensor self, Scalar other) -> Tensor", \
                   compare_scalar<name##_as>)

TORCHLET_COMPARISON(eq);
TORCHLET_COMPARISON(ne);
TORCHLET_COMPARISON(lt);
TORCHLET_COMPARISON(le);
TORCHLET_COMPARISON(gt);
TORCHLET_COMPARISON(ge);

#define TORCHLET_EXTREME(name)                     \
  TORCHLET_OP_WITH(name, out("out") | pointwise(), \
                   "aten::" #name "(Tensor self, Tensor other) -> Tensor", tensors<name##_as>)

TORCHLET_EXTREME(maximum);
TORCHLET_EXTREME(minimum);
TORCHLET_EXTREME(fmax);
TORCHLET_EXTREME(fmin);
TORCHLET_OP_WITH(max_other, out("out") | pointwise() | quantized_as_input(),
                 "aten::max.other(Tensor self, Tensor other) -> Tensor", tensors<maximum_as>);
TORCHLET_OP_WITH(min_other, out("out") | pointwise() | quantized_as_input(),
                 "aten::min.other(Tensor self, Tensor other) -> Tensor", tensors<minimum_as>);

TORCHLET_OP_WITH(logical_not, inplace() | out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::logical_not(Tensor self) -> Tensor", logical_not);
TORCHLET_OP_WITH(logical_and, inplace() | out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::logical_and(Tensor self, Tensor other) -> Tensor", logical_and);
TORCHLET_OP_WITH(logical_or, inplace() | out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::logical_or(Tensor self, Tensor other) -> Tensor", logical_or);
TORCHLET_OP_WITH(logical_xor, inplace() | out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::logical_xor(Tensor self, Tensor other) -> Tensor", logical_xor);

TORCHLET_OP_WITH(isnan, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::isnan(Tensor self) -> Tensor", isnan);
TORCHLET_OP_WITH(isinf, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::isinf(Tensor self) -> Tensor", isinf);
TORCHLET_OP_WITH(isfinite, pointwise(DTypeRule::kUnknown), "aten::isfinite(Tensor self) -> Tensor",
                 isfinite);
TORCHLET_OP_WITH(isreal, pointwise(DTypeRule::kUnknown), "aten::isreal(Tensor self) -> Tensor",
                 isreal);
TORCHLET_OP_WITH(isposinf, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::isposinf(Tensor self) -> Tensor", isposinf);
TORCHLET_OP_WITH(isneginf, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::isneginf(Tensor self) -> Tensor", isneginf);

TORCHLET_OP_WITH(
    isclose, pointwise(DTypeRule::kUnknown),
    "aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
    "equal_nan=False) -> Tensor",
    isclose);
TORCHLET_OP(allclose,
            "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool "
            "equal_nan=False) -> bool",
            allclose);
TORCHLET_OP(equal, "aten::equal(Tensor self, Tensor other) -> bool",
            [](const Tensor& self, const Tensor& other) { return equal(self, other); });

TORCHLET_OP_WITH(clamp, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
                 [](const Tensor& self, const std::optional<Scalar>& min,
                    const std::optional<Scalar>& max) { return clamp(self, min, max); });
TORCHLET_OP_WITH(clamp_Tensor, inplace() | out("Tensor_out") | pointwise() | quantized_as_input(),
                 "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
                 clamp_tensors);
TORCHLET_OP_WITH(clamp_min, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::clamp_min(Tensor self, Scalar min) -> Tensor", clamp_min);
TORCHLET_OP_WITH(clamp_min_Tensor,
                 inplace() | out("Tensor_out") | pointwise() | quantized_as_input(),
                 "aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", clamp_min_tensor);
TORCHLET_OP_WITH(clamp_max, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::clamp_max(Tensor self, Scalar max) -> Tensor", clamp_max);
TORCHLET_OP_WITH(clamp_max_Tensor,
                 inplace() | out("Tensor_out") | pointwise() | quantized_as_input(),
                 "aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", clamp_max_tensor);

TORCHLET_OP_WITH(where_self, out("self_out") | pointwise(),
                 "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
                 [](const Tensor& condition, const Tensor& self, const Tensor& other) {
                   return where(condition, self, other);
                 });
TORCHLET_OP_WITH(where_ScalarSelf, pointwise(),
                 "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
                 where_scalar_self);
TORCHLET_OP_WITH(where_ScalarOther, pointwise(),
                 "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
                 where_scalar_other);
TORCHLET_OP_WITH(where_Scalar, pointwise(DTypeRule::kUnknown),
                 "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
                 where_scalars);

}  // namespace torchlet::ops
