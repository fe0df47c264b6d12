#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/simd/isa.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/pool2d.h"
#include "ops/nn/pool_windows.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

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

// Maxima of volumes with channels inside, all channels of a pixel at once. The results lie in any
// way, both alike.
template <typename T>
struct MaxOfChannels {
  static constexpr int64_t kGroup = 8;  // channels of which compilers make a vector

  const PoolAxes& axes;
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
    const PoolAxis &depth = axes[0], &height = axes[1], &width = axes[2];
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
    const auto longest = [](const PoolAxis& axis) {
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

std::pair<Tensor, Tensor> max_over(int64_t spatial, const Tensor& self, const PoolAxes& axes) {
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
    const PoolAxis &depth = axes[0], &height = axes[1], &width = axes[2];
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

// An empty result is allowed in max_pool1d only.
PoolAxes max_axes(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  return sliding_axes(spatial, self, window, spatial == 1 ? 0 : 1);
}

}  // namespace

std::pair<Tensor, Tensor> max_pool(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  return max_over(spatial, self, max_axes(spatial, self, window));
}

Tensor max_pool_values(int64_t spatial, const Tensor& self, const PoolWindow& window) {
  const PoolAxes axes = max_axes(spatial, self, window);
  if (spatial == 3 || self.dtype() != DType::kFloat32) return max_over(spatial, self, axes).first;
  const Tensor in = self.contiguous();
  const Tensor out = empty(pooled_shape(spatial, self, axes), DType::kFloat32);
  if (!is_meta(out)) {
    kernels::max_pool2d_f32(kernel_window(axes, window, spatial), in.data_ptr<float>(),
                            out.data_ptr<float>(), plane_count(spatial, self));
  }
  return out.contiguous(self.suggest_memory_format());
}

std::pair<Tensor, Tensor> adaptive_max_pool(int64_t spatial, const Tensor& self,
                                            IntSpan output_size) {
  return max_over(spatial, self, adaptive_axes(spatial, self, output_size));
}

}  // namespace torchlet::ops
