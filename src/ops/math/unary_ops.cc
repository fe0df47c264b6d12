// Element-by-element functions of one tensor.
#include <bit>
#include <cmath>
#include <numbers>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/complex_kernels.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/narrow.h"
#include "ops/engines/quantize.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

using kernels::DoubleFunction;
using UnaryOp = kernels::MatrixUnaryOp;

// Integers are computed as float, as PyTorch's unary "float ops".
template <int Types, typename F>
Tensor unary_float(const Tensor& self, F f) {
  return map<Types, 1>({self}, to_float_type(self.dtype()), f);
}

// By the kernel where the result is computed in floats, else by f; integers as above.
Tensor unary_kernel_of(FloatKernel kernel, const Tensor& self, const detail::BlockBody (&bodies)[4],
                       const void* f) {
  const DType dtype = to_float_type(self.dtype());
  if (has_kernel(dtype) && kernel.function) return kernel_map(kernel.function, self, dtype);
  if (has_kernel(dtype)) return kernel_map(kernel.op, self, dtype);
  if constexpr (selection::kHasFloat64) {
    const bool is_wide = dtype == DType::kFloat64 && kernel.wide != DoubleFunction::kNone;
    if (is_wide) return kernel_map(kernel.wide, self);
  }
  return detail::map_compute(Operands<1>(self), dtype, false, bodies, false, f);
}
// By kernels alone.
Tensor unary_kernel(FloatKernel kernel, const Tensor& self) {
  static constexpr detail::BlockBody kNone[4] = {};
  return unary_kernel_of(kernel, self, kNone, nullptr);
}
template <int Types, typename F>
Tensor unary_kernel(FloatKernel kernel, const Tensor& self, F f) {
  return unary_kernel_of(kernel, self, detail::Bodies<Types, false, 1, F>::kBodies, &f);
}

// Integers stay as they are; bool is refused.
template <typename F>
Tensor rounding(const char* name, UnaryOp op, const Tensor& self, F f) {
  TORCHLET_CHECK(self.dtype() != DType::kBool, "\"%s\" not implemented for 'Bool'", name);
  if (is_integral(self.dtype(), false)) return self.clone();
  return unary_kernel<kMapDouble>(op, self, f);
}

// The dtype of |z|.
DType real_type(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

template <typename F>
Tensor complex_to_real(const Tensor& self, F f) {
  const Tensor out = empty_like(self, real_type(self.dtype()));
  elementwise(out, {&self, 1}, DType::kFloat64, DType::kComplex128,
              [f](void* to, const void* const* in, int64_t count) {
                const auto* z = static_cast<const std::complex<double>*>(in[0]);
                for (int64_t i = 0; i < count; ++i) static_cast<double*>(to)[i] = f(z[i]);
              });
  return out;
}

Tensor scaled(const Tensor& self, double factor) {
  return unary_float<kMapReal | kMapSteps>(
      self, [factor](auto x) { return x * static_cast<decltype(x)>(factor); });
}

void refuse_bool(const Tensor& self, const char* name) {
  TORCHLET_CHECK(self.dtype() != DType::kBool, "%s is not supported on bool tensors", name);
}

template <typename T>
T sign_of(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}

Tensor sign(const Tensor& self) {
  return map<kMapReal | kMapInt | kMapSteps, 1>({self}, self.dtype(),
                                                [](auto x) { return sign_of(x); });
}

Tensor sgn(const Tensor& self) {
  if (!is_complex(self.dtype())) return sign(self);
  return map<kMapComplex, 1>({self}, self.dtype(), [](auto z) {
    const double size = std::abs(z);
    return size == 0 ? decltype(z)() : z / size;
  });
}

Tensor angle(const Tensor& self) {
  if (is_complex(self.dtype())) {
    if (has_complex_kernel(self.dtype())) {
      const Tensor parts = view_as_real(self);
      return atan2(select(parts, -1, 1), select(parts, -1, 0));
    }
    return complex_to_real(self, [](std::complex<double> z) { return std::arg(z); });
  }
  return unary_float<kMapReal | kMapSteps>(self, [](auto x) {
    using T = decltype(x);
    return choose(x != x, x, choose(x < 0, std::numbers::pi_v<T>, T(0)));
  });
}

Tensor signbit(const Tensor& self) {
  return map_bool<kMapReal | kMapInt | kMapSteps, 1>({self}, self.dtype(), [](auto x) {
    using Bits = std::conditional_t<sizeof(x) == 4, int32_t, int64_t>;
    return std::bit_cast<Bits>(x) < 0;
  });
}

Tensor trunc(const Tensor& self) {
  return rounding("trunc", UnaryOp::kTrunc, self, [](auto x) { return std::trunc(x); });
}

// Numbers from here on are integers. Smaller ones that are added to it lose their fraction, to the
// nearest even.
template <typename T>
constexpr T kAllIntegers = std::is_same_v<T, float> ? T(0x1p23) : T(0x1p52);
template <typename T>
T nearest_integer(T x) {
  const T size = std::abs(x), rounded = (size + kAllIntegers<T>)-kAllIntegers<T>;
  return std::copysign(choose(size < kAllIntegers<T>, rounded, size), x);
}

// x - trunc(x); -0 gives 0.
template <typename T>
T fraction(T x) {
  using Integer = std::conditional_t<std::is_same_v<T, float>, int32_t, int64_t>;
  const bool is_small = std::abs(x) < kAllIntegers<T>;
  const T whole = static_cast<T>(static_cast<Integer>(choose(is_small, x, T(0))));
  return x - choose(is_small, whole, x) + T(0);
}

// round(x * 10^decimals) / 10^decimals; integers only for decimals == 0.
Tensor round_decimals(const Tensor& self, int64_t decimals) {
  auto nearest = [](auto x) { return std::nearbyint(x); };
  if (decimals == 0) return rounding("round", UnaryOp::kRound, self, nearest);
  const bool negative = decimals < 0;
  const double ten = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  return map<kMapReal | kMapSteps, 1>({self}, self.dtype(), [ten, negative](auto x) {
    using T = decltype(x);
    const T scale = static_cast<T>(ten);
    const T shifted = nearest_integer(choose(negative, x / scale, x * scale));
    return choose(negative, shifted * scale, shifted / scale);
  });
}

Tensor logit(const Tensor& self, std::optional<double> eps) {
  const double low = eps.value_or(-1);
  const auto odds = [low](auto x) {
    using T = decltype(x);
    const T lo = static_cast<T>(low), hi = T(1) - lo;
    const T z = choose(low < 0, x, choose(x < lo, lo, choose(x > hi, hi, x)));
    return z / (T(1) - z);
  };
  return composed<1>(
      UnaryOp::kLog, {self}, to_float_type(self.dtype()), odds, [](auto z) { return std::log(z); },
      [](auto, auto log) { return log; });
}

// The logarithm to a base of which `two` is log(2) and `e` is log(e). For floats by exponent and
// mantissa: powers of the base are exact, and compilers make vectors of it.
template <typename T>
[[gnu::always_inline]] inline T log_to_base(T x, double two, double e) {
  if constexpr (std::is_same_v<T, float>) {
    const bool is_tiny = x < 0x1p-126f;
    const auto bits = std::bit_cast<uint32_t>(choose(is_tiny, x * 0x1p24f, x));
    // Of a mantissa from sqrt(1/2) to sqrt(2).
    const int32_t exponent = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
    const auto m = std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23));
    const float s = (m - 1) / (m + 1), q = s * s;  // log(m) = 2 artanh(s)
    const float rest = q * (1.f / 3 + q * (1.f / 5 + q * (1.f / 7 + q * (1.f / 9 + q / 11))));
    const float whole = static_cast<float>(exponent) - choose(is_tiny, 24.f, 0.f);
    const auto log_m = static_cast<double>(s + s * rest) * 2;
    const auto result = static_cast<float>(static_cast<double>(whole) * two + log_m * e);
    // Of infinity and NaN, negative numbers and 0.
    const float large = choose(x < INFINITY, result, x);
    return choose(x > 0, large, choose(x == 0, -INFINITY, choose(x < 0, NAN, x)));
  } else if constexpr (std::is_same_v<T, double>) {
    return two == 1 ? std::log2(x) : std::log10(x);
  } else {
    return std::log(x) * e;
  }
}
Tensor log_to_base(const Tensor& self, double two, double e) {
  return unary_float<kMapReal | kMapComplex | kMapSteps>(
      self, [two, e](auto x) { return log_to_base(x, two, e); });
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (is_integral(self.dtype(), true)) return self.clone();
  const double n = nan.value_or(0), most = posinf.value_or(largest(self.dtype())),
               least = neginf.value_or(-largest(self.dtype()));
  auto replace = [=](auto x) {
    using T = decltype(x);
    if (std::isnan(x)) return static_cast<T>(n);
    if (std::isinf(x)) return static_cast<T>(x > 0 ? most : least);
    return x;
  };
  return map<kMapReal, 1>({self}, self.dtype(), replace);
}

// std::frexp() without branches: 0, infinity and NaN have an exponent of 0.
struct BinaryParts {
  float mantissa;
  int32_t exponent;
};
[[gnu::always_inline]] inline BinaryParts binary_parts(float x) {
  const bool is_tiny = std::abs(x) < 0x1p-126f, has_none = (x - x != 0) | (x == 0);
  const auto bits = std::bit_cast<int32_t>(choose(is_tiny, x * 0x1p24f, x));
  const int32_t exponent = (bits >> 23 & 0xff) - 126 - (is_tiny ? 24 : 0);
  const auto mantissa = std::bit_cast<float>((bits & ~0x7f800000) | 0x3f000000);
  return {choose(has_none, x, mantissa), has_none ? 0 : exponent};
}

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  TORCHLET_CHECK(is_floating_point(self.dtype()),
                 "torch.frexp() only supports floating-point dtypes");
  const Tensor exponents = empty_like(self, DType::kInt32);
  if (compute_kind(self.dtype()) == Compute::kFloat) {
    const auto exponent = [](float x) { return binary_parts(x).exponent; };
    elementwise(exponents, {&self, 1}, DType::kInt32, DType::kFloat32,
                [&](void* to, const void* const* in, int64_t count) {
                  detail::run_steps(&detail::map_steps<int32_t, float, 1, decltype(exponent)>,
                                    &exponent, 1, to, sizeof(int32_t), in, sizeof(float), count);
                });
  } else {
    elementwise(exponents, {&self, 1}, DType::kInt32, DType::kFloat64,
                [](void* to, const void* const* in, int64_t count) {
                  for (int64_t i = 0; i < count; ++i) {
                    int exponent;
                    std::frexp(static_cast<const double*>(in[0])[i], &exponent);
                    static_cast<int32_t*>(to)[i] = exponent;
                  }
                });
  }
  const auto mantissa = [](auto x) {
    if constexpr (std::is_same_v<decltype(x), float>) {
      return binary_parts(x).mantissa;
    } else {
      int exponent;
      return std::frexp(x, &exponent);
    }
  };
  return {map<kMapReal | kMapSteps, 1>({self}, self.dtype(), mantissa), exponents};
}

// By recurrence (DLMF 5.15.5) to where the asymptotic series (5.15.8) holds, and for negative x by
// reflection (5.15.6) in the precision of T, which decides what a pole gives: a large number where
// sin(pi x) is rounded.
template <typename T>
T trigamma(T x) {
  constexpr T kPi = std::numbers::pi_v<T>;
  if (x < T(0.5)) {
    const T sine = std::sin(kPi * x);
    return kPi * kPi / (sine * sine) - trigamma(T(1) - x);
  }
  T sum = 0;
  for (int step = 0; step < (std::is_same_v<T, float> ? 6 : 12); ++step, x += 1) {
    sum += T(1) / (x * x);
  }
  const T q = T(1) / (x * x);
  T tail = T(7.0 / 6);  // Bernoulli numbers, the last first
  for (const double number : {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6}) {
    tail = tail * q + static_cast<T>(number);
  }
  return sum + (T(1) + T(0.5) / x + q * tail) / x;
}

Tensor polygamma(int64_t n, const Tensor& self) {
  TORCHLET_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  if (n == 1) return unary_float<kMapReal>(self, [](auto x) { return trigamma(x); });
  return unary_float<kMapReal>(self, [n](auto x) {
    return static_cast<decltype(x)>(special::polygamma(n, static_cast<double>(x)));
  });
}

}  // namespace

Tensor abs(const Tensor& self) {
  if (is_complex(self.dtype())) {
    if (has_complex_kernel(self.dtype())) return abs_complex64(self);
    return complex_to_real(self, [](std::complex<double> z) { return std::abs(z); });
  }
  if (is_narrow(self.dtype())) return narrow_abs(self);
  return map<kMapReal | kMapInt | kMapSteps, 1>({self}, self.dtype(), [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
    } else {
      return std::abs(x);
    }
  });
}

Tensor neg(const Tensor& self) {
  TORCHLET_CHECK(self.dtype() != DType::kBool,
                 "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                 "to invert a mask, use the `~` or `logical_not()` operator instead.");
  if (is_narrow(self.dtype())) {
    return narrow_map(NarrowOp::kSub, scalar_tensor(0, self.dtype()), self, self.dtype());
  }
  return map<kMapAll | kMapSteps, 1>({self}, self.dtype(), [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
    } else {
      return -x;
    }
  });
}

Tensor sigmoid(const Tensor& self) {
  if (self.is_quantized()) return quantize_unit(sigmoid(dequantize(self)), self.dtype(), 0, 1);
  return unary_kernel<kMapComplex>({kernels::sigmoid_f32, DoubleFunction::kSigmoid}, self,
                                   [](auto x) { return 1.0 / (1.0 + std::exp(-x)); });
}

Tensor tanh(const Tensor& self) {
  if (self.is_quantized()) return quantize_unit(tanh(dequantize(self)), self.dtype(), -1, 1);
  return unary_kernel<kMapComplex>({kernels::tanh_f32, DoubleFunction::kTanh}, self,
                                   [](auto x) { return std::tanh(x); });
}
Tensor exp(const Tensor& self) {
  if (has_complex_kernel(self.dtype())) {
    const Tensor parts = view_as_real(self);
    return polar(exp(select(parts, -1, 0)), select(parts, -1, 1));
  }
  return unary_kernel<kMapComplex>({kernels::exp_f32, DoubleFunction::kExp}, self,
                                   [](auto x) { return std::exp(x); });
}
Tensor log(const Tensor& self) {
  return unary_kernel<kMapComplex>({UnaryOp::kLog, DoubleFunction::kLog}, self,
                                   [](auto x) { return std::log(x); });
}
Tensor sqrt(const Tensor& self) {
  return unary_kernel<kMapComplex>({UnaryOp::kSqrt, DoubleFunction::kSqrt}, self,
                                   [](auto x) { return std::sqrt(x); });
}
Tensor square(const Tensor& self) { return pow(self, 2); }

// name(Tensor self) -> Tensor, with in-place and out= forms.
#define TORCHLET_UNARY(name, ...)                              \
  TORCHLET_OP_WITH(name, inplace() | out("out") | pointwise(), \
                   "aten::" #name "(Tensor self) -> Tensor", __VA_ARGS__)
// The result is `expr` of x: float for integers. COMPLEX: also for complex numbers.
#define TORCHLET_UNARY_FLOAT(name, expr)                                            \
  TORCHLET_UNARY(name, [](const Tensor& self) {                                     \
    return unary_float<kMapReal>(self, [](auto x) -> decltype(x) { return expr; }); \
  })
#define TORCHLET_UNARY_COMPLEX(name, expr)                                                        \
  TORCHLET_UNARY(name, [](const Tensor& self) {                                                   \
    return unary_float<kMapReal | kMapComplex>(self, [](auto x) -> decltype(x) { return expr; }); \
  })
// The same with a kernel for floats.
#define TORCHLET_UNARY_FLOAT_KERNEL(name, kernel, expr)                                        \
  TORCHLET_UNARY(name, [](const Tensor& self) {                                                \
    return unary_kernel<kMapDouble>(kernel, self, [](auto x) -> decltype(x) { return expr; }); \
  })
#define TORCHLET_UNARY_COMPLEX_KERNEL(name, kernel, expr)                                      \
  TORCHLET_UNARY(name, [](const Tensor& self) {                                                \
    return unary_kernel<kMapDouble | kMapComplex>(kernel, self,                                \
                                                  [](auto x) -> decltype(x) { return expr; }); \
  })
#define TORCHLET_UNARY_ROUNDING(name, op, expr)                                   \
  TORCHLET_UNARY(name, [](const Tensor& self) {                                   \
    return rounding(#name, op, self, [](auto x) -> decltype(x) { return expr; }); \
  })

TORCHLET_UNARY(abs, [](const Tensor& self) { return abs(self); });
TORCHLET_UNARY(neg, [](const Tensor& self) { return neg(self); });
TORCHLET_UNARY(sign, sign);
TORCHLET_UNARY(sgn, sgn);
TORCHLET_UNARY(square, [](const Tensor& self) { return square(self); });
TORCHLET_OP_WITH(angle, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::angle(Tensor self) -> Tensor", angle);
TORCHLET_OP_WITH(signbit, out("out") | pointwise(DTypeRule::kUnknown),
                 "aten::signbit(Tensor self) -> Tensor", signbit);
TORCHLET_OP(positive, "aten::positive(Tensor(a) self) -> Tensor(a)", [](const Tensor& self) {
  refuse_bool(self, "The `+` operator");
  return self;
});

TORCHLET_UNARY_ROUNDING(ceil, UnaryOp::kCeil, std::ceil(x));
TORCHLET_UNARY_ROUNDING(floor, UnaryOp::kFloor, std::floor(x));
TORCHLET_UNARY(trunc, trunc);
TORCHLET_UNARY(round, [](const Tensor& self) { return round_decimals(self, 0); });
TORCHLET_OP_WITH(round_decimals, inplace() | out("decimals_out") | pointwise(),
                 "aten::round.decimals(Tensor self, *, int decimals) -> Tensor", round_decimals);
TORCHLET_OP_WITH(special_round, out("out") | pointwise(),
                 "aten::special_round(Tensor self, *, int decimals=0) -> Tensor", round_decimals);
TORCHLET_UNARY(frac, [](const Tensor& self) {
  if (is_integral(self.dtype(), true)) return sub(self, trunc(self));
  return map<kMapReal | kMapSteps, 1>({self}, self.dtype(), [](auto x) { return fraction(x); });
});

TORCHLET_UNARY(exp, [](const Tensor& self) { return exp(self); });
TORCHLET_UNARY_FLOAT(exp2, std::exp2(x));
TORCHLET_UNARY(expm1, [](const Tensor& self) {
  return unary_kernel(FloatKernel(UnaryOp::kExpm1, DoubleFunction::kExpm1), self);
});
TORCHLET_UNARY(log, [](const Tensor& self) { return log(self); });
TORCHLET_UNARY(log2, [](const Tensor& self) { return log_to_base(self, 1, std::numbers::log2e); });
TORCHLET_UNARY(log10, [](const Tensor& self) {
  return log_to_base(self, std::numbers::ln2 / std::numbers::ln10, std::numbers::log10e);
});
TORCHLET_UNARY(log1p, [](const Tensor& self) {
  return unary_kernel(FloatKernel(UnaryOp::kLog1p, DoubleFunction::kLog1p), self);
});
TORCHLET_UNARY(sqrt, [](const Tensor& self) { return sqrt(self); });
TORCHLET_UNARY_COMPLEX_KERNEL(rsqrt, UnaryOp::kRsqrt, decltype(x)(1) / std::sqrt(x));
TORCHLET_UNARY(reciprocal, [](const Tensor& self) {
  if (has_complex_kernel(self.dtype())) return pow(self, -1);
  return unary_kernel<kMapDouble | kMapComplex>(
      UnaryOp::kReciprocal, self, [](auto x) -> decltype(x) { return decltype(x)(1) / x; });
});
TORCHLET_OP_WITH(sigmoid, inplace() | out("out") | pointwise() | quantized_unit(),
                 "aten::sigmoid(Tensor self) -> Tensor",
                 [](const Tensor& self) { return sigmoid(self); });
TORCHLET_OP_WITH(logit, inplace() | out("out") | pointwise(),
                 "aten::logit(Tensor self, float? eps=None) -> Tensor", logit);

TORCHLET_UNARY(sin, [](const Tensor& self) {
  return unary_kernel<kMapComplex>({UnaryOp::kSin, DoubleFunction::kSin}, self,
                                   [](auto x) { return std::sin(x); });
});
TORCHLET_UNARY(cos, [](const Tensor& self) {
  return unary_kernel<kMapComplex>({UnaryOp::kCos, DoubleFunction::kCos}, self,
                                   [](auto x) { return std::cos(x); });
});
TORCHLET_UNARY_COMPLEX_KERNEL(tan, kernels::tan_f32, std::tan(x));
TORCHLET_UNARY_COMPLEX_KERNEL(asin, kernels::asin_f32, std::asin(x));
TORCHLET_UNARY_COMPLEX_KERNEL(acos, kernels::acos_f32, std::acos(x));
TORCHLET_UNARY_COMPLEX_KERNEL(atan, kernels::atan_f32, std::atan(x));
TORCHLET_UNARY_COMPLEX_KERNEL(sinh, kernels::sinh_f32, std::sinh(x));
TORCHLET_UNARY_COMPLEX_KERNEL(cosh, kernels::cosh_f32, std::cosh(x));
TORCHLET_OP_WITH(tanh, inplace() | out("out") | pointwise() | quantized_signed_unit(),
                 "aten::tanh(Tensor self) -> Tensor",
                 [](const Tensor& self) { return tanh(self); });
TORCHLET_UNARY_COMPLEX(asinh, std::asinh(x));
TORCHLET_UNARY_COMPLEX(acosh, std::acosh(x));
TORCHLET_UNARY_COMPLEX(atanh, std::atanh(x));
TORCHLET_UNARY(deg2rad, [](const Tensor& self) { return scaled(self, std::numbers::pi / 180); });
TORCHLET_UNARY(rad2deg, [](const Tensor& self) { return scaled(self, 180 / std::numbers::pi); });
TORCHLET_UNARY(sinc, [](const Tensor& self) {
  const DType dtype = to_float_type(self.dtype());
  if (is_complex(dtype)) {
    return map<kMapComplex, 1>({self}, dtype, [](auto z) {
      const auto angle = z * std::numbers::pi;
      return angle == 0.0 ? 1.0 : std::sin(angle) / angle;
    });
  }
  return composed<1>(
      UnaryOp::kSin, {self}, dtype, [](auto x) { return x * std::numbers::pi_v<decltype(x)>; },
      [](auto angle) { return std::sin(angle); },
      [](auto x, auto sine) {
        using T = decltype(x);
        return choose(x == T(0), T(1), sine / (x * std::numbers::pi_v<T>));
      });
});

TORCHLET_UNARY_FLOAT_KERNEL(erf, kernels::erf_f32, std::erf(x));
TORCHLET_UNARY_FLOAT_KERNEL(erfc, kernels::erfc_f32, std::erfc(x));
TORCHLET_OP_WITH(polygamma, out("out") | pointwise(),
                 "aten::polygamma(int n, Tensor self) -> Tensor", polygamma);
TORCHLET_OP(polygamma_, "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
            [](const Tensor& self, int64_t n) {
              self.copy_(polygamma(n, self));
              return self;
            });

TORCHLET_OP_WITH(nan_to_num, inplace() | out("out") | pointwise() | may_alias(),
                 "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? "
                 "neginf=None) -> Tensor",
                 nan_to_num);
TORCHLET_OP_WITH(frexp_Tensor, out("Tensor_out(mantissa, exponent)"),
                 "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", frexp);

}  // namespace torchlet::ops
