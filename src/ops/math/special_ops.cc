// torch.special: Bessel functions and their like, and orthogonal polynomials.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/engines/kernel_map.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// ---- of floats by steps of vectors ----

// c[0] + c[1] x + ..., without a loop, of which compilers would make no vectors.
template <size_t kCount>
[[gnu::always_inline]] inline float polynomial(float x, const float (&c)[kCount]) {
  float sum = c[kCount - 1];
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) __attribute__((always_inline)) {
    ((sum = sum * x + c[kCount - 2 - kIndex]), ...);
  }
  (std::make_index_sequence<kCount - 1>());
  return sum;
}

// e^-|x| times I of order 0 or 1. For size = |x|, sqrt(size + 1) and for order 1 also (size + 1) /
// x make of it a function of (size - 4) / (size + 4) that a polynomial fits over all sizes.
constexpr float kScaledI0[] = {
    4.628703493e-01f,  -1.350745339e-01f, 1.578873480e-01f, -1.854963442e-01f, 1.668794904e-01f,
    -4.390994126e-02f, -1.140498248e-01f, 1.126835386e-01f, 4.676669238e-02f,  -8.771250002e-02f,
    -3.916550686e-02f, 6.410321669e-02f,  2.940319634e-02f, -3.625742594e-02f, -1.402158622e-02f,
    1.346604518e-02f,  2.901010437e-03f,  -2.330927274e-03f};
constexpr float kScaledI1[] = {
    4.996238061e-01f,  -1.676846541e-01f, 7.530258046e-02f,  5.772063470e-02f,  -1.653960326e-01f,
    1.291520921e-01f,  4.441218025e-02f,  -1.236097176e-01f, -9.712648966e-03f, 9.728644104e-02f,
    1.423723515e-02f,  -7.248957518e-02f, -1.584197110e-02f, 4.197582543e-02f,  8.826673924e-03f,
    -1.553039660e-02f, -1.980701890e-03f, 2.650492550e-03f};
template <int kOrder>
[[gnu::always_inline]] inline float scaled_i(float x) {
  const float size = std::abs(x);
  const auto is_huge = size > 1e30f;
  const float place = choose(is_huge, 1.0f, (size - 4) / (size + 4));
  const float root = std::sqrt(size + 1);
  if constexpr (kOrder == 0) return polynomial(place, kScaledI0) / root;
  const float slope = choose(is_huge, std::copysign(1.0f, x), x / (size + 1));
  return slope * polynomial(place, kScaledI1) / root;
}
template <int kOrder>
Tensor bessel_ie(const Tensor& self) {
  return map<kMapReal | kMapSteps, 1>({self}, to_float_type(self.dtype()), [](auto x) {
    if constexpr (std::is_same_v<decltype(x), float>) {
      return scaled_i<kOrder>(x);
    } else {
      return kOrder == 0 ? special::i0e(x) : special::i1e(x);
    }
  });
}
template <int kOrder>
Tensor bessel_i(const Tensor& self) {
  const DType dtype = to_float_type(self.dtype());
  if (!has_kernel(dtype)) return unary_double(self, kOrder == 0 ? special::i0 : special::i1);
  return composed_floats<1>(
      kernels::exp_f32, {self}, dtype, [](float x) { return std::abs(x); },
      [](float x, float exp) { return exp * scaled_i<kOrder>(x); });
}

// The inverse of erf from the logarithm of 1 - x^2: of its negative w, erfinv(x) / x is a
// polynomial up to 5, and beyond, sqrt(w) and one in 1 / sqrt(w).
[[gnu::always_inline]] inline float inverse_erf(float x, float log) {
  constexpr float kNear[] = {1.501409359e+00f,  6.166007154e-01f, -2.610866738e-02f,
                             -1.957409185e-02f, 8.529079665e-03f, -4.847019389e-04f,
                             -8.453869039e-04f, 2.845279931e-04f, 3.545020183e-05f,
                             -3.353521906e-05f};
  constexpr float kFar[] = {-1.630339331e-01f, -2.010353360e-02f, 2.624470425e-02f,
                            -5.932293723e-03f, 5.190628596e-03f,  3.188380699e-03f,
                            7.613775174e-04f,  -2.579993805e-03f, -8.272781512e-04f,
                            5.461349604e-04f,  2.908317995e-04f};
  constexpr float kFirst = 1 / 10.5f, kLast = 0.4472135955f;  // of 1 / sqrt(w)
  const float w = -log;
  const float root = std::sqrt(choose(w < 5, 5.0f, w));
  const float near = polynomial(w / 2.5f - 1, kNear);
  const float place = (2 / root - (kFirst + kLast)) / (kLast - kFirst);
  return x * choose(w < 5, near, root + polynomial(place, kFar));
}
Tensor erfinv(const Tensor& self) {
  const DType dtype = to_float_type(self.dtype());
  if (!has_kernel(dtype)) return unary_double(self, special::erfinv);
  return composed_floats<1>(
      kernels::MatrixUnaryOp::kLog, {self}, dtype, [](float x) { return (1 - x) * (1 + x); },
      [](float x, float log) { return inverse_erf(x, log); });
}
// sqrt(2) erfinv(2 p - 1)
Tensor ndtri(const Tensor& self) {
  const DType dtype = to_float_type(self.dtype());
  if (!has_kernel(dtype)) return unary_double(self, special::ndtri);
  return composed_floats<1>(
      kernels::MatrixUnaryOp::kLog, {self}, dtype, [](float p) { return 4 * p * (1 - p); },
      [](float p, float log) {
        return std::numbers::sqrt2_v<float> * inverse_erf(2 * p - 1, log);
      });
}
Tensor ndtr(const Tensor& self) {
  return composed<1>(
      kernels::erfc_f32, {self}, to_float_type(self.dtype()),
      [](auto x) { return x * static_cast<decltype(x)>(-std::numbers::sqrt2 / 2); },
      [](auto x) { return std::erfc(x); }, [](auto, auto erfc) { return erfc / 2; });
}

// sin(x) / x
Tensor spherical_bessel_j0(const Tensor& x) {
  return composed<1>(
      kernels::MatrixUnaryOp::kSin, {x}, to_float_type(x.dtype()), [](auto v) { return v; },
      [](auto v) { return std::sin(v); },
      [](auto v, auto sine) {
        using T = decltype(v);
        const T size = std::abs(v);
        const T limit = choose(size == std::numeric_limits<T>::infinity(), T(0), sine / v);
        return choose(size < T(1e-4), T(1) - v * v / T(6), limit);
      });
}

// ---- orthogonal polynomials ----
//
// Three-term recurrences (DLMF 18.9), in the precision of T. n is cut to an integer; a negative
// degree gives 0. For Chebyshev polynomials of high degree inside (-1, 1) the trigonometric form
// (DLMF 18.5) is taken, as PyTorch does.

// A recurrence of more steps is nothing but rounding errors.
constexpr int64_t kMostSteps = int64_t{1} << 20;

// p_0 = 1, p_1 = first, p_{k+1} = next(k, p_k, p_{k-1}).
template <typename T, typename F>
T recurrence(int64_t n, T first, F next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  TORCHLET_CHECK(n < kMostSteps, "a polynomial of degree %lld is not computed for %g",
                 static_cast<long long>(n), static_cast<double>(first));
  T before = 1, here = first;
  for (int64_t k = 1; k < n && !std::isnan(here); ++k) {
    if (k % 1024 == 0) poll();
    const T after = next(static_cast<T>(k), here, before);
    before = here;
    here = after;
  }
  return here;
}

// All four kinds obey p_{k+1} = 2 x p_k - p_{k-1} and differ in p_1.
template <typename T>
T chebyshev(T x, int64_t n, T first) {
  return recurrence(n, first, [x](T, T here, T before) { return (x + x) * here - before; });
}
// p_1 = slope x + shift, and p_{k+1} = ((a x + b) p_k - c p_{k-1}) / d.
struct First {
  float slope, shift;
};
struct Next {
  float a, b, c, d;
};
struct OfChebyshev {
  static Next next(float /*k*/) { return {2, 0, 1, 1}; }
};
// (-1)^n
template <typename T>
T parity(int64_t n) {
  return n % 2 ? T(-1) : T(1);
}
bool even(int64_t n) { return n % 2 == 0; }

struct ChebyshevT : OfChebyshev {
  static constexpr First kFirst = {1, 0};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 || even(n) ? T(1) : T(-1);
    if (n > 6 && std::abs(x) < T(1)) return std::cos(static_cast<T>(n) * std::acos(x));
    return chebyshev(x, n, x);
  }
};
struct ChebyshevU : OfChebyshev {
  static constexpr First kFirst = {2, 0};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) {
      return x > 0 || even(n) ? static_cast<T>(n + 1) : -static_cast<T>(n + 1);
    }
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      if (std::sin(angle) != T(0)) return std::sin(static_cast<T>(n + 1) * angle) / std::sin(angle);
      return static_cast<T>(n + 1) * std::cos(static_cast<T>(n + 1) * angle) / x;
    }
    return chebyshev(x, n, x + x);
  }
};
struct ChebyshevV : OfChebyshev {
  static constexpr First kFirst = {2, -1};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && x == T(1)) return T(1);
    if (n >= 0 && x == T(-1)) return parity<T>(n) * static_cast<T>(2 * n + 1);
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / T(2));
    }
    return chebyshev(x, n, x + x - T(1));
  }
};
struct ChebyshevW : OfChebyshev {
  static constexpr First kFirst = {2, 1};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && x == T(1)) return static_cast<T>(2 * n + 1);
    if (n >= 0 && x == T(-1)) return parity<T>(n);
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / T(2));
    }
    return chebyshev(x, n, x + x + T(1));
  }
};
// The same on [0, 1].
template <typename Kind>
struct Shifted {
  static constexpr First kFirst = {2 * Kind::kFirst.slope, Kind::kFirst.shift - Kind::kFirst.slope};
  static Next next(float k) {
    const Next of_kind = Kind::next(k);
    return {2 * of_kind.a, of_kind.b - of_kind.a, of_kind.c, of_kind.d};
  }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return Kind()(x + x - T(1), n);
  }
};
struct HermiteH {
  static constexpr First kFirst = {2, 0};
  static Next next(float k) { return {2, 0, 2 * k, 1}; }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, x + x,
                      [x](T k, T here, T before) { return (x + x) * here - (k + k) * before; });
  }
};
struct HermiteHe {
  static constexpr First kFirst = {1, 0};
  static Next next(float k) { return {1, 0, k, 1}; }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, x, [x](T k, T here, T before) { return x * here - k * before; });
  }
};
struct LaguerreL {
  static constexpr First kFirst = {-1, 1};
  static Next next(float k) { return {-1, 2 * k + 1, k, k + 1}; }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, T(1) - x, [x](T k, T here, T before) {
      return ((k + k + T(1) - x) * here - k * before) / (k + T(1));
    });
  }
};
struct LegendreP {
  static constexpr First kFirst = {1, 0};
  static Next next(float k) { return {2 * k + 1, 0, k, k + 1}; }
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 || even(n) ? T(1) : T(-1);
    return recurrence(n, x, [x](T k, T here, T before) {
      return ((k + k + T(1)) * x * here - k * before) / (k + T(1));
    });
  }
};

// A polynomial of low degree n >= 1 of a float32 tensor, all elements a degree at a time. At 1 and
// -1 it is the exact number that the polynomials above give there.
Tensor of_low_degree(const Tensor& x, int64_t n, const First& first, Next (*next)(float)) {
  const auto linear = [](const Tensor& self, const First& f) {
    return map<kMapReal | kMapSteps, 1>({self}, DType::kFloat32, [f](auto v) {
      using T = decltype(v);
      return static_cast<T>(f.slope) * v + static_cast<T>(f.shift);
    });
  };
  Tensor before = linear(x, {0, 1}), here = linear(x, first);
  for (int64_t k = 1; k < n; ++k) {
    const Tensor after = map<kMapReal | kMapSteps, 3>(
        {x, here, before}, DType::kFloat32,
        [f = next(static_cast<float>(k))](auto v, auto h, auto b) {
          using T = decltype(v);
          const T factor = static_cast<T>(f.a) * v + static_cast<T>(f.b);
          return (factor * h - static_cast<T>(f.c) * b) / static_cast<T>(f.d);
        });
    before = here;
    here = after;
  }
  return here;
}

// Of bools and of low degree; undefined otherwise. `evaluate` is the polynomial.
Tensor evaluate_quickly(const Tensor& x, const Tensor& n, DType dtype, const First& first,
                        Next (*next)(float), BinaryFn evaluate) {
  if (n.dim() != 0 || is_meta(n)) return {};
  const DType result = to_float_type(dtype);
  if (x.dtype() == DType::kBool) {  // one of two results
    const auto of = [&](double value) {
      return evaluate(scalar_tensor(Scalar(value), result), n, result);
    };
    return where(x, of(1), of(0));
  }
  const double degree = n.to(DType::kFloat64).item<double>();
  constexpr double kLow = 6;  // beyond, some are trigonometric functions
  if (result != DType::kFloat32 || !(degree >= 1 && degree < kLow + 1)) return {};
  return of_low_degree(x.to(DType::kFloat32), static_cast<int64_t>(degree), first, next);
}

template <typename Polynomial>
Tensor evaluate(const Tensor& x, const Tensor& n, DType dtype) {
  const Tensor quick =
      evaluate_quickly(x, n, dtype, Polynomial::kFirst, Polynomial::next, evaluate<Polynomial>);
  if (quick.defined()) return quick;
  return binary<kMapReal, true>(x, n, dtype, [](auto value, auto degree) {
    const int64_t whole = saturating_int(static_cast<double>(degree));
    return Polynomial()(value, std::min(whole, int64_t{1} << 53));
  });
}

// -x log(x)
Tensor entropy(const Tensor& self) {
  const Tensor x = self.to(to_float_type(self.dtype()));
  return map<kMapReal | kMapSteps, 2>({x, log(x)}, x.dtype(), [](auto a, auto log_a) {
    using T = decltype(a);
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T beyond = choose(a == T(0), T(0), choose(a < T(0), -kInfinity, a));
    return choose(a > T(0), -a * log_a, beyond);
  });
}

}  // namespace

#define TORCHLET_SPECIAL(name, argument)                                     \
  TORCHLET_OP_WITH(special_##name, out("out") | pointwise(),                 \
                   "aten::special_" #name "(Tensor " argument ") -> Tensor", \
                   [](const Tensor& x) { return unary_double(x, special::name); })

TORCHLET_OP_WITH(special_entr, out("out") | pointwise(),
                 "aten::special_entr(Tensor self) -> Tensor", entropy);
TORCHLET_SPECIAL(erfcx, "self");
TORCHLET_SPECIAL(log_ndtr, "self");
#define TORCHLET_SPECIAL_OF(name, fn)                        \
  TORCHLET_OP_WITH(special_##name, out("out") | pointwise(), \
                   "aten::special_" #name "(Tensor self) -> Tensor", fn)
TORCHLET_SPECIAL_OF(ndtr, ndtr);
TORCHLET_SPECIAL_OF(ndtri, ndtri);
TORCHLET_SPECIAL_OF(i0e, bessel_ie<0>);
TORCHLET_SPECIAL_OF(i1, bessel_i<1>);
TORCHLET_SPECIAL_OF(i1e, bessel_ie<1>);
TORCHLET_OP_WITH(i0, inplace() | out("out") | pointwise(), "aten::i0(Tensor self) -> Tensor",
                 bessel_i<0>);
TORCHLET_OP_WITH(erfinv, inplace() | out("out") | pointwise(),
                 "aten::erfinv(Tensor self) -> Tensor", erfinv);
TORCHLET_SPECIAL(bessel_j0, "self");
TORCHLET_SPECIAL(bessel_j1, "self");
TORCHLET_SPECIAL(bessel_y0, "self");
TORCHLET_SPECIAL(bessel_y1, "self");
TORCHLET_SPECIAL(modified_bessel_k0, "self");
TORCHLET_SPECIAL(modified_bessel_k1, "self");
TORCHLET_SPECIAL(scaled_modified_bessel_k0, "x");
TORCHLET_SPECIAL(scaled_modified_bessel_k1, "x");
TORCHLET_OP_WITH(special_spherical_bessel_j0, out("out") | pointwise(),
                 "aten::special_spherical_bessel_j0(Tensor x) -> Tensor", spherical_bessel_j0);
TORCHLET_SPECIAL(airy_ai, "x");

#define TORCHLET_POLYNOMIAL(name, kind)                                              \
  TORCHLET_OP_WITH(special_##name, out("out") | pointwise(),                         \
                   "aten::special_" #name "(Tensor x, Tensor n) -> Tensor",          \
                   tensors<evaluate<kind>>);                                         \
  TORCHLET_OP_WITH(special_##name##_n_scalar, out("n_scalar_out") | pointwise(),     \
                   "aten::special_" #name ".n_scalar(Tensor x, Scalar n) -> Tensor", \
                   with_scalar<evaluate<kind>>);                                     \
  TORCHLET_OP_WITH(special_##name##_x_scalar, out("x_scalar_out") | pointwise(),     \
                   "aten::special_" #name ".x_scalar(Scalar x, Tensor n) -> Tensor", \
                   scalar_first<evaluate<kind>>)

TORCHLET_POLYNOMIAL(chebyshev_polynomial_t, ChebyshevT);
TORCHLET_POLYNOMIAL(chebyshev_polynomial_u, ChebyshevU);
TORCHLET_POLYNOMIAL(chebyshev_polynomial_v, ChebyshevV);
TORCHLET_POLYNOMIAL(chebyshev_polynomial_w, ChebyshevW);
TORCHLET_POLYNOMIAL(shifted_chebyshev_polynomial_t, Shifted<ChebyshevT>);
TORCHLET_POLYNOMIAL(shifted_chebyshev_polynomial_u, Shifted<ChebyshevU>);
TORCHLET_POLYNOMIAL(shifted_chebyshev_polynomial_v, Shifted<ChebyshevV>);
TORCHLET_POLYNOMIAL(shifted_chebyshev_polynomial_w, Shifted<ChebyshevW>);
TORCHLET_POLYNOMIAL(hermite_polynomial_h, HermiteH);
TORCHLET_POLYNOMIAL(hermite_polynomial_he, HermiteHe);
TORCHLET_POLYNOMIAL(laguerre_polynomial_l, LaguerreL);
TORCHLET_POLYNOMIAL(legendre_polynomial_p, LegendreP);

}  // namespace torchlet::ops
