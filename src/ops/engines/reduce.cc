#include "ops/engines/reduce.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kParallelGrain = 32768;
constexpr int64_t kGroup = 16;  // runs gathered together, more of short ones:
constexpr int64_t kGroupElements = 2048;
constexpr int64_t kGatherElements = 65536;  // at most so many elements of them

// The reduced dimensions of a tensor as one run, the others as places of runs.
struct Runs {
  struct Kept {
    int64_t size, stride, output_stride;
  };
  std::vector<Kept> kept;   // by stride, the smallest first
  IntArray sizes, strides;  // of the run: row-major, merged where possible
  int64_t outputs = 1, count = 1;

  Runs(const Tensor& self, const IntArray& dims) {
    for (size_t d = 0; d < self.sizes().size(); ++d) {
      const int64_t size = self.sizes()[d], stride = self.strides()[d];
      if (std::ranges::find(dims, static_cast<int64_t>(d)) == dims.end()) {
        kept.push_back({size, stride, 1});
        outputs *= size;
        continue;
      }
      count *= size;
      if (size == 1) continue;
      if (!sizes.empty() && strides.back() == stride * size) {  // continues the outer dimension
        sizes.back() *= size;
        strides.back() = stride;
      } else {
        sizes.push_back(size);
        strides.push_back(stride);
      }
    }
    for (size_t d = kept.size(); d-- > 1;) {
      kept[d - 1].output_stride = kept[d].output_stride * kept[d].size;
    }
    for (size_t i = 1; i < kept.size(); ++i) {
      for (size_t j = i; j > 0 && kept[j].stride < kept[j - 1].stride; --j) {
        std::swap(kept[j], kept[j - 1]);
      }
    }
  }

  int64_t inner_stride() const { return strides.empty() ? 1 : strides.back(); }

  // `members` runs, the first at `base`, `next` elements apart, into rows of `count`.
  void gather(const std::byte* base, DType dtype, int64_t next, int64_t members, DType compute,
              std::byte* to) const {
    if (count == 0) return;
    const int64_t wide = static_cast<int64_t>(element_size(compute));
    const int64_t width = static_cast<int64_t>(element_size(dtype));
    const int64_t inner = sizes.empty() ? 1 : sizes.back();
    IntArray index(sizes.empty() ? 0 : sizes.size() - 1);
    for (int64_t done = 0; done < count; done += inner) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
      const std::byte* from = base + offset * width;
      if (next == 1 && dtype == compute && wide <= 8 && members > 1) {
        kernels::transpose(wide, inner, members, from, inner_stride(), to + done * wide, count);
      } else if (members == 1) {
        convert_elements(from, dtype, inner_stride(), to + done * wide, compute, 1, inner);
      } else {
        for (int64_t i = 0; i < inner; ++i) {
          convert_elements(from + i * inner_stride() * width, dtype, next, to + (done + i) * wide,
                           compute, count, members);
        }
      }
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < sizes[d]) break;
        index[d] = 0;
      }
    }
  }
};

}  // namespace

IntArray reduced_shape(IntSpan sizes, const IntArray& dims, bool keepdim) {
  IntArray shape;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool reduced = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
    if (!reduced) {
      shape.push_back(sizes[d]);
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

void for_each_run_of(const Tensor& self, const IntArray& dims, DType compute,
                     FunctionRef<void(const void* run, int64_t count, int64_t output_index)> fn) {
  const int64_t wide = static_cast<int64_t>(element_size(compute));
  const int64_t width = static_cast<int64_t>(element_size(self.dtype()));
  const auto* data = static_cast<const std::byte*>(self.raw_data());
  const Runs runs(self, dims);
  const bool in_place = self.dtype() == compute &&
                        (runs.sizes.empty() || (runs.sizes.size() == 1 && runs.strides[0] == 1));
  const auto& kept = runs.kept;
  const int64_t inner = kept.empty() ? 1 : kept[0].size;
  const int64_t next = kept.empty() ? 0 : kept[0].stride;
  const int64_t count = std::max<int64_t>(runs.count, 1);
  // Neighbouring runs are gathered together when that reads along memory.
  const int64_t group = in_place || next >= runs.inner_stride()
                            ? 1
                            : std::clamp<int64_t>(kGatherElements / count, 1,
                                                  std::max(kGroup, kGroupElements / count));
  const int64_t groups = (inner + group - 1) / group;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / checked_mul(count, group));
  if (runs.outputs == 0) return;
  parallel_for(runs.outputs / inner * groups, grain, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<std::byte> buffer(in_place ? 0 : checked_mul(runs.count, group * wide));
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g % groups * group;
      const int64_t members = std::min(group, inner - first);
      int64_t rest = g / groups, offset = first * next;
      int64_t output = kept.empty() ? 0 : first * kept[0].output_stride;
      for (size_t d = 1; d < kept.size(); ++d) {
        offset += rest % kept[d].size * kept[d].stride;
        output += rest % kept[d].size * kept[d].output_stride;
        rest /= kept[d].size;
      }
      const std::byte* base = data + offset * width;
      if (in_place) {
        fn(base, runs.count, output);
        continue;
      }
      runs.gather(base, self.dtype(), next, members, compute, buffer.data());
      for (int64_t i = 0; i < members; ++i) {
        fn(buffer.data() + i * runs.count * wide, runs.count,
           output + (kept.empty() ? 0 : i * kept[0].output_stride));
      }
    }
  });
}

Tensor reduce_with(const Tensor& self, IntSpan dims, bool keepdim, DType compute, DType result,
                   RunBody body, const void* f) {
  const IntArray reduced = normalize_dims(dims, self.dim());
  const Tensor out = empty(reduced_shape(self.sizes(), reduced, keepdim), compute);
  if (is_meta(out)) return out.to(result);
  auto* values = static_cast<std::byte*>(out.raw_data());
  const int64_t width = static_cast<int64_t>(element_size(compute));
  for_each_run_of(self, reduced, compute, [=](const void* run, int64_t count, int64_t i) {
    body(f, run, count, values + i * width);
  });
  return out.to(result);
}

}  // namespace torchlet::ops
