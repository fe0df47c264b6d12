#include <algorithm>
#include <numeric>

#include "base/selection.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/reduce/fold.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/pool2d.h"
#include "kernels/spatial/pool_nhwc.h"
#include "ops/engines/integer_math.h"
#include "ops/nn/pool_windows.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// What the sum under window (d, h, w) is divided by.
using Divisor = FunctionRef<int64_t(size_t d, size_t h, size_t w)>;

// Averages of int64 with channels inside, all channels of a pixel at once; nothing if they lie
// otherwise.
[[maybe_unused]] std::optional<Tensor> average_integers(int64_t spatial, const Tensor& self,
                                                        const PoolAxes& axes, Divisor divisor) {
  const Tensor volume = as_volume(spatial, self);
  if (self.dtype() != DType::kInt64 || !has_channels_inside(volume)) return std::nullopt;
  const Tensor result =
      empty(pooled_shape(spatial, self, axes), DType::kInt64, self.suggest_memory_format());
  const Volume<int64_t> in(volume), out(as_volume(spatial, result));
  const int64_t channels = volume.size(1);
  const PoolAxis &depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t outputs = volume.size(0) * depth.out * height.out * width.out;
  constexpr int64_t kElementsPerTask = 16384;
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / channels);
  parallel_for(outputs, grain, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<int64_t> sums(channels);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / width.out, plane = row / height.out, n = plane / depth.out;
      const int64_t at[] = {plane % depth.out, row % height.out, i % width.out};
      const auto d = static_cast<size_t>(at[0]), h = static_cast<size_t>(at[1]),
                 w = static_cast<size_t>(at[2]);
      std::fill_n(sums.data(), channels, 0);
      for (int64_t z = depth.begin[d]; z < depth.end[d]; ++z) {
        for (int64_t y = height.begin[h]; y < height.end[h]; ++y) {
          for (int64_t x = width.begin[w]; x < width.end[w]; ++x) {
            const int64_t* const pixel = in.at(n, 0, z, y, x);
            for (int64_t c = 0; c < channels; ++c) sums[c] = wrap_add(sums[c], pixel[c]);
          }
        }
      }
      int64_t* const to = out.at(n, 0, at[0], at[1], at[2]);
      const int64_t count = divisor(d, h, w);
      for (int64_t c = 0; c < channels; ++c) to[c * out.strides[1]] = sums[c] / count;
    }
  });
  return result;
}

Tensor average_over(int64_t spatial, const Tensor& self, const PoolAxes& axes, Divisor divisor) {
  const IntArray shape = pooled_shape(spatial, self, axes);
  return compute_as<kMapReal | kMapInt>(self.dtype(), "avg_pool", [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
    if constexpr (std::is_same_v<T, int64_t> && selection::kHasConversions) {
      if (const auto averages = average_integers(spatial, self, axes, divisor)) return *averages;
    }
    const Tensor in = dense_as<T>(self);
    const Tensor out = empty(shape, DTypeOf<T>::value);
    if (is_meta(out)) return out.to(self.dtype()).contiguous(self.suggest_memory_format());
    T* out_data = out.data_ptr<T>();
    const PoolAxis &depth = axes[0], &height = axes[1], &width = axes[2];
    for_each_window<T>(in, plane_count(spatial, self), axes,
                       [&](const T* plane, int64_t at, size_t d, size_t h, size_t w) {
                         Sum sum = 0;
                         for (int64_t z = depth.begin[d]; z < depth.end[d]; ++z) {
                           for (int64_t y = height.begin[h]; y < height.end[h]; ++y) {
                             const T* row = plane + (z * height.in + y) * width.in;
                             for (int64_t x = width.begin[w]; x < width.end[w]; ++x) sum += row[x];
                           }
                         }
                         out_data[at] = static_cast<T>(sum / static_cast<Sum>(divisor(d, h, w)));
                       });
    return out.to(self.dtype()).contiguous(self.suggest_memory_format());
  });
}

// The average pooling of an image or a line of floats whose channels lie inside, by a kernel
// pool(input, pixel stride, output) of NHWC; nothing if it lies otherwise.
template <typename Pool>
std::optional<Tensor> average_of_channels(int64_t spatial, const Tensor& self, const PoolAxes& axes,
                                          const Pool& pool) {
  if (spatial > 2) return std::nullopt;
  const Tensor in = as_volume(spatial, self);
  const int64_t pixel = in.size(4) > 1 ? in.stride(4) : in.size(1);
  const int64_t row = pixel * in.size(4), plane = row * in.size(3);
  if (!has_channels_inside(in) || pixel < in.size(1) || (in.size(3) > 1 && in.stride(3) != row) ||
      (in.size(0) > 1 && in.stride(0) != plane)) {
    return std::nullopt;
  }
  const Tensor out = empty({{in.size(0), in.size(1), axes[1].out, axes[2].out}}, DType::kFloat32,
                           MemoryFormat::kChannelsLast);
  pool(in.data_ptr<float>(), pixel, out.data_ptr<float>());
  IntArray shape = pooled_shape(spatial, self, axes);
  const MemoryFormat format = self.suggest_memory_format();
  return view(out.contiguous(spatial == 2 ? format : MemoryFormat::kContiguous), shape);
}

// Of volumes: the sum of the planes under a window, averaged as planes are.
Tensor average_of_planes(const Tensor& self, const PoolAxes& axes, PoolWindow window,
                         bool count_include_pad, int64_t divisor) {
  for (IntArray* sizes : {&window.kernel, &window.stride, &window.padding}) {
    if (sizes->size() == 3) sizes->erase(sizes->begin());
  }
  const kernels::Window2dShape planes = kernel_window(axes, window, 2);
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(3, self, axes), DType::kFloat32);
  if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
  const PoolAxis& depth = axes[0];
  const int64_t from_plane = planes.in_h * planes.in_w, to_plane = planes.out_h * planes.out_w;
  parallel_for(plane_count(3, self) * depth.out, 1, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<float> sums(from_plane);
    for (int64_t i = begin; i < end; ++i) {
      const size_t d = static_cast<size_t>(i % depth.out);
      const int64_t taps = std::max<int64_t>(0, depth.end[d] - depth.begin[d]);
      const float* from =
          in.data_ptr<float>() + (i / depth.out * depth.in + depth.begin[d]) * from_plane;
      float* to = out.data_ptr<float>() + i * to_plane;
      std::fill_n(sums.data(), from_plane, 0.0f);
      kernels::fold_rows(kernels::Fold::kSum,
                         {kernels::FoldType::kFloat32, from, from_plane, taps, from_plane},
                         sums.data());
      kernels::avg_pool2d_f32(planes, count_include_pad, divisor, sums.data(), to, 1);
      const int64_t count = count_include_pad ? depth.covered[d] : std::max<int64_t>(1, taps);
      for (int64_t p = 0; p < to_plane && divisor == 0; ++p) to[p] /= static_cast<float>(count);
    }
  });
  return out.contiguous(self.suggest_memory_format());
}

// Of volumes: the sum of the planes under a window, then of their lines, then of its columns.
Tensor adaptive_average_of_planes(const Tensor& self, const PoolAxes& axes) {
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(3, self, axes), DType::kFloat32);
  if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
  const PoolAxis &depth = axes[0], &height = axes[1], &width = axes[2];
  const int64_t from_plane = height.in * width.in, to_plane = height.out * width.out;
  parallel_for(plane_count(3, self) * depth.out, 1, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<float> plane(from_plane), line(width.in);
    const auto add = [](const float* from, int64_t rows, int64_t columns, float* to) {
      std::fill_n(to, columns, 0.0f);
      kernels::fold_rows(kernels::Fold::kSum,
                         {kernels::FoldType::kFloat32, from, columns, rows, columns}, to);
    };
    for (int64_t i = begin; i < end; ++i) {
      const size_t d = static_cast<size_t>(i % depth.out);
      const int64_t first = i / depth.out * depth.in + depth.begin[d];
      add(in.data_ptr<float>() + first * from_plane, depth.covered[d], from_plane, plane.data());
      float* to = out.data_ptr<float>() + i * to_plane;
      for (size_t h = 0; h < height.begin.size(); ++h) {
        add(plane.data() + height.begin[h] * width.in, height.covered[h], width.in, line.data());
        for (size_t w = 0; w < width.begin.size(); ++w) {
          const float sum =
              std::accumulate(line.data() + width.begin[w], line.data() + width.end[w], 0.0f);
          *to++ = sum / static_cast<float>(depth.covered[d] * height.covered[h] * width.covered[w]);
        }
      }
    }
  });
  return out.contiguous(self.suggest_memory_format());
}

bool is_global(const PoolAxes& axes) {
  return std::ranges::all_of(axes, [](const PoolAxis& axis) { return axis.out == 1; });
}

}  // namespace

Tensor avg_pool(int64_t spatial, const Tensor& self, PoolWindow window, bool count_include_pad,
                std::optional<int64_t> divisor) {
  TORCHLET_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  window.dilation = {1};
  const PoolAxes axes = sliding_axes(spatial, self, window, 1);
  if (spatial < 3 && self.dtype() == DType::kFloat32) {
    if constexpr (selection::kHasConversions) {
      const auto pool = [&](const float* from, int64_t pixel, float* to) {
        kernels::avg_pool_nhwc({plane_count(spatial, self) / self.size(-spatial - 1),
                                self.size(-spatial - 1), kernel_window(axes, window, spatial)},
                               count_include_pad, divisor.value_or(0), from, pixel, to,
                               self.size(-spatial - 1));
      };
      if (const auto out = average_of_channels(spatial, self, axes, pool)) return *out;
    }
    const Tensor in = self.contiguous();
    const Tensor out = empty(pooled_shape(spatial, self, axes), DType::kFloat32);
    if (!is_meta(out)) {
      kernels::avg_pool2d_f32(kernel_window(axes, window, spatial), count_include_pad,
                              divisor.value_or(0), in.data_ptr<float>(), out.data_ptr<float>(),
                              plane_count(spatial, self));
    }
    return out.contiguous(self.suggest_memory_format());
  }
  auto size = [](const PoolAxis& axis, size_t i) {
    return std::max<int64_t>(0, axis.end[i] - axis.begin[i]);
  };
  if (self.dtype() == DType::kFloat32 && self.numel() > 0) {  // of volumes
    return average_of_planes(self, axes, window, count_include_pad, divisor.value_or(0));
  }
  return average_over(spatial, self, axes, [&](size_t d, size_t h, size_t w) -> int64_t {
    if (divisor) return *divisor;
    if (count_include_pad) {
      return axes[0].covered[d] * axes[1].covered[h] * axes[2].covered[w];
    }
    // A window that lies in the padding alone gives 0.
    return std::max<int64_t>(1, size(axes[0], d) * size(axes[1], h) * size(axes[2], w));
  });
}

Tensor adaptive_avg_pool(int64_t spatial, const Tensor& self, IntSpan output_size) {
  const PoolAxes axes = adaptive_axes(spatial, self, output_size);
  if constexpr (selection::kHasConversions) {
    if (self.dtype() == DType::kFloat32) {
      const auto pool = [&](const float* from, int64_t pixel, float* to) {
        const int64_t channels = self.size(-spatial - 1);
        kernels::adaptive_avg_pool_nhwc({plane_count(spatial, self) / channels, channels,
                                         axes[1].in, axes[2].in, axes[1].out, axes[2].out},
                                        from, pixel, to, channels);
      };
      if (const auto out = average_of_channels(spatial, self, axes, pool)) return *out;
    }
  }
  if (self.dtype() == DType::kFloat32 && is_global(axes)) {
    const Tensor in = self.contiguous();
    const Tensor out = empty(pooled_shape(spatial, self, axes), DType::kFloat32);
    if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
    const int64_t plane = axes[0].in * axes[1].in * axes[2].in;
    float* data = out.data_ptr<float>();
    kernels::row_sums_f32(in.data_ptr<float>(), data, out.numel(), plane);
    for (int64_t i = 0; i < out.numel(); ++i) data[i] /= static_cast<float>(plane);
    return out.contiguous(self.suggest_memory_format());
  }
  if (selection::kIsWhole && spatial == 3 && self.dtype() == DType::kFloat32 && self.numel() > 0) {
    return adaptive_average_of_planes(self, axes);
  }
  return average_over(spatial, self, axes, [&](size_t d, size_t h, size_t w) {
    return axes[0].covered[d] * axes[1].covered[h] * axes[2].covered[w];
  });
}

}  // namespace torchlet::ops
