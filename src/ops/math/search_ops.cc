// Finding places in sorted sequences, and distinct elements.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted_vector.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/math/math.h"

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

// How many elements come before `value` (on the right: before or equal). NaN comes after all.
template <typename C, typename At>
int64_t place_of(const At& sorted, const int64_t* sorter, int64_t n, C value, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C at = sorted(sorter ? sorter[middle] : middle);
    if (right ? !(at > value) : !(at >= value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
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
  visit_compute<kOrdered>(result_type(sorted, values), [&](auto zero) {
    using C = decltype(zero);
    // A search looks at few of the boundaries, so few searches convert those that they look at.
    const bool is_few = sorted.dim() == 1 && values.numel() < sorted.numel() / 64;
    const CountedVector<C> boundaries = is_few ? CountedVector<C>() : elements_as<C>(sorted),
                           wanted = elements_as<C>(values);
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
    parallel_for(values.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / per_row * n;
        const int64_t* sorter_row = order.empty() ? nullptr : order.data() + row;
        const C* numbers = boundaries.data() + row;
        const C value = wanted[static_cast<size_t>(i)];
        place[i] =
            is_few ? place_of(one, sorter_row, n, value, right)
                   : place_of([=](int64_t k) { return numbers[k]; }, sorter_row, n, value, right);
      }
    });
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

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  const DType dtype = result_type(elements, test_elements);
  const Tensor out = empty_like(elements, DType::kBool);
  visit_compute<kOrdered>(dtype, [&](auto zero) {
    using C = decltype(zero);
    CountedVector<C> set = elements_as<C>(test_elements);
    std::erase_if(set, [](C x) { return x != x; });  // NaN is in no set
    std::sort(set.begin(), set.end());
    elementwise(out, {&elements, 1}, DType::kBool, DTypeOf<C>::value,
                [&](void* to, const void* const* in, int64_t count) {
                  const C* x = static_cast<const C*>(in[0]);
                  for (int64_t i = 0; i < count; ++i) {
                    const bool found =
                        x[i] == x[i] && std::binary_search(set.begin(), set.end(), x[i]);
                    static_cast<bool*>(to)[i] = found != invert;
                  }
                });
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

// Distinct elements of a flattened tensor; neighbours only if not `sorted`.
std::pair<Tensor, Groups> unique_elements(const Tensor& self, bool sorted) {
  return visit_compute<kOrdered>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const CountedVector<C> items = elements_as<C>(self);
    auto at = [&](int64_t i) { return items[static_cast<size_t>(i)]; };
    CountedVector<int64_t> order = iota(self.numel());
    if (sorted) {
      stable_sort(order, [&](int64_t a, int64_t b) {
        return at(a) < at(b) || (at(b) != at(b) && at(a) == at(a));
      });
    }
    Groups groups = group(order, [&](int64_t a, int64_t b) { return at(a) == at(b); });
    const Tensor out =
        empty(IntArray{static_cast<int64_t>(groups.first.size())}, DTypeOf<C>::value);
    C* value = out.template data_ptr<C>();
    for (int64_t i : groups.first) *value++ = at(i);
    return std::pair<Tensor, Groups>{out.to(self.dtype()), std::move(groups)};
  });
}

ThreeTensors unique(const Tensor& self, bool sorted, bool return_inverse, bool return_counts) {
  const auto [values, groups] = unique_elements(self, sorted);
  return {values, return_inverse ? index_tensor(groups.inverse, self.sizes()) : no_indices(),
          return_counts ? index_tensor(groups.counts) : no_indices()};
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
  const Tensor rows = self.dim() == 0 ? self : transpose(self, 0, dim);
  const Groups groups = visit_compute<kOrdered>(self.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const CountedVector<C> items = elements_as<C>(rows);
    const int64_t width = static_cast<int64_t>(items.size()) / n;
    auto row = [&](int64_t i) { return items.begin() + i * width; };
    CountedVector<int64_t> order = iota(n);
    if (sorted) {
      stable_sort(order, [&](int64_t a, int64_t b) {
        return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
      });
    }
    return group(order,
                 [&](int64_t a, int64_t b) { return std::equal(row(a), row(a) + width, row(b)); });
  });
  IntArray shape(self.sizes());
  if (self.dim() > 0) shape[static_cast<size_t>(dim)] = static_cast<int64_t>(groups.first.size());
  const Tensor values = empty(shape, self.dtype());
  if (self.dim() == 0) {
    values.copy_(self);
  } else {
    for (size_t i = 0; i < groups.first.size(); ++i) {
      select(values, dim, static_cast<int64_t>(i)).copy_(select(self, dim, groups.first[i]));
    }
  }
  return {values, index_tensor(groups.inverse), index_tensor(groups.counts)};
}

ThreeTensors unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim) {
  if (!dim) return unique(self, false, return_inverse, return_counts);
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
                 [](const Scalar& element, const Tensor& tests, bool unique, bool invert) {
                   return isin(wrapped_number(element), tests, unique, invert);
                 });

TORCHLET_OP_WITH(_unique, out("out(out0, out1)"),
                 "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> "
                 "(Tensor, Tensor)",
                 [](const Tensor& self, bool, bool return_inverse) {
                   auto [values, inverse, counts] = unique(self, true, return_inverse, false);
                   return std::tuple(values, inverse);
                 });
TORCHLET_OP_WITH(_unique2, out("out(out0, out1, out2)"),
                 "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
                 "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
                 [](const Tensor& self, bool, bool return_inverse, bool return_counts) {
                   return unique(self, true, return_inverse, return_counts);
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
