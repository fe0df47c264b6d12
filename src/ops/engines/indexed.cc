#include "ops/engines/indexed.h"

#include "base/limits.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

// Adds the offsets of `index`, positions along a dimension of that size and stride, to `offsets`.
void add_offsets(const Tensor& index, int64_t size, int64_t stride, int64_t dim, bool wrap,
                 const char* what, CountedVector<int64_t>& offsets) {
  const int64_t* const positions = index.data_ptr<int64_t>();
  const int64_t from_end = wrap ? size : 0;
  int64_t signs = 0;  // of numbers that are negative if a position is out of bounds
  for (size_t k = 0; k < offsets.size(); ++k) {
    const int64_t at = positions[k] + (positions[k] >> 63 & from_end);
    signs |= at | static_cast<int64_t>(static_cast<uint64_t>(size) - 1 - static_cast<uint64_t>(at));
    offsets[k] += static_cast<int64_t>(static_cast<uint64_t>(at) * static_cast<uint64_t>(stride));
  }
  for (size_t k = 0; signs < 0 && k < offsets.size(); ++k) {
    TORCHLET_CHECK(positions[k] >= -from_end && positions[k] < size,
                   "%s: index %lld is out of bounds for dimension %lld with size %lld", what,
                   static_cast<long long>(positions[k]), static_cast<long long>(dim),
                   static_cast<long long>(size));
  }
}

Tensor as_positions(const Tensor& index) {
  TORCHLET_CHECK(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32,
                 "tensors used as indices must be long, byte or bool tensors, got %s",
                 index.describe().c_str());
  return index.to(DType::kInt64);
}

bool is_mask(const Tensor& index) {
  return index.dtype() == DType::kBool || index.dtype() == DType::kUInt8;
}

// One position tensor (or none) for each dimension of self: a mask becomes the coordinates of its
// true elements, one tensor for each dimension that it covers (a 0-d mask covers none).
std::vector<Tensor> positions_by_dim(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& index = indices[i];
    if (!index.defined()) {
      result.push_back(index);
    } else if (is_mask(index)) {
      for (size_t d = 0; d < index.sizes().size(); ++d) {
        const size_t dim = result.size() + d;
        TORCHLET_CHECK(dim < self.sizes().size() && index.sizes()[d] == self.sizes()[dim],
                       "The shape of the mask %s at index %zu does not match the shape of the "
                       "indexed tensor %s at index %zu",
                       index.describe().c_str(), d, self.describe().c_str(), dim);
      }
      const Tensor coordinates = nonzero(index);
      for (int64_t d = 0; d < index.dim(); ++d) result.push_back(select(coordinates, 1, d));
    } else {
      result.push_back(as_positions(index));
    }
  }
  TORCHLET_CHECK(result.size() <= self.sizes().size(),
                 "too many indices for tensor of dimension %lld (got %zu)",
                 static_cast<long long>(self.dim()), result.size());
  result.resize(self.sizes().size());
  return result;
}

}  // namespace

Indexed index_along(const Tensor& self, int64_t dim, const Tensor& index, bool wrap,
                    const char* what) {
  TORCHLET_CHECK(index.dim() <= 1, "%s: Index is supposed to be a vector, got %s", what,
                 index.describe().c_str());
  TORCHLET_CHECK(index.dtype() == DType::kInt64 || index.dtype() == DType::kInt32,
                 "%s: Expected dtype int32 or int64 for index, got %s", what,
                 index.describe().c_str());
  const size_t d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Tensor positions = index.to(DType::kInt64).contiguous();
  const int64_t size = self.dim() ? self.sizes()[d] : 1;
  const int64_t stride = self.dim() ? self.strides()[d] : 1;
  Indexed plan;
  plan.index_shape = {positions.numel()};
  plan.offsets.resize(static_cast<size_t>(positions.numel()));
  add_offsets(positions, size, stride, static_cast<int64_t>(d), wrap, what, plan.offsets);
  if (self.dim() == 0) return plan;
  plan.before_sizes = self.sizes().first(d);
  plan.before_strides = self.strides().first(d);
  plan.after_sizes = self.sizes().subspan(d + 1);
  plan.after_strides = self.strides().subspan(d + 1);
  return plan;
}

Indexed index_with(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> positions = positions_by_dim(self, indices);
  Indexed plan;
  size_t first = positions.size(), last = 0, count = 0;
  for (size_t d = 0; d < positions.size(); ++d) {
    if (!positions[d].defined()) continue;
    if (count++ == 0) {
      first = d;
      plan.index_shape = positions[d].sizes();
    } else {
      plan.index_shape = broadcast_shapes(plan.index_shape, positions[d].sizes());
    }
    last = d;
  }
  TORCHLET_CHECK(count > 0, "at least one index must be a tensor");
  const int64_t places = checked_numel(plan.index_shape);
  require_memory(places, sizeof(int64_t), "places of an index");
  plan.offsets.resize(static_cast<size_t>(places));
  // Index dimensions that are not side by side move to the front of the result.
  const bool adjacent = last - first + 1 == count;
  for (size_t d = 0; d < positions.size(); ++d) {
    const int64_t size = self.sizes()[d], stride = self.strides()[d];
    if (positions[d].defined()) {
      const Tensor dense = expand(positions[d], plan.index_shape).contiguous();
      add_offsets(dense, size, stride, static_cast<int64_t>(d), true, "index", plan.offsets);
    } else if (adjacent && d < first) {
      plan.before_sizes.push_back(size);
      plan.before_strides.push_back(stride);
    } else {
      plan.after_sizes.push_back(size);
      plan.after_strides.push_back(stride);
    }
  }
  return plan;
}

Indexed index_elements(const Tensor& self, const Tensor& positions) {
  Indexed plan;
  plan.index_shape = positions.sizes();
  plan.offsets.resize(static_cast<size_t>(positions.numel()));
  add_offsets(positions.contiguous(), self.numel(), 1, 0, true, "index", plan.offsets);
  if (self.is_contiguous()) return plan;
  const StridedOffsets offset(self.sizes(), self.strides());
  for (int64_t& element : plan.offsets) element = offset(element);
  return plan;
}

namespace {

// The innermost dimensions that one stride walks, and how many are left.
struct Walk {
  size_t outer_rank;
  int64_t count = 1, step = 1;
};
Walk innermost(IntSpan sizes, IntSpan strides) {
  Walk walk{sizes.size()};
  for (; walk.outer_rank > 0; --walk.outer_rank) {
    const int64_t size = sizes[walk.outer_rank - 1], step = strides[walk.outer_rank - 1];
    if (walk.count != 1 && size != 1 && step != walk.count * walk.step) break;
    if (walk.count == 1) walk.step = step;
    walk.count *= size;
  }
  return walk;
}

}  // namespace

void for_each_indexed_of(const Indexed& plan, void* sparse, void* dense, int64_t width,
                         bool parallel, FunctionRef<void(const IndexedRuns&)> run) {
  const int64_t positions = static_cast<int64_t>(plan.offsets.size());
  const Walk walk_after = innermost(plan.after_sizes, plan.after_strides);
  const size_t outer_rank = walk_after.outer_rank;
  const int64_t inner = walk_after.count, stride = walk_after.step;
  int64_t outer = 1, before = 1;
  for (size_t d = 0; d < outer_rank; ++d) outer *= plan.after_sizes[d];
  for (int64_t size : plan.before_sizes) before *= size;
  // Rows that follow each other at one distance are handled together.
  const Walk walk_before = innermost(plan.before_sizes, plan.before_strides);
  const size_t before_rank = walk_before.outer_rank;
  const int64_t together = walk_before.count, row_step = walk_before.step;
  const StridedOffsets group_offset(IntSpan(plan.before_sizes).first(before_rank),
                                    IntSpan(plan.before_strides).first(before_rank));
  const StridedOffsets outer_offset(IntSpan(plan.after_sizes).first(outer_rank),
                                    IntSpan(plan.after_strides).first(outer_rank));
  const int64_t block = outer * inner;
  if (block == 0) return;
  auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end;) {
      const int64_t outermost = row / positions, in_group = outermost % together;
      auto* const base = static_cast<std::byte*>(sparse) +
                         (group_offset(outermost / together) + in_group * row_step) * width;
      const int64_t first = row % positions;
      const int64_t* offsets = plan.offsets.data() + first;
      std::byte* to = static_cast<std::byte*>(dense) + row * block * width;
      const int64_t whole = std::min((end - row) / positions, together - in_group);
      if (outer == 1 && first == 0 && whole > 1) {
        run({base, to, offsets, positions, stride, inner, whole, row_step});
        row += whole * positions;
        continue;
      }
      const int64_t stop = std::min(end, row - first + positions);
      if (outer == 1) run({base, to, offsets, stop - row, stride, inner});
      for (; outer != 1 && row < stop; ++row, ++offsets) {
        for (int64_t i = 0; i < outer; ++i, to += inner * width) {
          run({base + outer_offset(i) * width, to, offsets, 1, stride, inner});
        }
      }
      row = stop;
    }
  };
  if (parallel) {
    parallel_for(before * positions, std::max<int64_t>(1, 32768 / block), rows);
  } else {
    rows(0, before * positions);
  }
}

}  // namespace torchlet::ops
