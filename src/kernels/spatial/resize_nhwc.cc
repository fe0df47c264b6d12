#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spatial/resize_nhwc.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/spatial/resize_nhwc.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// to = (1 - weight) a + weight b
HWY_INLINE void blend(const float* a, const float* b, float weight, float* HWY_RESTRICT to,
                      int64_t n) {
  const V w = hn::Set(d, weight), rest = hn::Set(d, 1 - weight);
  const auto mix = [&](V p, V q) HWY_ATTR { return hn::MulAdd(q, w, hn::Mul(p, rest)); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(mix(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  }
  if (i < n) {
    store_first(mix(load_first(d, a + i, n - i), load_first(d, b + i, n - i)), d, to + i, n - i);
  }
}

// One output row: first between the two input rows, then between the columns of the result.
void resize_row(const ResizeShape& s, const LinearTap& tap, const LinearTap* columns,
                const float* picture, int64_t input_stride, float* row, float* output,
                int64_t output_stride) {
  const float* upper = picture + tap.index * s.in_w * input_stride;
  const float* lower = picture + std::min(tap.index + 1, s.in_h - 1) * s.in_w * input_stride;
  if (s.in_w * s.out_w == 1) return blend(upper, lower, tap.weight, output, s.channels);
  if (input_stride == s.channels) {
    blend(upper, lower, tap.weight, row, s.in_w * s.channels);
  } else {
    for (int64_t x = 0; x < s.in_w; ++x) {
      blend(upper + x * input_stride, lower + x * input_stride, tap.weight, row + x * s.channels,
            s.channels);
    }
  }
  for (int64_t x = 0; x < s.out_w; ++x) {
    const int64_t left = columns[x].index, right = std::min(left + 1, s.in_w - 1);
    blend(row + left * s.channels, row + right * s.channels, columns[x].weight,
          output + x * output_stride, s.channels);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(resize_row);

namespace {

int64_t rows_per_task(const ResizeShape& s) {
  constexpr int64_t kElementsPerTask = int64_t{1} << 15;
  return std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, s.out_w * s.channels));
}

// Input pixels per output pixel, in the type that PyTorch computes it in.
float pixel_scale(int64_t in, int64_t out, bool align_corners, double factor) {
  if (align_corners) {
    return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
  }
  if (factor > 0) return static_cast<float>(1 / factor);
  return static_cast<float>(in) / static_cast<float>(out);
}

}  // namespace

void linear_taps(int64_t in, int64_t out, bool align_corners, double factor, LinearTap* taps) {
  const double scale = pixel_scale(in, out, align_corners, factor);
  for (int64_t i = 0; i < out; ++i) {
    const double at = static_cast<double>(i);
    const double position = align_corners ? scale * at : std::max(0.0, scale * (at + 0.5) - 0.5);
    const int64_t index = std::min(saturating_int(position), in - 1);
    const float weight = static_cast<float>(position - static_cast<double>(index));
    taps[i] = in == out ? LinearTap{i, 0} : LinearTap{index, std::clamp(weight, 0.0f, 1.0f)};
  }
}

void nearest_taps(int64_t in, int64_t out, bool exact, double factor, int64_t* taps) {
  const float scale = pixel_scale(in, out, false, factor);
  for (int64_t i = 0; i < out; ++i) {
    const float at = static_cast<float>(i);
    const float position = exact ? std::max(0.0f, scale * (at + 0.5f) - 0.5f) + 0.5f : scale * at;
    taps[i] =
        std::clamp<int64_t>(saturating_int(std::floor(static_cast<double>(position))), 0, in - 1);
  }
}

void resize_linear_nhwc_f32(const ResizeShape& shape, const LinearTap* rows,
                            const LinearTap* columns, const float* input, int64_t input_stride,
                            float* output, int64_t output_stride) {
  parallel_for(shape.batch * shape.out_h, rows_per_task(shape), [&](int64_t begin, int64_t end) {
    const Scratch<float> blended(shape.in_w * shape.channels);
    for (int64_t index = begin; index < end; ++index) {
      const int64_t picture = index / shape.out_h, y = index % shape.out_h;
      HWY_DYNAMIC_DISPATCH(resize_row)
      (shape, rows[y], columns, input + picture * shape.in_h * shape.in_w * input_stride,
       input_stride, blended.data(), output + index * shape.out_w * output_stride, output_stride);
    }
  });
}

void resize_nearest_nhwc(int64_t element_size, const ResizeShape& shape, const int64_t* rows,
                         const int64_t* columns, const void* input, int64_t input_stride,
                         void* output, int64_t output_stride) {
  const size_t pixel_bytes = static_cast<size_t>(shape.channels * element_size);
  const int64_t in_step = input_stride * element_size, out_step = output_stride * element_size;
  parallel_for(shape.batch * shape.out_h, rows_per_task(shape), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t row = index / shape.out_h * shape.in_h + rows[index % shape.out_h];
      const char* from = static_cast<const char*>(input) + row * shape.in_w * in_step;
      char* to = static_cast<char*>(output) + index * shape.out_w * out_step;
      const auto copy_pixels = [&](auto bytes) {
        for (int64_t x = 0; x < shape.out_w; ++x) {
          std::memcpy(to + x * out_step, from + columns[x] * in_step, bytes);
        }
      };
      if (pixel_bytes == sizeof(float)) {  // one channel: of a known size that is an instruction
        copy_pixels(std::integral_constant<size_t, sizeof(float)>());
      } else {
        copy_pixels(pixel_bytes);
      }
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
