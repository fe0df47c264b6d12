// Sorting and order statistics along a dimension. NaN counts as larger than every number.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/counted_vector.h"
#include "kernels/reduce/find.h"
#include "kernels/simd/scratch.h"
#include "ops/core/op.h"
#include "ops/engines/dim_apply.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/indexed.h"
#include "ops/engines/quantize.h"
#include "ops/math/math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

using TwoTensors = std::tuple<Tensor, Tensor>;

// Elements of a slice become numbers in the same order, with their places: one copy of an algorithm
// serves many dtypes and both directions. PyTorch's answers depend on the algorithm where elements
// are equal, so what compares keys alone has to be the one that PyTorch calls.
struct Narrow {  // a key of 32 bits above a place of 32 bits
  uint64_t bits;

  static Narrow of(uint64_t key, int64_t index) {
    return {key << 32 | static_cast<uint64_t>(index)};
  }
  uint64_t key() const { return bits >> 32; }
  int64_t index() const { return static_cast<int64_t>(bits & 0xFFFFFFFF); }
  uint64_t rank() const { return bits; }
};
struct Wide {
  uint64_t bits;
  int64_t at;

  static Wide of(uint64_t key, int64_t index) { return {key, index}; }
  uint64_t key() const { return bits; }
  int64_t index() const { return at; }
  std::pair<uint64_t, int64_t> rank() const { return {bits, at}; }
};

constexpr auto before = [](const auto& a, const auto& b) { return a.key() < b.key(); };
// Among equal elements the first one comes first.
constexpr auto stably_before = [](const auto& a, const auto& b) { return a.rank() < b.rank(); };

// The key of NaN, if there may be any: no number has it.
std::optional<uint64_t> nan_key(DType dtype) {
  if (!is_floating_point(dtype)) return std::nullopt;
  return ~uint64_t{0} >> (64 - 8 * element_size(dtype));
}

// Keys of elements of the width of U: -0 is 0. `down` turns their order around.
template <typename U, typename I>
void load_items(const void* slice, DType dtype, int64_t n, bool down, I* items) {
  const U* const x = static_cast<const U*>(slice);
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const U flip = down ? static_cast<U>(~U{0}) : U{0};
  const auto load = [&](auto key) {
    for (int64_t i = 0; i < n; ++i) items[i] = I::of(static_cast<U>(key(x[i]) ^ flip), i);
  };
  if (is_floating_point(dtype)) {
    const U infinity = static_cast<U>(dtype == DType::kFloat16    ? 0x7C00
                                      : dtype == DType::kBFloat16 ? 0x7F80
                                      : dtype == DType::kFloat32  ? 0x7F800000
                                                                  : 0x7FF0000000000000);
    load([=](U bits) {
      const U size = bits & static_cast<U>(~kSign);
      const U key = bits == size || size == 0 ? size | kSign : static_cast<U>(~bits);
      return size > infinity ? static_cast<U>(~U{0}) : key;
    });
  } else {
    const U sign = dtype == DType::kBool || dtype == DType::kUInt8 ? U{0} : kSign;
    load([=](U bits) { return static_cast<U>(bits ^ sign); });
  }
}

// What `count` items stand for, as values and indices of a slice.
template <typename U, typename I>
void store_items(const I* items, int64_t count, const void* slice, void* values, int64_t* indices) {
  for (int64_t i = 0; values && i < count; ++i) {
    static_cast<U*>(values)[i] = static_cast<const U*>(slice)[items[i].index()];
  }
  for (int64_t i = 0; indices && i < count; ++i) indices[i] = items[i].index();
}

// For every slice along dim: found = pick(items, n) orders its items, and `count` of them from
// there on are the slice of `values` and `indices`, of which one may be undefined.
template <typename Pick>
void pick_items(const Tensor& self, int64_t dim, bool down, int64_t count, const Tensor& values,
                const Tensor& indices, const Pick& pick) {
  const DType dtype = self.dtype();
  TORCHLET_CHECK(!is_complex(dtype), "sorting is not implemented for '%s'",
                 dtype_name(dtype).data());
  const int64_t n = self.dim() == 0 ? 1 : self.size(dim);
  if (n == 1 && count == 1) {
    if (values.defined()) values.copy_(self);
    if (indices.defined() && !is_meta(indices)) indices.copy_(zeros({}, DType::kInt64));
    return;
  }
  const auto with_items = [&](auto item) {
    using I = decltype(item);
    auto load = &load_items<uint64_t, I>;
    auto store = &store_items<uint64_t, I>;
    with_width(dtype, [&](auto zero) {
      if constexpr (std::is_integral_v<decltype(zero)>) {
        load = &load_items<decltype(zero), I>;
        store = &store_items<decltype(zero), I>;
      }
    });
    dim_apply_of(self, dim, values, indices, dtype, [=](const void* in, void* out, int64_t* at) {
      const auto run = [&](I* items) {
        load(in, dtype, n, down, items);
        const I* const found = pick(items, n);
        store(found, count, in, out, at);
      };
      constexpr int64_t kFew = 32;
      if (n <= kFew) {
        I items[kFew];
        run(items);
      } else {
        run(kernels::Scratch<I>(n).data());
      }
    });
  };
  const bool narrow = element_size(dtype) <= 4 && n <= int64_t{1} << 32;
  narrow ? with_items(Narrow()) : with_items(Wide());
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

void sort_into(const Tensor& self, bool stable, int64_t dim, bool down, const Tensor& values,
               const Tensor& indices) {
  pick_items(
      self, dim, down, slice_length(self, dim), values, indices, [=](auto* items, int64_t n) {
        // Unless asked for a stable order PyTorch calls std::sort, and where models sort quantized
        // scores, which are full of equal ones, what they pick then depends on its order.
        stable ? std::sort(items, items + n, stably_before) : std::sort(items, items + n, before);
        return items;
      });
}

TwoTensors sort_stable(const Tensor& self, std::optional<bool> stable, int64_t dim, bool down) {
  if (self.is_quantized()) {
    return as_quantized(self, [&](const Tensor& x) { return sort_stable(x, stable, dim, down); });
  }
  const Tensor values = empty_like(self), indices = empty_like(self, DType::kInt64);
  sort_into(self, stable.value_or(false), dim, down, values, indices);
  return {values, indices};
}
TwoTensors sort_dim(const Tensor& self, int64_t dim, bool down) {
  return sort_stable(self, false, dim, down);
}
Tensor argsort_stable(const Tensor& self, bool stable, int64_t dim, bool down) {
  if (self.is_quantized()) return argsort_stable(dequantize(self), stable, dim, down);
  const Tensor indices = empty_like(self, DType::kInt64);
  sort_into(self, stable, dim, down, Tensor(), indices);
  return indices;
}
Tensor argsort(const Tensor& self, int64_t dim, bool down) {
  return argsort_stable(self, false, dim, down);
}
Tensor msort(const Tensor& self) {
  if (self.is_quantized()) return std::get<0>(sort_dim(self, 0, false));
  const Tensor values = empty_like(self);
  sort_into(self, false, 0, false, values, Tensor());
  return values;
}

IntArray resized(const Tensor& self, int64_t dim, int64_t size) {
  IntArray shape(self.sizes());
  if (self.dim() > 0) shape[static_cast<size_t>(wrap_dim(dim, self.dim()))] = size;
  return shape;
}

// Replaces the top of a heap: the hole goes down to a leaf by the later of two children, and the
// item up from there, as in std::pop_heap() of libstdc++, on which the order of equal ones depends.
template <typename I>
void replace_top(I* heap, int64_t count, I item) {
  int64_t hole = 0;
  for (int64_t child = 2; child <= count; child = 2 * hole + 2) {
    if (child == count || before(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  for (int64_t parent = (hole - 1) / 2; hole > 0 && before(heap[parent], item);
       parent = (hole - 1) / 2) {
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = item;
}

// What std::partial_sort() finds, which goes through a heap: most floats are seen to be none of the
// first `k` before they become items.
void pick_floats(const Tensor& self, int64_t dim, bool down, int64_t k, const Tensor& values,
                 const Tensor& indices) {
  const int64_t n = slice_length(self, dim);
  dim_apply_of(self, dim, values, indices, DType::kFloat32,
               [=](const void* in, void* out, int64_t* at) {
                 const float* const x = static_cast<const float*>(in);
                 const kernels::Scratch<Narrow> items(k);
                 Narrow* const heap = items.data();
                 load_items<uint32_t>(x, DType::kFloat32, k, down, heap);
                 std::make_heap(heap, heap + k, before);
                 for (int64_t i = k;; ++i) {
                   i = kernels::find_beyond(x, i, n, x[heap[0].index()], down);
                   if (i >= n) break;
                   Narrow item;
                   load_items<uint32_t>(x + i, DType::kFloat32, 1, down, &item);
                   if (before(item, heap[0])) replace_top(heap, k, Narrow::of(item.key(), i));
                 }
                 std::sort_heap(heap, heap + k, before);
                 store_items<uint32_t>(heap, k, in, out, at);
               });
}

// The order among equal elements is that of PyTorch's choice of algorithms.
TwoTensors topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  if (self.is_quantized()) {
    return as_quantized(self, [&](const Tensor& x) { return topk(x, k, dim, largest, sorted); });
  }
  const int64_t length = slice_length(self, dim);
  TORCHLET_CHECK(k >= 0 && k <= length, "selected index k out of range");
  const IntArray shape = resized(self, dim, k);
  const Tensor values = empty(shape, self.dtype()), indices = empty(shape, DType::kInt64);
  if (k == 0) return {values, indices};
  const bool is_narrow = self.dtype() == DType::kFloat32 && length <= int64_t{1} << 32;
  if (selection::kHasConversions && is_narrow && k * 64 <= length) {
    pick_floats(self, dim, largest, k, values, indices);
    return {values, indices};
  }
  pick_items(self, dim, largest, k, values, indices, [=](auto* items, int64_t n) {
    if (k * 64 <= n) {
      std::partial_sort(items, items + k, items + n, before);
    } else {
      std::nth_element(items, items + k - 1, items + n, before);
      if (sorted) std::sort(items, items + k - 1, before);
    }
    return items;
  });
  return {values, indices};
}

// Hoare's selection with a median-of-three pivot: afterwards items[k] is in its sorted place. Which
// of equal elements that is follows from the order of the exchanges, so they are PyTorch's.
template <typename I>
void quick_select(I* items, int64_t n, int64_t k) {
  auto after = [&](int64_t a, int64_t b) { return before(items[b], items[a]); };
  auto exchange = [&](int64_t a, int64_t b) { std::swap(items[a], items[b]); };
  int64_t left = 0, right = n - 1;
  while (right > left + 1) {
    exchange(left + (right - left) / 2, left + 1);
    if (after(left + 1, right)) exchange(left + 1, right);
    if (after(left, right)) exchange(left, right);
    if (after(left + 1, left)) exchange(left + 1, left);
    int64_t i = left + 1, j = right;
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

// One value and its index from each slice: pick(items, n) gives the item. The dimension goes, or
// stays with size 1.
template <typename Pick>
TwoTensors pick_one(const Tensor& self, int64_t dim, bool keepdim, const Pick& pick) {
  const IntArray shape = resized(self, dim, 1);
  const Tensor values = empty(shape, self.dtype()), indices = empty(shape, DType::kInt64);
  pick_items(self, dim, false, 1, values, indices, pick);
  if (keepdim || self.dim() == 0) return {values, indices};
  return {squeeze(values, dim), squeeze(indices, dim)};
}

TwoTensors kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  TORCHLET_CHECK(k >= 1 && k <= slice_length(self, dim),
                 "kthvalue(): selected number k out of range for dimension %lld",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  return pick_one(self, dim, keepdim, [k](auto* items, int64_t n) {
    quick_select(items, n, k - 1);
    return items + k - 1;
  });
}

// The lower of two middle elements; NaN if there is one, or among the numbers only.
TwoTensors median_with(const Tensor& self, int64_t dim, bool keepdim, bool ignore_nan) {
  TORCHLET_CHECK(slice_length(self, dim) > 0,
                 "median(): Expected reduction dim %lld to have non-zero size.",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  const std::optional<uint64_t> nan = nan_key(self.dtype());
  return pick_one(self, dim, keepdim, [=](auto* items, int64_t n) {
    int64_t numbers = n;
    for (int64_t i = 0; nan && i < n; ++i) {
      if (items[i].key() != *nan) continue;
      if (!ignore_nan) return items + i;
      --numbers;
    }
    if (numbers == 0) return items;
    auto* const middle = items + (numbers - 1) / 2;
    std::nth_element(items, middle, items + n, stably_before);
    return middle;
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

// The smallest of the most frequent values; each NaN is another one.
TwoTensors mode(const Tensor& self, int64_t dim, bool keepdim) {
  TORCHLET_CHECK(slice_length(self, dim) > 0,
                 "mode(): Expected reduction dim %lld to have non-zero size.",
                 static_cast<long long>(wrap_dim(dim, self.dim())));
  const std::optional<uint64_t> nan = nan_key(self.dtype());
  return pick_one(self, dim, keepdim, [=](auto* items, int64_t n) {
    std::sort(items, items + n, before);
    int64_t best = 0, most = 0, run = 0;
    for (int64_t i = 0; i < n; ++i) {
      ++run;
      const uint64_t key = items[i].key();
      if (i + 1 < n && key == items[i + 1].key() && nan != key) continue;
      if (run > most) {
        most = run;
        best = i;
      }
      run = 0;
    }
    return items + best;
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
      std::sort(sorted.begin(), sorted.end(), [](C a, C b) { return a < b || (b != b && a == a); });
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
