// Running sums, products and extremes along a dimension, and integrals by the trapezoidal rule.
#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/dim_apply.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/neighbours.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {
namespace {

int64_t slice_length(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return self.dim() == 0 ? 1 : self.size(dim);
}

// Whether slices of a tensor, whose results lie as it does, lie side by side.
bool lies_across(const Tensor& self, int64_t dim) {
  return self.dim() > 0 && self.numel() > 0 && self.size(dim) > 1 && self.stride(dim) > 1 &&
         is_non_overlapping_and_dense(self.sizes(), self.strides());
}

// Scans such a tensor along memory, some slices at a time: states begin as start(place), and
// step(state, i, place) changes them, place being that of element i of a slice.
template <typename Start, typename Step>
void scan_across(const Tensor& self, int64_t dim, Start start, Step step) {
  constexpr int64_t kColumns = 64, kParallelGrain = 32768;
  const int64_t n = self.size(dim), inner = self.stride(dim);
  const int64_t blocks = (inner + kColumns - 1) / kColumns, outer = self.numel() / (n * inner);
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / kColumns / n);
  parallel_for(outer * blocks, grain, [&](int64_t begin, int64_t end) {
    decltype(start(int64_t())) states[kColumns];
    for (int64_t b = begin; b < end; ++b) {
      const int64_t column = b % blocks * kColumns, count = std::min(kColumns, inner - column);
      int64_t place = b / blocks * n * inner + column;
      for (int64_t k = 0; k < count; ++k) states[k] = start(place + k);
      for (int64_t i = 1; i < n; ++i) {
        place += inner;
        for (int64_t k = 0; k < count; ++k) step(states[k], i, place + k);
      }
    }
  });
}

// Slices of n elements, `inner` of which lie side by side, a few at a time unless they are short,
// because each result of a slice waits for the one before: for an f of one instruction.
template <typename F>
void scan_slices(const float* x, float* y, int64_t slices, int64_t n, int64_t inner, F f) {
  constexpr int64_t kSlices = 4, kShort = 16, kParallelGrain = 32768;
  const auto first_of = [=](int64_t slice) {
    return inner == 1 ? slice * n : slice / inner * n * inner + slice % inner;
  };
  const int64_t grain = std::max<int64_t>(kSlices, kParallelGrain / n);
  parallel_for(slices, grain, [=](int64_t begin, int64_t end) {
    for (int64_t slice = begin; n < kShort && slice < end; ++slice) {
      int64_t i = first_of(slice);
      double total = y[i] = x[i];
      for (const int64_t last = i + n * inner; (i += inner) < last;) {
        total = f(total, static_cast<double>(x[i]));
        y[i] = static_cast<float>(total);
      }
    }
    for (int64_t first = begin; n >= kShort && first < end; first += kSlices) {
      const float* from[kSlices];
      float* to[kSlices];
      double totals[kSlices];
      for (int64_t k = 0; k < kSlices; ++k) {
        const int64_t at = first_of(std::min(first + k, end - 1));  // the last may be scanned again
        from[k] = x + at;
        to[k] = y + at;
        totals[k] = to[k][0] = from[k][0];
      }
      const auto advance = [&](int64_t k, int64_t i) {
        totals[k] = f(totals[k], static_cast<double>(from[k][i]));
        to[k][i] = static_cast<float>(totals[k]);
      };
      for (int64_t i = inner; i < n * inner; i += inner) {
        advance(0, i);
        advance(1, i);
        advance(2, i);
        advance(3, i);
      }
    }
  });
}

// out[i] = f(out[i - 1], in[i]), in double precision for floats.
template <bool kIsShort, typename C, typename F>
Tensor scan_as(const Tensor& self, int64_t dim, DType result, F f) {
  using Wide = std::conditional_t<std::is_same_v<C, float>, double, C>;
  const Tensor out = empty_like(self, result);
  const int64_t n = slice_length(self, dim);
  if constexpr (kIsShort && std::is_same_v<C, float> && selection::kHasConversions) {
    constexpr int64_t kFewColumns = 8;
    if (result == DType::kFloat32 && self.dim() > 0 && self.numel() > 0 && self.is_contiguous() &&
        self.stride(dim) < kFewColumns) {
      scan_slices(self.data_ptr<float>(), out.data_ptr<float>(), self.numel() / n, n,
                  self.stride(dim), f);
      return out;
    }
  }
  if (result == DTypeOf<C>::value && lies_across(self, dim)) {
    const C* const x = self.data_ptr<C>();
    C* const y = out.data_ptr<C>();
    scan_across(
        self, dim, [=](int64_t place) { return static_cast<Wide>(y[place] = x[place]); },
        [=](Wide& total, int64_t, int64_t place) {
          total = f(total, static_cast<Wide>(x[place]));
          y[place] = static_cast<C>(total);
        });
    return out;
  }
  dim_apply<C>(self, dim, out, Tensor(), [=](const C* x, C* y, int64_t*) {
    Wide total = static_cast<Wide>(n > 0 ? x[0] : C());
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) total = f(total, static_cast<Wide>(x[i]));
      y[i] = static_cast<C>(total);
    }
  });
  return out;
}

template <bool kIsShort, typename F>
Tensor scan(const Tensor& self, int64_t dim, std::optional<DType> dtype, F f) {
  const DType result =
      dtype.value_or(is_integral(self.dtype(), true) ? DType::kInt64 : self.dtype());
  const Tensor input = self.to(result);
  if (slice_length(self, dim) == 1 && !is_meta(self)) {
    return input.is_same(self) ? self.clone() : input;
  }
  return visit_compute<kMapAll>(
      result, [&](auto zero) { return scan_as<kIsShort, decltype(zero)>(input, dim, result, f); });
}

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  if (is_complex(self.dtype()) && !dtype && self.dim() > 0) {  // each part by itself
    return view_as_complex(cumsum(view_as_real(self), wrap_dim(dim, self.dim()), dtype));
  }
  return scan<true>(self, dim, dtype, [](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  });
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scan<true>(self, dim, dtype, [](auto a, auto b) {
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
  return scan<false>(self, dim, std::nullopt, [](auto a, auto b) {
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
template <bool Largest, typename C>
struct RunningExtreme {
  C value;
  int64_t at;

  // Floats are seldom equal, so that branches know what comes; small integers often are.
  void take(C x, int64_t i) {
    if constexpr (std::is_integral_v<C>) {
      const bool stays = is_less(x);
      value = choose(stays, value, x), at = choose(stays, at, i);
    } else if (!is_less(x) && (x != x || value == value)) {
      value = x, at = i;
    }
  }
  bool is_less(C x) const { return Largest ? x < value : x > value; }  // nothing is, next to NaN
};

template <bool Largest, typename C>
void running_extreme_across(const Tensor& self, int64_t dim, const C* x, C* y, int64_t* at) {
  using Extreme = RunningExtreme<Largest, C>;
  scan_across(
      self, dim,
      [=](int64_t place) {
        y[place] = x[place], at[place] = 0;
        return Extreme{x[place], 0};
      },
      [=](Extreme& best, int64_t i, int64_t place) {
        best.take(x[place], i);
        y[place] = best.value, at[place] = best.at;
      });
}

template <bool Largest>
std::tuple<Tensor, Tensor> running_extreme(const Tensor& self, int64_t dim) {
  const int64_t n = slice_length(self, dim);
  if (n == 1 && !is_meta(self)) return {self.clone(), zeros(self.sizes(), DType::kInt64)};
  const Tensor values = empty_like(self), indices = empty_like(self, DType::kInt64);
  visit_compute<kMapReal | kMapInt>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    if (lies_across(self, dim)) {
      int64_t* const at = indices.data_ptr<int64_t>();
      if (self.dtype() == DType::kBool) {  // a byte each, of 0 or 1
        return running_extreme_across<Largest>(self, dim,
                                               static_cast<const uint8_t*>(self.raw_data()),
                                               static_cast<uint8_t*>(values.raw_data()), at);
      }
      const Tensor wide = self.to(DTypeOf<C>::value);
      const Tensor extremes = wide.is_same(self) ? values : empty_like(wide);
      running_extreme_across<Largest, C>(self, dim, wide.data_ptr<C>(), extremes.data_ptr<C>(), at);
      if (!extremes.is_same(values)) values.copy_(extremes);
      return;
    }
    dim_apply<C>(self, dim, values, indices, [=](const C* x, C* y, int64_t* at) {
      RunningExtreme<Largest, C> best{n > 0 ? x[0] : C(), 0};
      for (int64_t i = 0; i < n; ++i) {
        best.take(x[i], i);
        y[i] = best.value;
        at[i] = best.at;
      }
    });
  });
  return {values, indices};
}

// ---- trapezoidal rule ----

// y[i] + y[i + 1] along dim, for i < n - 1.
Tensor twice_heights(const Tensor& y, int64_t dim) {
  const int64_t n = y.size(dim);
  const auto height = [](auto a, auto b, auto, auto) { return wrap_add(a, b); };
  if (const auto order = dense_order(y)) {
    if (y.dtype() == DType::kFloat32) return map_neighbours<float>(y, y, dim, *order, height);
    if (y.dtype() == DType::kInt64) return map_neighbours<int64_t>(y, y, dim, *order, height);
  }
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

// What is between the ends counts twice.
Tensor sum_of_twice_heights(const Tensor& y, int64_t dim) {
  const int64_t n = y.size(dim);
  const Tensor ends = add(select(y, dim, 0), select(y, dim, n - 1));
  return add(ends, mul(sum(narrow(y, dim, 1, n - 2), {&dim, 1}), Scalar(int64_t{2})));
}

template <bool Cumulative>
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (nothing_between(y, dim)) return empty_trapezoid(y, dim, Cumulative);
  // Smaller integers wrap before they are added up.
  if (!Cumulative && (is_floating_point(y.dtype()) || y.dtype() == DType::kInt64)) {
    const Tensor heights =
        sum_of_twice_heights(is_half(y.dtype()) ? y.to(DType::kFloat32) : y, dim);
    return mul(heights, Scalar(dx.to_double() / 2)).to(to_float_type(y.dtype()));
  }
  return mul(added(twice_heights(y, dim), dim, Cumulative), Scalar(dx.to_double() / 2));
}

// Twice the areas between neighbours; x has the shape of y, or lies along dim.
Tensor twice_areas(const Tensor& y, const Tensor& x, int64_t dim) {
  if (y.dtype() == x.dtype() && std::ranges::equal(y.sizes(), x.sizes()) &&
      std::ranges::equal(y.strides(), x.strides())) {
    const auto area = [](auto a, auto b, auto left, auto right) {
      return wrap_mul(wrap_add(a, b), wrap_sub(right, left));
    };
    const auto order = dense_order(y);
    if (order && y.dtype() == DType::kFloat32) {
      return map_neighbours<float>(y, x, dim, *order, area);
    }
    if (order && y.dtype() == DType::kInt64) {
      return map_neighbours<int64_t>(y, x, dim, *order, area);
    }
  }
  return mul(twice_heights(y, dim), spacings(y, x, dim));
}

template <bool Cumulative>
Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (nothing_between(y, dim)) return empty_trapezoid(y, dim, Cumulative);
  if (is_half(y.dtype()) && y.dtype() == x.dtype()) {
    constexpr DType kWide = DType::kFloat32;
    return trapezoid_x<Cumulative>(y.to(kWide), x.to(kWide), dim).to(y.dtype());
  }
  return div(added(twice_areas(y, x, dim), dim, Cumulative), Scalar(2.0));
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
