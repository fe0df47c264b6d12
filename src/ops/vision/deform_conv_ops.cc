// Deformable convolution: Zhu et al., "Deformable ConvNets v2" (2018), as torchvision defines it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/spatial/window.h"
#include "kernels/spatial/window_size.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

struct DeformShape {
  kernels::Window2dShape window;
  int64_t batch, in_channels, out_channels, groups, offset_groups;
};

// The value between pixels, where everything outside of the image is 0.
template <typename T>
T zero_padded(const T* plane, int64_t height, int64_t width, T y, T x) {
  if (!(y > -1 && y < static_cast<T>(height) && x > -1 && x < static_cast<T>(width))) return 0;
  const int64_t y0 = static_cast<int64_t>(std::floor(y)), x0 = static_cast<int64_t>(std::floor(x));
  const T dy = y - static_cast<T>(y0), dx = x - static_cast<T>(x0);
  auto at = [&](int64_t i, int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? plane[i * width + j] : T(0);
  };
  return (1 - dy) * ((1 - dx) * at(y0, x0) + dx * at(y0, x0 + 1)) +
         dy * ((1 - dx) * at(y0 + 1, x0) + dx * at(y0 + 1, x0 + 1));
}

// Columns [in_channels * taps, positions] of one image. offset [offset_groups * 2 * taps,
// positions] holds (y, x) pairs, mask [offset_groups * taps, positions] or null.
template <typename T>
void fill_columns(const DeformShape& s, const T* image, const T* offset, const T* mask,
                  T* columns) {
  const kernels::Window2dShape& w = s.window;
  const int64_t taps = checked_mul(w.kernel_h, w.kernel_w);
  const int64_t positions = checked_mul(w.out_h, w.out_w);
  const int64_t per_group = s.in_channels / s.offset_groups;
  parallel_for(s.in_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t group = c / per_group;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const T* dy = offset + (group * taps + tap) * 2 * positions;
        const T* dx = dy + positions;
        const T* scale = mask ? mask + (group * taps + tap) * positions : nullptr;
        T* to = columns + (c * taps + tap) * positions;
        for (int64_t p = 0; p < positions; ++p) {
          const int64_t y = p / w.out_w * w.stride_h - w.pad_h + tap / w.kernel_w * w.dilation_h;
          const int64_t x = p % w.out_w * w.stride_w - w.pad_w + tap % w.kernel_w * w.dilation_w;
          const T value = zero_padded(image + c * w.in_h * w.in_w, w.in_h, w.in_w,
                                      static_cast<T>(y) + dy[p], static_cast<T>(x) + dx[p]);
          to[p] = scale ? value * scale[p] : value;
        }
      }
    }
  });
}

void check_plane(const Tensor& t, const DeformShape& s, int64_t channels, const char* what) {
  TORCHLET_CHECK(t.dim() == 4 && t.size(0) == s.batch && t.size(1) == channels &&
                     t.size(2) == s.window.out_h && t.size(3) == s.window.out_w,
                 "deform_conv2d: expected %s of shape [%lld, %lld, %lld, %lld], got %s", what,
                 ll(s.batch), ll(channels), ll(s.window.out_h), ll(s.window.out_w),
                 t.describe().c_str());
}

Tensor deform_conv2d(const Tensor& input, const Tensor& weight, const Tensor& offset,
                     const Tensor& mask, const Tensor& bias, int64_t stride_h, int64_t stride_w,
                     int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                     int64_t groups, int64_t offset_groups, bool use_mask) {
  TORCHLET_CHECK(input.dim() == 4 && weight.dim() == 4,
                 "deform_conv2d: expected input and weight of 4 dimensions, got %s and %s",
                 input.describe().c_str(), weight.describe().c_str());
  for (int64_t step :
       {stride_h, stride_w, dilation_h, dilation_w, weight.size(2), weight.size(3)}) {
    TORCHLET_CHECK(step > 0,
                   "deform_conv2d: stride, dilation and kernel must be positive, got %lld",
                   ll(step));
  }
  TORCHLET_CHECK(pad_h >= 0 && pad_w >= 0, "deform_conv2d: the padding must not be negative");
  TORCHLET_CHECK(
      groups > 0 && offset_groups > 0 && input.size(1) == checked_mul(weight.size(1), groups) &&
          weight.size(0) % groups == 0 && input.size(1) % offset_groups == 0,
      "deform_conv2d: %s does not fit weight %s with %lld groups and %lld offset groups",
      input.describe().c_str(), weight.describe().c_str(), ll(groups), ll(offset_groups));
  DeformShape s{.window = {.in_h = input.size(2),
                           .in_w = input.size(3),
                           .out_h = 0,
                           .out_w = 0,
                           .kernel_h = weight.size(2),
                           .kernel_w = weight.size(3),
                           .stride_h = stride_h,
                           .stride_w = stride_w,
                           .pad_h = pad_h,
                           .pad_w = pad_w,
                           .dilation_h = dilation_h,
                           .dilation_w = dilation_w},
                .batch = input.size(0),
                .in_channels = input.size(1),
                .out_channels = weight.size(0),
                .groups = groups,
                .offset_groups = offset_groups};
  kernels::Window2dShape& w = s.window;
  w.out_h = kernels::sliding_output_size(w.in_h, w.kernel_h, stride_h, pad_h, dilation_h);
  w.out_w = kernels::sliding_output_size(w.in_w, w.kernel_w, stride_w, pad_w, dilation_w);
  TORCHLET_CHECK(w.out_h > 0 && w.out_w > 0,
                 "Calculated output size too small - out_h: %lld out_w: %lld", ll(w.out_h),
                 ll(w.out_w));
  const int64_t taps = checked_mul(w.kernel_h, w.kernel_w);
  const int64_t positions = checked_mul(w.out_h, w.out_w);
  check_plane(offset, s, checked_mul(offset_groups, 2 * taps), "offsets");
  if (use_mask) check_plane(mask, s, offset_groups * taps, "a mask");
  TORCHLET_CHECK(bias.numel() == s.out_channels, "deform_conv2d: expected %lld biases, got %s",
                 ll(s.out_channels), bias.describe().c_str());

  return compute_as<kMapReal>(input.dtype(), "deform_conv2d", [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = dense_as<T>(input), k = dense_as<T>(weight), o = dense_as<T>(offset);
    const Tensor m = use_mask ? dense_as<T>(mask) : Tensor(), b = dense_as<T>(bias);
    const Tensor out = empty({{s.batch, s.out_channels, w.out_h, w.out_w}}, DTypeOf<T>::value);
    const Tensor columns = empty({{s.in_channels * taps, positions}}, DTypeOf<T>::value);
    const int64_t rows = s.in_channels / groups * taps, group_out = s.out_channels / groups;
    for (int64_t n = 0; n < s.batch; ++n) {
      fill_columns(s, const_data<T>(x) + n * s.in_channels * w.in_h * w.in_w,
                   const_data<T>(o) + n * offset_groups * 2 * taps * positions,
                   use_mask ? const_data<T>(m) + n * offset_groups * taps * positions : nullptr,
                   columns.data_ptr<T>());
      T* to = out.data_ptr<T>() + n * s.out_channels * positions;
      for (int64_t c = 0; c < s.out_channels; ++c) {
        std::fill_n(to + c * positions, positions, const_data<T>(b)[c]);
      }
      for (int64_t g = 0; g < groups; ++g) {
        gemm<T>(group_out, positions, rows, {const_data<T>(k) + g * group_out * rows, rows, 1},
                {const_data<T>(columns) + g * rows * positions, positions, 1},
                to + g * group_out * positions, positions, true);
      }
    }
    return out.to(input.dtype());
  });
}

}  // namespace

TORCHLET_OP(deform_conv2d,
            "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
            "Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int "
            "dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor",
            deform_conv2d);

}  // namespace torchlet::ops
