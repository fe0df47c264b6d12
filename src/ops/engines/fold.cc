#include "ops/engines/fold.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/selection.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "ops/core/dense_order.h"
#include "ops/engines/fold/columns.h"
#include "ops/engines/fold/numbers.h"
#include "ops/engines/fold/runs.h"
#include "ops/engines/fold/walk.h"
#include "ops/engines/reduce.h"
#include "tensor/meta.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {

using kernels::Fold;
using namespace folding;

namespace {

// Contiguous [outer, count, inner] is folded to [outer, inner].
struct Matrices {
  int64_t outer = 1, count = 1, inner = 1;
};

// These, if they are so many and small that each would cost more than its elements.
[[maybe_unused]] std::optional<Matrices> many_small(const Tensor& self, const IntArray& dims) {
  constexpr int64_t kMany = 64, kNarrow = 16, kSmall = 256;
  if (!self.is_contiguous() || dims.empty()) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(dims);
  if (last - first + 1 != std::ssize(dims)) return std::nullopt;
  Matrices m;
  for (int64_t d = 0; d < self.dim(); ++d) {
    (d < first ? m.outer : d > last ? m.inner : m.count) *= self.size(d);
  }
  const bool is_so = m.outer >= kMany && m.inner > 1 && m.inner <= kNarrow && m.count <= kCascade &&
                     m.count * m.inner <= kSmall;
  return is_so ? std::optional(m) : std::nullopt;
}

// Some at a time lie side by side, as one with long rows.
[[maybe_unused]] void fold_side_by_side(Fold fold, const Numbers& numbers, const std::byte* x,
                                        const Matrices& m, std::byte* out) {
  const int64_t width = numbers.width, elements = m.count * m.inner;
  const int64_t most = kAcrossElements / elements;
  parallel_for(m.outer, most, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<std::byte> rows(most * elements * width);
    const kernels::Scratch<std::byte> results(most * m.inner * width);
    for (int64_t o = begin; o < end; o += most) {
      const int64_t some = std::min(most, end - o), cols = m.inner * some;
      kernels::transpose(width, some, elements, x + o * elements * width, elements, rows.data(),
                         some);
      fold_anew(fold, numbers, {numbers.type, rows.data(), cols, m.count, cols}, results.data());
      kernels::transpose(width, m.inner, some, results.data(), some, out + o * m.inner * width,
                         m.inner);
    }
  });
}

// Whether rows are folded to one before each is: what they give is read together, not in pieces.
bool is_across_first(const Walk& walk) {
  if (!selection::kHasConversions || walk.reduced.size() < 2) return false;
  if (walk.is_short) return true;
  const Dim &inner = walk.reduced.back(), &outer = walk.reduced[walk.reduced.size() - 2];
  return inner.stride == 1 && inner.size < kShortRun && !walk.kept.empty() &&
         walk.kept.back().stride < outer.stride;
}

void fold_elements(Fold fold, const Numbers& numbers, const Tensor& self, const IntArray& dims,
                   const Tensor& center, std::byte* out, int64_t outputs) {
  const int64_t run_columns =
      self.dtype() == numbers.dtype ? most_run_columns(fold, numbers.dtype) : 0;
  const bool may_run = run_columns > 0;
  if constexpr (selection::kHasConversions) {
    constexpr int64_t kLarge = 1 << 16;
    if (may_run && outputs == 1 && !center.defined() && self.numel() >= kLarge &&
        is_non_overlapping_and_dense(self.sizes(), self.strides())) {
      return fold_all(fold, self, out);
    }
    const bool may_turn = self.dtype() == numbers.dtype && !center.defined();
    if (const auto matrices = may_turn ? many_small(self, dims) : std::nullopt) {
      const auto* x = static_cast<const std::byte*>(self.raw_data());
      return fold_side_by_side(fold, numbers, x, *matrices, out);
    }
  }
  // A center is that of a whole run.
  const Walk walk(self, dims, center.defined() ? std::min<int64_t>(1, run_columns) : run_columns);
  if (is_across_first(walk)) {
    // What they give is written and read again, so that they have to be of some number.
    constexpr int64_t kLeastRows = 4;
    const Dim inner = walk.reduced.back();
    IntArray sizes(self.sizes()), across, rest;
    int64_t rows = 1;
    for (const int64_t d : dims) {
      const auto at = static_cast<size_t>(d);
      if (self.strides()[at] < inner.stride * inner.size) {
        rest.push_back(d);
      } else {
        rows *= std::exchange(sizes[at], 1);
        across.push_back(d);
      }
    }
    if (rows >= kLeastRows && !rest.empty()) {
      Tensor folded;
      if (!center.defined()) {
        folded = ops::fold(fold, self, across, true, numbers.dtype);  // in any order of memory
      } else {
        const Tensor centers =
            expand(view(center, reduced_shape(self.sizes(), dims, true)), sizes).contiguous();
        folded = empty(sizes, numbers.dtype);
        fold_elements(fold, numbers, self, across, centers,
                      static_cast<std::byte*>(folded.raw_data()), folded.numel());
      }
      return fold_elements(fold_of_results(fold), numbers, folded, rest, {}, out, outputs);
    }
  }
  if (may_run && !center.defined() && walk.ends_with_run()) {
    // Along the runs first; what they give lies together, and is folded along the other dimensions.
    IntArray sizes(self.sizes()), along, others;
    int64_t run = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      const bool is_reduced = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
      const bool follows =
          self.strides()[d] == run && (selection::kHasConversions || run * sizes[d] <= kMostRun);
      if (is_reduced && follows) {
        run *= std::exchange(sizes[d], 1);
        along.push_back(static_cast<int64_t>(d));
      } else if (is_reduced) {
        others.push_back(static_cast<int64_t>(d));
      }
    }
    if (run >= kLeastRun && !others.empty()) {
      const Tensor folded = empty(sizes, numbers.dtype);
      auto* const to = static_cast<std::byte*>(folded.raw_data());
      fold_elements(fold, numbers, self, along, {}, to, folded.numel());
      return fold_elements(fold_of_results(fold), numbers, folded, others, {}, out, outputs);
    }
  }
  const auto* const centers =
      center.defined() ? static_cast<const std::byte*>(center.raw_data()) : nullptr;
  if (walk.is_runs) return fold_along_runs(fold, self, walk, centers, out, outputs);
  fold_columns(fold, numbers, self, walk, centers, out, outputs);
}

}  // namespace

void fold_into(Fold fold, const Tensor& self, IntSpan dims, const Tensor& out,
               const Tensor& center) {
  if (out.numel() == 0) return;
  const Numbers numbers(out.dtype());
  auto* values = static_cast<std::byte*>(out.raw_data());
  if (self.numel() == 0) return numbers.fill(values, out.numel(), identity(fold));
  // What lies dense is converted at once: results of few elements are many short pieces.
  const bool is_converted = self.dtype() != numbers.dtype && out.numel() > 1 &&
                            is_non_overlapping_and_dense(self.sizes(), self.strides());
  fold_elements(fold, numbers, is_converted ? self.to(numbers.dtype) : self,
                normalize_dims(dims, self.dim()), center, values, out.numel());
}

namespace {

// The order of memory, if the kept dimensions are not in theirs there: results that lie side by
// side are those of elements that do.
[[maybe_unused]] std::optional<IntArray> order_of_results(const Tensor& self,
                                                          const IntArray& dims) {
  if (self.is_contiguous()) return std::nullopt;
  IntArray order;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.stride(d) == 0 && self.size(d) > 1) return std::nullopt;
    order.push_back(d);
  }
  stable_sort(order, [&](int64_t x, int64_t y) { return self.stride(x) > self.stride(y); });
  int64_t last = -1;
  for (int64_t d : order) {
    if (self.size(d) == 1 || std::ranges::find(dims, d) != dims.end()) continue;
    if (d < last) return order;
    last = d;
  }
  return std::nullopt;
}

}  // namespace

Tensor fold(Fold fold, const Tensor& self, IntSpan dims, bool keepdim, DType compute,
            const Tensor& center) {
  const IntArray reduced = normalize_dims(dims, self.dim());
  const IntArray sizes = reduced_shape(self.sizes(), reduced, keepdim);
  if constexpr (selection::kHasConversions) {
    const bool may_reorder = !center.defined() && !is_meta(self) && self.numel() > 0;
    if (const auto order = may_reorder ? order_of_results(self, reduced) : std::nullopt) {
      const IntArray places = inverse_order(*order);
      IntArray there;
      for (int64_t d : reduced) there.push_back(places[static_cast<size_t>(d)]);
      const Tensor folded = ops::fold(fold, permute(self, *order), there, true, compute);
      return view(permute(folded, places).contiguous(), sizes);
    }
  }
  const Tensor out = empty(sizes, Numbers(compute).dtype);
  if (!is_meta(out)) fold_into(fold, self, dims, out, center);
  return out;
}

}  // namespace torchlet::ops
