// Finding places in sorted sequences, and distinct elements.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

#include "base/counted_vector.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/indexed.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

constexpr int kOrdered = kMapWideReal | kMapInt;
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

// All elements in row-major order as C.
template <typename C>
CountedVector<C> elements_as(const Tensor& tensor) {
  const Tensor flat = tensor.to(DTypeOf<C>::value).contiguous();
  const C* data = flat.template data_ptr<C>();
  return {data, data + flat.numel()};
}

// ---- searchsorted ----

// Whether `element` comes before `value` (on the right: before or equal). All come before NaN.
template <bool kRight, typename C>
bool comes_before(C element, C value) {
  return kRight ? !(element > value) : !(element >= value);
}

// How many elements come before `value`, by the steps of PyTorch, which decide where the elements
// are not sorted.
template <bool kRight, typename C, typename At>
int64_t place_of(const At& at, int64_t n, C value) {
  uint64_t low = 0, high = static_cast<uint64_t>(n);
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (comes_before<kRight>(at(static_cast<int64_t>(middle)), value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<int64_t>(low);
}

// The same for `count` values among n >= 1 elements that are sorted. A step of a search waits for
// the one before, so several go side by side, and none of them jumps: no processor foresees which
// half it will be.
template <bool kRight, typename C>
void find_places(const C* elements, int64_t n, const C* values, int64_t count, int64_t* places) {
  constexpr int kTogether = 8;
  int64_t i = 0;
  for (; count - i >= kTogether; i += kTogether) {
    const C* from[kTogether];
    std::fill_n(from, kTogether, elements);
    for (int64_t left = n; left > 1; left -= left / 2) {
      const int64_t half = left / 2;
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; ++k) {
        from[k] += half * comes_before<kRight>(from[k][half - 1], values[i + k]);
      }
    }
    for (int k = 0; k < kTogether; ++k) {
      places[i + k] = from[k] - elements + comes_before<kRight>(*from[k], values[i + k]);
    }
  }
  for (; i < count; ++i) {
    places[i] = place_of<kRight>([=](int64_t k) { return elements[k]; }, n, values[i]);
  }
}

// False of NaN.
template <typename C>
bool is_sorted(const C* elements, int64_t n) {
  bool sorted = n > 0 && elements[0] == elements[0];
  for (int64_t i = 1; i < n; ++i) sorted &= elements[i - 1] <= elements[i];
  return sorted;
}

void check_searchsorted(const Tensor& sorted, const Tensor& values, const Tensor& sorter) {
  TORCHLET_CHECK(sorted.dim() != 0,
                 "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
                 "dimension is 1, and boundaries cannot be 0-d");
  if (sorter.defined()) {
    TORCHLET_CHECK(std::ranges::equal(sorter.sizes(), sorted.sizes()),
                   "torch.searchsorted(): boundary and sorter must have the same size");
    TORCHLET_CHECK(sorter.dtype() == DType::kInt64,
                   "torch.searchsorted(): sorter must be a tensor of long dtype");
    for (int64_t i : elements_as<int64_t>(sorter)) {
      TORCHLET_CHECK(i >= 0 && i < sorted.size(-1),
                     "torch.searchsorted(): sorter index out of range");
    }
  }
  if (sorted.dim() == 1) return;
  const bool same_rows = values.dim() == sorted.dim() &&
                         std::ranges::equal(values.sizes().first(values.sizes().size() - 1),
                                            sorted.sizes().first(sorted.sizes().size() - 1));
  TORCHLET_CHECK(same_rows,
                 "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                 "dimensions of boundaries tensor and input value tensor must match, but we got "
                 "boundaries tensor %s and input value tensor %s",
                 sorted.describe().c_str(), values.describe().c_str());
}

Tensor search(const Tensor& sorted, const Tensor& values, bool out_int32, bool right,
              const std::optional<std::string>& side, const Tensor& sorter) {
  if (side) {
    TORCHLET_CHECK(*side == "left" || *side == "right",
                   "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                   side->c_str());
    TORCHLET_CHECK(!right || *side == "right",
                   "torch.searchsorted(): side and right can't be set to opposites, got side of "
                   "left while right was True");
    right = *side == "right";
  }
  check_searchsorted(sorted, values, sorter);
  const Tensor out = empty(values.sizes(), out_int32 ? DType::kInt32 : DType::kInt64);
  if (values.numel() == 0) return out;
  const Tensor places = empty(values.sizes(), DType::kInt64);
  int64_t* place = places.data_ptr<int64_t>();
  const int64_t n = sorted.size(-1);
  const int64_t per_row = sorted.dim() == 1 ? values.numel() : values.size(-1);
  visit_compute<kMapReal | kMapInt>(result_type(sorted, values), [&](auto zero) {
    using C = decltype(zero);
    // A search looks at few of the boundaries, so few searches convert those that they look at.
    const bool is_line = sorted.dim() == 1;
    const bool is_few = is_line && per_row < n / 64;
    const Tensor boundaries = is_few ? Tensor() : dense_as<C>(sorted), wanted = dense_as<C>(values);
    const auto one = [&](int64_t i) {
      C number;
      convert_elements(
          static_cast<const std::byte*>(sorted.raw_data()) +
              i * sorted.stride(0) * static_cast<int64_t>(element_size(sorted.dtype())),
          sorted.dtype(), 1, &number, DTypeOf<C>::value, 1, 1);
      return number;
    };
    const CountedVector<int64_t> order =
        sorter.defined() ? elements_as<int64_t>(sorter) : CountedVector<int64_t>();
    const C* const numbers = const_data<C>(boundaries);
    // at(k): element k of the boundaries, which begin at `row`.
    const auto at = [&](int64_t row, int64_t k) {
      if (sorter.defined()) k = order[static_cast<size_t>(row + k)];
      return is_few ? one(k) : numbers[row + k];
    };
    // Fewer values are found before one knows that the elements are sorted.
    const bool is_worth_a_look = !sorter.defined() && per_row >= n / 64;
    const bool is_sorted_line = is_line && is_worth_a_look && is_sorted(numbers, n);
    const auto find = [&]<bool kRight>(std::bool_constant<kRight>) {
      parallel_for(values.numel(), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end;) {
          const int64_t row = is_line ? 0 : i / per_row * n;
          const int64_t count = std::min(end, (i / per_row + 1) * per_row) - i;
          const C* const some = const_data<C>(wanted) + i;
          if (is_line ? is_sorted_line : is_worth_a_look && is_sorted(numbers + row, n)) {
            find_places<kRight>(numbers + row, n, some, count, place + i);
          } else {
            for (int64_t k = 0; k < count; ++k) {
              place[i + k] = place_of<kRight>([&](int64_t j) { return at(row, j); }, n, some[k]);
            }
          }
          i += count;
        }
      });
    };
    right ? find(std::true_type()) : find(std::false_type());
  });
  return out_int32 ? places.to(DType::kInt32) : places;
}

Tensor searchsorted_scalar(const Tensor& sorted, const Scalar& value, bool out_int32, bool right,
                           const std::optional<std::string>& side, const Tensor& sorter) {
  TORCHLET_CHECK(sorted.dim() == 1,
                 "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
                 "dimension is 1");
  return search(sorted, wrapped_number(value), out_int32, right, side, sorter);
}

Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  TORCHLET_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(%lld)",
                 static_cast<long long>(boundaries.dim()));
  return search(boundaries, self, out_int32, right, std::nullopt, Tensor());
}

// ---- isin ----

// Whether contains(x) of each element, computed as C, or not if `invert`.
template <typename C, typename Contains>
void membership(const Tensor& out, const Tensor& elements, bool invert, const Contains& contains) {
  elementwise(out, {&elements, 1}, DType::kBool, DTypeOf<C>::value,
              [&](void* to, const void* const* in, int64_t count) {
                const C* x = static_cast<const C*>(in[0]);
                for (int64_t i = 0; i < count; ++i) {
                  static_cast<bool*>(to)[i] = contains(x[i]) != invert;
                }
              });
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  const DType dtype = result_type(elements, test_elements);
  const Tensor out = empty_like(elements, DType::kBool);
  visit_compute<kOrdered>(dtype, [&](auto zero) {
    using C = decltype(zero);
    CountedVector<C> set = elements_as<C>(test_elements);
    std::erase_if(set, [](C x) { return x != x; });  // NaN is in no set
    if constexpr (std::is_same_v<C, int64_t>) {
      // Integers of a small range are looked up in a table.
      const auto least = std::min_element(set.begin(), set.end());
      const auto most = std::max_element(set.begin(), set.end());
      const uint64_t low = set.empty() ? 0 : static_cast<uint64_t>(*least);
      const uint64_t range = set.empty() ? 0 : static_cast<uint64_t>(*most) - low;
      if (range / 8 < set.size() + static_cast<uint64_t>(elements.numel())) {
        CountedVector<uint8_t> held(static_cast<size_t>(range + 1));
        for (C x : set) held[static_cast<size_t>(static_cast<uint64_t>(x) - low)] = 1;
        return membership<C>(out, elements, invert, [&](C x) {
          const uint64_t place = static_cast<uint64_t>(x) - low;
          return place <= range && held[static_cast<size_t>(place)] != 0;
        });
      }
    }
    std::sort(set.begin(), set.end());
    membership<C>(out, elements, invert,
                  [&](C x) { return x == x && std::binary_search(set.begin(), set.end(), x); });
  });
  return out;
}

// ---- unique ----

// The distinct elements of `self` in order of `order`, which lists row-major positions so that
// equal ones are neighbours; `same` compares two positions.
struct Groups {
  CountedVector<int64_t> first;    // a position of each
  CountedVector<int64_t> inverse;  // group of each position
  CountedVector<int64_t> counts;
};

template <typename Same>
Groups group(const CountedVector<int64_t>& order, Same same) {
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

Tensor index_tensor(const CountedVector<int64_t>& list, IntSpan sizes) {
  const Tensor out = empty(sizes, DType::kInt64);
  std::copy(list.begin(), list.end(), out.data_ptr<int64_t>());
  return out;
}
Tensor index_tensor(const CountedVector<int64_t>& list) {
  return index_tensor(list, IntArray{static_cast<int64_t>(list.size())});
}
Tensor no_indices() { return empty(IntArray{0}, DType::kInt64); }

CountedVector<int64_t> iota(int64_t n) {
  CountedVector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Elements between two integers that are not much further apart than there are elements: counted
// in a table, which then has the group of each integer.
Groups grouped_integers(std::span<const int64_t> items, int64_t low, uint64_t range,
                        bool return_inverse, CountedVector<int64_t>& values) {
  const auto place = [&](int64_t x) {
    return static_cast<size_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(low));
  };
  CountedVector<int64_t> table(static_cast<size_t>(range + 1));
  for (int64_t x : items) ++table[place(x)];
  Groups groups;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == 0) continue;
    groups.counts.push_back(table[i]);
    table[i] = std::ssize(values);
    values.push_back(static_cast<int64_t>(static_cast<uint64_t>(low) + i));
  }
  if (!return_inverse) return groups;
  groups.inverse.resize(items.size());
  for (size_t k = 0; k < items.size(); ++k) groups.inverse[k] = table[place(items[k])];
  return groups;
}

// Which of false and true there are.
Tensor bools_in(const Tensor& self) {
  const Tensor dense = self.contiguous();
  IntArray found;
  for (const int value : {0, 1}) {
    if (self.numel() > 0 &&
        std::memchr(dense.raw_data(), value, static_cast<size_t>(self.numel()))) {
      found.push_back(value);
    }
  }
  const Tensor out = empty(IntArray{static_cast<int64_t>(found.size())}, DType::kBool);
  std::ranges::copy(found, static_cast<bool*>(out.raw_data()));
  return out;
}

ThreeTensors unique(const Tensor& self, bool return_inverse, bool return_counts) {
  if (self.dtype() == DType::kBool && !return_inverse && !return_counts) {
    return {bools_in(self), no_indices(), no_indices()};
  }
  return visit_compute<kOrdered>(self.dtype(), [&](auto zero) -> ThreeTensors {
    using C = decltype(zero);
    const Tensor dense = dense_as<C>(self);
    const std::span<const C> items(const_data<C>(dense), static_cast<size_t>(self.numel()));
    const auto result = [&](const CountedVector<C>& values, const Groups& groups) -> ThreeTensors {
      const Tensor out = empty(IntArray{std::ssize(values)}, DTypeOf<C>::value);
      std::copy(values.begin(), values.end(), static_cast<C*>(out.raw_data()));
      return {out.to(self.dtype()),
              return_inverse ? index_tensor(groups.inverse, self.sizes()) : no_indices(),
              return_counts ? index_tensor(groups.counts) : no_indices()};
    };
    CountedVector<C> values;
    if constexpr (std::is_same_v<C, int64_t>) {
      if (!items.empty()) {
        const auto [low, high] = std::ranges::minmax(items);
        const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
        if (range / 2 < items.size()) {
          const Groups groups = grouped_integers(items, low, range, return_inverse, values);
          return result(values, groups);
        }
      }
    }
    auto at = [&](int64_t i) { return items[static_cast<size_t>(i)]; };
    CountedVector<int64_t> order = iota(self.numel());
    stable_sort(order, [&](int64_t a, int64_t b) {
      return at(a) < at(b) || (at(b) != at(b) && at(a) == at(a));
    });
    const Groups groups = group(order, [&](int64_t a, int64_t b) { return at(a) == at(b); });
    for (int64_t i : groups.first) values.push_back(at(i));
    return result(values, groups);
  });
}

// Calls f with a zero of a type in which elements of the dtype are equal as they are in PyTorch,
// and that they may lie in memory as: integers that are equal have equal bits.
template <typename F>
void with_equality(DType dtype, const F& f) {
  TORCHLET_CHECK(!is_complex(dtype), "unique is not implemented for '%s'",
                 dtype_name(dtype).data());
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return f(float());
    case DType::kFloat64:
      return f(double());
    default:
      return with_width(dtype, [&](auto zero) {
        if constexpr (std::is_integral_v<decltype(zero)>) f(zero);
      });
  }
}

// Elements as a type of with_equality() has them.
template <typename E>
Tensor comparable(const Tensor& self) {
  if constexpr (std::is_integral_v<E>) {
    return self.contiguous();
  } else {
    return dense_as<E>(self);
  }
}

// How many runs of equal neighbours there are.
template <typename E>
int64_t runs_of(const E* items, int64_t n) {
  constexpr int64_t kStep = 64;  // of a known length, this becomes vectors
  int64_t runs = n > 0, i = 1;
  for (; i + kStep <= n; i += kStep) {
    int32_t some = 0;
    for (int64_t k = i; k < i + kStep; ++k) some += items[k] != items[k - 1];
    runs += some;
  }
  for (; i < n; ++i) runs += items[i] != items[i - 1];
  return runs;
}

// put(run, i) for the first element i of each run, and before that perhaps for elements of the run
// before: there is no branch that depends on the elements.
template <typename E, typename Put>
void for_each_first(const E* items, int64_t runs, const Put& put) {
  if (runs > 0) put(0, 0);
  for (int64_t run = 1, i = 1; run < runs; ++i) {
    put(run, i);
    run += items[i] != items[i - 1];
  }
}

// Places of which each begins a run, as lengths of runs.
void lengths_of(int64_t* first, int64_t runs, int64_t n) {
  for (int64_t k = 0; k < runs; ++k) first[k] = (k + 1 < runs ? first[k + 1] : n) - first[k];
}

ThreeTensors unique_neighbours(const Tensor& self, bool return_inverse, bool return_counts) {
  const int64_t n = self.numel();
  ThreeTensors result{Tensor(), no_indices(), no_indices()};
  with_equality(self.dtype(), [&](auto zero) {
    using E = decltype(zero);
    const Tensor dense = comparable<E>(self);
    const E* const items = static_cast<const E*>(dense.raw_data());
    const int64_t runs = runs_of(items, n);
    auto& [values, inverse, counts] = result;
    values = empty(IntArray{runs}, dense.dtype());
    if (return_inverse) inverse = empty(self.sizes(), DType::kInt64);
    if (return_counts) counts = empty(IntArray{runs}, DType::kInt64);
    E* const value = static_cast<E*>(values.raw_data());
    if (runs == n) {
      std::copy_n(items, n, value);
    } else {
      for_each_first(items, runs, [=](int64_t run, int64_t i) { value[run] = items[i]; });
    }
    if (return_inverse) {
      int64_t* const group = inverse.data_ptr<int64_t>();
      for (int64_t i = 0, run = 0; i < n; ++i) {
        run += items[i] != items[i > 0 ? i - 1 : 0];
        group[i] = run;
      }
    }
    if (return_counts) {
      int64_t* const first = counts.data_ptr<int64_t>();
      for_each_first(items, runs, [=](int64_t run, int64_t i) { first[run] = i; });
      lengths_of(first, runs, n);
    }
    values = values.to(self.dtype());
  });
  return result;
}

// Slices along `dim` that are equal to the one before them are of its group. They are compared in
// the order in which memory lies, until all are known to differ.
Groups neighbouring_slices(const Tensor& self, int64_t dim) {
  IntArray order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d);
  stable_sort(order, [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  const Tensor laid = permute(self, order);
  const int64_t n = self.size(dim);
  int64_t inner = 1, outer = 1;
  for (int64_t d = 0, *place = &outer; d < self.dim(); ++d) {
    if (order[static_cast<size_t>(d)] == dim) {
      place = &inner;
    } else {
      *place *= laid.size(d);
    }
  }
  CountedVector<uint8_t> differs(static_cast<size_t>(n));
  with_equality(self.dtype(), [&](auto zero) {
    using E = decltype(zero);
    const Tensor dense = comparable<E>(laid);
    const E* at = static_cast<const E*>(dense.raw_data());
    int64_t left = n - 1;
    for (int64_t o = 0; o < outer && left > 0; ++o, at += n * inner) {
      if (inner == 1) {  // elements side by side: without branches, and now and then counted
        uint8_t* const differ = differs.data();
        for (int64_t i = 1; i < n; ++i) differ[i] |= at[i] != at[i - 1];
        if (o % 16 == 0) left = std::ranges::count(differs, 0) - 1;
        continue;
      }
      for (int64_t i = 1; i < n; ++i) {
        uint8_t& differ = differs[static_cast<size_t>(i)];
        const E* const slice = at + i * inner;
        if (differ || std::equal(slice, slice + inner, slice - inner)) continue;
        differ = 1;
        --left;
      }
    }
  });
  return group(iota(n), [&](int64_t, int64_t i) { return !differs[static_cast<size_t>(i)]; });
}

// Equal slices along `dim`, in lexicographic order of their elements, as they lie where `dim` and
// the first dimension change places.
Groups sorted_slices(const Tensor& self, int64_t dim) {
  return visit_compute<kMapReal | kMapInt>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    IntArray order{dim};
    int64_t between = 1, after = 1;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d != dim) order.push_back(d);
      if (d > 0 && d != dim) (d < dim ? between : after) *= self.size(d);
    }
    const Tensor rows = permute(self, order).to(DTypeOf<C>::value).contiguous();
    const int64_t n = rows.size(0), width = rows.numel() / n;
    const int64_t firsts = width / (between * after);
    auto row = [&](int64_t i) { return const_data<C>(rows) + i * width; };
    CountedVector<int64_t> places = iota(n);
    stable_sort(places, [&](int64_t a, int64_t b) {
      for (int64_t part = 0; part < between * firsts; ++part) {
        const int64_t at = (part % firsts * between + part / firsts) * after;
        const C *const x = row(a) + at, *const y = row(b) + at;
        for (int64_t i = 0; i < after; ++i) {
          if (x[i] < y[i] || y[i] < x[i]) return x[i] < y[i];
        }
      }
      return false;
    });
    return group(places,
                 [&](int64_t a, int64_t b) { return std::equal(row(a), row(a) + width, row(b)); });
  });
}

// Distinct slices along a dimension, in lexicographic order if `sorted`.
ThreeTensors unique_slices(const Tensor& self, int64_t dim, bool sorted) {
  dim = wrap_dim(dim, self.dim());
  const int64_t n = self.dim() == 0 ? 1 : self.size(dim);
  for (int64_t d = 0; d < self.dim(); ++d) {
    TORCHLET_CHECK(d == dim || self.size(d) != 0,
                   "There are 0 sized dimensions, and they aren't selected, so unique cannot be "
                   "applied");
  }
  if (n == 0) return {self.clone(), no_indices(), no_indices()};
  const Tensor slices = self.dim() == 0 ? reshape(self, IntArray{1}) : self;
  const Groups groups = sorted ? sorted_slices(slices, dim) : neighbouring_slices(slices, dim);
  const Tensor values = sorted || std::ssize(groups.first) < n
                            ? index_select(slices, dim, index_tensor(groups.first))
                            : clone(slices, MemoryFormat::kContiguous);
  return {self.dim() == 0 ? reshape(values, {}) : values, index_tensor(groups.inverse),
          index_tensor(groups.counts)};
}

ThreeTensors unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim) {
  if (!dim) return unique_neighbours(self, return_inverse, return_counts);
  return unique_slices(self, *dim, false);
}

}  // namespace

TORCHLET_OP_WITH(searchsorted_Tensor, out("Tensor_out"),
                 "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool "
                 "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
                 "Tensor",
                 search);
TORCHLET_OP_WITH(searchsorted_Scalar, out("Scalar_out"),
                 "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool "
                 "out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> "
                 "Tensor",
                 searchsorted_scalar);
TORCHLET_OP_WITH(bucketize_Tensor, out("Tensor_out"),
                 "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool "
                 "out_int32=False, bool right=False) -> Tensor",
                 bucketize);
TORCHLET_OP_WITH(bucketize_Scalar, out("Scalar_out"),
                 "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool "
                 "out_int32=False, bool right=False) -> Tensor",
                 [](const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
                   return bucketize(wrapped_number(self), boundaries, out_int32, right);
                 });

TORCHLET_OP_WITH(isin_Tensor_Tensor, out("Tensor_Tensor_out"),
                 "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool "
                 "assume_unique=False, bool invert=False) -> Tensor",
                 isin);
TORCHLET_OP_WITH(isin_Tensor_Scalar, out("Tensor_Scalar_out"),
                 "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool "
                 "assume_unique=False, bool invert=False) -> Tensor",
                 [](const Tensor& elements, const Scalar& test, bool, bool invert) {
                   return invert ? ne(elements, test) : eq(elements, test);
                 });
TORCHLET_OP_WITH(isin_Scalar_Tensor, out("Scalar_Tensor_out"),
                 "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool "
                 "assume_unique=False, bool invert=False) -> Tensor",
                 [](const Scalar& element, const Tensor& tests, bool, bool invert) {
                   return scalar_tensor(any(eq(tests, element)) != invert, DType::kBool);
                 });

TORCHLET_OP_WITH(_unique, out("out(out0, out1)"),
                 "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> "
                 "(Tensor, Tensor)",
                 [](const Tensor& self, bool, bool return_inverse) {
                   auto [values, inverse, counts] = unique(self, return_inverse, false);
                   return std::tuple(values, inverse);
                 });
TORCHLET_OP_WITH(_unique2, out("out(out0, out1, out2)"),
                 "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
                 "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
                 [](const Tensor& self, bool, bool return_inverse, bool return_counts) {
                   return unique(self, return_inverse, return_counts);
                 });
TORCHLET_OP_WITH(unique_consecutive, out("out(out0, out1, out2)"),
                 "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool "
                 "return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
                 unique_consecutive);
TORCHLET_OP_WITH(unique_dim, out("out(out0, out1, out2)"),
                 "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool "
                 "return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
                 [](const Tensor& self, int64_t dim, bool, bool, bool) {
                   return unique_slices(self, dim, true);
                 });
TORCHLET_OP_WITH(unique_dim_consecutive, out("out(out0, out1, out2)"),
                 "aten::unique_dim_consecutive(Tensor self, int dim, bool "
                 "return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
                 [](const Tensor& self, int64_t dim, bool, bool) {
                   return unique_slices(self, dim, false);
                 });

}  // namespace torchlet::ops
