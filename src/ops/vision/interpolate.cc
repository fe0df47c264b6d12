// Coordinates and weights follow aten/src/ATen/native/UpSample.h and cpu/UpSampleKernel.cpp of
// PyTorch 1.13, step by step in the same precision, because a coordinate that is rounded
// differently picks another pixel.
#include "ops/vision/interpolate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "base/thread_pool.h"
#include "kernels/simd/isa.h"
#include "ops/engines/compute.h"
#include "ops/vision/gather_spatial.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// For each output index of one dimension: `taps` input indices from first[i] on are weighted;
// indices are given one by one because borders repeat.
template <typename T>
struct Taps {
  int64_t count = 1;             // per output index
  CountedVector<int64_t> index;  // [out, count]
  CountedVector<T> weight;       // [out, count]
};

template <typename T>
T pixel_scale(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  if (scale && *scale > 0) return static_cast<T>(1 / *scale);
  return static_cast<T>(in) / static_cast<T>(out);
}

template <typename T>
T source_position(T scale, int64_t i, bool align_corners, bool cubic) {
  if (align_corners) return scale * static_cast<T>(i);
  const T position = scale * (static_cast<T>(i) + T(0.5)) - T(0.5);
  return !cubic && position < 0 ? T(0) : position;
}

template <typename T>
CountedVector<int64_t> nearest_table(int64_t in, int64_t out, bool exact,
                                     std::optional<double> factor) {
  const T scale = pixel_scale<T>(in, out, false, factor);
  CountedVector<int64_t> table;
  for (int64_t i = 0; i < out; ++i) {
    const T position = exact ? source_position<T>(scale, i, false, false) + T(0.5)
                             : source_position<T>(scale, i, true, false);
    table.push_back(
        std::clamp<int64_t>(saturating_int(std::floor(static_cast<double>(position))), 0, in - 1));
  }
  return table;
}

// Where output `i` lies between the inputs: an index and the remainder in [0, 1]. PyTorch's build
// rounds the scale and the remainder to T, but not the position between them.
template <typename T>
std::pair<int64_t, T> split_position(T scale, int64_t i, int64_t in, bool align_corners,
                                     bool cubic) {
  const double position =
      source_position<double>(static_cast<double>(scale), i, align_corners, cubic);
  const double floor = cubic ? std::floor(position) : position;  // which is positive
  const int64_t index = std::min(saturating_int(floor), in - 1);
  const double rest = position - static_cast<double>(index);
  return {index, static_cast<T>(std::min(std::max(rest, 0.0), 1.0))};
}

template <typename T>
Taps<T> linear_taps(int64_t in, int64_t out, bool align_corners, std::optional<double> factor) {
  Taps<T> taps{.count = 2, .index = {}, .weight = {}};
  taps.index.resize(static_cast<size_t>(2 * out));
  taps.weight.resize(static_cast<size_t>(2 * out));
  const T scale = pixel_scale<T>(in, out, align_corners, factor);
  for (int64_t i = 0; i < out; ++i) {
    auto [index, rest] = split_position(scale, i, in, align_corners, false);
    if (in == out) index = i, rest = 0;
    const auto at = static_cast<size_t>(2 * i);
    taps.index[at] = index;
    taps.index[at + 1] = std::min(index + 1, in - 1);
    taps.weight[at] = 1 - rest;
    taps.weight[at + 1] = rest;
  }
  return taps;
}

// Keys, "Cubic convolution interpolation for digital image processing" (1981): the kernel at
// distances up to 1, and from 1 to 2.
template <typename T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <typename T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <typename T>
Taps<T> cubic_taps(int64_t in, int64_t out, bool align_corners, std::optional<double> factor) {
  constexpr T a = T(-0.75);
  Taps<T> taps{.count = 4, .index = {}, .weight = {}};
  const T scale = pixel_scale<T>(in, out, align_corners, factor);
  for (int64_t i = 0; i < out; ++i) {
    const auto [index, t] = split_position(scale, i, in, align_corners, true);
    for (int64_t k = -1; k <= 2; ++k) {
      taps.index.push_back(std::clamp<int64_t>(index + k, 0, in - 1));
    }
    taps.weight.insert(taps.weight.end(), {cubic_far(t + 1, a), cubic_near(t, a),
                                           cubic_near(1 - t, a), cubic_far(2 - t, a)});
  }
  return taps;
}

// When it shrinks, the filter is widened by the factor, as in PIL.
template <typename T>
Taps<T> antialias_taps(int64_t in, int64_t out, bool cubic, bool align_corners,
                       std::optional<double> factor) {
  auto filter = [cubic](T x) {
    x = std::abs(x);
    if (!cubic) return x < 1 ? 1 - x : T(0);
    return x < 1 ? cubic_near(x, T(-0.5)) : x < 2 ? cubic_far(x, T(-0.5)) : T(0);
  };
  const T scale = pixel_scale<T>(in, out, align_corners, factor);
  const T reach = cubic ? T(2) : T(1);
  const T support = scale >= 1 ? reach * scale : reach;
  const T shrink = scale >= 1 ? 1 / scale : T(1);
  const int64_t reach_ahead = saturating_int(std::ceil(static_cast<double>(support)));
  Taps<T> taps{.count = checked_add(checked_mul(reach_ahead, 2), 1), .index = {}, .weight = {}};
  require_memory(checked_mul(out, taps.count), sizeof(int64_t) + sizeof(T), "weights to resize by");
  const auto place = [in](T at) {
    return std::clamp<int64_t>(saturating_int(static_cast<double>(at + T(0.5))), 0, in);
  };
  for (int64_t i = 0; i < out; ++i) {
    const T center = scale * (static_cast<T>(i) + T(0.5));
    const int64_t first = place(center - support), last = place(center + support);
    T total = 0;
    for (int64_t k = 0; k < taps.count; ++k) {
      const int64_t at = first + k;
      const T w = at < last ? filter((static_cast<T>(at) - center + T(0.5)) * shrink) : T(0);
      taps.index.push_back(std::min(at, in - 1));
      taps.weight.push_back(w);
      total += w;
    }
    if (total == 0) continue;
    for (int64_t k = 0; k < taps.count; ++k)
      taps.weight[taps.weight.size() - 1 - static_cast<size_t>(k)] /= total;
  }
  return taps;
}

template <typename T>
Taps<T> make_taps(ResizeMode mode, int64_t in, int64_t out, bool align_corners,
                  std::optional<double> factor) {
  switch (mode) {
    case ResizeMode::kLinear:
      return linear_taps<T>(in, out, align_corners, factor);
    case ResizeMode::kCubic:
      return cubic_taps<T>(in, out, align_corners, factor);
    default:
      return antialias_taps<T>(in, out, mode == ResizeMode::kCubicAntialias, align_corners, factor);
  }
}

// a * wa + b * wb, where PyTorch's build fuses the first product with the sum. A double holds the
// product of two floats.
template <typename T>
T blend(T a, T wa, T b, T wb) {
  const T second = b * wb;
  return static_cast<T>(static_cast<double>(a) * static_cast<double>(wa) +
                        static_cast<double>(second));
}

// What has AVX2 fuses by itself.
#if defined(__x86_64__)
constexpr bool kHasFused = true;
#define TORCHLET_FUSED [[gnu::target("avx2,fma")]]
#else
constexpr bool kHasFused = false;
#define TORCHLET_FUSED [[maybe_unused]]
#endif
// resize_row() with two taps.
TORCHLET_FUSED void fused_row(const float* in, const int64_t* index, const float* weight,
                              int64_t out_size, float* out) {
  for (int64_t i = 0; i < out_size; ++i, index += 2, weight += 2) {
    out[i] = __builtin_fmaf(in[index[0]], weight[0], in[index[1]] * weight[1]);
  }
}
// blend_rows() with two.
TORCHLET_FUSED void fused_rows(const float* __restrict first, const float* __restrict second,
                               const float* weight, int64_t inner, float* __restrict out) {
  constexpr int64_t kVector = 8;
  const float a = weight[0], b = weight[1];
  int64_t x = 0;
  for (; x + kVector <= inner; x += kVector) {
    for (int64_t k = x; k < x + kVector; ++k) out[k] = __builtin_fmaf(first[k], a, second[k] * b);
  }
  for (; x < inner; ++x) out[x] = __builtin_fmaf(first[x], a, second[x] * b);
}

// One row of the last dimension: out[i] = sum of weight * in[index].
template <typename T>
void resize_row(const T* in, const Taps<T>& taps, int64_t out_size, T* out) {
  const int64_t* index = taps.index.data();
  const T* weight = taps.weight.data();
  if (taps.count == 2) {
    if constexpr (kHasFused && std::is_same_v<T, float>) {
      if (kernels::has(kernels::Isa::kAvx2)) return fused_row(in, index, weight, out_size, out);
    }
    for (int64_t i = 0; i < out_size; ++i, index += 2, weight += 2) {
      out[i] = blend(in[index[0]], weight[0], in[index[1]], weight[1]);
    }
    return;
  }
  for (int64_t i = 0; i < out_size; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < taps.count; ++k) sum += *weight++ * in[*index++];
    out[i] = sum;
  }
}

// The same for elements of `inner` values that lie side by side.
template <typename T>
void blend_rows(const T* in, const int64_t* index, const T* weight, int64_t count, int64_t inner,
                T* out) {
  const T* first = in + index[0] * inner;
  if (count == 2) {
    const T* second = in + index[1] * inner;
    if constexpr (kHasFused && std::is_same_v<T, float>) {
      if (kernels::has(kernels::Isa::kAvx2)) return fused_rows(first, second, weight, inner, out);
    }
    for (int64_t x = 0; x < inner; ++x) out[x] = blend(first[x], weight[0], second[x], weight[1]);
    return;
  }
  for (int64_t x = 0; x < inner; ++x) out[x] = weight[0] * first[x];
  for (int64_t k = 1; k < count; ++k) {
    const T* next = in + index[k] * inner;
    for (int64_t x = 0; x < inner; ++x) out[x] += weight[k] * next[x];
  }
}

// Resizes dimension `dim` of contiguous data: out[o, i, :] = sum of weight * in[o, index, :].
template <typename T>
Tensor resize_dim(const Tensor& in, size_t dim, const Taps<T>& taps) {
  IntArray shape(in.sizes());
  const int64_t in_size = shape[dim];
  const int64_t out_size = static_cast<int64_t>(taps.index.size()) / taps.count;
  shape[dim] = out_size;
  const Tensor out = empty(shape, DTypeOf<T>::value);
  if (is_meta(out)) return out;
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  const T* from = in.data_ptr<T>();
  T* to = out.data_ptr<T>();
  const int64_t grain =
      std::max<int64_t>(1, 16384 / std::max<int64_t>(1, out_size * inner * taps.count));
  parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* base = from + o * in_size * inner;
      T* target = to + o * out_size * inner;
      if (inner == 1) {
        resize_row(base, taps, out_size, target);
        continue;
      }
      for (int64_t i = 0; i < out_size; ++i) {
        const size_t at = static_cast<size_t>(i * taps.count);
        blend_rows(base, &taps.index[at], &taps.weight[at], taps.count, inner, target + i * inner);
      }
    }
  });
  return out;
}

template <typename T>
IndexTables nearest_tables(IntSpan in, IntSpan out, bool exact,
                           const std::vector<std::optional<double>>& scales) {
  IndexTables tables;
  for (size_t d = 0; d < out.size(); ++d) {
    tables.push_back(
        nearest_table<T>(in[d], out[d], exact, scales.empty() ? std::nullopt : scales[d]));
  }
  return tables;
}

}  // namespace

Tensor interpolate(const Tensor& input, IntSpan output_size, ResizeMode mode, bool align_corners,
                   const std::vector<std::optional<double>>& scales) {
  const size_t spatial = output_size.size();
  TORCHLET_CHECK(input.sizes().size() == spatial + 2,
                 "It is expected that the input has %zu dimensions for output_size of %zu values, "
                 "but got %s",
                 spatial + 2, spatial, input.describe().c_str());
  for (size_t d = 1; d < spatial + 2; ++d) {
    TORCHLET_CHECK(input.sizes()[d] > 0 && (d < 2 || output_size[d - 2] > 0),
                   "Input and output sizes should be greater than 0, but got input %s and output "
                   "size %lld",
                   input.describe().c_str(),
                   static_cast<long long>(d < 2 ? 0 : output_size[d - 2]));
  }
  const IntSpan in_size = input.sizes().subspan(2);
  IntArray shape(input.sizes().first(2));
  for (const int64_t size : output_size) shape.push_back(size);
  if (checked_numel(shape) == 0) {
    return empty_as(input, shape).contiguous(input.suggest_memory_format());
  }
  // Every output has a place in a table of its dimension.
  for (const int64_t size : output_size) {
    require_memory(size, 4 * (sizeof(int64_t) + sizeof(double)), "places to resize by");
  }
  if (mode == ResizeMode::kNearest || mode == ResizeMode::kNearestExact) {
    const bool exact = mode == ResizeMode::kNearestExact;
    return gather_spatial(input, input.dtype() == DType::kFloat64
                                     ? nearest_tables<double>(in_size, output_size, exact, scales)
                                     : nearest_tables<float>(in_size, output_size, exact, scales));
  }
  return compute_as<kMapReal>(input.dtype(), "upsample", [&](auto zero) {
    using T = decltype(zero);
    Tensor result = dense_as<T>(input);
    for (size_t d = spatial; d-- > 0;) {
      result = resize_dim<T>(result, d + 2,
                             make_taps<T>(mode, in_size[d], output_size[d], align_corners,
                                          scales.empty() ? std::nullopt : scales[d]));
    }
    return result.to(input.dtype()).contiguous(input.suggest_memory_format());
  });
}

IntArray interpolated_size(const Tensor& input, size_t spatial,
                           const std::optional<IntArray>& output_size,
                           const std::optional<std::vector<double>>& scale_factors) {
  TORCHLET_CHECK(output_size.has_value() != scale_factors.has_value(),
                 "Must specify exactly one of output_size and scale_factors");
  TORCHLET_CHECK(input.sizes().size() == spatial + 2,
                 "It is expected that the input has %zu dimensions, but got %s", spatial + 2,
                 input.describe().c_str());
  if (output_size) {
    TORCHLET_CHECK(output_size->size() == spatial,
                   "It is expected output_size equals to %zu, but got size %zu", spatial,
                   output_size->size());
    return *output_size;
  }
  TORCHLET_CHECK(scale_factors->size() == spatial,
                 "It is expected scale_factors equals to %zu, but got size %zu", spatial,
                 scale_factors->size());
  IntArray size;
  for (size_t d = 0; d < spatial; ++d) {
    const double scaled = static_cast<double>(input.sizes()[d + 2]) * (*scale_factors)[d];
    TORCHLET_CHECK(scaled >= 0 && scaled < 0x1p62, "upsample: scale factor %g is out of range",
                   (*scale_factors)[d]);
    size.push_back(static_cast<int64_t>(scaled));
  }
  return size;
}

}  // namespace torchlet::ops
