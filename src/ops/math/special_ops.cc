// torch.special: Bessel functions and their like, and orthogonal polynomials.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"

namespace torchlet::ops {
namespace {

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
// (-1)^n
template <typename T>
T parity(int64_t n) {
  return n % 2 ? T(-1) : T(1);
}
bool even(int64_t n) { return n % 2 == 0; }

struct ChebyshevT {
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 || even(n) ? T(1) : T(-1);
    if (n > 6 && std::abs(x) < T(1)) return std::cos(static_cast<T>(n) * std::acos(x));
    return chebyshev(x, n, x);
  }
};
struct ChebyshevU {
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
struct ChebyshevV {
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
struct ChebyshevW {
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
  template <typename T>
  T operator()(T x, int64_t n) const {
    return Kind()(x + x - T(1), n);
  }
};
struct HermiteH {
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, x + x,
                      [x](T k, T here, T before) { return (x + x) * here - (k + k) * before; });
  }
};
struct HermiteHe {
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, x, [x](T k, T here, T before) { return x * here - k * before; });
  }
};
struct LaguerreL {
  template <typename T>
  T operator()(T x, int64_t n) const {
    return recurrence(n, T(1) - x, [x](T k, T here, T before) {
      return ((k + k + T(1) - x) * here - k * before) / (k + T(1));
    });
  }
};
struct LegendreP {
  template <typename T>
  T operator()(T x, int64_t n) const {
    if (n >= 0 && std::abs(x) == T(1)) return x > 0 || even(n) ? T(1) : T(-1);
    return recurrence(n, x, [x](T k, T here, T before) {
      return ((k + k + T(1)) * x * here - k * before) / (k + T(1));
    });
  }
};

template <typename Polynomial>
Tensor evaluate(const Tensor& x, const Tensor& n, DType dtype) {
  if (x.dtype() == DType::kBool && n.numel() == 1 && n.dim() == 0) {  // one of two results
    const DType result = to_float_type(dtype);
    const auto of = [&](double value) {
      return evaluate<Polynomial>(scalar_tensor(Scalar(value), result), n, result);
    };
    return where(x, of(1), of(0));
  }
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
TORCHLET_SPECIAL(ndtr, "self");
TORCHLET_SPECIAL(ndtri, "self");
TORCHLET_SPECIAL(log_ndtr, "self");
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
