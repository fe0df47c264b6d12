#include "ops/reduce.h"

#include <algorithm>
#include <complex>
#include <vector>

#include "base/thread_pool.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kParallelGrain = 32768;

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

template <typename C>
void for_each_run(const Tensor& self, const IntArray& dims,
                  FunctionRef<void(const C* run, int64_t count, int64_t output_index)> fn) {
  IntArray kept_sizes, kept_strides, run_sizes, run_strides;
  int64_t outputs = 1, count = 1;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    const int64_t size = self.sizes()[d], stride = self.strides()[d];
    if (std::ranges::find(dims, static_cast<int64_t>(d)) == dims.end()) {
      kept_sizes.push_back(size);
      kept_strides.push_back(stride);
      outputs *= size;
      continue;
    }
    count *= size;
    if (size == 1) continue;
    if (!run_sizes.empty() &&
        run_strides.back() == stride * size) {  // continues the outer dimension
      run_sizes.back() *= size;
      run_strides.back() = stride;
    } else {
      run_sizes.push_back(size);
      run_strides.push_back(stride);
    }
  }
  const int64_t width = static_cast<int64_t>(element_size(self.dtype()));
  const auto* data = static_cast<const std::byte*>(self.raw_data());
  const bool in_place = self.dtype() == DTypeOf<C>::value &&
                        (run_sizes.empty() || (run_sizes.size() == 1 && run_strides[0] == 1));

  auto gather = [&](const std::byte* base, C* to) {
    if (count == 0) return;
    const int64_t inner = run_sizes.empty() ? 1 : run_sizes.back();
    const int64_t inner_stride = run_sizes.empty() ? 1 : run_strides.back();
    IntArray index(run_sizes.empty() ? 0 : run_sizes.size() - 1);
    for (int64_t done = 0; done < count; done += inner) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * run_strides[d];
      convert_elements(base + offset * width, self.dtype(), inner_stride, to + done,
                       DTypeOf<C>::value, 1, inner);
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < run_sizes[d]) break;
        index[d] = 0;
      }
    }
  };

  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(count, 1));
  parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
    std::vector<C> buffer(in_place ? 0 : static_cast<size_t>(count));
    for (int64_t output = begin; output < end; ++output) {
      int64_t rest = output, offset = 0;
      for (size_t d = kept_sizes.size(); d-- > 0;) {
        offset += rest % kept_sizes[d] * kept_strides[d];
        rest /= kept_sizes[d];
      }
      const std::byte* base = data + offset * width;
      if (in_place) {
        fn(reinterpret_cast<const C*>(base), count, output);
      } else {
        gather(base, buffer.data());
        fn(buffer.data(), count, output);
      }
    }
  });
}

template void for_each_run<int64_t>(const Tensor&, const IntArray&,
                                    FunctionRef<void(const int64_t*, int64_t, int64_t)>);
template void for_each_run<float>(const Tensor&, const IntArray&,
                                  FunctionRef<void(const float*, int64_t, int64_t)>);
template void for_each_run<double>(const Tensor&, const IntArray&,
                                   FunctionRef<void(const double*, int64_t, int64_t)>);
template void for_each_run<std::complex<double>>(
    const Tensor&, const IntArray&,
    FunctionRef<void(const std::complex<double>*, int64_t, int64_t)>);

}  // namespace torchlet::ops
