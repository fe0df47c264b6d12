#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

constexpr int64_t kElementsPerTask = int64_t{1} << 15;
// Planes of fewer pixels are worth no call each: several of them that the first-level cache holds
// are multiplied, and what they are added to.
constexpr int64_t kShortPlane = 1024, kCachedElements = 4096;

}  // namespace

void scale_shift_planes_f32(int64_t batch, int64_t channels, int64_t pixels, const float* x,
                            const float* scale, const float* shift, const Activation& activation,
                            float* y) {
  if (pixels == 0) return;
  const auto run_short = [&](int64_t first, int64_t channel, int64_t count) {
    const auto per_plane = [&](const float* values) {
      return SpreadOperand{values + channel, Spread::kRows, 1};
    };
    float* const to = y + first * pixels;
    binary_rows_f32(MatrixBinaryOp::kMul, count, pixels, x + first * pixels, pixels,
                    per_plane(scale), {}, to, pixels);
    binary_rows_f32(MatrixBinaryOp::kAdd, count, pixels, to, pixels, per_plane(shift), activation,
                    to, pixels);
  };
  const auto run_long = [&](int64_t plane, int64_t channel) {
    float* const to = y + plane * pixels;
    affine_rows_f32(1, pixels, x + plane * pixels, pixels, scale[channel], shift[channel], to,
                    pixels);
    if (activation.kind != ActivationKind::kNone) {
      activation_rows_f32(activation, 1, pixels, to, pixels, to, pixels);
    }
  };
  const int64_t at_once = pixels <= kShortPlane ? kCachedElements / pixels : 1;
  parallel_for(batch * channels, ceil_div(kElementsPerTask, pixels),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin, count; plane < end; plane += count) {
                   const int64_t channel = plane % channels;
                   count = std::min({end - plane, channels - channel, at_once});
                   if (pixels <= kShortPlane) {
                     run_short(plane, channel, count);
                   } else {
                     run_long(plane, channel);
                   }
                 }
               });
}

}  // namespace torchlet::kernels
