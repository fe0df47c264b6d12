#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool_nhwc_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/pool_nhwc_q8.h"
#include "kernels/requantize_q8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// Positions of the window, of `count` in steps of `dilation` from `first` on, that exist.
struct Taps {
  Taps(int64_t first, int64_t count, int64_t dilation, int64_t size) {
    begin = first >= 0 ? 0 : std::min(count, (-first + dilation - 1) / dilation);
    end = first >= size ? begin : std::clamp((size - 1 - first) / dilation + 1, begin, count);
  }
  int64_t begin, end;
};

// Output line `line`, counted over pictures.
void max_pool_line(const PoolShape& shape, const uint8_t* input, int64_t input_stride,
                   uint8_t* output, int64_t output_stride, int64_t line) {
  const Window2dShape& w = shape.window;
  const TagU8 d;
  constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
  const int64_t first_y = line % w.out_h * w.stride_h - w.pad_h;
  const Taps ys(first_y, w.kernel_h, w.dilation_h, w.in_h);
  for (int64_t x = 0; x < w.out_w; ++x) {
    const int64_t first_x = x * w.stride_w - w.pad_w;
    const Taps xs(first_x, w.kernel_w, w.dilation_w, w.in_w);
    const uint8_t* pixels =
        input + ((line / w.out_h * w.in_h + first_y) * w.in_w + first_x) * input_stride;
    uint8_t* to = output + (line * w.out_w + x) * output_stride;
    const auto pixel = [&](int64_t i, int64_t j) {
      return pixels + (i * w.dilation_h * w.in_w + j * w.dilation_w) * input_stride;
    };
    int64_t c = 0;
    for (; c + kBytes <= shape.channels; c += kBytes) {
      VecU8 most = hn::Zero(d);
      for (int64_t i = ys.begin; i < ys.end; ++i) {
        for (int64_t j = xs.begin; j < xs.end; ++j) {
          most = hn::Max(most, hn::LoadU(d, pixel(i, j) + c));
        }
      }
      hn::StoreU(most, d, to + c);
    }
    if (c == shape.channels) continue;
    std::fill(to + c, to + shape.channels, uint8_t{0});
    for (int64_t i = ys.begin; i < ys.end; ++i) {
      for (int64_t j = xs.begin; j < xs.end; ++j) {
        const uint8_t* from = pixel(i, j);
        for (int64_t k = c; k < shape.channels; ++k) to[k] = std::max(to[k], from[k]);
      }
    }
  }
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(max_pool_line);

void max_pool_nhwc_q8(const PoolShape& shape, const uint8_t* input, int64_t input_stride,
                      uint8_t* output, int64_t output_stride) {
  const Window2dShape& w = shape.window;
  const int64_t ops = w.out_w * w.kernel_h * w.kernel_w * shape.channels;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 19) / std::max<int64_t>(1, ops));
  parallel_for(shape.batch * w.out_h, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      HWY_DYNAMIC_DISPATCH(max_pool_line)
      (shape, input, input_stride, output, output_stride, line);
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
