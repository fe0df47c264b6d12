// torch.special: Bessel functions and their like, and orthogonal polynomials.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// y[i] = f(x[i])
template <typename T>
using Run = FunctionRef<void(const T* x, T* y, int64_t count)>;

// f of each element, in doubles or, if `floats` is given, in floats for what PyTorch computes so.
Tensor compute(const Tensor& x, Run<double> doubles, const Run<float>* floats) {
  const DType dtype = to_float_type(x.dtype());
  TORCHLET_CHECK(!is_complex(dtype), "not implemented for '%s'", dtype_name(dtype).data());
  const Tensor out = empty_like(x, dtype);
  if (!floats || dtype == DType::kFloat64) {
    elementwise(out, {&x, 1}, DType::kFloat64, DType::kFloat64,
                [&](void* y, const void* const* in, int64_t count) {
                  doubles(static_cast<const double*>(in[0]), static_cast<double*>(y), count);
                });
  } else if (x.dtype() == DType::kBool) {  // two answers
    constexpr float kBoth[] = {0, 1};
    float answers[2];
    (*floats)(kBoth, answers, 2);
    elementwise(out, {&x, 1}, DType::kFloat32, DType::kBool,
                [&](void* y, const void* const* in, int64_t count) {
                  const auto* from = static_cast<const uint8_t*>(in[0]);
                  for (int64_t i = 0; i < count; ++i) {
                    static_cast<float*>(y)[i] = answers[from[i] != 0];
                  }
                });
  } else {
    elementwise(out, {&x, 1}, DType::kFloat32, DType::kFloat32,
                [&](void* y, const void* const* in, int64_t count) {
                  (*floats)(static_cast<const float*>(in[0]), static_cast<float*>(y), count);
                });
  }
  return out;
}

// A function of special_math.h, which may lack the form for many floats.
Tensor compute(const Tensor& x, double (*f)(double),
               void (*floats)(const float* x, float* y, int64_t count) = nullptr) {
  const auto each_double = [f](const double* from, double* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = f(from[i]);
  };
  const auto all_floats = [floats](const float* from, float* to, int64_t count) {
    floats(from, to, count);
  };
  const Run<float> run = all_floats;
  return compute(x, each_double, floats ? &run : nullptr);
}

// log of the multivariate gamma function (Wikipedia, "Multivariate gamma function").
template <typename T>
void mvlgamma_of(int64_t p, const T* x, T* y, int64_t count) {
  constexpr int64_t kBlock = 256;
  T arguments[kBlock], terms[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    double sums[kBlock];
    std::fill_n(sums, n, static_cast<double>(p * (p - 1)) / 4 * std::log(std::numbers::pi));
    for (int64_t k = 0; k < p; ++k) {
      poll();
      for (int64_t i = 0; i < n; ++i) arguments[i] = x[at + i] - static_cast<T>(k) / T(2);
      special::lgamma(arguments, terms, n);
      for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(terms[i]);
    }
    for (int64_t i = 0; i < n; ++i) y[at + i] = static_cast<T>(sums[i]);
  }
}
Tensor mvlgamma(const Tensor& self, int64_t p) {
  constexpr int64_t kMost = int64_t{1} << 20;
  TORCHLET_CHECK(p >= 1, "mvlgamma: p has to be greater than or equal to 1");
  TORCHLET_CHECK(p < kMost, "mvlgamma: p is %lld, and at most %lld", static_cast<long long>(p),
                 static_cast<long long>(kMost - 1));
  const auto run = [p](auto... operands) { mvlgamma_of(p, operands...); };
  const Run<float> floats = run;
  return compute(self, run, &floats);
}

// ---- orthogonal polynomials ----
//
// Three-term recurrences (DLMF 18.9), in the precision of T: p_0 = 1, p_1 = first(x), p_{k+1} =
// next(x, k, p_k, p_{k-1}). n is cut to an integer; a negative degree gives 0. For
// Chebyshev polynomials of high degree inside (-1, 1) the trigonometric form (DLMF 18.5) is taken,
// as PyTorch does.

// p_1 is scale x - minus, where x is 2 x - 1 if shifted.
struct First {
  int scale, minus;
  bool is_shifted = false;
};

// A recurrence of more steps is nothing but rounding errors.
constexpr int64_t kMostSteps = int64_t{1} << 20;

template <typename Polynomial, typename T>
T recurrence(T x, int64_t n) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  constexpr First kFirst = Polynomial::kFirst;
  T before = 1, here = T(kFirst.scale) * x - T(kFirst.minus);
  TORCHLET_CHECK(n < kMostSteps, "a polynomial of degree %lld is not computed for %g",
                 static_cast<long long>(n), static_cast<double>(x));
  for (int64_t k = 1; k < n && !std::isnan(here); ++k) {
    if (k % 1024 == 0) poll();
    before = std::exchange(here, Polynomial::next(x, static_cast<T>(k), here, before));
  }
  return here;
}

// The same for a low degree n > 0 and many x, by blocks of which compilers make vectors. For such n
// no polynomial of PyTorch's has another form than the recurrence, which is exact at x = 1 and -1.
constexpr int64_t kLowDegree = 6;
template <typename Family>
void low_degree(const float* x, float* y, int64_t count, int64_t n, First first) {
  constexpr int64_t kBlock = 64;
  const auto scale = static_cast<float>(first.scale), minus = static_cast<float>(first.minus);
  float before[kBlock], after[kBlock], from[kBlock] = {};
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t here = std::min(kBlock, count - i);
    std::copy(x + i, x + i + here, from);
    if (first.is_shifted) {
      for (float& v : from) v = v + v - 1.0f;
    }
    for (int64_t j = 0; j < kBlock; ++j) {
      before[j] = 1;
      after[j] = scale * from[j] - minus;
    }
    const auto step = [&](int64_t k, const float (&last)[kBlock], float (&to)[kBlock]) {
      for (int64_t j = 0; j < kBlock; ++j) {
        to[j] = Family::next(from[j], static_cast<float>(k), last[j], to[j]);
      }
    };
    for (int64_t k = 1; k < n; k += 2) {
      step(k, after, before);
      if (k + 1 < n) step(k + 1, before, after);
    }
    std::copy_n(n % 2 ? after : before, here, y + i);
  }
}

// (-1)^n
template <typename T>
T parity(int64_t n) {
  return n % 2 ? T(-1) : T(1);
}

// All four kinds obey p_{k+1} = 2 x p_k - p_{k-1} and differ in p_1.
struct Chebyshev {
  using Family = Chebyshev;
  template <typename T>
  static T next(T x, T, T here, T before) {
    return (x + x) * here - before;
  }
};
struct ChebyshevT : Chebyshev {
  static constexpr First kFirst = {1, 0};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 ? T(1) : parity<T>(n);
    if (n > 6 && std::abs(x) < T(1)) return std::cos(static_cast<T>(n) * std::acos(x));
    return recurrence<ChebyshevT>(x, n);
  }
};
struct ChebyshevU : Chebyshev {
  static constexpr First kFirst = {2, 0};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) {
      return static_cast<T>(n + 1) * (x > 0 ? T(1) : parity<T>(n));
    }
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      if (std::sin(angle) != T(0)) return std::sin(static_cast<T>(n + 1) * angle) / std::sin(angle);
      return static_cast<T>(n + 1) * std::cos(static_cast<T>(n + 1) * angle) / x;
    }
    return recurrence<ChebyshevU>(x, n);
  }
};
struct ChebyshevV : Chebyshev {
  static constexpr First kFirst = {2, 1};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && x == T(1)) return T(1);
    if (n >= 0 && x == T(-1)) return parity<T>(n) * static_cast<T>(2 * n + 1);
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / T(2));
    }
    return recurrence<ChebyshevV>(x, n);
  }
};
struct ChebyshevW : Chebyshev {
  static constexpr First kFirst = {2, -1};
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && x == T(1)) return static_cast<T>(2 * n + 1);
    if (n >= 0 && x == T(-1)) return parity<T>(n);
    if (n > 8 && std::abs(x) < T(1)) {
      const T angle = std::acos(x);
      return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / T(2));
    }
    return recurrence<ChebyshevW>(x, n);
  }
};
// The same on [0, 1].
template <typename Kind>
struct Shifted {
  using Family = Chebyshev;
  static constexpr First kFirst = {Kind::kFirst.scale, Kind::kFirst.minus, true};
  template <typename T>
  T operator()(T x, int64_t n) const {
    return Kind()(x + x - T(1), n);
  }
};
struct HermiteH {
  using Family = HermiteH;
  static constexpr First kFirst = {2, 0};
  template <typename T>
  static T next(T x, T k, T here, T before) {
    return (x + x) * here - (k + k) * before;
  }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence<HermiteH>(x, n);
  }
};
struct HermiteHe {
  using Family = HermiteHe;
  static constexpr First kFirst = {1, 0};
  template <typename T>
  static T next(T x, T k, T here, T before) {
    return x * here - k * before;
  }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence<HermiteHe>(x, n);
  }
};
struct LaguerreL {
  using Family = LaguerreL;
  static constexpr First kFirst = {-1, -1};
  template <typename T>
  static T next(T x, T k, T here, T before) {
    return ((k + k + T(1) - x) * here - k * before) / (k + T(1));
  }
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence<LaguerreL>(x, n);
  }
};
struct LegendreP {
  using Family = LegendreP;
  static constexpr First kFirst = {1, 0};
  template <typename T>
  static T next(T x, T k, T here, T before) {
    return ((k + k + T(1)) * x * here - k * before) / (k + T(1));
  }
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 ? T(1) : parity<T>(n);
    return recurrence<LegendreP>(x, n);
  }
};

template <typename T>
int64_t whole_degree(T degree) {
  return std::min(saturating_int(static_cast<double>(degree)), int64_t{1} << 53);
}

template <typename Polynomial>
Tensor evaluate(const Tensor& x, const Tensor& n, DType dtype) {
  const DType result = to_float_type(dtype);
  if (n.dim() == 0 && !is_meta(n) && compute_kind(result) == Compute::kFloat) {
    const int64_t degree = whole_degree(static_cast<float>(n.item<double>()));
    if (degree > 0 && degree <= kLowDegree) {
      const Tensor out = empty_like(x, result);
      elementwise(out, {&x, 1}, DType::kFloat32, DType::kFloat32,
                  [&](void* y, const void* const* in, int64_t count) {
                    low_degree<typename Polynomial::Family>(static_cast<const float*>(in[0]),
                                                            static_cast<float*>(y), count, degree,
                                                            Polynomial::kFirst);
                  });
      return out;
    }
  }
  return binary<kMapReal, true>(x, n, dtype, [](auto value, auto degree) {
    return Polynomial()(value, whole_degree(degree));
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

// In double alone, or in floats, too.
#define TORCHLET_SPECIAL_DOUBLE(name, argument)                              \
  TORCHLET_OP_WITH(special_##name, out("out") | pointwise(),                 \
                   "aten::special_" #name "(Tensor " argument ") -> Tensor", \
                   [](const Tensor& x) { return compute(x, special::name); })
#define TORCHLET_SPECIAL(name, argument)                                     \
  TORCHLET_OP_WITH(special_##name, out("out") | pointwise(),                 \
                   "aten::special_" #name "(Tensor " argument ") -> Tensor", \
                   [](const Tensor& x) { return compute(x, special::name, special::name); })
// What is older than torch.special.
#define TORCHLET_OLD_SPECIAL(name)                             \
  TORCHLET_OP_WITH(name, inplace() | out("out") | pointwise(), \
                   "aten::" #name "(Tensor self) -> Tensor",   \
                   [](const Tensor& x) { return compute(x, special::name, special::name); })

TORCHLET_OP_WITH(special_entr, out("out") | pointwise(),
                 "aten::special_entr(Tensor self) -> Tensor", entropy);
TORCHLET_OLD_SPECIAL(erfinv);
TORCHLET_OLD_SPECIAL(lgamma);
TORCHLET_OLD_SPECIAL(digamma);
TORCHLET_OLD_SPECIAL(i0);
TORCHLET_OP_WITH(mvlgamma, inplace() | out("out") | pointwise(),
                 "aten::mvlgamma(Tensor self, int p) -> Tensor", mvlgamma);
TORCHLET_SPECIAL(erfcx, "self");
TORCHLET_SPECIAL(ndtr, "self");
TORCHLET_SPECIAL(ndtri, "self");
TORCHLET_SPECIAL_DOUBLE(log_ndtr, "self");
TORCHLET_SPECIAL(i0e, "self");
TORCHLET_SPECIAL(i1, "self");
TORCHLET_SPECIAL(i1e, "self");
TORCHLET_SPECIAL(bessel_j0, "self");
TORCHLET_SPECIAL(bessel_j1, "self");
TORCHLET_SPECIAL(bessel_y0, "self");
TORCHLET_SPECIAL(bessel_y1, "self");
TORCHLET_SPECIAL(modified_bessel_k0, "self");
TORCHLET_SPECIAL(modified_bessel_k1, "self");
TORCHLET_SPECIAL(scaled_modified_bessel_k0, "x");
TORCHLET_SPECIAL(scaled_modified_bessel_k1, "x");
TORCHLET_SPECIAL(spherical_bessel_j0, "x");
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
