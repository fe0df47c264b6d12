#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized/pool_nhwc_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/quantized/pool_nhwc_q8.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/split.h"

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

struct Averaging {
  VecI32 start;
  VecF32 multiplier;
  RequantizeQ8 requantize;
};

// `count` channels of the windows of one output pixel.
HWY_INLINE void average_channels(const Window2dShape& w, const Averaging& p, const uint8_t* pixels,
                                 int64_t stride, int64_t count, uint8_t* to) {
  constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
  alignas(64) uint8_t buffer[kBytes];
  VecI32 sum[4] = {p.start, p.start, p.start, p.start};
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    for (int64_t j = 0; j < w.kernel_w; ++j) {
      const uint8_t* from = pixels + (i * w.in_w + j) * stride;
      if (count < kBytes) {
        std::memcpy(buffer, from, static_cast<size_t>(count));
        from = buffer;
      }
      HWY_UNROLL(4)
      for (int v = 0; v < 4; ++v) sum[v] = hn::Add(sum[v], load_i32(from, v));
    }
  }
  const VecU8 bytes = p.requantize(sum[0], p.multiplier, sum[1], p.multiplier, sum[2], p.multiplier,
                                   sum[3], p.multiplier);
  store_bytes(in_order(bytes), to, count);
}

void avg_pool_line(const PoolShape& shape, const AffineQ8& quantization, const uint8_t* input,
                   int64_t input_stride, uint8_t* output, int64_t output_stride, int64_t line) {
  const Window2dShape& w = shape.window;
  constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
  const int64_t size = w.kernel_h * w.kernel_w;
  const float multiplier = quantization.scale / (quantization.scale * static_cast<float>(size));
  const Averaging averaging{
      hn::Set(TagI32(), static_cast<int32_t>(-quantization.zero_point * size)),
      hn::Set(TagF32(), multiplier), RequantizeQ8({quantization.zero_point}, false)};
  const int64_t y = line / w.out_h * w.in_h + line % w.out_h * w.stride_h;
  for (int64_t x = 0; x < w.out_w; ++x) {
    const uint8_t* pixels = input + (y * w.in_w + x * w.stride_w) * input_stride;
    uint8_t* to = output + (line * w.out_w + x) * output_stride;
    for (int64_t c = 0; c < shape.channels; c += kBytes) {
      average_channels(w, averaging, pixels + c, input_stride, std::min(kBytes, shape.channels - c),
                       to + c);
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
HWY_EXPORT(avg_pool_line);

namespace {

// Calls body(part, first_channel, line) for all lines, with a shape that has a part of the
// channels.
void for_each_line(const PoolShape& shape,
                   FunctionRef<void(const PoolShape&, int64_t, int64_t)> body) {
  constexpr int64_t kOpsPerTask = int64_t{1} << 16, kCacheLine = 64;
  const Window2dShape& w = shape.window;
  const int64_t lines = shape.batch * w.out_h, channels = shape.channels;
  const int64_t ops = lines * w.out_w * w.kernel_h * w.kernel_w * channels;
  if (lines == 0 || channels == 0) return;
  if (lines < num_threads()) {
    const int64_t grain = even_grain(channels, kCacheLine, ops, kOpsPerTask);
    return parallel_for(channels, grain, [&](int64_t begin, int64_t end) {
      PoolShape part = shape;
      part.channels = end - begin;
      for (int64_t line = 0; line < lines; ++line) body(part, begin, line);
    });
  }
  parallel_for(lines, even_grain(lines, 1, ops, kOpsPerTask), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) body(shape, 0, line);
  });
}

}  // namespace

void max_pool_nhwc_q8(const PoolShape& shape, const uint8_t* input, int64_t input_stride,
                      uint8_t* output, int64_t output_stride) {
  for_each_line(shape, [&](const PoolShape& part, int64_t channel, int64_t line) {
    HWY_DYNAMIC_DISPATCH(max_pool_line)
    (part, input + channel, input_stride, output + channel, output_stride, line);
  });
}

void avg_pool_nhwc_q8(const PoolShape& shape, const AffineQ8& quantization, const uint8_t* input,
                      int64_t input_stride, uint8_t* output, int64_t output_stride) {
  for_each_line(shape, [&](const PoolShape& part, int64_t channel, int64_t line) {
    HWY_DYNAMIC_DISPATCH(avg_pool_line)
    (part, quantization, input + channel, input_stride, output + channel, output_stride, line);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
