#include "ops/engines/dim_apply.h"

#include <algorithm>

#include "base/checked.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kParallelGrain = 32768;  // elements
constexpr int64_t kGroup = 16;             // neighbouring slices that are read together

// One tensor, seen as slices along a dimension.
struct Side {
  bool exists = false;
  std::byte* data = nullptr;
  DType dtype = DType::kFloat32;
  int64_t width = 0, length = 0, stride = 0;  // of a slice, in elements
  IntArray strides;                           // of the other dimensions

  Side(const Tensor& tensor, int64_t dim, const IntArray& order) {
    if (!tensor.defined()) return;
    exists = true;
    data = static_cast<std::byte*>(tensor.raw_data());
    dtype = tensor.dtype();
    width = static_cast<int64_t>(element_size(dtype));
    length = tensor.dim() == 0 ? 1 : tensor.size(dim);
    stride = tensor.dim() == 0 ? 1 : tensor.stride(dim);
    for (int64_t d : order) strides.push_back(tensor.strides()[static_cast<size_t>(d)]);
  }

  std::byte* slice(const IntArray& index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    return data + offset * width;
  }
  int64_t next() const { return strides.empty() ? 0 : strides[0]; }  // distance of two slices

  // Slices lie in memory as the computation wants them, or are null.
  bool direct(DType compute) const { return !exists || (data && dtype == compute && stride == 1); }

  // `count` slices from `from` on, to or from rows of `length` in `buffer`; along memory.
  template <bool Load>
  void transfer(std::byte* from, int64_t count, void* buffer, DType compute) const {
    const int64_t wide = static_cast<int64_t>(element_size(compute));
    auto* rows = static_cast<std::byte*>(buffer);
    auto move = [&](std::byte* tensor, int64_t step, std::byte* row, int64_t row_step, int64_t n) {
      if constexpr (Load) {
        convert_elements(tensor, dtype, step, row, compute, row_step, n);
      } else {
        convert_elements(row, compute, row_step, tensor, dtype, step, n);
      }
    };
    if (next() == 1 && dtype == compute && width <= 8 && count > 1) {
      if constexpr (Load) {
        kernels::transpose(width, length, count, from, stride, buffer, length);
      } else {
        kernels::transpose(width, count, length, buffer, length, from, stride);
      }
    } else if (next() < stride && count > 1) {
      for (int64_t i = 0; i < length; ++i) {
        move(from + i * stride * width, next(), rows + i * wide, length, count);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        move(from + i * next() * width, stride, rows + i * length * wide, 1, length);
      }
    }
  }
};

}  // namespace

void dim_apply_of(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices,
                  DType compute,
                  FunctionRef<void(const void* in, void* values, int64_t* indices)> fn) {
  dim = wrap_dim(dim, self.dim());
  // The other dimensions, that of neighbouring slices first.
  IntArray order, sizes;
  int64_t slices = 1;
  for (int64_t d = self.dim(); d-- > 0;) {
    if (d != dim) order.push_back(d);
  }
  stable_sort(order, [&](int64_t a, int64_t b) { return self.stride(a) < self.stride(b); });
  for (int64_t d : order) {
    sizes.push_back(self.size(d));
    slices *= self.size(d);
  }
  if (slices == 0) return;
  const Side in(self, dim, order), out(values, dim, order), at(indices, dim, order);

  const int64_t inner = sizes.empty() ? 1 : sizes[0];
  const int64_t groups = (inner + kGroup - 1) / kGroup;
  const int64_t grain =
      std::max<int64_t>(1, kParallelGrain / checked_mul(kGroup, std::max<int64_t>(in.length, 1)));
  parallel_for(slices / inner * groups, grain, [&](int64_t begin, int64_t end) {
    auto room = [](const Side& side, bool direct, DType dtype) {
      return direct ? 0
                    : checked_mul(side.length, kGroup * static_cast<int64_t>(element_size(dtype)));
    };
    const bool in_direct = in.direct(compute), out_direct = out.direct(compute),
               at_direct = at.direct(DType::kInt64);
    const kernels::Scratch<std::byte> in_rows(room(in, in_direct, compute)),
        out_rows(room(out, out_direct, compute)), at_rows(room(at, at_direct, DType::kInt64));
    IntArray index(sizes.size());
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g % groups * kGroup;
      const int64_t count = std::min(kGroup, inner - first);
      if (!index.empty()) index[0] = first;
      int64_t rest = g / groups;
      for (size_t d = 1; d < index.size(); ++d) {
        index[d] = rest % sizes[d];
        rest /= sizes[d];
      }
      std::byte* from = in.slice(index);
      std::byte* to = out.data ? out.slice(index) : nullptr;
      std::byte* to_at = at.data ? at.slice(index) : nullptr;
      if (!in_direct) in.transfer<true>(from, count, in_rows.data(), compute);
      for (int64_t i = 0; i < count; ++i) {
        auto row = [i](const Side& side, std::byte* base, bool direct,
                       const kernels::Scratch<std::byte>& rows, DType dtype) -> void* {
          const int64_t at_element = i * (direct ? side.next() : side.length);
          return (direct ? base : rows.data()) +
                 at_element * static_cast<int64_t>(element_size(dtype));
        };
        fn(row(in, from, in_direct, in_rows, compute), row(out, to, out_direct, out_rows, compute),
           static_cast<int64_t*>(row(at, to_at, at_direct, at_rows, DType::kInt64)));
      }
      if (out.data && !out_direct) out.transfer<false>(to, count, out_rows.data(), compute);
      if (at.data && !at_direct) at.transfer<false>(to_at, count, at_rows.data(), DType::kInt64);
    }
  });
}

}  // namespace torchlet::ops
