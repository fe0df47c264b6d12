// x[indices] and x[indices] = values with tensors as indices, and the index_* operators, which do
// the same along one dimension.
#include "base/sort.h"
#include "ops/core/dense_order.h"
#include "ops/core/op.h"
#include "ops/engines/indexed.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

template <typename T>
void copy_run(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  if (count == 1) {
    *to = *from;
  } else if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// The indexed elements as a dense tensor.
Tensor read(const Tensor& self, const Indexed& plan) {
  const Tensor result = empty(plan.shape(), self.dtype());
  result.impl()->quantizer = self.impl()->quantizer;
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_indexed(plan, static_cast<T*>(self.raw_data()), static_cast<T*>(result.raw_data()),
                     true, [](T* sparse, int64_t stride, T* dense, int64_t count) {
                       copy_run(sparse, stride, dense, int64_t{1}, count);
                     });
  });
  return result;
}

// Writes `values` (of self's dtype, expandable to the plan's shape) to the indexed elements.
void write(const Tensor& self, const Indexed& plan, const Tensor& values) {
  const Tensor dense = expand(values, plan.shape()).contiguous();
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_indexed(plan, static_cast<T*>(self.raw_data()), static_cast<T*>(dense.raw_data()),
                     false, [](T* sparse, int64_t stride, T* from, int64_t count) {
                       copy_run(from, int64_t{1}, sparse, stride, count);
                     });
  });
}

// Adds what is dense to what is not; bools are ors.
template <typename T, bool kOr = false>
void add_runs(const IndexedRuns& runs) {
  auto plus = [](T a, T b) {
    if constexpr (kOr) return static_cast<T>(a | b);
    return static_cast<T>(a + b);
  };
  for_each_of<T>(runs, [&](T* at, int64_t stride, const T* from, int64_t count) {
    constexpr int64_t kStep = 64 / sizeof(T);
    int64_t i = 0;
    for (; stride == 1 && i + kStep <= count; i += kStep) {  // of which compilers make vectors
      T step[kStep];
      for (int64_t j = 0; j < kStep; ++j) step[j] = plus(at[i + j], from[i + j]);
      std::memcpy(at + i, step, sizeof(step));
    }
    for (; i < count; ++i) at[i * stride] = plus(at[i * stride], from[i]);
  });
}

// Adds `values` (of self's dtype) to the indexed elements; make_plan gives the plan for a tensor of
// self's shape. Integers of one width wrap around alike.
void accumulate(const Tensor& self, const Tensor& values,
                FunctionRef<Indexed(const Tensor& self)> make_plan) {
  const auto add = [&](const Tensor& sums, void (*add_all)(const IndexedRuns&)) {
    const Indexed plan = make_plan(sums);
    const Tensor dense = expand(values.to(sums.dtype()), plan.shape()).contiguous();
    for_each_indexed_of(plan, sums.raw_data(), dense.raw_data(),
                        static_cast<int64_t>(element_size(sums.dtype())), false, add_all);
  };
  if (self.dtype() == DType::kBool) return add(self, add_runs<uint8_t, true>);
  if (is_integral(self.dtype(), false)) {
    return with_width(self.dtype(), [&](auto zero) {
      if constexpr (std::is_integral_v<decltype(zero)>) add(self, add_runs<decltype(zero)>);
    });
  }
  with_wide(self, [&](auto zero, const Tensor& wide) {
    if constexpr (!std::is_integral_v<decltype(zero)>) add(wide, add_runs<decltype(zero)>);
  });
}

bool is_mask(const Tensor& index) {
  return index.defined() && (index.dtype() == DType::kBool || index.dtype() == DType::kUInt8);
}

// x[mask] = number, the mask covering the leading dimensions: no positions need to be found.
bool is_masked_fill(const std::vector<Tensor>& indices, const Tensor& values) {
  return indices.size() == 1 && is_mask(indices[0]) && values.numel() == 1 &&
         !values.is_quantized();
}

void fill_mask(const Tensor& self, Tensor mask, const Tensor& value) {
  TORCHLET_CHECK(mask.dim() <= self.dim() &&
                     std::ranges::equal(mask.sizes(), self.sizes().first(mask.sizes().size())),
                 "The shape of the mask %s does not match the shape of the indexed tensor %s",
                 mask.describe().c_str(), self.describe().c_str());
  while (mask.dim() < self.dim()) mask = unsqueeze(mask, -1);
  masked_fill_(self, mask, scalar_of(value));
}

}  // namespace

namespace {

// The dimensions of x[indices] in the order of memory, the widest first. They lie as those of x
// that stay do; where a list of positions stands is not known from x (TensorIterator's
// reorder_dimensions, ATen/TensorIterator.cpp; dimensions of one place as 1.13 is seen to have
// them).
IntArray order_of(const Indexed& plan) {
  IntArray strides(plan.before_strides), sizes(plan.shape());
  for (size_t d = 0; d < plan.index_shape.size(); ++d) strides.push_back(0);
  for (const int64_t stride : plan.after_strides) strides.push_back(stride);
  const auto lies_inside = [&](int64_t a, int64_t b) {  // 1: a in b, -1: b in a, 0: not known
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    if (strides[i] == 0 || strides[j] == 0 || sizes[i] == 1) return 0;
    if (strides[i] != strides[j]) return strides[i] < strides[j] ? 1 : -1;
    return sizes[i] < sizes[j] ? 1 : 0;
  };
  IntArray order;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) order.push_back(d);
  for (size_t i = order.size(); i-- > 0;) {
    for (size_t at = i, next = i + 1; next < order.size(); ++next) {
      const int inside = lies_inside(order[at], order[next]);
      if (inside < 0) break;
      if (inside > 0) {
        std::swap(order[at], order[next]);
        at = next;
      }
    }
  }
  return order;
}

}  // namespace

Tensor index(const Tensor& self, const std::vector<Tensor>& indices) {
  const Indexed plan = index_with(self, indices);
  const Tensor result = read(self, plan);
  const IntArray order = order_of(plan);
  if (std::ranges::is_sorted(order)) return result;
  return permute(permute(result, order).contiguous(), inverse_order(order));
}

void index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                bool accumulated) {
  if (!accumulated && is_masked_fill(indices, values)) return fill_mask(self, indices[0], values);
  Tensor source = values;
  if (self.is_quantized()) {
    source = torchlet::empty_like(values, self.dtype());
    source.impl()->quantizer = self.impl()->quantizer;
    copy_into(source, values);
  }
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "Index put requires the source and destination dtypes match, got %s for the "
                 "destination and %s for the source.",
                 dtype_name(self.dtype()).data(), dtype_name(source.dtype()).data());
  const Indexed plan = index_with(self, indices);
  const IntArray shape = plan.shape();
  // Leading dimensions of size 1 may be too many: x[i] = [[value]].
  while (source.dim() > std::ssize(shape) && source.sizes()[0] == 1) source = select(source, 0, 0);
  if (accumulated) {
    accumulate(self, source, [&](const Tensor& wide) { return index_with(wide, indices); });
  } else {
    write(self, plan, source);
  }
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  const Indexed plan = index_along(self, dim, index, false, "index_select()");
  if (self.dim() > 0) return read(self, plan);
  return clone(self, std::nullopt);  // whatever is asked of a 0-d tensor, it stays one
}

namespace {

Tensor index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulated) {
  const Tensor result = clone(self, std::nullopt);
  index_put_(result, indices, values, accumulated);
  return result;
}
Tensor index_put_inplace(const Tensor& self, const std::vector<Tensor>& indices,
                         const Tensor& values, bool accumulated) {
  index_put_(self, indices, values, accumulated);
  return self;
}

// The operators below write along one dimension: self[..., index[i], ...] from source[..., i, ...].
void check_source(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  const char* name) {
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "%s: self (%s) and source (%s) must have the same scalar type", name,
                 dtype_name(self.dtype()).data(), dtype_name(source.dtype()).data());
  const size_t d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const int64_t count = source.dim() == 0 ? 1 : source.size(static_cast<int64_t>(d));
  TORCHLET_CHECK(index.numel() == count,
                 "%s: Number of indices (%lld) should be equal to source.size(dim): (%lld), for "
                 "dim: %zu",
                 name, static_cast<long long>(index.numel()), static_cast<long long>(count), d);
  bool fits = source.dim() == 0 ? self.dim() <= 1 : source.dim() == self.dim() || self.dim() == 0;
  for (size_t i = 0; fits && source.dim() > 0 && i < self.sizes().size(); ++i) {
    fits = i == d || source.sizes()[i] == self.sizes()[i];
  }
  TORCHLET_CHECK(fits, "%s: source %s does not fit into self %s along dimension %zu", name,
                 source.describe().c_str(), self.describe().c_str(), d);
}

// What is written along one dimension, with the dimensions in the order in which memory lies: runs
// are long then, and the order of the others does not matter.
struct Laid {
  Tensor self, source;  // no source: undefined
  int64_t dim;
};
Laid laid(const Tensor& self, const Tensor& source, int64_t dim) {
  if (self.dim() == 0) return {self, source.defined() ? reshape(source, IntArray{1}) : source, dim};
  IntArray order;
  for (int64_t d = 0; d < self.dim(); ++d) order.push_back(d);
  stable_sort(order, [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  const auto place = std::ranges::find(order, wrap_dim(dim, self.dim()));
  return {permute(self, order), source.defined() ? permute(source, order) : source,
          place - order.begin()};
}

Tensor index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_source(self, dim, index, source, "index_copy_()");
  const Laid to = laid(self, source, dim);
  write(to.self, index_along(to.self, to.dim, index, false, "index_copy_()"), to.source);
  return self;
}

Tensor index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  const Scalar& alpha) {
  check_source(self, dim, index, source, "index_add_()");
  const Laid to = laid(self, source, dim);
  Tensor values = to.source;
  if (!(alpha.is_integral() && alpha.to_int() == 1)) {
    values = map<kMapAll, 2>({values, scalar_tensor(alpha, values.dtype())}, values.dtype(),
                             [](auto a, auto b) { return a * b; });
  }
  accumulate(to.self, values, [&](const Tensor& wide) {
    return index_along(wide, to.dim, index, false, "index_add_()");
  });
  return self;
}

Tensor index_fill_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  TORCHLET_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  TORCHLET_CHECK(index.dtype() == DType::kInt64, "index_fill_(): Expected dtype int64 for index.");
  const Laid to = laid(self, Tensor(), dim);
  write(to.self, index_along(to.self, to.dim, index, true, "index_fill_()"),
        element_of(self, value));
  return self;
}
Tensor index_fill_tensor_(const Tensor& self, int64_t dim, const Tensor& index,
                          const Tensor& value) {
  TORCHLET_CHECK(value.dim() == 0,
                 "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %lld "
                 "dimension(s).",
                 static_cast<long long>(value.dim()));
  return index_fill_(self, dim, index, scalar_of(value));
}

Tensor take(const Tensor& self, const Tensor& positions) {
  TORCHLET_CHECK(positions.dtype() == DType::kInt64, "take(): Expected a long tensor for index");
  TORCHLET_CHECK(self.numel() > 0 || positions.numel() == 0,
                 "take(): tried to take from an empty tensor");
  const Tensor dense = self.contiguous(), at = positions.contiguous();
  const Tensor result = empty(positions.sizes(), self.dtype());
  result.impl()->quantizer = self.impl()->quantizer;
  const int64_t* const place = at.data_ptr<int64_t>();
  const int64_t size = self.numel();
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const from = static_cast<const T*>(dense.raw_data());
    T* const to = static_cast<T*>(result.raw_data());
    parallel_for(at.numel(), 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        TORCHLET_CHECK(place[i] >= -size && place[i] < size,
                       "take(): index %lld is out of bounds for %lld elements",
                       static_cast<long long>(place[i]), static_cast<long long>(size));
        to[i] = from[place[i] + (place[i] >> 63 & size)];
      }
    });
  });
  return result;
}

Tensor put_(const Tensor& self, const Tensor& positions, const Tensor& source, bool accumulated) {
  TORCHLET_CHECK(positions.dtype() == DType::kInt64, "put_(): Expected a long tensor for index");
  TORCHLET_CHECK(positions.numel() == source.numel(),
                 "put_(): Expected source and index to have the same number of elements, but got "
                 "source.numel() = %lld, index.numel() = %lld",
                 static_cast<long long>(source.numel()), static_cast<long long>(positions.numel()));
  if (positions.numel() == 0) return self;
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "put_(): self and source expected to have the same dtype");
  const Tensor values = reshape(source, IntArray{-1});
  const Tensor at = reshape(positions, IntArray{-1});
  if (accumulated) {
    accumulate(self, values, [&](const Tensor& target) { return index_elements(target, at); });
  } else {
    write(self, index_elements(self, at), values);
  }
  return self;
}

}  // namespace

TORCHLET_OP_WITH(index_Tensor, out("Tensor_out"),
                 "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index);
TORCHLET_OP(index_Tensor_hacked_twin,
            "aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", index);
TORCHLET_OP_WITH(index_put, out("out"),
                 "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
                 "accumulate=False) -> Tensor",
                 index_put);
TORCHLET_OP(index_put_hacked_twin,
            "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool "
            "accumulate=False) -> Tensor",
            index_put);
TORCHLET_OP(index_put_,
            "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
            "accumulate=False) -> Tensor(a!)",
            index_put_inplace);
TORCHLET_OP(index_put__hacked_twin,
            "aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool "
            "accumulate=False) -> Tensor(a!)",
            index_put_inplace);
TORCHLET_OP(_index_put_impl_,
            "aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
            "accumulate=False, bool unsafe=False) -> Tensor(a!)",
            [](const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
               bool accumulated,
               bool) { return index_put_inplace(self, indices, values, accumulated); });

TORCHLET_OP_WITH(index_select, out("out"),
                 "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", index_select);
TORCHLET_OP_WITH(
    index_copy_, functional() | out("out"),
    "aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
    index_copy_);
TORCHLET_OP_WITH(index_add_, functional() | out("out"),
                 "aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, "
                 "Scalar alpha=1) -> Tensor(a!)",
                 index_add_);
TORCHLET_OP_WITH(index_fill_int_Scalar_, functional() | out("int_Scalar_out"),
                 "aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar "
                 "value) -> Tensor(a!)",
                 index_fill_);
TORCHLET_OP_WITH(index_fill_int_Tensor_, functional() | out("int_Tensor_out"),
                 "aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor "
                 "value) -> Tensor(a!)",
                 index_fill_tensor_);
TORCHLET_OP_WITH(take, out("out"), "aten::take(Tensor self, Tensor index) -> Tensor", take);
TORCHLET_OP_WITH(
    put_, functional() | out("out"),
    "aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)",
    put_);

}  // namespace torchlet::ops
