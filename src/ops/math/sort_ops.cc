// Sorting and order statistics along a dimension. NaN counts as larger than every number.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted_vector.h"
#include "ops/core/op.h"
#include "ops/engines/dim_apply.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/quantize.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using TwoTensors = std::tuple<Tensor, Tensor>;
constexpr int kOrdered = kMapWideReal | kMapInt;

template <typename C>
struct Item {
  C value;
  int64_t index;
};

template <typename C>
bool less(C a, C b) {
  return a < b || (b != b && a == a);
}
template <typename C>
bool ascending(const Item<C>& a, const Item<C>& b) {
  return less(a.value, b.value);
}
template <typename C>
bool descending(const Item<C>& a, const Item<C>& b) {
  return less(b.value, a.value);
}

template <typename C>
CountedVector<Item<C>> items_of(const C* slice, int64_t n) {
  CountedVector<Item<C>> items(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) items[static_cast<size_t>(i)] = {slice[i], i};
  return items;
}

int64_t slice_length(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  return self.dim() == 0 ? 1 : self.size(dim);
}

// Values of f(real numbers), quantized again as self is.
template <typename F>
TwoTensors as_quantized(const Tensor& self, F f) {
  auto [values, indices] = f(dequantize(self));
  return {quantize(values, self.dtype(), self.impl()->quantizer), indices};
}

TwoTensors sort_stable(const Tensor& self, std::optional<bool> stable, int64_t dim, bool down) {
  if (self.is_quantized()) {
    return as_quantized(self, [&](const Tensor& x) { return sort_stable(x, stable, dim, down); });
  }
  const int64_t n = slice_length(self, dim);
  const Tensor values = empty_like(self), indices = empty_like(self, DType::kInt64);
  visit_compute<kOrdered>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    dim_apply<C>(self, dim, values, indices, [=](const C* in, C* value, int64_t* index) {
      auto items = items_of(in, n);
      const auto before = down ? descending<C> : ascending<C>;
      // Unless asked for a stable order PyTorch calls std::sort, and where models sort quantized
      // scores, which are full of equal ones, what they pick then depends on its order.
      if (stable.value_or(false)) {
        std::stable_sort(items.begin(), items.end(), before);
      } else {
        std::sort(items.begin(), items.end(), before);
      }
      for (const Item<C>& item : items) {
        *value++ = item.value;
        *index++ = item.index;
      }
    });
  });
  return {values, indices};
}
TwoTensors sort_dim(const Tensor& self, int64_t dim, bool down) {
  return sort_stable(self, false, dim, down);
}
Tensor argsort(const Tensor& self, int64_t dim, bool down) {
  return std::get<1>(sort_dim(self, dim, down));
}
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool down) {
  return std::get<1>(sort_stable(self, stable, dim, down));
}
Tensor msort(const Tensor& self) { return std::get<0>(sort_dim(self, 0, false)); }

// Values and indices of `size` elements along dim, picked from each slice by
// pick(in, values, indices).
IntArray resized(const Tensor& self, int64_t dim, int64_t size) {
  IntArray shape(self.sizes());
  if (self.dim() > 0) shape[static_cast<size_t>(wrap_dim(dim, self.dim()))] = size;
  return shape;
}

// The order among equal elements is that of PyTorch's choice of algorithms.
TwoTensors topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  if (self.is_quantized()) {
    return as_quantized(self, [&](const Tensor& x) { return topk(x, k, dim, largest, sorted); });
  }
  const int64_t n = slice_length(self, dim);
  TORCHLET_CHECK(k >= 0 && k <= n, "selected index k out of range");
  const IntArray shape = resized(self, dim, k);
  const Tensor values = empty(shape, self.dtype()), indices = empty(shape, DType::kInt64);
  if (k == 0) return {values, indices};
  visit_compute<kOrdered>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const auto before = largest ? descending<C> : ascending<C>;
    dim_apply<C>(self, dim, values, indices, [=](const C* in, C* value, int64_t* index) {
      auto items = items_of(in, n);
      if (k * 64 <= n) {
        std::partial_sort(items.begin(), items.begin() + k, items.end(), before);
      } else {
        std::nth_element(items.begin(), items.begin() + k - 1, items.end(), before);
        if (sorted) std::sort(items.begin(), items.begin() + k - 1, before);
      }
      for (int64_t i = 0; i < k; ++i) {
        value[i] = items[static_cast<size_t>(i)].value;
        index[i] = items[static_cast<size_t>(i)].index;
      }
    });
  });
  return {values, indices};
}

// Hoare's selection with a median-of-three pivot: afterwards items[k] is in its sorted place. Which
// of equal elements that is follows from the order of the exchanges, so they are PyTorch's.
template <typename C>
void quick_select(CountedVector<Item<C>>& items, size_t k) {
  auto after = [&](size_t a, size_t b) { return less(items[b].value, items[a].value); };
  auto exchange = [&](size_t a, size_t b) { std::swap(items[a], items[b]); };
  size_t left = 0, right = items.size() - 1;
  while (right > left + 1) {
    exchange(left + (right - left) / 2, left + 1);
    if (after(left + 1, right)) exchange(left + 1, right);
    if (after(left, right)) exchange(left, right);
    if (after(left + 1, left)) exchange(left + 1, left);
    size_t i = left + 1, j = right;
    for (;;) {
      do ++i;
      while (after(left, i));
      do --j;
      while (after(j, left));
      if (j < i) break;
      exchange(i, j);
    }
    exchange(left, j);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
  if (right == left + 1 && after(left, right)) exchange(left, right);
}

// One value and its index from each slice: pick(items) gives the item. The dimension goes, or stays
// with size 1.
template <typename Pick>
TwoTensors pick_one(const Tensor& self, int64_t dim, bool keepdim, Pick pick) {
  const int64_t n = slice_length(self, dim);
  const IntArray shape = resized(self, dim, 1);
  const Tensor values = empty(shape, self.dtype()), indices = empty(shape, DType::kInt64);
  visit_compute<kOrdered>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    dim_apply<C>(self, dim, values, indices, [=](const C* in, C* value, int64_t* index) {
      auto items = items_of(in, n);
      const Item<C> item = pick(items);
      *value = item.value;
      *index = item.index;
    });
  });
  if (keepdim || self.dim() == 0) return {values, indices};
  return {squeeze(values, dim), squeeze(indices, dim)};
}

TwoTensors kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  TORCHLET_CHECK(k >= 1 && k <= slice_length(self, dim),
                 "kthvalue(): selected number k out of range for dimension %lld",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  return pick_one(self, dim, keepdim, [k](auto& items) {
    quick_select(items, static_cast<size_t>(k - 1));
    return items[static_cast<size_t>(k - 1)];
  });
}

// The lower of two middle elements; NaN if there is one, or among the numbers only.
TwoTensors median_with(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan) {
  TORCHLET_CHECK(slice_length(self, dim) > 0,
                 "median(): Expected reduction dim %lld to have non-zero size.",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  return pick_one(self, dim, keepdim, [ignore_nan](auto& items) {
    const size_t n = items.size();
    size_t numbers = n;
    for (const auto& item : items) {
      if (item.value == item.value) continue;
      if (!ignore_nan) return item;
      --numbers;
    }
    if (numbers == 0) return items[0];
    auto before = [](const auto& a, const auto& b) {
      return less(a.value, b.value) || (!less(b.value, a.value) && a.index < b.index);
    };
    const auto middle = items.begin() + static_cast<std::ptrdiff_t>((numbers - 1) / 2);
    std::nth_element(items.begin(), middle, items.end(), before);
    return *middle;
  });
}

template <bool IgnoreNan>
TwoTensors median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_with(self, dim, keepdim, IgnoreNan);
}

template <bool IgnoreNan>
Tensor median(const Tensor& self) {
  if (self.numel() == 0) return full({}, NAN, self.dtype());
  return std::get<0>(median_dim<IgnoreNan>(reshape(self, IntArray{-1}), 0, false));
}

// The smallest of the most frequent values.
TwoTensors mode(const Tensor& self, int64_t dim, bool keepdim) {
  TORCHLET_CHECK(slice_length(self, dim) > 0,
                 "mode(): Expected reduction dim %lld to have non-zero size.",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  return pick_one(self, dim, keepdim, [](auto& items) {
    std::sort(items.begin(), items.end(),
              [](const auto& a, const auto& b) { return less(a.value, b.value); });
    auto best = items[0];
    size_t most = 0, run = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      ++run;
      if (i + 1 < items.size() && items[i].value == items[i + 1].value) continue;
      if (run > most) {
        most = run;
        best = items[i];
      }
      run = 0;
    }
    return best;
  });
}

// ---- quantiles ----

enum class Interpolation { kLinear, kLower, kHigher, kMidpoint, kNearest };

Interpolation interpolation_of(const std::string& name) {
  if (name == "linear") return Interpolation::kLinear;
  if (name == "lower") return Interpolation::kLower;
  if (name == "higher") return Interpolation::kHigher;
  if (name == "midpoint") return Interpolation::kMidpoint;
  if (name == "nearest") return Interpolation::kNearest;
  fail(ErrorCode::kRuntime,
       "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
       "but got %s",
       name.c_str());
}

// The element of a sorted slice at a place between 0 and n - 1.
template <typename C>
C element_at(const C* sorted, C place, Interpolation interpolation) {
  const C below = interpolation == Interpolation::kNearest  ? std::nearbyint(place)
                  : interpolation == Interpolation::kHigher ? std::ceil(place)
                                                            : std::floor(place);
  const C lower = sorted[static_cast<int64_t>(below)];
  if (interpolation != Interpolation::kLinear && interpolation != Interpolation::kMidpoint) {
    return lower;
  }
  const C upper = sorted[static_cast<int64_t>(std::ceil(place))];
  const C weight = interpolation == Interpolation::kLinear ? place - below : C(0.5);
  return weight < C(0.5) ? lower + weight * (upper - lower)
                         : upper - (upper - lower) * (C(1) - weight);
}

// q is 0-d or 1-d; the result has q's dimension first.
Tensor quantile_with(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                     const std::string& interpolation, bool ignore_nan) {
  TORCHLET_CHECK(self.numel() > 0, "quantile() input tensor must be non-empty");
  TORCHLET_CHECK(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  TORCHLET_CHECK(self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64,
                 "quantile() input tensor must be either float or double dtype");
  TORCHLET_CHECK(q.dtype() == self.dtype(),
                 "quantile() q tensor must be same dtype as the input tensor");
  const Interpolation how = interpolation_of(interpolation);
  const CountedVector<double> places = [&] {
    const Tensor wide = reshape(q.to(DType::kFloat64), IntArray{-1});
    CountedVector<double> list(static_cast<size_t>(wide.numel()));
    for (size_t i = 0; i < list.size(); ++i) {
      list[i] = select(wide, 0, static_cast<int64_t>(i)).item<double>();
      TORCHLET_CHECK(list[i] >= 0 && list[i] <= 1,
                     "quantile() q values must be in the range [0, 1]");
    }
    return list;
  }();
  const Tensor input = dim ? self : reshape(self, IntArray{-1});
  const int64_t along = dim ? wrap_dim(*dim, self.dim()) : 0;
  const int64_t n = slice_length(input, along);
  const int64_t count = static_cast<int64_t>(places.size());
  const Tensor out =
      empty(resized(input.dim() ? input : reshape(input, IntArray{1}), along, count), self.dtype());
  visit_compute<kMapReal>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const Tensor source = input.dim() ? input : reshape(input, IntArray{1});
    dim_apply<C>(source, along, out, Tensor(), [&](const C* in, C* values, int64_t*) {
      CountedVector<C> sorted(in, in + n);
      std::sort(sorted.begin(), sorted.end(), less<C>);
      const int64_t nans = static_cast<int64_t>(
          std::count_if(sorted.begin(), sorted.end(), [](C x) { return std::isnan(x); }));
      const C last = static_cast<C>(std::max<int64_t>(0, n - 1 - (ignore_nan ? nans : 0)));
      for (int64_t i = 0; i < count; ++i) {
        values[i] = nans > 0 && !ignore_nan
                        ? sorted.back()
                        : element_at(sorted.data(),
                                     static_cast<C>(places[static_cast<size_t>(i)]) * last, how);
      }
    });
  });
  // [..., count, ...] -> [count, ..., 1 or nothing, ...]
  Tensor result = out;
  if (out.dim() > 0) {
    IntArray order{along};
    for (int64_t d = 0; d < out.dim(); ++d) {
      if (d != along) order.push_back(d);
    }
    result = permute(out, order);
  }
  if (keepdim) {
    IntArray shape(self.sizes());
    if (dim && self.dim() > 0) {
      shape[static_cast<size_t>(along)] = 1;
    } else {
      for (int64_t& size : shape) size = 1;
    }
    shape.insert(shape.begin(), count);
    result = reshape(result, shape);
  } else if (self.dim() == 0) {
    result = reshape(result, IntArray{count});
  }
  return (q.dim() == 0 ? select(result, 0, 0) : result).contiguous();
}

template <bool IgnoreNan>
Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  return quantile_with(self, q, dim, keepdim, interpolation, IgnoreNan);
}

template <bool IgnoreNan>
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       const std::string& interpolation) {
  TORCHLET_CHECK(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got %g", q);
  return quantile_with(self, scalar_tensor(q, self.dtype()), dim, keepdim, interpolation,
                       IgnoreNan);
}

}  // namespace

std::pair<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  auto [values, indices] = sort_dim(self, dim, descending);
  return {values, indices};
}

TORCHLET_OP_WITH(sort, out("values(values, indices)") | quantized_as_input(),
                 "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor "
                 "values, Tensor indices)",
                 sort_dim);
TORCHLET_OP_WITH(sort_stable, out("values_stable(values, indices)") | quantized_as_input(),
                 "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool "
                 "descending=False) -> (Tensor values, Tensor indices)",
                 sort_stable);
TORCHLET_OP(argsort, "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
            argsort);
TORCHLET_OP_WITH(argsort_stable, out("stable_out"),
                 "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool "
                 "descending=False) -> Tensor",
                 argsort_stable);
TORCHLET_OP_WITH(msort, out("out"), "aten::msort(Tensor self) -> Tensor", msort);
TORCHLET_OP_WITH(topk, out("values(values, indices)") | quantized_as_input(),
                 "aten::topk(Tensor self, int k, int dim=-1, bool largest=True, bool "
                 "sorted=True) -> (Tensor values, Tensor indices)",
                 topk);
TORCHLET_OP_WITH(kthvalue, out("values(values, indices)"),
                 "aten::kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> "
                 "(Tensor values, Tensor indices)",
                 kthvalue);
TORCHLET_OP_WITH(mode, out("values(values, indices)"),
                 "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, "
                 "Tensor indices)",
                 mode);

#define TORCHLET_MEDIAN(name, ignore_nan)                                               \
  TORCHLET_OP_WITH(name, out("out"), "aten::" #name "(Tensor self) -> Tensor",          \
                   median<ignore_nan>);                                                 \
  TORCHLET_OP_WITH(name##_dim, out("dim_values(values, indices)"),                      \
                   "aten::" #name                                                       \
                   ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, " \
                   "Tensor indices)",                                                   \
                   median_dim<ignore_nan>)

TORCHLET_MEDIAN(median, false);
TORCHLET_MEDIAN(nanmedian, true);

#define TORCHLET_QUANTILE(name, ignore_nan)                                               \
  TORCHLET_OP_WITH(name, out("out"),                                                      \
                   "aten::" #name                                                         \
                   "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "   \
                   "interpolation=\"linear\") -> Tensor",                                 \
                   quantile<ignore_nan>);                                                 \
  TORCHLET_OP_WITH(name##_scalar, out("scalar_out"),                                      \
                   "aten::" #name                                                         \
                   ".scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, " \
                   "str interpolation=\"linear\") -> Tensor",                             \
                   quantile_scalar<ignore_nan>)

TORCHLET_QUANTILE(quantile, false);
TORCHLET_QUANTILE(nanquantile, true);

}  // namespace torchlet::ops
