// Running sums, products and extremes along a dimension, and integrals by the trapezoidal rule.
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/dim_apply.h"
#include "ops/engines/elementwise.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

int64_t slice_length(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return self.dim() == 0 ? 1 : self.size(dim);
}

// out[i] = f(out[i - 1], in[i]), in double precision for floats.
template <typename C, typename F>
Tensor scan_as(const Tensor& self, int64_t dim, DType result, F f) {
  const Tensor out = empty_like(self, result);
  const int64_t n = slice_length(self, dim);
  dim_apply<C>(self, dim, out, Tensor(), [=](const C* x, C* y, int64_t*) {
    using Wide = std::conditional_t<std::is_same_v<C, float>, double, C>;
    Wide total = static_cast<Wide>(n > 0 ? x[0] : C());
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) total = f(total, static_cast<Wide>(x[i]));
      y[i] = static_cast<C>(total);
    }
  });
  return out;
}

template <typename F>
Tensor scan(const Tensor& self, int64_t dim, std::optional<DType> dtype, F f) {
  const DType result =
      dtype.value_or(is_integral(self.dtype(), true) ? DType::kInt64 : self.dtype());
  const Tensor input = self.to(result);
  return visit_compute<kMapAll>(
      result, [&](auto zero) { return scan_as<decltype(zero)>(input, dim, result, f); });
}

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan(self, dim, dtype, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  });
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan(self, dim, dtype, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  });
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  TORCHLET_CHECK(is_floating_point(self.dtype()), "\"logcumsumexp\" not implemented for '%s'",
                 dtype_name(self.dtype()).data());
  return scan(self, dim, std::nullopt, [](auto a, auto b) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      const auto low = std::min(a, b), high = std::max(a, b);
      if (std::isnan(a) || std::isnan(b)) return a + b;
      return std::isinf(high) || std::isinf(low) ? high : high + std::log1p(std::exp(low - high));
    } else {
      return a;
    }
  });
}

// The last of equal elements counts, and NaN stays once it was met.
template <bool Largest>
std::tuple<Tensor, Tensor> running_extreme(const Tensor& self, int64_t dim) {
  const Tensor values = empty_like(self), indices = empty_like(self, DType::kInt64);
  const int64_t n = slice_length(self, dim);
  visit_compute<kMapReal | kMapInt>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    dim_apply<C>(self, dim, values, indices, [=](const C* x, C* y, int64_t* at) {
      int64_t best = 0;
      C value = n > 0 ? x[0] : C();
      for (int64_t i = 0; i < n; ++i) {
        const bool better = Largest ? x[i] >= value : x[i] <= value;  // nothing is better than NaN
        if (better || x[i] != x[i]) value = x[i], best = i;
        y[i] = value;
        at[i] = best;
      }
    });
  });
  return {values, indices};
}

// ---- trapezoidal rule ----

// y[i] + y[i + 1] along dim, for i < n - 1.
Tensor twice_heights(const Tensor& y, int64_t dim) {
  const int64_t n = y.size(dim);
  return add(narrow(y, dim, 0, n - 1), narrow(y, dim, 1, n - 1));
}

// Differences of the places x, shaped to broadcast with y.
Tensor spacings(const Tensor& y, const Tensor& x, int64_t dim) {
  Tensor places = x;
  if (x.dim() == 1) {
    TORCHLET_CHECK(y.size(dim) == x.size(0),
                   "trapezoid: There must be one `x` value for each sample point");
    IntArray shape(static_cast<size_t>(y.dim()), 1);
    shape[static_cast<size_t>(wrap_dim(dim, y.dim()))] = x.size(0);
    places = view(x.contiguous(), shape);
  } else if (x.dim() < y.dim()) {
    IntArray shape(static_cast<size_t>(y.dim() - x.dim()), 1);
    for (int64_t size : x.sizes()) shape.push_back(size);
    places = view(x.contiguous(), shape);
  }
  const int64_t n = places.size(dim);
  return sub(narrow(places, dim, 1, n - 1), narrow(places, dim, 0, n - 1));
}

Tensor added(const Tensor& parts, int64_t dim, bool cumulative) {
  return cumulative ? cumsum(parts, dim, std::nullopt) : sum(parts, {&dim, 1});
}

bool nothing_between(const Tensor& y, int64_t dim) {
  TORCHLET_CHECK(y.dtype() != DType::kBool,
                 "trapezoid: received a bool input for `x` or `y`, but bool is not supported");
  return y.size(dim) < 2;
}
// The result for fewer than two points: zeros without dim, or nothing along it.
Tensor empty_trapezoid(const Tensor& y, int64_t dim, bool cumulative) {
  IntArray shape(y.sizes());
  const size_t d = static_cast<size_t>(wrap_dim(dim, y.dim()));
  if (cumulative) {
    shape[d] = 0;
  } else {
    shape.erase(shape.begin() + d);
  }
  return zeros(shape, to_float_type(y.dtype()));
}

template <bool Cumulative>
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (nothing_between(y, dim)) return empty_trapezoid(y, dim, Cumulative);
  return mul(added(twice_heights(y, dim), dim, Cumulative), Scalar(dx.to_double() / 2));
}
template <bool Cumulative>
Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (nothing_between(y, dim)) return empty_trapezoid(y, dim, Cumulative);
  return div(added(mul(twice_heights(y, dim), spacings(y, x, dim)), dim, Cumulative), Scalar(2.0));
}

}  // namespace

TORCHLET_OP_WITH(cumsum, inplace() | out("out") | keeps_rank(),
                 "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", cumsum);
TORCHLET_OP_WITH(cumprod, inplace() | out("out") | keeps_rank(),
                 "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
                 cumprod);
TORCHLET_OP_WITH(logcumsumexp, out("out"), "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
                 logcumsumexp);
TORCHLET_OP_WITH(_logcumsumexp, out("out"), "aten::_logcumsumexp(Tensor self, int dim) -> Tensor",
                 logcumsumexp);
TORCHLET_OP_WITH(cummax, out("out(values, indices)"),
                 "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                 running_extreme<true>);
TORCHLET_OP_WITH(cummin, out("out(values, indices)"),
                 "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
                 running_extreme<false>);

TORCHLET_OP(trapezoid_dx, "aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
            trapezoid_dx<false>);
TORCHLET_OP(trapezoid_x, "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
            trapezoid_x<false>);
TORCHLET_OP(trapz_dx, "aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
            [](const Tensor& y, double dx, int64_t dim) {
              return trapezoid_dx<false>(y, dx, dim);
            });
TORCHLET_OP(trapz_x, "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
            trapezoid_x<false>);
TORCHLET_OP(cumulative_trapezoid_dx,
            "aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
            trapezoid_dx<true>);
TORCHLET_OP(cumulative_trapezoid_x,
            "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
            trapezoid_x<true>);

}  // namespace torchlet::ops
