#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dwconv_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/activation-inl.h"
#include "kernels/dwconv_nhwc.h"
#include "kernels/scratch.h"
#include "kernels/simd-inl.h"

// One task: rows [row_begin, row_end) of the output, channels [channel_begin, channel_end).
// Everything that a channel indexes begins at channel 0; `output` and the residual at row
// row_begin.
#ifndef TORCHLET_KERNELS_DWCONV_NHWC_TASK_
#define TORCHLET_KERNELS_DWCONV_NHWC_TASK_
namespace torchlet::kernels {
struct DwConvTask {
  const DwConvShape* shape;
  const float* const* input_rows;
  int64_t input_stride;
  const float* weight;  // [kernel_h * kernel_w, dwconv_padded_channels]
  const EpilogueF32* epilogue;
  float* output;
  int64_t output_stride;
  int64_t row_begin, row_end;
  int64_t channel_begin, channel_end;
};

// Rows of the packed weights are whole cache lines.
inline int64_t dwconv_padded_channels(int64_t channels) { return (channels + 15) / 16 * 16; }
}  // namespace torchlet::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int kMaxTile = 6;  // output pixels side by side that are computed at once

// What the pixels of one output row have in common. Pointers are those of channel 0.
struct Row {
  const float* const* input_rows;  // of the first tap row that lies on the picture
  int64_t row_step;                // dilation_h
  int64_t taps;                    // tap rows on the picture
  const float* weight;             // of the first of them
  int64_t weight_stride;           // from tap to tap
  int64_t input_stride;
  const float* bias;
  float* output;
  int64_t output_stride;
  Bounds bounds;
};

// Output pixels [x, x + kTile), whose tap columns all lie on the picture; the first one begins at
// input column `column`. Channels [begin, end), at least a vector of them.
template <int kWidth, int kStride, int kTile>
HWY_NOINLINE void convolve_tile(const Row& row, int64_t x, int64_t column, int64_t begin,
                                int64_t end) {
  constexpr int kColumns = (kTile - 1) * kStride + kWidth;
  const int64_t stride = row.input_stride;
  const V low = hn::Set(d, row.bounds.low), high = hn::Set(d, row.bounds.high);
  for (int64_t next = begin; next < end; next += kLanes) {
    // The last vector overlaps the one before it.
    const int64_t c = std::min(next, end - kLanes);
    V sum[kTile];
    const V bias = row.bias ? hn::LoadU(d, row.bias + c) : hn::Zero(d);
    HWY_UNROLL(8)
    for (int t = 0; t < kTile; ++t) sum[t] = bias;
    const float* HWY_RESTRICT weight = row.weight + c;
    for (int64_t i = 0; i < row.taps; ++i) {
      const float* HWY_RESTRICT in = row.input_rows[i * row.row_step] + column * stride + c;
      V w[kWidth];
      HWY_UNROLL(5)
      for (int j = 0; j < kWidth; ++j) w[j] = hn::LoadU(d, weight + j * row.weight_stride);
      HWY_UNROLL(16)
      for (int k = 0; k < kColumns; ++k) {
        const V pixel = hn::LoadU(d, in + k * stride);
        HWY_UNROLL(8)
        for (int t = 0; t < kTile; ++t) {
          const int j = k - t * kStride;
          if (j >= 0 && j < kWidth) sum[t] = hn::MulAdd(pixel, w[j], sum[t]);
        }
      }
      weight += kWidth * row.weight_stride;
    }
    float* HWY_RESTRICT out = row.output + x * row.output_stride + c;
    HWY_UNROLL(8)
    for (int t = 0; t < kTile; ++t) {
      hn::StoreU(clamp(sum[t], low, high), d, out + t * row.output_stride);
    }
  }
}

// One output pixel under any window; tap columns [j_begin, j_end) lie on the picture, the first of
// them `column_step` columns after `column`.
struct PixelTaps {
  int64_t width, column, column_step, j_begin, j_end;
};

template <int kVectors>
HWY_INLINE void convolve_vectors(const Row& row, const PixelTaps& taps, int64_t x, int64_t c,
                                 int64_t count) {
  V sum[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = c + v * kLanes;
    sum[v] = row.bias ? load_first(d, row.bias + at, count - v * kLanes) : hn::Zero(d);
  }
  for (int64_t i = 0; i < row.taps; ++i) {
    const float* in = row.input_rows[i * row.row_step] +
                      (taps.column + taps.j_begin * taps.column_step) * row.input_stride + c;
    const float* weight = row.weight + (i * taps.width + taps.j_begin) * row.weight_stride + c;
    for (int64_t j = taps.j_begin; j < taps.j_end; ++j) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const int64_t left = count - v * kLanes;
        const V pixel = load_first(d, in + v * kLanes, left);
        sum[v] = hn::MulAdd(pixel, hn::LoadU(d, weight + v * kLanes), sum[v]);
      }
      in += taps.column_step * row.input_stride;
      weight += row.weight_stride;
    }
  }
  const V low = hn::Set(d, row.bounds.low), high = hn::Set(d, row.bounds.high);
  float* out = row.output + x * row.output_stride + c;
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    store_first(clamp(sum[v], low, high), d, out + v * kLanes, count - v * kLanes);
  }
}

HWY_NOINLINE void convolve_pixel(const Row& row, const PixelTaps& taps, int64_t x, int64_t begin,
                                 int64_t end) {
  constexpr int kVectors = 4;
  int64_t c = begin;
  for (; c + kVectors * kLanes <= end; c += kVectors * kLanes) {
    convolve_vectors<kVectors>(row, taps, x, c, kVectors * kLanes);
  }
  for (; c < end; c += kLanes) convolve_vectors<1>(row, taps, x, c, end - c);
}

using ConvolveTile = void (*)(const Row&, int64_t, int64_t, int64_t, int64_t);

template <int kWidth, int kStride>
ConvolveTile tile_of_size(int64_t size) {
  static constexpr ConvolveTile kTiles[kMaxTile] = {
      convolve_tile<kWidth, kStride, 1>, convolve_tile<kWidth, kStride, 2>,
      convolve_tile<kWidth, kStride, 3>, convolve_tile<kWidth, kStride, 4>,
      convolve_tile<kWidth, kStride, 5>, convolve_tile<kWidth, kStride, 6>};
  return kTiles[size - 1];
}

// The first and the last tap, plus one, of `count` that lie inside [0, size) if the first one lies
// at `first`.
struct Range {
  int64_t begin, end;
};
HWY_INLINE Range taps_inside(int64_t first, int64_t step, int64_t count, int64_t size) {
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = size <= first ? 0 : std::min(count, (size - 1 - first) / step + 1);
  return {std::min(begin, end), end};
}

// Pixels of one output row.
void convolve_row(const Window2dShape& s, const Row& row, int64_t begin, int64_t end) {
  using TileOfSize = ConvolveTile (*)(int64_t);
  TileOfSize tile_for = nullptr;
  if (s.dilation_w == 1 && end - begin >= kLanes) {
    if (s.kernel_w == 3 && s.stride_w == 1) tile_for = tile_of_size<3, 1>;
    if (s.kernel_w == 3 && s.stride_w == 2) tile_for = tile_of_size<3, 2>;
    if (s.kernel_w == 5 && s.stride_w == 1) tile_for = tile_of_size<5, 1>;
    if (s.kernel_w == 5 && s.stride_w == 2) tile_for = tile_of_size<5, 2>;
  }
  // Output columns [inner_begin, inner_end) read no padding.
  const int64_t inner_begin = std::min(s.out_w, (s.pad_w + s.stride_w - 1) / s.stride_w);
  const int64_t last = s.in_w - 1 - (s.kernel_w - 1) * s.dilation_w + s.pad_w;
  const int64_t inner_end =
      tile_for && last >= 0 ? std::clamp(last / s.stride_w + 1, inner_begin, s.out_w) : inner_begin;

  const auto pixels = [&](int64_t x_begin, int64_t x_end) HWY_ATTR {
    for (int64_t x = x_begin; x < x_end; ++x) {
      const int64_t column = x * s.stride_w - s.pad_w;
      const Range taps = taps_inside(column, s.dilation_w, s.kernel_w, s.in_w);
      convolve_pixel(row, {s.kernel_w, column, s.dilation_w, taps.begin, taps.end}, x, begin, end);
    }
  };
  pixels(0, inner_begin);
  int64_t tiles = (inner_end - inner_begin + kMaxTile - 1) / kMaxTile;
  for (int64_t x = inner_begin; x < inner_end; --tiles) {
    const int64_t size = (inner_end - x + tiles - 1) / tiles;
    tile_for(size)(row, x, x * s.stride_w - s.pad_w, begin, end);
    x += size;
  }
  pixels(inner_end, s.out_w);
}

void convolve(const DwConvTask& task) {
  const Window2dShape& s = task.shape->window;
  const EpilogueF32& epilogue = *task.epilogue;
  const int64_t begin = task.channel_begin, end = task.channel_end;
  const bool in_registers = is_clamp(epilogue.activation) && !epilogue.residual;
  const int64_t weight_stride = dwconv_padded_channels(task.shape->channels);
  for (int64_t y = task.row_begin; y < task.row_end; ++y) {
    const int64_t first = y * s.stride_h - s.pad_h;
    const Range taps = taps_inside(first, s.dilation_h, s.kernel_h, s.in_h);
    const int64_t pixel = (y - task.row_begin) * s.out_w;
    const Row row{task.input_rows + first + taps.begin * s.dilation_h,
                  s.dilation_h,
                  taps.end - taps.begin,
                  task.weight + taps.begin * s.kernel_w * weight_stride,
                  weight_stride,
                  task.input_stride,
                  epilogue.bias,
                  task.output + pixel * task.output_stride,
                  task.output_stride,
                  bounds_of(in_registers ? epilogue.activation : Activation{})};
    convolve_row(s, row, begin, end);
    if (!in_registers) {
      const float* residual = epilogue.residual
                                  ? epilogue.residual + pixel * epilogue.residual_stride + begin
                                  : nullptr;
      finish_rows(epilogue, residual, row.output + begin, row.output_stride, s.out_w, end - begin);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convolve);

namespace {

// Channels that are convolved over a strip of rows before the next ones: the input rows that
// neighbouring output rows share then stay in the first-level cache.
constexpr int64_t kCacheBytes = int64_t{32} << 10;

int64_t channels_per_block(const DwConvShape& shape) {
  const Window2dShape& s = shape.window;
  const int64_t pixels = s.in_w * (s.kernel_h + s.stride_h) + s.out_w;
  const int64_t fit = kCacheBytes / (pixels * static_cast<int64_t>(sizeof(float)));
  return std::max<int64_t>(16, fit / 16 * 16);
}

void convolve_rows(DwConvTask task) {
  const int64_t block = channels_per_block(*task.shape), end = task.channel_end;
  while (task.channel_begin < end) {
    // A last block of less than a vector joins the one before it.
    task.channel_end = end - task.channel_begin < block + 16 ? end : task.channel_begin + block;
    HWY_DYNAMIC_DISPATCH(convolve)(task);
    task.channel_begin = task.channel_end;
  }
}

}  // namespace

size_t dwconv_nhwc_f32_packed_bytes(const DwConvShape& shape) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  return static_cast<size_t>(taps * dwconv_padded_channels(shape.channels)) * sizeof(float);
}

void dwconv_nhwc_f32_pack(const DwConvShape& shape, const float* weight, void* packed) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  const int64_t stride = dwconv_padded_channels(shape.channels);
  float* to = static_cast<float*>(packed);
  std::memset(packed, 0, dwconv_nhwc_f32_packed_bytes(shape));
  for (int64_t c = 0; c < shape.channels; ++c) {
    for (int64_t tap = 0; tap < taps; ++tap) to[tap * stride + c] = weight[c * taps + tap];
  }
}

void dwconv_nhwc_f32_rows(const DwConvShape& shape, const float* const* input_rows,
                          int64_t input_stride, const void* packed, const EpilogueF32& epilogue,
                          float* output, int64_t output_stride, int64_t row_begin,
                          int64_t row_end) {
  convolve_rows({&shape, input_rows, input_stride, static_cast<const float*>(packed), &epilogue,
                 output, output_stride, row_begin, row_end, 0, shape.channels});
}

void dwconv_nhwc_f32(const DwConvShape& shape, const float* input, int64_t input_stride,
                     const void* packed, const EpilogueF32& epilogue, float* output,
                     int64_t output_stride) {
  const Window2dShape& s = shape.window;
  const int64_t all_rows = shape.batch * s.in_h;
  const Scratch<const float*> rows(all_rows);
  for (int64_t y = 0; y < all_rows; ++y) rows[y] = input + y * s.in_w * input_stride;

  // A strip of output rows, whose input fits the second-level cache, is a task; a picture of few
  // rows is cut along its channels, too.
  constexpr int64_t kStripBytes = int64_t{512} << 10, kOpsPerTask = int64_t{1} << 18;
  const int64_t row_bytes =
      s.in_w * s.stride_h * shape.channels * static_cast<int64_t>(sizeof(float));
  const int64_t row_ops = std::max<int64_t>(1, s.out_w * s.kernel_h * s.kernel_w * shape.channels);
  const int64_t strip_rows =
      std::clamp<int64_t>(std::min(kStripBytes / row_bytes, 4 * kOpsPerTask / row_ops), 1, s.out_h);
  const int64_t strips = (s.out_h + strip_rows - 1) / strip_rows;
  const int64_t tasks = shape.batch * strips;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / (row_ops * strip_rows));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t picture = index / strips, strip = index % strips;
      const int64_t row_begin = strip * s.out_h / strips, row_end = (strip + 1) * s.out_h / strips;
      const int64_t pixel = (picture * s.out_h + row_begin) * s.out_w;
      EpilogueF32 local = epilogue;
      if (local.residual) local.residual += pixel * local.residual_stride;
      convolve_rows({&shape, rows.data() + picture * s.in_h, input_stride,
                     static_cast<const float*>(packed), &local, output + pixel * output_stride,
                     output_stride, row_begin, row_end, 0, shape.channels});
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
