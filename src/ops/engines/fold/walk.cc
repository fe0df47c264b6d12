#include "ops/engines/fold/walk.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/selection.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops::folding {
namespace {

std::vector<Dim> merged(const std::vector<Dim>& dims) {
  std::vector<Dim> result;
  for (const Dim& dim : dims) {
    Dim* last = result.empty() ? nullptr : &result.back();
    if (last && last->is_reduced == dim.is_reduced && last->stride == dim.stride * dim.size &&
        (dim.is_reduced || last->output_stride == dim.output_stride * dim.size)) {
      *last = {last->size * dim.size, dim.stride, dim.output_stride, dim.is_reduced};
    } else {
      result.push_back(dim);
    }
  }
  return result;
}

}  // namespace

Walk::Walk(const Tensor& self, const IntArray& dims, int64_t most_run_columns) {
  std::vector<Dim> all;
  int64_t output_stride = 1;
  for (size_t d = self.sizes().size(); d-- > 0;) {
    const bool is_reduced = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
    const int64_t size = self.sizes()[d];
    if (size != 1) all.push_back({size, self.strides()[d], output_stride, is_reduced});
    if (!is_reduced) output_stride *= size;
  }
  // The widest stride first; what is repeated (stride 0) outermost.
  const auto reach = [](const Dim& dim) {
    return dim.stride == 0 ? std::numeric_limits<int64_t>::max() : dim.stride;
  };
  for (size_t i = 1; i < all.size(); ++i) {
    for (size_t j = i; j > 0 && reach(all[j]) > reach(all[j - 1]); --j) {
      std::swap(all[j], all[j - 1]);
    }
  }
  all = merged(all);
  const size_t count = all.size();
  is_runs = most_run_columns > 0 && count > 1 && all.back().is_reduced && all.back().stride == 1 &&
            std::ranges::count_if(all, &Dim::is_reduced) == 1 && all.back().size >= kLeastRun &&
            (selection::kHasConversions || all.back().size <= kMostRun);
  is_short = !is_runs && count > 1 && all[count - 1].is_reduced && !all[count - 2].is_reduced &&
             all[count - 1].size < (all[count - 2].size < kAcross ? kAcross : kShortRun);
  if (is_short) std::swap(all[count - 1], all[count - 2]);
  if (!all.empty() && !all.back().is_reduced) {
    columns = all.back();
    all.pop_back();
  }
  for (const Dim& dim : all) (dim.is_reduced ? reduced : kept).push_back(dim);
  if (reduced.empty()) reduced.push_back({1, columns.size, 0, true});
  if (selection::kHasConversions && columns.size > 1 && columns.size <= most_run_columns) {
    const int64_t elements = reduced[0].size * columns.size;
    is_runs = std::has_single_bit(static_cast<uint64_t>(columns.size)) && columns.stride == 1 &&
              columns.output_stride == 1 && reduced.size() == 1 && !kept.empty() &&
              reduced[0].stride == columns.size && elements >= kLeastRun && elements <= kMostRun;
  }
}

std::pair<int64_t, int64_t> Walk::place_of(int64_t index, int64_t column) const {
  int64_t offset = column * columns.stride, output = column * columns.output_stride;
  for (size_t d = kept.size(); d-- > 0; index /= kept[d].size) {
    offset += index % kept[d].size * kept[d].stride;
    output += index % kept[d].size * kept[d].output_stride;
  }
  return {offset, output};
}

bool Walk::ends_with_run() const {
  const Dim& last = reduced.back();
  return (is_short || columns.size == 1) && reduced.size() > 1 && last.stride == 1 &&
         last.size >= kLeastRun;
}

}  // namespace torchlet::ops::folding
