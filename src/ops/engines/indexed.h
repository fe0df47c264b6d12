// A strided tensor in which some adjacent dimensions are replaced by one list of positions: what
// index_select, x[i, :, mask] and their writing counterparts share.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {

// Its elements are those of a dense tensor of shape [before..., index_shape..., after...].
struct Indexed {
  IntArray before_sizes, before_strides;
  IntArray index_shape;
  CountedVector<int64_t> offsets;  // elements from the tensor's first one; one for each position
  IntArray after_sizes, after_strides;

  IntArray shape() const {
    IntArray all(before_sizes);
    for (int64_t size : index_shape) all.push_back(size);
    for (int64_t size : after_sizes) all.push_back(size);
    return all;
  }
};

// Positions along one dimension; `index` is int64 or int32, 0-d or 1-d. Negative ones count from
// the end if `wrap`; Error naming `what` if one is out of range.
Indexed index_along(const Tensor& self, int64_t dim, const Tensor& index, bool wrap,
                    const char* what);
// self[indices]: undefined tensors stand for whole dimensions, bool and uint8 tensors are masks.
// Indexed dimensions that are not side by side come first, as in NumPy.
Indexed index_with(const Tensor& self, const std::vector<Tensor>& indices);
// Positions among all elements, in row-major order; negative ones count from the end.
Indexed index_elements(const Tensor& self, const Tensor& positions);

// Offsets of all index tuples of a strided shape, in row-major order.
class StridedOffsets {
 public:
  StridedOffsets(IntSpan sizes, IntSpan strides) : sizes_(sizes), strides_(strides) {}
  int64_t operator()(int64_t position) const {
    int64_t offset = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      offset += position % sizes_[d] * strides_[d];
      position /= sizes_[d];
    }
    return offset;
  }

 private:
  IntSpan sizes_, strides_;
};

// Some positions, and a run of `count` elements for each: in the memory of the indexed tensor from
// sparse + offsets[k] on with a stride, in a tensor of plan.shape() one after the other. The same
// for more rows, which begin `sparse_row` further.
struct IndexedRuns {
  void *sparse, *dense;
  const int64_t* offsets;
  int64_t positions, stride, count;
  int64_t rows = 1, sparse_row = 0;
};

// Calls run(sparse, stride, dense, count) for each run.
template <typename T, typename Run>
void for_each_of(const IndexedRuns& runs, const Run& run) {
  T *at = static_cast<T*>(runs.sparse), *to = static_cast<T*>(runs.dense);
  const int64_t *const offsets = runs.offsets, positions = runs.positions, count = runs.count;
  for (int64_t row = 0; row < runs.rows; ++row, at += runs.sparse_row) {
    if (count == 1) {  // a loop of its own, for single elements
      for (int64_t k = 0; k < positions; ++k, ++to) run(at + offsets[k], 1, to, 1);
    } else {
      for (int64_t k = 0; k < positions; ++k, to += count) {
        run(at + offsets[k], runs.stride, to, count);
      }
    }
  }
}

// Calls run for runs of `count` elements: `sparse` with its stride in the memory of the indexed
// tensor, `dense` contiguous in a tensor of plan.shape(). If `parallel`, runs are handled on
// several threads (only for runs that do not write to `sparse`: positions may repeat).
void for_each_indexed_of(const Indexed& plan, void* sparse, void* dense, int64_t width,
                         bool parallel, FunctionRef<void(const IndexedRuns&)> run);
template <typename T, typename Run>
void for_each_indexed(const Indexed& plan, T* sparse, T* dense, bool parallel, const Run& run) {
  for_each_indexed_of(plan, sparse, dense, sizeof(T), parallel,
                      [&](const IndexedRuns& runs) { for_each_of<T>(runs, run); });
}

// Calls fn with a zero of an unsigned type as wide as one element of the dtype, for code that only
// moves elements.
template <typename Fn>
void with_width(DType dtype, const Fn& fn) {
  switch (element_size(dtype)) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    default:
      return fn(std::complex<double>{});
  }
}

// Calls fn(zero, wide) with the values of `self` in its compute type and writes what fn made of
// them back. `wide` is self itself if it is of that type.
template <typename Fn>
void with_wide(const Tensor& self, const Fn& fn) {
  auto run = [&](auto zero) {
    const DType dtype = DTypeOf<decltype(zero)>::value;
    if (self.dtype() == dtype) return fn(zero, self);
    const Tensor wide = empty_like(self, dtype);
    wide.copy_(self);
    fn(zero, wide);
    self.copy_(wide);
  };
  compute_as<kMapAll>(self.dtype(), "scatter", run);
}

}  // namespace torchlet::ops
