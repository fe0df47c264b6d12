// A strided tensor in which some adjacent dimensions are replaced by one list of positions: what
// index_select, x[i, :, mask] and their writing counterparts share.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/thread_pool.h"
#include "ops/compute.h"

namespace torchlet::ops {

// Its elements are those of a dense tensor of shape [before..., index_shape..., after...].
struct Indexed {
  IntArray before_sizes, before_strides;
  IntArray index_shape;
  std::vector<int64_t> offsets;  // elements from the tensor's first one; one for each position
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

// Calls run(sparse, stride, dense, count) for runs of `count` elements: `sparse` with its stride in
// the memory of the indexed tensor, `dense` contiguous in a tensor of plan.shape(). If `parallel`,
// runs are handled on several threads (only for runs that do not write to `sparse`: positions may
// repeat).
template <typename T, typename Run>
void for_each_indexed(const Indexed& plan, T* sparse, T* dense, bool parallel, const Run& run) {
  const int64_t positions = static_cast<int64_t>(plan.offsets.size());
  // The innermost dimensions that one stride walks form a run.
  int64_t inner = 1, stride = 1;
  size_t outer_rank = plan.after_sizes.size();
  for (; outer_rank > 0; --outer_rank) {
    const int64_t size = plan.after_sizes[outer_rank - 1];
    const int64_t step = plan.after_strides[outer_rank - 1];
    if (inner != 1 && size != 1 && step != inner * stride) break;
    if (inner == 1) stride = step;
    inner *= size;
  }
  int64_t outer = 1, before = 1;
  for (size_t d = 0; d < outer_rank; ++d) outer *= plan.after_sizes[d];
  for (int64_t size : plan.before_sizes) before *= size;
  const StridedOffsets before_offset(plan.before_sizes, plan.before_strides);
  const StridedOffsets outer_offset(IntSpan(plan.after_sizes).first(outer_rank),
                                    IntSpan(plan.after_strides).first(outer_rank));
  const int64_t block = outer * inner;
  if (block == 0) return;
  auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      T* const base = sparse + before_offset(row / positions);
      const int64_t stop = std::min(end, (row / positions + 1) * positions);
      for (int64_t k = row % positions; row < stop; ++row, ++k) {
        T* const at = base + plan.offsets[static_cast<size_t>(k)];
        T* const to = dense + row * block;
        if (outer == 1) {
          run(at, stride, to, inner);
        } else {
          for (int64_t i = 0; i < outer; ++i)
            run(at + outer_offset(i), stride, to + i * inner, inner);
        }
      }
    }
  };
  if (parallel) {
    parallel_for(before * positions, std::max<int64_t>(1, 32768 / block), rows);
  } else {
    rows(0, before * positions);
  }
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

// Calls fn(zero, wide) with the values of `self` in its compute type, contiguous, and writes what
// fn made of them back. `wide` is self itself if it already is like that.
template <typename Fn>
void with_wide(const Tensor& self, const Fn& fn) {
  auto run = [&](auto zero) {
    const DType dtype = DTypeOf<decltype(zero)>::value;
    if (self.dtype() == dtype && self.is_contiguous()) {
      fn(zero, self);
    } else {
      const Tensor wide = empty(self.sizes(), dtype);
      wide.copy_(self);
      fn(zero, wide);
      self.copy_(wide);
    }
  };
  compute_as<kMapAll>(self.dtype(), "scatter", run);
}

}  // namespace torchlet::ops
