#include "ops/nn/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/reduce/fold.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/pool2d.h"
#include "kernels/spatial/pool_nhwc.h"
#include "kernels/spatial/window_size.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// What each output index of one dimension looks at: inputs begin, begin + step, ... below end.
struct Axis {
  int64_t in = 1, out = 1, step = 1;
  // For each output, unless the tensor is empty.
  CountedVector<int64_t> begin{0}, end{1};
  CountedVector<int64_t> covered{1};  // inputs under the window, those in the padding included
};
using Axes = std::array<Axis, 3>;  // depth, height, width; the leading ones may be of size 1

// The tables are left empty for an empty tensor, which may have any size.
Axis empty_axis(int64_t in, int64_t out, int64_t step, bool is_empty) {
  if (!is_empty) require_memory(out, 3 * sizeof(int64_t), "windows of a pooling");
  return {.in = in, .out = out, .step = step, .begin = {}, .end = {}, .covered = {}};
}

Axis sliding_axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                  bool ceil_mode, int64_t least_out, bool is_empty) {
  TORCHLET_CHECK(kernel > 0, "kernel size should be greater than zero, but got %lld", ll(kernel));
  TORCHLET_CHECK(stride > 0, "stride should be greater than zero, but got %lld", ll(stride));
  TORCHLET_CHECK(dilation > 0, "dilation should be greater than zero, but got %lld", ll(dilation));
  TORCHLET_CHECK(pad >= 0 && pad <= kernel / 2,
                 "pad should be at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                 ll(pad), ll(kernel));
  const int64_t out = kernels::pooled_output_size(in, kernel, stride, pad, dilation, ceil_mode);
  TORCHLET_CHECK(out >= least_out,
                 "Given input size %lld, calculated output size %lld is too small", ll(in),
                 ll(out));
  Axis axis = empty_axis(in, out, dilation, is_empty);
  for (int64_t i = 0; i < out && !is_empty; ++i) {
    int64_t begin = i * stride - pad;
    const int64_t end = begin + dilation * (kernel - 1) + 1;
    axis.covered.push_back(std::min(end, in + pad) - begin);
    if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
    axis.begin.push_back(begin);
    axis.end.push_back(std::min(end, in));
  }
  return axis;
}

Axis adaptive_axis(int64_t in, int64_t out, bool is_empty) {
  TORCHLET_CHECK(out >= 0,
                 "adaptive pooling: elements of output_size must be greater than or "
                 "equal to 0, but got %lld",
                 ll(out));
  Axis axis = empty_axis(in, out, 1, is_empty);
  for (int64_t i = 0; i < out && !is_empty; ++i) {
    axis.begin.push_back(checked_mul(i, in) / out);
    axis.end.push_back((checked_mul(i + 1, in) - 1) / out + 1);
    axis.covered.push_back(axis.end.back() - axis.begin.back());
  }
  return axis;
}

// The pooled dimensions of `self`, checked as PyTorch checks them.
IntSpan spatial_sizes(int64_t spatial, const Tensor& self) {
  TORCHLET_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2,
                 "pooling: expected a %lldD or %lldD (batch mode) input, but got %s",
                 ll(spatial + 1), ll(spatial + 2), self.describe().c_str());
  for (int64_t d = self.dim() - spatial; d < self.dim(); ++d) {
    TORCHLET_CHECK(self.size(d) > 0,
                   "pooling: expected input to have non-zero size for non-batch dimensions, but "
                   "got %s",
                   self.describe().c_str());
  }
  return self.sizes().last(static_cast<size_t>(spatial));
}

Axes sliding_axes(int64_t spatial, const Tensor& self, const PoolWindow& window,
                  int64_t least_out) {
  const IntSpan sizes = spatial_sizes(spatial, self);
  TORCHLET_CHECK(self.size(-spatial - 1) > 0,
                 "pooling: expected a %lldD or %lldD (batch mode) tensor with optional 0 dim batch "
                 "size for input, but got %s",
                 ll(spatial + 1), ll(spatial + 2), self.describe().c_str());
  const size_t count = sizes.size();
  const IntArray kernel = expand_param(window.kernel, count, "kernel_size");
  const IntArray stride =
      window.stride.empty() ? kernel : expand_param(window.stride, count, "stride");
  const IntArray padding = expand_param(window.padding, count, "padding");
  const IntArray dilation = expand_param(window.dilation, count, "dilation");
  Axes axes;
  for (size_t d = 0; d < count; ++d) {
    axes[3 - count + d] = sliding_axis(sizes[d], kernel[d], stride[d], padding[d], dilation[d],
                                       window.ceil_mode, least_out, self.numel() == 0);
  }
  return axes;
}

Axes adaptive_axes(int64_t spatial, const Tensor& self, IntSpan output_size) {
  const IntSpan sizes = spatial_sizes(spatial, self);
  const IntArray out = expand_param(output_size, sizes.size(), "output_size");
  Axes axes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    axes[3 - sizes.size() + d] = adaptive_axis(sizes[d], out[d], self.numel() == 0);
  }
  return axes;
}

IntArray pooled_shape(int64_t spatial, const Tensor& self, const Axes& axes) {
  IntArray shape(self.sizes());
  const size_t lead = shape.size() - static_cast<size_t>(spatial);
  for (size_t d = lead; d < shape.size(); ++d) {
    shape[d] = axes[3 - static_cast<size_t>(spatial) + d - lead].out;
  }
  return shape;
}

// Calls fn(plane, plane_in, output_offset, d, h, w) for every output element.
template <typename T, typename Fn>
void for_each_window(const Tensor& in, int64_t planes, const Axes& axes, Fn fn) {
  const int64_t in_size = axes[0].in * axes[1].in * axes[2].in;
  const int64_t out_size = axes[0].out * axes[1].out * axes[2].out;
  const T* data = const_data<T>(in);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, in_size));
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t at = plane * out_size;
      for (size_t d = 0; d < axes[0].begin.size(); ++d) {
        for (size_t h = 0; h < axes[1].begin.size(); ++h) {
          for (size_t w = 0; w < axes[2].begin.size(); ++w)
            fn(data + plane * in_size, at++, d, h, w);
        }
      }
    }
  });
}

int64_t plane_count(int64_t spatial, const Tensor& self) {
  return checked_numel(self.sizes().first(self.sizes().size() - static_cast<size_t>(spatial)));
}

template <typename T>
T lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// The greatest element so far, and where it is. NaN is greater than all.
template <typename T>
struct Greatest {
  T value;
  int64_t index;

  // Elements begin, begin + step, ... below `end` of a plane. Neighbours are looked at one by one
  // only where some of them are greater.
  void meet(const T* plane, int64_t begin, int64_t end, int64_t step) {
    T best = value;
    int64_t place = index;
    for (int64_t at = begin; at < end;) {
      if (step == 1 && end - at >= kRun && !is_exceeded(plane + at, best)) {
        at += kRun;
        continue;
      }
      for (int64_t i = 0; i < kRun && at < end; ++i, at += step) {
        const T element = plane[at];
        // A jump: nobody waits for the one before, as those that choose without jumping do.
        if (element > best || element != element) [[unlikely]] {
          best = element;
          place = at;
        }
      }
    }
    value = best;
    index = place;
  }

 private:
  static constexpr int64_t kRun = 8;

  static bool is_exceeded(const T* run, T best) {
    typedef T Part [[gnu::vector_size(16)]];  // of all processors; wider ones are taken apart badly
    typedef int64_t Bits [[gnu::vector_size(16)]];
    constexpr int64_t kPart = sizeof(Part) / sizeof(T);
    Bits exceeds{};
    for (int64_t i = 0; i < kRun; i += kPart) {
      Part elements;
      std::memcpy(&elements, run + i, sizeof(elements));
      exceeds |= (Bits)((elements > best) | (elements != elements));
    }
    return (exceeds[0] | exceeds[1]) != 0;
  }
};

// [N, C, D, H, W]
Tensor as_volume(int64_t spatial, const Tensor& tensor) {
  Tensor volume = tensor.dim() == spatial + 1 ? unsqueeze(tensor, 0) : tensor;
  while (volume.dim() < 5) volume = unsqueeze(volume, 2);
  return volume;
}

// Whether the channels of a pixel lie side by side and are worth a loop.
bool has_channels_inside(const Tensor& volume) {
  constexpr int64_t kMany = 8;  // what MaxOfChannels needs
  return volume.stride(1) == 1 && volume.size(1) >= kMany && volume.numel() > 0 && !is_meta(volume);
}

// The elements of [N, C, D, H, W].
template <typename T>
struct Volume {
  explicit Volume(const Tensor& tensor) : data(tensor.data_ptr<T>()) {
    std::ranges::copy(tensor.strides(), strides);
  }
  T* at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return data + n * strides[0] + c * strides[1] + d * strides[2] + h * strides[3] +
           w * strides[4];
  }
  T* data;
  int64_t strides[5];
};

// Maxima of volumes with channels inside, all channels of a pixel at once. The results lie in any
// way, both alike.
template <typename T>
struct MaxOfChannels {
  static constexpr int64_t kGroup = 8;  // channels of which compilers make a vector

  const Axes& axes;
  int64_t channels;  // at least kGroup
  Volume<T> in, out;
  Volume<int64_t> places;

  // Vectors, which compilers would not make of loops over what may overlap.
  typedef T Values [[gnu::vector_size(kGroup * sizeof(T))]];
  typedef int32_t Places [[gnu::vector_size(kGroup * sizeof(int32_t))]];
  typedef int64_t WidePlaces [[gnu::vector_size(kGroup * sizeof(int64_t))]];
  template <typename Vector>
  [[gnu::always_inline]] static void load(Vector& vector, const void* from) {
    std::memcpy(&vector, from, sizeof(vector));
  }
  template <typename Vector>
  [[gnu::always_inline]] static void store(const Vector& vector, void* to) {
    std::memcpy(to, &vector, sizeof(vector));
  }

  struct Tap {
    int64_t offset;  // of its channels in the picture
    int32_t place;
  };

  // What is under the window of one output, and where the greatest is if nothing is.
  struct Window {
    int64_t count;
    int32_t first;
  };

  // The window of output (d, h, w), whose pixels become the first of `taps`.
  [[gnu::always_inline]] Window find_taps(size_t d, size_t h, size_t w, Tap* taps) const {
    const Axis &depth = axes[0], &height = axes[1], &width = axes[2];
    const int64_t first = depth.begin[d] * height.in + height.begin[h];
    int64_t count = 0;
    for (int64_t z = depth.begin[d]; z < depth.end[d]; z += depth.step) {
      for (int64_t y = height.begin[h]; y < height.end[h]; y += height.step) {
        const int64_t offset = z * in.strides[2] + y * in.strides[3];
        const int64_t row = (z * height.in + y) * width.in;
        for (int64_t x = width.begin[w]; x < width.end[w]; x += width.step) {
          taps[count++] = {offset + x * in.strides[4], static_cast<int32_t>(row + x)};
        }
      }
    }
    return {count, static_cast<int32_t>(first * width.in + width.begin[w])};
  }

  // kGroups groups of channels side by side: what one compares does not wait for the others.
  template <int kGroups>
  [[gnu::always_inline]] void pool(const T* from, Window window, const Tap* taps, T* to,
                                   int64_t* place) const {
    Values best[kGroups];
    Places index[kGroups];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      best[g] = Values{} + lowest<T>();
      index[g] = Places{} + window.first;
    }
    for (int64_t t = 0; t < window.count; ++t) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        Values value;
        load(value, from + taps[t].offset + g * kGroup);
        const auto greater = (value > best[g]) | (value != value);  // NaN is greater than all
        best[g] = greater ? value : best[g];
        index[g] = __builtin_convertvector(greater, Places) ? Places{} + taps[t].place : index[g];
      }
    }
    const int64_t step = out.strides[1];
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      if (step == 1) {
        store(best[g], to + g * kGroup);
        store(__builtin_convertvector(index[g], WidePlaces), place + g * kGroup);
        continue;
      }
      for (int64_t i = 0; i < kGroup; ++i) {
        to[(g * kGroup + i) * step] = best[g][i];
        place[(g * kGroup + i) * step] = index[g][i];
      }
    }
  }

  // Outputs [begin, end) of all pictures. The last two groups of channels may overlap.
  template <int kGroups>
  [[gnu::always_inline]] void pool_outputs(int64_t begin, int64_t end) const {
    const int64_t step = out.strides[1];
    const int64_t planes = axes[0].out, rows = axes[1].out, cols = axes[2].out;
    const auto longest = [](const Axis& axis) {
      int64_t most = 0;
      for (size_t i = 0; i < axis.begin.size(); ++i) {
        most = std::max(most, (axis.end[i] - axis.begin[i] + axis.step - 1) / axis.step);
      }
      return most;
    };
    const kernels::Scratch<Tap> taps(longest(axes[0]) * longest(axes[1]) * longest(axes[2]));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / cols, plane = row / rows, n = plane / planes;
      const int64_t d = plane % planes, h = row % rows, w = i % cols;
      const Window window = find_taps(static_cast<size_t>(d), static_cast<size_t>(h),
                                      static_cast<size_t>(w), taps.data());
      const T* from = in.at(n, 0, 0, 0, 0);
      T* to = out.at(n, 0, d, h, w);
      int64_t* place = places.at(n, 0, d, h, w);
      int64_t c = 0;
      for (; kGroups > 1 && c + kGroups * kGroup <= channels; c += kGroups * kGroup) {
        pool<kGroups>(from + c, window, taps.data(), to + c * step, place + c * step);
      }
      for (; c < channels; c += kGroup) {
        const int64_t first = std::min(c, channels - kGroup);
        pool<1>(from + first, window, taps.data(), to + first * step, place + first * step);
      }
    }
  }
  TORCHLET_WIDE_STEPS void pool_wide(int64_t begin, int64_t end) const {
    pool_outputs<4>(begin, end);
  }

  void run(int64_t batch) const {
    constexpr int64_t kElementsPerTask = 16384;
    const int64_t outputs = batch * axes[0].out * axes[1].out * axes[2].out;
    parallel_for(outputs, std::max<int64_t>(1, kElementsPerTask / channels),
                 [&](int64_t begin, int64_t end) {
                   if constexpr (detail::kHasWideSteps && std::is_same_v<T, float>) {
                     if (kernels::has(kernels::Isa::kAvx2)) return pool_wide(begin, end);
                   }
                   pool_outputs<1>(begin, end);
                 });
  }
};

std::pair<Tensor, Tensor> max_over(int64_t spatial, const Tensor& self, const Axes& axes) {
  const IntArray shape = pooled_shape(spatial, self, axes);
  return compute_as<kMapReal | kMapInt>(self.dtype(), "max_pool", [&](auto zero) {
    using T = decltype(zero);
    const MemoryFormat format = self.suggest_memory_format();
    const Tensor volume = as_volume(spatial, self);
    if constexpr (std::is_floating_point_v<T>) {  // PyTorch pools no other dtypes
      if (self.dtype() == DTypeOf<T>::value && has_channels_inside(volume) &&
          axes[0].in * axes[1].in * axes[2].in <= std::numeric_limits<int32_t>::max()) {
        const Tensor values = empty(shape, self.dtype(), format);
        const Tensor indices = empty(shape, DType::kInt64, format);
        MaxOfChannels<T>{axes, volume.size(1), Volume<T>(volume),
                         Volume<T>(as_volume(spatial, values)),
                         Volume<int64_t>(as_volume(spatial, indices))}
            .run(volume.size(0));
        return std::pair(values, indices);
      }
    }
    const Tensor in = dense_as<T>(self);
    const Tensor values = empty(shape, DTypeOf<T>::value), indices = empty(shape, DType::kInt64);
    const auto result = [&] {
      return std::pair(values.to(self.dtype()).contiguous(format), indices.contiguous(format));
    };
    if (is_meta(values)) return result();
    T* value_data = values.data_ptr<T>();
    int64_t* index_data = indices.data_ptr<int64_t>();
    const Axis &depth = axes[0], &height = axes[1], &width = axes[2];
    for_each_window<T>(
        in, plane_count(spatial, self), axes,
        [&](const T* plane, int64_t at, size_t d, size_t h, size_t w) {
          const int64_t first = (depth.begin[d] * height.in + height.begin[h]) * width.in;
          Greatest<T> greatest{lowest<T>(), first + width.begin[w]};
          for (int64_t z = depth.begin[d]; z < depth.end[d]; z += depth.step) {
            for (int64_t y = height.begin[h]; y < height.end[h]; y += height.step) {
              const int64_t row = (z * height.in + y) * width.in;
              greatest.meet(plane, row + width.begin[w], row + width.end[w], width.step);
            }
          }
          value_data[at] = greatest.value;
          index_data[at] = greatest.index;
        });
    return result();
  });
}

// What the sum under window (d, h, w) is divided by.
using Divisor = FunctionRef<int64_t(size_t d, size_t h, size_t w)>;

// Averages of int64 with channels inside, all channels of a pixel at once; nothing if they lie
// otherwise.
[[maybe_unused]] std::optional<Tensor> average_integers(int64_t spatial, const Tensor& self,
                                                        const Axes& axes, Divisor divisor) {
  const Tensor volume = as_volume(spatial, self);
  if (self.dtype() != DType::kInt64 || !has_channels_inside(volume)) return std::nullopt;
  const Tensor result =
      empty(pooled_shape(spatial, self, axes), DType::kInt64, self.suggest_memory_format());
  const Volume<int64_t> in(volume), out(as_volume(spatial, result));
  const int64_t channels = volume.size(1);
  const Axis &depth = axes[0], &height = axes[1], &width = axes[2];
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

Tensor average_over(int64_t spatial, const Tensor& self, const Axes& axes, Divisor divisor) {
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
    const Axis &depth = axes[0], &height = axes[1], &width = axes[2];
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

// An empty result is allowed in max_pool1d only.
Axes max_axes(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  return sliding_axes(spatial, self, window, spatial == 1 ? 0 : 1);
}

kernels::Window2dShape kernel_window(const Axes& axes, const PoolWindow& window, int64_t spatial) {
  const Axis &height = axes[1], &width = axes[2];
  auto last = [](const IntArray& values, int64_t none) {
    return values.empty() ? none : values.back();
  };
  auto first = [](const IntArray& values, int64_t none) {
    return values.empty() ? none : values.front();
  };
  kernels::Window2dShape shape{.in_h = height.in,
                               .in_w = width.in,
                               .out_h = height.out,
                               .out_w = width.out,
                               .kernel_h = 1,
                               .kernel_w = last(window.kernel, 1)};
  shape.stride_w = last(window.stride, shape.kernel_w);
  shape.pad_w = last(window.padding, 0);
  shape.dilation_w = width.step;
  if (spatial == 1) return shape;
  shape.kernel_h = first(window.kernel, 1);
  shape.stride_h = first(window.stride, shape.kernel_h);
  shape.pad_h = first(window.padding, 0);
  shape.dilation_h = height.step;
  return shape;
}

// The average pooling of an image or a line of floats whose channels lie inside, by a kernel
// pool(input, pixel stride, output) of NHWC; nothing if it lies otherwise.
template <typename Pool>
std::optional<Tensor> average_of_channels(int64_t spatial, const Tensor& self, const Axes& axes,
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
Tensor average_of_planes(const Tensor& self, const Axes& axes, PoolWindow window,
                         bool count_include_pad, int64_t divisor) {
  for (IntArray* sizes : {&window.kernel, &window.stride, &window.padding}) {
    if (sizes->size() == 3) sizes->erase(sizes->begin());
  }
  const kernels::Window2dShape planes = kernel_window(axes, window, 2);
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(3, self, axes), DType::kFloat32);
  if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
  const Axis& depth = axes[0];
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
Tensor adaptive_average_of_planes(const Tensor& self, const Axes& axes) {
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(3, self, axes), DType::kFloat32);
  if (is_meta(out)) return out.contiguous(self.suggest_memory_format());
  const Axis &depth = axes[0], &height = axes[1], &width = axes[2];
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

bool is_global(const Axes& axes) {
  return std::ranges::all_of(axes, [](const Axis& axis) { return axis.out == 1; });
}

}  // namespace

std::pair<Tensor, Tensor> max_pool(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  return max_over(spatial, self, max_axes(spatial, self, window));
}

Tensor max_pool_values(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  const Axes axes = max_axes(spatial, self, window);
  if (spatial == 3 || self.dtype() != DType::kFloat32) return max_over(spatial, self, axes).first;
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(spatial, self, axes), DType::kFloat32);
  if (!is_meta(out)) {
    kernels::max_pool2d_f32(kernel_window(axes, window, spatial), in.data_ptr<float>(),
                            out.data_ptr<float>(), plane_count(spatial, self));
  }
  return out.contiguous(self.suggest_memory_format());
}

Tensor avg_pool(int64_t spatial, const Tensor& self, PoolWindow window, bool count_include_pad,
                std::optional<int64_t> divisor) {
  TORCHLET_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  window.dilation = {1};
  const Axes axes = sliding_axes(spatial, self, window, 1);
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
  auto size = [](const Axis& axis, size_t i) {
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
  const Axes axes = adaptive_axes(spatial, self, output_size);
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

std::pair<Tensor, Tensor> adaptive_max_pool(int64_t spatial, const Tensor& self,
                                            IntSpan output_size) {
  return max_over(spatial, self, adaptive_axes(spatial, self, output_size));
}

}  // namespace torchlet::ops
