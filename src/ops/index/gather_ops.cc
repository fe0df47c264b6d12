// gather and scatter: one index for each element, along one dimension.
#include <cmath>
#include <limits>

#include "base/counted_vector.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/core/dense_order.h"
#include "ops/core/op.h"
#include "ops/engines/indexed.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

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
  Tensor index;            // int64, contiguous
  IntArray self_strides;   // 0 in `dim`
  IntArray other_strides;  // of the second tensor, along the index's dimensions
  int64_t dim_size, dim_stride;
  // Of an index that was expanded along its last dimensions: how many elements, a step apart, have
  // the same position. The index has one element for them.
  int64_t slice = 1, self_step = 0, other_step = 0;
};

// An index that was expanded along its last dimensions is walked by slices.
void find_slices(IndexWalk& walk, const Tensor& index, size_t dim) {
  constexpr int64_t kLeast = 8;  // fewer are not worth a call
  int64_t slice = 1, self_step = 0, other_step = 0;
  size_t last = index.sizes().size() - 1;
  for (; last > dim && index.strides()[last] == 0; --last) {
    const int64_t self_stride = walk.self_strides[last], other_stride = walk.other_strides[last];
    if (slice == 1) {
      self_step = self_stride;
      other_step = other_stride;
    } else if (self_stride != self_step * slice || other_stride != other_step * slice) {
      break;
    }
    slice *= index.sizes()[last];
  }
  if (slice < kLeast) return;
  walk.slice = slice;
  walk.self_step = self_step;
  walk.other_step = other_step;
  for (size_t i = last + 1; i < index.sizes().size(); ++i) {
    walk.index = select(walk.index, -1, 0);
  }
}

// In the order of the index's memory: whatever it is, elements of one slice come one after the
// other, so the last one of those that share a place is the same.
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
  const auto order = dense_order(positions);
  const auto ordered = [&](const Tensor& x) { return order ? permute(x, *order) : x; };
  walk.index = ordered(positions);
  walk.self_strides = ordered(target).strides();
  walk.self_strides[order ? static_cast<size_t>(inverse_order(*order)[d]) : d] = 0;
  walk.other_strides = ordered(at_least_1d(other)).strides();
  walk.dim_size = target.sizes()[d];
  walk.dim_stride = target.strides()[d];
  if (!order) find_slices(walk, positions, d);
  walk.index = walk.index.contiguous();
  return walk;
}

// A run of pairs: `self` and `other` are the elements of the first pair, and the next ones lie a
// step further; each of self's is moved by its position times the stride. Runs that begin a row
// further follow.
struct PairRun {
  void* self;
  int64_t self_step;
  const int64_t* positions;  // null: they count as 0
  int64_t stride, size;      // of the dimension that positions are of
  void* other;
  int64_t other_step, count;
  int64_t rows = 1, self_row = 0, other_row = 0;
};
using PairFn = void (*)(const PairRun& run);

[[noreturn]] void fail_outside(int64_t position, int64_t size) {
  fail(ErrorCode::kRuntime, "index %lld is out of bounds for a dimension of size %lld",
       static_cast<long long>(position), static_cast<long long>(size));
}

// Whether all positions are in [0, size). Their signs tell: not all processors have vectors that
// compare 64 bits.
bool are_inside(const int64_t* positions, int64_t count, int64_t size) {
  uint64_t signs = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<uint64_t>(positions[i]);
    signs |= at | (static_cast<uint64_t>(size - 1) - at);
  }
  return signs >> 63 == 0;
}

// fn(self element, other element) for each pair of a row, where Fn has no state.
template <typename T, typename Fn>
void for_each_pair(const PairRun& run, int64_t row) {
  // Copies, because what is written may be bytes of anything.
  T* self = static_cast<T*>(run.self) + row * run.self_row;
  T* other = static_cast<T*>(run.other) + row * run.other_row;
  const int64_t self_step = run.self_step, other_step = run.other_step, stride = run.stride,
                count = run.count, zero = 0, at_step = run.positions ? 1 : 0,
                *at = run.positions ? run.positions + row * count : &zero;
  const auto size = static_cast<uint64_t>(run.size);
  int64_t i = 0;
  if constexpr (std::is_same_v<T, uint8_t> || detail::is_stepped<T>) {
    constexpr int64_t kStep = 64 / sizeof(T);
    const bool is_dense = !run.positions && self_step == 1 && other_step == 1;
    for (; is_dense && i + kStep <= count; i += kStep) {
      if constexpr (std::is_same_v<T, int64_t>) {  // has no vectors everywhere
        for (int64_t k = 0; k < kStep; ++k) Fn()(self[k], other[k]);
      } else {  // of which compilers make vectors
        T step[kStep];
        std::memcpy(step, self, sizeof(step));
        for (int64_t k = 0; k < kStep; ++k) Fn()(step[k], other[k]);
        std::memcpy(self, step, sizeof(step));
      }
      self += kStep;
      other += kStep;
    }
  }
  if (run.positions && stride == 1 && self_step == 0) {
    constexpr int64_t kBlock = 64;
    for (; i + kBlock <= count && are_inside(at, kBlock, run.size); i += kBlock) {
      for (int64_t k = 0; k < kBlock; ++k, other += other_step) Fn()(self[at[k]], *other);
      at += kBlock;
    }
  }
  for (; i < count; ++i, at += at_step, self += self_step, other += other_step) {
    if (static_cast<uint64_t>(*at) >= size) [[unlikely]]
      fail_outside(*at, run.size);
    Fn()(self[*at * stride], *other);
  }
}
template <typename T, typename Fn>
void for_each_pair(const PairRun& run) {
  for (int64_t row = 0; row < run.rows; ++row) for_each_pair<T, Fn>(run, row);
}
template <typename T, typename Fn>
PairFn pair_fn(Fn) {
  return for_each_pair<T, Fn>;
}

PairFn copy_to_self(DType dtype) {
  PairFn result = nullptr;
  with_width(dtype, [&](auto zero) {
    using T = decltype(zero);
    result = pair_fn<T>([](T& to, const T& from) { to = from; });
  });
  return result;
}

// The runs of an index that has one element for each slice.
void for_each_slice(const IndexWalk& walk, const Tensor& self, const Tensor& other, bool parallel,
                    PairFn fn) {
  const IntSpan sizes = walk.index.sizes();
  const size_t last = sizes.size() - 1;
  const auto width = static_cast<int64_t>(element_size(self.dtype()));
  const int64_t self_row = walk.self_strides[last] * width,
                other_row = walk.other_strides[last] * width, dim_bytes = walk.dim_stride * width;
  const StridedOffsets self_offset(sizes.first(last), IntSpan(walk.self_strides).first(last));
  const StridedOffsets other_offset(sizes.first(last), IntSpan(walk.other_strides).first(last));
  const int64_t* const index = walk.index.data_ptr<int64_t>();
  auto slices = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      int64_t row = i % sizes[last];
      std::byte* to = static_cast<std::byte*>(self.raw_data()) +
                      self_offset(i / sizes[last]) * width + row * self_row;
      std::byte* from = static_cast<std::byte*>(other.raw_data()) +
                        other_offset(i / sizes[last]) * width + row * other_row;
      for (; row < sizes[last] && i < end; ++row, ++i, to += self_row, from += other_row) {
        if (index[i] < 0 || index[i] >= walk.dim_size) fail_outside(index[i], walk.dim_size);
        fn({to + index[i] * dim_bytes, walk.self_step, nullptr, 0, 1, from, walk.other_step,
            walk.slice});
      }
    }
  };
  const int64_t count = walk.index.numel();
  if (parallel) {
    parallel_for(count, std::max<int64_t>(1, 32768 / walk.slice), slices);
  } else {
    slices(0, count);
  }
}

// Rows may run on several threads if `parallel`, which is for functions that only write to `other`.
void for_each_run(const IndexWalk& walk, const Tensor& self, const Tensor& other, bool parallel,
                  PairFn fn) {
  if (walk.index.numel() == 0) return;
  if (walk.slice > 1) return for_each_slice(walk, self, other, parallel, fn);
  const IntSpan sizes = walk.index.sizes(), self_strides = walk.self_strides,
                other_strides = walk.other_strides;
  const int64_t inner = sizes.back();
  // Rows that follow each other at one distance are walked together.
  int64_t together = 1, self_row = 0, other_row = 0;
  size_t outer_rank = sizes.size() - 1;
  for (; outer_rank > 0; --outer_rank) {
    const size_t d = outer_rank - 1;
    if (sizes[d] == 1) continue;
    if (together == 1) {
      self_row = self_strides[d];
      other_row = other_strides[d];
    } else if (self_strides[d] != together * self_row || other_strides[d] != together * other_row) {
      break;
    }
    together *= sizes[d];
  }
  const auto width = static_cast<int64_t>(element_size(self.dtype()));
  const IntSpan outer_sizes = sizes.first(outer_rank);
  const StridedOffsets self_offset(outer_sizes, self_strides.first(outer_rank));
  const StridedOffsets other_offset(outer_sizes, other_strides.first(outer_rank));
  const int64_t* index = walk.index.data_ptr<int64_t>();
  auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t outer = row / together, first = row % together;
      const int64_t count = std::min(end - row, together - first);
      const int64_t self_at = self_offset(outer) + first * self_row;
      const int64_t other_at = other_offset(outer) + first * other_row;
      fn({static_cast<std::byte*>(self.raw_data()) + self_at * width, self_strides.back(),
          index + row * inner, walk.dim_stride, walk.dim_size,
          static_cast<std::byte*>(other.raw_data()) + other_at * width, other_strides.back(), inner,
          count, self_row, other_row});
      row += count;
    }
  };
  const int64_t count = walk.index.numel() / inner;
  if (parallel) {
    parallel_for(count, std::max<int64_t>(1, 32768 / inner), rows);
  } else {
    rows(0, count);
  }
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
  if (is_meta(result)) return result;
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_run(walk, self, result, true, pair_fn<T>([](const T& from, T& to) { to = from; }));
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

// NaN wins over everything, as torch.amax has it. Without branches, which nobody could foresee.
template <typename T>
T larger(T a, T b) {
  return choose((b > a) | (b != b), b, a);
}
template <typename T>
T smaller(T a, T b) {
  return choose((b < a) | (b != b), b, a);
}

// The same function of pairs, by a kernel where floats lie side by side.
template <kernels::MatrixBinaryOp kOp, typename Fn>
PairFn float_pair_fn(Fn) {
  return [](const PairRun& run) {
    constexpr int64_t kFew = 128;  // for which a call takes longer
    if (run.positions || run.self_step != 1 || run.other_step != 1 || run.rows != 1 ||
        run.count < kFew) {
      return for_each_pair<float, Fn>(run);
    }
    auto* const self = static_cast<float*>(run.self);
    kernels::binary_rows_f32(kOp, 1, run.count, self, run.count,
                             {.data = static_cast<const float*>(run.other), .stride = run.count},
                             {}, self, run.count);
  };
}

// Takes one more element into a result.
template <typename T>
PairFn update(Reduce reduce) {
  if constexpr (std::is_same_v<T, float> && selection::kHasConversions) {
    using enum kernels::MatrixBinaryOp;
    if (reduce == Reduce::kProduct) {
      return float_pair_fn<kMul>([](float& to, const float& from) { to *= from; });
    }
    if (reduce == Reduce::kSum || reduce == Reduce::kMean) {
      return float_pair_fn<kAdd>([](float& to, const float& from) { to += from; });
    }
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (reduce == Reduce::kMax) {
      return pair_fn<T>([](T& to, const T& from) { to = larger(to, from); });
    }
    if (reduce == Reduce::kMin) {
      return pair_fn<T>([](T& to, const T& from) { to = smaller(to, from); });
    }
  }
  if constexpr (!std::is_same_v<T, uint8_t>) {
    if (reduce == Reduce::kProduct) return pair_fn<T>([](T& to, const T& from) { to *= from; });
    if (reduce == Reduce::kSum || reduce == Reduce::kMean) {
      return pair_fn<T>([](T& to, const T& from) { to += from; });
    }
  }
  fail(ErrorCode::kRuntime, "scatter: amax and amin are not defined for complex numbers");
}

// sums / counts where a count is more than one; integers are rounded down.
template <typename T>
void divide_by_counts(void* to, const void* const* in, int64_t n) {
  const T *const sums = static_cast<const T*>(in[0]), *const counts = static_cast<const T*>(in[1]);
  for (int64_t i = 0; i < n; ++i) {
    const T sum = sums[i], count = counts[i];  // `to` is where the sums are
    T mean = sum;
    if (count != T(0) && count != T(1)) {
      mean = sum / count;
      if constexpr (std::is_integral_v<T>) mean -= sum % count != 0 && sum < 0;
    }
    static_cast<T*>(to)[i] = mean;
  }
}

// What a reduction does to elements of one type.
struct Reduction {
  PairFn update, add;
  Tensor identity, one;
  void (*divide)(void* to, const void* const* in, int64_t n);
};
template <typename T>
Reduction reduction(Reduce reduce, DType dtype) {
  const Tensor identity = empty({}, dtype);
  *static_cast<T*>(identity.raw_data()) = identity_of<T>(reduce);
  Reduction result{update<T>(reduce), nullptr, identity, Tensor(), nullptr};
  if constexpr (!std::is_same_v<T, uint8_t>) {
    result.add = update<T>(Reduce::kSum);
    result.one = scalar_tensor(1, dtype);
    result.divide = divide_by_counts<T>;
  }
  return result;
}

// Gives the runs that pair elements of `source` with those of `self`, a tensor of its dtype.
using PairWalk = FunctionRef<void(const Tensor& self, const Tensor& source, PairFn fn)>;

void reduce_pairs(const Tensor& self, const Tensor& source, bool is_mean, bool include_self,
                  const Reduction& by, PairWalk walk) {
  if (!include_self) walk(self, expand(by.identity, source.sizes()), copy_to_self(self.dtype()));
  walk(self, source, by.update);
  if (!is_mean) return;
  // How many elements landed on each one of self, and 1 more if that counts itself.
  const Tensor counts = empty_like(self);
  fill(counts, Scalar(include_self ? 1 : 0));
  walk(counts, expand(by.one, source.sizes()), by.add);
  const Tensor inputs[] = {self, counts};
  elementwise(self, inputs, self.dtype(), self.dtype(), by.divide);
}

// In the compute type of self; truth is a byte, whose sum is its maximum and whose product is its
// minimum.
void reduce_into(const Tensor& self, const Tensor& source, Reduce reduce, bool include_self,
                 PairWalk walk) {
  const bool is_mean = reduce == Reduce::kMean;
  if (self.dtype() == DType::kBool && !is_mean) {
    const bool any = reduce == Reduce::kSum || reduce == Reduce::kMax;
    const Reduction by = reduction<uint8_t>(any ? Reduce::kMax : Reduce::kMin, DType::kBool);
    return reduce_pairs(self, source, false, include_self, by, walk);
  }
  with_wide(self, [&](auto zero, const Tensor& wide) {
    reduce_pairs(wide, source.to(wide.dtype()), is_mean, include_self,
                 reduction<decltype(zero)>(reduce, wide.dtype()), walk);
  });
}

void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    Reduce reduce, bool include_self) {
  auto pairs = [&](const Tensor& to, const Tensor& from, PairFn fn) {
    for_each_run(make_walk(to, dim, index, from, "scatter()"), to, from, false, fn);
  };
  reduce_into(self, source, reduce, include_self, pairs);
}

Tensor scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_scatter(self, index, source, "scatter()");
  if (index.numel() == 0) return self;
  for_each_run(make_walk(self, dim, index, source, "scatter()"), self, source, false,
               copy_to_self(self.dtype()));
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
  auto slices = [&](const Tensor& to, const Tensor& from, PairFn fn) {
    const Tensor dense = from.contiguous();
    const Indexed plan = index_along(to, static_cast<int64_t>(d), index, false, "index_reduce_()");
    const auto width = static_cast<int64_t>(element_size(to.dtype()));
    for_each_indexed_of(
        plan, to.raw_data(), dense.raw_data(), width, false, [&](const IndexedRuns& runs) {
          for (int64_t k = 0; k < runs.positions; ++k) {
            fn({static_cast<std::byte*>(runs.sparse) + runs.offsets[k] * width, runs.stride,
                nullptr, 0, 1, static_cast<std::byte*>(runs.dense) + k * runs.count * width, 1,
                runs.count, runs.rows, runs.sparse_row, runs.positions * runs.count});
          }
        });
  };
  reduce_into(target, values, kind, include_self, slices);
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
    gather, on_meta() | out("out"),
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
