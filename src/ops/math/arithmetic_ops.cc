// Arithmetic on two tensors, or a tensor and a number: sums, products, quotients, powers.
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/complex_kernels.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/narrow.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

void check_alpha(DType dtype, const Scalar& alpha) {
  TORCHLET_CHECK(!alpha.is_bool() || dtype == DType::kBool,
                 "Boolean alpha only supported for Boolean results.");
  TORCHLET_CHECK(!is_integral(dtype, true) || alpha.is_integral(),
                 "For integral input tensors, argument alpha must not be a floating point number.");
  TORCHLET_CHECK(is_complex(dtype) || !alpha.is_complex(),
                 "For non-complex input tensors, argument alpha must not be a complex number.");
}

bool is_one(const Scalar& alpha) { return alpha.is_integral() && alpha.to_int() == 1; }

using BinaryOp = kernels::MatrixBinaryOp;

// Whether real and imaginary parts are added by themselves, where they lie.
bool is_sum_of_parts(DType dtype, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return selection::kHasConversions && is_complex(dtype) && self.dtype() == dtype &&
         other.dtype() == dtype && !alpha.is_complex();
}

Tensor add_as(DType dtype, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_alpha(dtype, alpha);
  if (is_sum_of_parts(dtype, self, other, alpha)) {
    const Tensor x = view_as_real(self), y = view_as_real(other);
    return view_as_complex(add_as(x.dtype(), x, y, alpha));
  }
  if (is_one(alpha)) {
    if (has_kernel(dtype)) return kernel_map(BinaryOp::kAdd, self, other, dtype);
    if (is_narrow(dtype)) return narrow_map(NarrowOp::kAdd, self, other, dtype);
    return binary<kMapInt | kMapDouble | kMapComplex | kMapSteps>(
        self, other, dtype, [](auto a, auto b) { return wrap_add(a, b); });
  }
  return map<kMapAll | kMapSteps, 3>(
      {self, other, scalar_tensor(alpha, dtype)}, dtype,
      [](auto a, auto b, auto c) { return wrap_add(a, wrap_mul(b, c)); });
}

Tensor sub_as(DType dtype, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_alpha(dtype, alpha);
  if (is_sum_of_parts(dtype, self, other, alpha)) {
    const Tensor x = view_as_real(self), y = view_as_real(other);
    return view_as_complex(sub_as(x.dtype(), x, y, alpha));
  }
  if (is_one(alpha)) {
    if (has_kernel(dtype)) return kernel_map(BinaryOp::kSub, self, other, dtype);
    if (is_narrow(dtype)) return narrow_map(NarrowOp::kSub, self, other, dtype);
    return binary<kMapInt | kMapDouble | kMapComplex | kMapSteps>(
        self, other, dtype, [](auto a, auto b) { return wrap_sub(a, b); });
  }
  return map<kMapAll | kMapSteps, 3>(
      {self, other, scalar_tensor(alpha, dtype)}, dtype,
      [](auto a, auto b, auto c) { return wrap_sub(a, wrap_mul(b, c)); });
}

constexpr const char* kNoBoolSub =
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead.";

Tensor rsub_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(other, self, alpha);
}
Tensor rsub_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  TORCHLET_CHECK(self.dtype() != DType::kBool, "%s", kNoBoolSub);
  const DType dtype = result_type(self, other);
  return sub_as(dtype, scalar_tensor(other, dtype), self, alpha);
}

Tensor mul_as(const Tensor& self, const Tensor& other, DType dtype) {
  if (has_kernel(dtype)) return kernel_map(BinaryOp::kMul, self, other, dtype);
  if (has_complex_kernel(dtype)) return mul_complex64(self, other);
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kMul, self, other, dtype);
  return binary<kMapInt | kMapDouble | kMapComplex | kMapSteps>(
      self, other, dtype, [](auto a, auto b) { return wrap_mul(a, b); });
}

Tensor true_div(const Tensor& self, const Tensor& other, DType dtype) {
  const DType result = to_float_type(dtype);
  if (has_kernel(result)) return kernel_map(BinaryOp::kDiv, self, other, result);
  if (has_complex_kernel(result)) return div_complex64(self, other);
  return binary<kMapDouble | kMapComplex | kMapSteps>(self, other, result,
                                                      [](auto a, auto b) { return a / b; });
}

// Of one step.
bool has_nan(const float* x) {
  int32_t any = 0;
  for (int64_t i = 0; i < detail::kStep; ++i) any |= x[i] != x[i];
  return any != 0;
}

// `f` of floats, by `quick` where that is not NaN, of which compilers make vectors.
template <typename Quick, typename F>
Tensor quickly(const Tensor& self, const Tensor& other, DType dtype, const Quick& quick, F f) {
  const Operands<2> inputs(self, other);
  const Tensor out = empty_result(inputs, dtype);
  elementwise(out, inputs, DType::kFloat32, DType::kFloat32,
              [&](void* y, const void* const* in, int64_t count) {
                detail::run_steps(&detail::map_steps<float, float, 2, Quick>, &quick, 2, y,
                                  sizeof(float), in, sizeof(float), count);
                const auto *a = static_cast<const float*>(in[0]),
                           *b = static_cast<const float*>(in[1]);
                auto* results = static_cast<float*>(y);
                const auto repair = [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    if (std::isnan(results[i])) results[i] = f(a[i], b[i]);
                  }
                };
                int64_t i = 0;
                for (; i + detail::kStep <= count; i += detail::kStep) {
                  if (has_nan(results + i)) repair(i, i + detail::kStep);
                }
                repair(i, count);
              });
  return out;
}

// The floor of the quotient in double, where that is on the right side of an integer and the steps
// of floor_divide() lead to the same; NaN elsewhere.
[[gnu::always_inline]] inline float quick_floor_divide(float a, float b) {
  const double quotient = static_cast<double>(a) / static_cast<double>(b);
  const bool is_exact = (std::abs(quotient) < 0x1p22) & ((quotient != 0) | (a == 0));
  const double exact = choose(is_exact, quotient, 0.0);
  // By an integer, as compilers make no vectors of std::floor; with the sign of a zero.
  const double whole = static_cast<double>(static_cast<int32_t>(exact));
  const double floor = std::copysign(whole - choose(whole > exact, 1.0, 0.0), exact);
  return static_cast<float>(choose(is_exact, floor, double{NAN}));
}

Tensor floor_div(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kFloorDivide, self, other, dtype);
  const auto divide = [](auto a, auto b) { return floor_divide(a, b); };
  if (!has_kernel(dtype)) return binary<kMapDouble | kMapInt>(self, other, dtype, divide);
  return quickly(
      self, other, dtype, [](float a, float b) { return quick_floor_divide(a, b); }, divide);
}

Tensor trunc_div(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal | kMapInt>(self, other, dtype, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return trunc_divide(a, b);
    } else {
      return std::trunc(a / b);
    }
  });
}

BinaryFn div_fn(const std::optional<std::string>& mode) {
  if (!mode) return true_div;
  if (*mode == "trunc") return trunc_div;
  if (*mode == "floor") return floor_div;
  fail(ErrorCode::kRuntime,
       "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
       mode->c_str());
}

Tensor div_mode(const Tensor& self, const Tensor& other, const std::optional<std::string>& mode) {
  return div_fn(mode)(self, other, result_type(self, other));
}
Tensor div_scalar_mode(const Tensor& self, const Scalar& other,
                       const std::optional<std::string>& mode) {
  const DType dtype = result_type(self, other);
  return div_fn(mode)(self, scalar_tensor(other, dtype), dtype);
}

// The remainder as floor_remainder() and trunc_remainder() find it in double, without branches; NaN
// where that is not exact.
template <bool kFloor>
[[gnu::always_inline]] inline float quick_remainder(float a, float b) {
  const double quotient = static_cast<double>(a) / static_cast<double>(b);
  const double exact = choose(is_exact_quotient(quotient), quotient, 0.0);
  const double whole = static_cast<double>(static_cast<int32_t>(exact));
  const float rest = std::copysign(static_cast<float>(a - whole * static_cast<double>(b)), a);
  const float known = choose(std::abs(a) < std::abs(b), a, choose(exact != 0, rest, NAN));
  if constexpr (!kFloor) return known;
  return choose((known != 0) & ((b < 0) != (known < 0)), known + b, known);
}

// f, which is one of these functions.
template <bool kFloor, typename F>
Tensor remainders(const Tensor& self, const Tensor& other, DType dtype, F f) {
  if (!has_kernel(dtype)) return binary<kMapInt | kMapDouble>(self, other, dtype, f);
  return quickly(
      self, other, dtype, [](float a, float b) { return quick_remainder<kFloor>(a, b); }, f);
}

Tensor remainder(const Tensor& self, const Tensor& other, DType dtype) {
  if (is_narrow(dtype)) return narrow_map(NarrowOp::kFloorRemainder, self, other, dtype);
  return remainders<true>(self, other, dtype, [](auto a, auto b) { return floor_remainder(a, b); });
}

Tensor fmod(const Tensor& self, const Tensor& other, DType dtype) {
  return remainders<false>(self, other, dtype,
                           [](auto a, auto b) { return trunc_remainder(a, b); });
}

Tensor pow_as(const Tensor& self, const Tensor& exponent, DType dtype) {
  if constexpr (selection::kHasConversions) {
    if (has_kernel(dtype)) {
      const Operands<2> inputs(self, exponent);
      const Tensor out = empty_result(inputs, dtype);
      elementwise(out, inputs, DType::kFloat32, DType::kFloat32,
                  [](void* to, const void* const* in, int64_t count) {
                    kernels::pow_f32(static_cast<const float*>(in[0]),
                                     static_cast<const float*>(in[1]), static_cast<float*>(to),
                                     count);
                  });
      return out;
    }
  }
  return binary<kMapAll>(self, exponent, dtype, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return integer_pow(a, b);
    } else {
      return std::pow(a, b);
    }
  });
}

Tensor pow_tensor(const Tensor& self, const Tensor& exponent) {
  return pow_as(self, exponent, result_type(self, exponent));
}

Tensor pow_scalar_tensor(const Scalar& self, const Tensor& exponent) {
  return pow(self, exponent, result_type(exponent, self));
}

Tensor add_relu_as(DType dtype, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (!is_one(alpha) || !has_kernel(dtype)) return relu(add_as(dtype, self, other, alpha));
  return kernel_map(BinaryOp::kAdd, self, other, dtype,
                    {kernels::ActivationKind::kClamp, 0, INFINITY});
}
Tensor add_relu(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_relu_as(result_type(self, other), self, other, alpha);
}
Tensor add_relu_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  const DType dtype = result_type(self, other);
  return add_relu_as(dtype, self, scalar_tensor(other, dtype), alpha);
}

// A Python number as each compute type; integers cut its fraction.
struct Factor {
  explicit Factor(const Scalar& value) : z(value.to_complex()) {
    if (value.is_integral() || std::abs(z.real()) < 0x1p63) {
      i = value.is_integral() ? value.to_int() : static_cast<int64_t>(z.real());
    }
  }
  template <typename T>
  T as() const {
    if constexpr (std::is_integral_v<T>) {
      return i;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(z.real());
    } else {
      return z;
    }
  }
  std::complex<double> z;
  int64_t i = 0;
};

// self + value * tensor1 * tensor2
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  const DType dtype = ResultType().add(self).add(tensor1).add(tensor2).get();
  return map<kMapAll | kMapSteps, 3>(
      {self, tensor1, tensor2}, dtype, [factor = Factor(value)](auto a, auto b, auto c) {
        using T = decltype(a);
        return wrap_add(a, wrap_mul(factor.template as<T>(), wrap_mul(b, c)));
      });
}

// self + value * tensor1 / tensor2
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  TORCHLET_CHECK(
      !is_integral(tensor1.dtype(), true) || !is_integral(tensor2.dtype(), true),
      "Integer division with addcdiv is no longer supported, and in a future release addcdiv will "
      "perform a true division of tensor1 and tensor2.");
  const DType dtype = ResultType().add(self).add(tensor1).add(tensor2).get();
  return map<kMapReal | kMapComplex | kMapSteps, 3>(
      {self, tensor1, tensor2}, dtype, [factor = Factor(value)](auto a, auto b, auto c) {
        return a + factor.template as<decltype(a)>() * b / c;
      });
}

Tensor lerp_tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  TORCHLET_CHECK(self.dtype() == end.dtype() && self.dtype() == weight.dtype(),
                 "expected dtype %s for `end` and `weight`", dtype_name(self.dtype()).data());
  return map<kMapReal | kMapComplex | kMapSteps, 3>(
      {self, end, weight}, self.dtype(), [](auto a, auto b, auto w) {
        using T = decltype(a);
        const T near_a = a + w * (b - a), near_b = b - (b - a) * (T(1) - w);
        return choose(std::abs(w) < decltype(std::abs(w))(0.5), near_a, near_b);
      });
}
Tensor lerp_scalar(const Tensor& self, const Tensor& end, const Scalar& weight) {
  return lerp_tensor(self, end, scalar_tensor(weight, self.dtype()));
}

}  // namespace

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_as(result_type(self, other), self, other, alpha);
}
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  const DType dtype = result_type(self, other);
  return add_as(dtype, self, scalar_tensor(other, dtype), alpha);
}

Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TORCHLET_CHECK(self.dtype() != DType::kBool && other.dtype() != DType::kBool, "%s", kNoBoolSub);
  return sub_as(result_type(self, other), self, other, alpha);
}
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  TORCHLET_CHECK(self.dtype() != DType::kBool || !other.is_bool(), "%s", kNoBoolSub);
  const DType dtype = result_type(self, other);
  return sub_as(dtype, self, scalar_tensor(other, dtype), alpha);
}

Tensor mul(const Tensor& self, const Tensor& other) { return tensors<mul_as>(self, other); }
Tensor mul(const Tensor& self, const Scalar& other) { return with_scalar<mul_as>(self, other); }
Tensor div(const Tensor& self, const Tensor& other) { return tensors<true_div>(self, other); }
Tensor div(const Tensor& self, const Scalar& other) { return with_scalar<true_div>(self, other); }

Tensor pow(const Scalar& self, const Tensor& exponent, DType dtype) {
  if (self.to_complex() == 1.0) {  // whatever the exponent
    const Tensor ones = empty_like(exponent, dtype);
    fill(ones, Scalar(1));
    return ones;
  }
  return pow_as(scalar_tensor(self, dtype), exponent, dtype);
}

// Common exponents by products and roots, as PyTorch does, which also decides pow(-inf, 0.5).
Tensor pow(const Tensor& self, const Scalar& exponent) {
  const DType dtype = result_type(self, exponent);
  TORCHLET_CHECK(!is_integral(dtype, true) || exponent.to_int() >= 0,
                 "Integers to negative integer powers are not allowed.");
  auto power = [&](auto f) { return map<kMapReal | kMapSteps, 1>({self}, dtype, f); };
  if (is_floating_point(dtype)) {
    const double e = exponent.to_double();
    if (e == 0.5) return power([](auto x) { return std::sqrt(x); });
    if (e == 2) return power([](auto x) { return x * x; });
    if (e == 3) return power([](auto x) { return x * x * x; });
    if (e == -0.5) return power([](auto x) { return decltype(x)(1) / std::sqrt(x); });
    if (e == -1) return power([](auto x) { return decltype(x)(1) / x; });
    if (e == -2) return power([](auto x) { return decltype(x)(1) / (x * x); });
  }
  if (has_complex_kernel(dtype) && !exponent.is_complex()) {
    const Tensor z = self.to(dtype);
    const double e = exponent.to_double();
    if (e == 2) return mul(z, z);
    if (e == 3) return mul(mul(z, z), z);
    if (e == -1) return div_complex64(scalar_tensor(1, dtype), z);
  }
  if (is_integral(dtype, true) && exponent.to_int() == 2) {
    return map<kMapInt | kMapSteps, 1>({self}, dtype, [](auto x) { return wrap_mul(x, x); });
  }
  return pow_as(self, scalar_tensor(exponent, dtype), dtype);
}

TORCHLET_OP_WITH(add_Tensor, inplace() | out("out") | pointwise(),
                 "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 [](const Tensor& self, const Tensor& other, const Scalar& alpha) {
                   return add(self, other, alpha);
                 });
TORCHLET_OP_WITH(add_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                 [](const Tensor& self, const Scalar& other, const Scalar& alpha) {
                   return add(self, other, alpha);
                 });
TORCHLET_OP_WITH(sub_Tensor, inplace() | out("out") | pointwise(),
                 "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 [](const Tensor& self, const Tensor& other, const Scalar& alpha) {
                   return sub(self, other, alpha);
                 });
TORCHLET_OP_WITH(sub_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                 [](const Tensor& self, const Scalar& other, const Scalar& alpha) {
                   return sub(self, other, alpha);
                 });
TORCHLET_OP_WITH(rsub_Tensor, out("Tensor_out") | pointwise(),
                 "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 rsub_tensor);
TORCHLET_OP_WITH(rsub_Scalar, out("Scalar_out") | pointwise(),
                 "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                 rsub_scalar);

TORCHLET_OP_WITH(mul_Tensor, inplace() | out("out") | pointwise(),
                 "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", tensors<mul_as>);
TORCHLET_OP_WITH(mul_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", with_scalar<mul_as>);
TORCHLET_OP_WITH(div_Tensor, inplace() | out("out") | pointwise(),
                 "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", tensors<true_div>);
TORCHLET_OP_WITH(div_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", with_scalar<true_div>);
TORCHLET_OP_WITH(
    div_Tensor_mode, inplace() | out("out_mode") | pointwise(),
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", div_mode);
TORCHLET_OP_WITH(
    div_Scalar_mode, inplace() | out("Scalar_mode_out") | pointwise(),
    "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    div_scalar_mode);
TORCHLET_OP_WITH(floor_divide, inplace("Tensor") | out("out") | pointwise(),
                 "aten::floor_divide(Tensor self, Tensor other) -> Tensor", tensors<floor_div>);
TORCHLET_OP_WITH(floor_divide_Scalar, inplace() | pointwise(),
                 "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
                 with_scalar<floor_div>);
TORCHLET_OP_WITH(remainder_Tensor, inplace() | out("Tensor_out") | pointwise(),
                 "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", tensors<remainder>);
TORCHLET_OP_WITH(remainder_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor",
                 with_scalar<remainder>);
TORCHLET_OP_WITH(remainder_Scalar_Tensor, out("Scalar_Tensor_out") | pointwise(),
                 "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                 scalar_first<remainder>);
TORCHLET_OP_WITH(fmod_Tensor, inplace() | out("Tensor_out") | pointwise(),
                 "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", tensors<fmod>);
TORCHLET_OP_WITH(fmod_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", with_scalar<fmod>);

TORCHLET_OP_WITH(pow_Tensor_Tensor, inplace("Tensor") | out("Tensor_Tensor_out") | pointwise(),
                 "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", pow_tensor);
TORCHLET_OP_WITH(pow_Tensor_Scalar, inplace("Scalar") | out("Tensor_Scalar_out") | pointwise(),
                 "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
                 [](const Tensor& self, const Scalar& exponent) { return pow(self, exponent); });
TORCHLET_OP_WITH(pow_Scalar, out("Scalar_out") | pointwise(),
                 "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", pow_scalar_tensor);
TORCHLET_OP_WITH(_add_relu_Tensor, inplace() | out("out") | pointwise(),
                 "aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                 add_relu);
TORCHLET_OP_WITH(_add_relu_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                 add_relu_scalar);
TORCHLET_OP_WITH(
    addcmul, inplace() | out("out") | pointwise(),
    "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    addcmul);
TORCHLET_OP_WITH(
    addcdiv, inplace() | out("out") | pointwise(),
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    addcdiv);
TORCHLET_OP_WITH(lerp_Tensor, inplace() | out("Tensor_out") | pointwise(),
                 "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
                 lerp_tensor);
TORCHLET_OP_WITH(lerp_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
                 lerp_scalar);

}  // namespace torchlet::ops
