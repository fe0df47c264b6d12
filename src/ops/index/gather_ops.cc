// gather and scatter: one index for each element, along one dimension.
#include <cmath>
#include <limits>

#include "base/counted_vector.h"
#include "ops/core/op.h"
#include "ops/engines/indexed.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

// 0-d tensors are treated as one element in one dimension.
Tensor at_least_1d(const Tensor& tensor) {
  return tensor.dim() ? tensor
                      : make_view(tensor, IntArray{1}, IntArray{1}, tensor.storage_offset());
}

// The walk over all elements of `index`: element (i, j, k) pairs other[i, j, k] with self[i, j, k],
// in which the coordinate of dimension `dim` is replaced by index[i, j, k].
struct IndexWalk {
  Tensor index;  // int64, contiguous
  size_t dim;
  IntArray self_strides;   // 0 in `dim`
  IntArray other_strides;  // of the second tensor, along the index's dimensions
  int64_t dim_size, dim_stride;
};

IndexWalk make_walk(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other,
                    const char* name) {
  TORCHLET_CHECK(index.dtype() == DType::kInt64, "%s: Expected dtype int64 for index, got %s", name,
                 index.describe().c_str());
  const Tensor target = at_least_1d(self), positions = at_least_1d(index);
  const size_t d = static_cast<size_t>(wrap_dim(dim, target.dim()));
  TORCHLET_CHECK(positions.dim() == target.dim(),
                 "Index tensor must have the same number of dimensions as self tensor: %s and %s",
                 index.describe().c_str(), self.describe().c_str());
  for (size_t i = 0; i < positions.sizes().size(); ++i) {
    TORCHLET_CHECK(i == d || positions.sizes()[i] <= target.sizes()[i],
                   "Size does not match at dimension %zu expected index %s to be smaller than self "
                   "%s apart from dimension %zu",
                   i, index.describe().c_str(), self.describe().c_str(), d);
  }
  IndexWalk walk;
  walk.index = positions.contiguous();
  walk.dim = d;
  walk.self_strides = target.strides();
  walk.self_strides[d] = 0;
  walk.other_strides = at_least_1d(other).strides();
  walk.dim_size = target.sizes()[d];
  walk.dim_stride = target.strides()[d];
  return walk;
}

// One run of an index: `at` and `to` are the elements of self and other that belong to its first
// position, whose coordinate in `dim` still counts as 0.
using PairRun = FunctionRef<void(void* at, void* to, const int64_t* positions, int64_t count)>;

void for_each_pair_run(const IndexWalk& walk, void* self, void* other, int64_t width, bool parallel,
                       PairRun run) {
  const IntSpan sizes = walk.index.sizes();
  const size_t last = sizes.size() - 1;
  const int64_t inner = sizes[last];
  if (walk.index.numel() == 0) return;
  const StridedOffsets self_offset(sizes.first(last), IntSpan(walk.self_strides).first(last));
  const StridedOffsets other_offset(sizes.first(last), IntSpan(walk.other_strides).first(last));
  const int64_t* index = walk.index.data_ptr<int64_t>();
  auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t* positions = index + row * inner;
      uint64_t signs = 0;  // of numbers that are negative if a position is out of bounds
      for (int64_t i = 0; i < inner; ++i) {
        const auto at = static_cast<uint64_t>(positions[i]);
        signs |= at | (static_cast<uint64_t>(walk.dim_size) - 1 - at);
      }
      for (int64_t i = 0; signs >> 63 && i < inner; ++i) {
        TORCHLET_CHECK(positions[i] >= 0 && positions[i] < walk.dim_size,
                       "index %lld is out of bounds for dimension %zu with size %lld",
                       static_cast<long long>(positions[i]), walk.dim,
                       static_cast<long long>(walk.dim_size));
      }
      run(static_cast<std::byte*>(self) + self_offset(row) * width,
          static_cast<std::byte*>(other) + other_offset(row) * width, positions, inner);
    }
  };
  const int64_t count = walk.index.numel() / inner;
  if (parallel) {
    parallel_for(count, std::max<int64_t>(1, 32768 / inner), rows);
  } else {
    rows(0, count);
  }
}

// fn(self element, other element) for each element of the index. Rows may run on several threads if
// `parallel`, which is for functions that only write to `other`.
template <typename T, typename Fn>
void for_each_pair(const IndexWalk& walk, T* self, T* other, bool parallel, const Fn& fn) {
  const int64_t self_step = walk.self_strides.back(), other_step = walk.other_strides.back();
  for_each_pair_run(walk, self, other, sizeof(T), parallel,
                    [&](void* at, void* to, const int64_t* positions, int64_t count) {
                      for (int64_t i = 0; i < count; ++i) {
                        fn(static_cast<T*>(at)[i * self_step + positions[i] * walk.dim_stride],
                           static_cast<T*>(to)[i * other_step]);
                      }
                    });
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  const Tensor result = empty(index.sizes(), self.dtype());
  if (index.numel() == 0) {
    wrap_dim(dim, self.dim());
    return result;
  }
  result.impl()->quantizer = self.impl()->quantizer;
  TORCHLET_CHECK(index.dtype() == DType::kInt64, "gather(): Expected dtype int64 for index");
  const IndexWalk walk = make_walk(self, dim, index, result, "gather()");
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_pair(walk, static_cast<T*>(self.raw_data()), static_cast<T*>(result.raw_data()), true,
                  [](const T& from, T& to) { to = from; });
  });
  return result;
}

namespace {

void check_scatter(const Tensor& self, const Tensor& index, const Tensor& source,
                   const char* name) {
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "%s: Expected self.dtype to be equal to src.dtype, got %s and %s", name,
                 dtype_name(self.dtype()).data(), dtype_name(source.dtype()).data());
  if (index.numel() == 0) return;
  const Tensor positions = at_least_1d(index), values = at_least_1d(source);
  TORCHLET_CHECK(positions.dim() == values.dim(),
                 "Index tensor must have the same number of dimensions as src tensor: %s and %s",
                 index.describe().c_str(), source.describe().c_str());
  for (size_t i = 0; i < positions.sizes().size(); ++i) {
    TORCHLET_CHECK(positions.sizes()[i] <= values.sizes()[i],
                   "%s: Expected index %s to be smaller size than src %s in all dimensions", name,
                   index.describe().c_str(), source.describe().c_str());
  }
}

enum class Reduce { kNone, kSum, kProduct, kMean, kMax, kMin };

template <typename T>
T identity_of(Reduce reduce) {
  if constexpr (std::is_arithmetic_v<T>) {
    constexpr bool kFloating = std::is_floating_point_v<T>;
    using Limits = std::numeric_limits<T>;
    if (reduce == Reduce::kMax) return kFloating ? -Limits::infinity() : Limits::lowest();
    if (reduce == Reduce::kMin) return kFloating ? Limits::infinity() : Limits::max();
  }
  return reduce == Reduce::kProduct ? T(1) : T(0);
}

// NaN wins over everything, as torch.amax has it.
template <typename T>
T larger(T a, T b) {
  return b > a || b != b ? b : a;
}
template <typename T>
T smaller(T a, T b) {
  return b < a || b != b ? b : a;
}

template <typename T>
void reduce_pairs(const IndexWalk& walk, T* self, T* source, Reduce reduce) {
  switch (reduce) {
    case Reduce::kNone:
      return for_each_pair(walk, self, source, false, [](T& to, const T& from) { to = from; });
    case Reduce::kSum:
    case Reduce::kMean:
      return for_each_pair(walk, self, source, false, [](T& to, const T& from) { to += from; });
    case Reduce::kProduct:
      return for_each_pair(walk, self, source, false, [](T& to, const T& from) { to *= from; });
    case Reduce::kMax:
    case Reduce::kMin:
      if constexpr (std::is_arithmetic_v<T>) {
        if (reduce == Reduce::kMax) {
          return for_each_pair(walk, self, source, false,
                               [](T& to, const T& from) { to = larger(to, from); });
        }
        return for_each_pair(walk, self, source, false,
                             [](T& to, const T& from) { to = smaller(to, from); });
      } else {
        fail(ErrorCode::kRuntime, "scatter: amax and amin are not defined for complex numbers");
      }
  }
}

// How many source elements landed on each element of self (1 more if self counts as well).
CountedVector<int64_t> count_hits(const Tensor& wide, int64_t dim, const Tensor& index,
                                  bool include_self) {
  CountedVector<int64_t> counts(static_cast<size_t>(wide.numel()), include_self ? 1 : 0);
  const Tensor one = scalar_tensor(1, DType::kInt64);
  Tensor ones = expand(at_least_1d(one), at_least_1d(index).sizes());
  const IndexWalk walk = make_walk(wide, dim, index, ones, "scatter_reduce()");
  for_each_pair(walk, counts.data(), ones.data_ptr<int64_t>(), false,
                [](int64_t& count, int64_t&) { ++count; });
  return counts;
}

template <typename T>
T mean_of(T sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return sum / count - (sum % count != 0 && sum < 0 ? 1 : 0);
  } else {
    return sum / static_cast<T>(count);
  }
}

void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    Reduce reduce, bool include_self) {
  with_wide(self, [&](auto zero, const Tensor& wide) {
    using T = decltype(zero);
    T* data = wide.template data_ptr<T>();
    const Tensor values = source.to(wide.dtype());
    const IndexWalk walk = make_walk(wide, dim, index, values, "scatter()");
    if (!include_self) {
      const T identity = identity_of<T>(reduce);
      for_each_pair(walk, data, values.template data_ptr<T>(), false,
                    [&](T& to, const T&) { to = identity; });
    }
    reduce_pairs(walk, data, values.template data_ptr<T>(), reduce);
    if (reduce != Reduce::kMean) return;
    const CountedVector<int64_t> counts = count_hits(wide, dim, index, include_self);
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 1) data[i] = mean_of(data[i], counts[i]);
    }
  });
}

Tensor scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_scatter(self, index, source, "scatter()");
  if (index.numel() == 0) return self;
  const IndexWalk walk = make_walk(self, dim, index, source, "scatter()");
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_pair(walk, static_cast<T*>(self.raw_data()), static_cast<T*>(source.raw_data()), false,
                  [](T& to, const T& from) { to = from; });
  });
  return self;
}

Tensor value_like(const Tensor& self, const Tensor& index, const Scalar& value) {
  return expand(element_of(self, value), index.sizes());
}

Tensor scatter_value_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_(self, dim, index, value_like(self, index, value));
}

Reduce arithmetic_reduce(const std::string& name) {
  if (name == "add") return Reduce::kSum;
  if (name == "multiply") return Reduce::kProduct;
  fail(ErrorCode::kRuntime, "reduce argument must be either add or multiply.");
}

Tensor scatter_arithmetic_(const Tensor& self, int64_t dim, const Tensor& index,
                           const Tensor& source, const std::string& reduce) {
  const Reduce kind = arithmetic_reduce(reduce);
  check_scatter(self, index, source, "scatter()");
  if (index.numel() > 0) scatter_reduce(self, dim, index, source, kind, true);
  return self;
}

Tensor scatter_arithmetic_value_(const Tensor& self, int64_t dim, const Tensor& index,
                                 const Scalar& value, const std::string& reduce) {
  return scatter_arithmetic_(self, dim, index, value_like(self, index, value), reduce);
}

Tensor scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_scatter(self, index, source, "scatter_add()");
  if (index.numel() > 0) scatter_reduce(self, dim, index, source, Reduce::kSum, true);
  return self;
}

Reduce named_reduce(const std::string& name) {
  if (name == "sum") return Reduce::kSum;
  if (name == "prod") return Reduce::kProduct;
  if (name == "mean") return Reduce::kMean;
  if (name == "amax") return Reduce::kMax;
  if (name == "amin") return Reduce::kMin;
  fail(ErrorCode::kRuntime, "reduce argument must be either sum, prod, mean, amax or amin, got %s",
       name.c_str());
}

Tensor scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                       const std::string& reduce, bool include_self) {
  const Reduce kind = named_reduce(reduce);
  check_scatter(self, index, source, "scatter_reduce()");
  if (index.numel() > 0) scatter_reduce(self, dim, index, source, kind, include_self);
  return self;
}

// Whole slices at once: each element of a slice has the slice's index.
Tensor index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                     const std::string& reduce, bool include_self) {
  const Reduce kind = named_reduce(reduce);
  TORCHLET_CHECK(
      kind != Reduce::kSum,
      "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got sum");
  TORCHLET_CHECK(index.dim() <= 1, "index_reduce_(): Index is supposed to be a vector");
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "index_reduce_(): self and source must have the same scalar type");
  const Tensor target = at_least_1d(self), values = at_least_1d(source);
  const size_t d = static_cast<size_t>(wrap_dim(dim, target.dim()));
  TORCHLET_CHECK(values.dim() == target.dim() && values.sizes()[d] == index.numel(),
                 "index_reduce_(): Number of indices should be equal to self.size(dim)");
  for (size_t i = 0; i < values.sizes().size(); ++i) {
    TORCHLET_CHECK(i == d || values.sizes()[i] == target.sizes()[i],
                   "index_reduce_(): source %s does not fit into self %s",
                   source.describe().c_str(), self.describe().c_str());
  }
  if (values.numel() == 0) return self;
  IntArray shape(values.sizes().size(), 1);
  shape[d] = index.numel();
  const Tensor positions = expand(reshape(index.to(DType::kInt64), shape), values.sizes());
  scatter_reduce(target, static_cast<int64_t>(d), positions, values, kind, include_self);
  return self;
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  TORCHLET_CHECK(indices.dtype() == DType::kInt64,
                 "torch.take_along_dim(): dtype of indices should be Long but got %s",
                 dtype_name(indices.dtype()).data());
  if (!dim) return gather(reshape(self, IntArray{-1}), 0, reshape(indices, IntArray{-1}));
  TORCHLET_CHECK(self.dim() == indices.dim(),
                 "torch.take_along_dim(): input and indices should have the same number of "
                 "dimensions, but got %lld dimensions for input, and %lld dimensions for indices",
                 static_cast<long long>(self.dim()), static_cast<long long>(indices.dim()));
  const size_t d = static_cast<size_t>(wrap_dim(*dim, self.dim()));
  if (self.dim() == 0) return gather(self, 0, indices);
  IntArray self_shape(self.sizes()), index_shape(indices.sizes());
  self_shape[d] = indices.sizes()[d];
  const IntArray common = broadcast_shapes(self_shape, indices.sizes());
  index_shape = common;
  self_shape = common;
  self_shape[d] = self.sizes()[d];
  return gather(expand(self, self_shape), static_cast<int64_t>(d), expand(indices, index_shape));
}

}  // namespace

TORCHLET_OP_WITH(
    gather, out("out"),
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    [](const Tensor& self, int64_t dim, const Tensor& index, bool) {
      return gather(self, dim, index);
    });
TORCHLET_OP_WITH(take_along_dim, out("out"),
                 "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
                 take_along_dim);
TORCHLET_OP_WITH(
    scatter_value, functional() | out("value_out"),
    "aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
    scatter_value_);
TORCHLET_OP_WITH(
    scatter_src, functional() | out("src_out"),
    "aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
    scatter_);
TORCHLET_OP_WITH(scatter_reduce, functional() | out("reduce_out"),
                 "aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, "
                 "str reduce) -> Tensor(a!)",
                 scatter_arithmetic_);
TORCHLET_OP_WITH(scatter_value_reduce, functional() | out("value_reduce_out"),
                 "aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar "
                 "value, *, str reduce) -> Tensor(a!)",
                 scatter_arithmetic_value_);
TORCHLET_OP_WITH(
    scatter_add_, functional() | out("out"),
    "aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
    scatter_add_);
TORCHLET_OP_WITH(scatter_reduce_two, functional() | out("two_out"),
                 "aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor "
                 "src, str reduce, *, bool include_self=True) -> Tensor(a!)",
                 scatter_reduce_);
TORCHLET_OP_WITH(index_reduce_, functional() | out("out"),
                 "aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, "
                 "str reduce, *, bool include_self=True) -> Tensor(a!)",
                 index_reduce_);

}  // namespace torchlet::ops
