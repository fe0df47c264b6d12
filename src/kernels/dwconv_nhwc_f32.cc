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
#include "kernels/split.h"

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
  const float* weight;
  const EpilogueF32* epilogue;
  float* output;
  int64_t output_stride;
  int64_t row_begin, row_end;
  int64_t block_begin, block_end;
};

constexpr int64_t kDwConvBlock = 16;
inline int64_t dwconv_blocks(int64_t channels) {
  return (channels + kDwConvBlock - 1) / kDwConvBlock;
}
inline int64_t dwconv_block_channel(int64_t channels, int64_t block) {
  return std::max<int64_t>(0, std::min(block * kDwConvBlock, channels - kDwConvBlock));
}
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
constexpr int kVectorsPerBlock = static_cast<int>(kDwConvBlock / kLanes);

// As load_first, with any count.
HWY_INLINE V load_part(const float* from, int64_t count) {
  return count <= 0 ? hn::Zero(d) : load_first(d, from, count);
}
// What the pixels of one output row have in common. Pointers are those of channel 0.
struct Row {
  const float* const* input_rows;  // of the first tap row that lies on the picture
  int64_t row_step;                // dilation_h
  int64_t taps;                    // tap rows on the picture
  const float* weight;             // of the first of them, block 0
  int64_t weight_stride;           // from block to block
  int64_t input_stride;
  int64_t channels;
  const float* bias;
  float* output;
  int64_t output_stride;
  bool hardswish;  // instead of the bounds
  Bounds bounds;
};

// Where a tile of output pixels begins: output column `x`, its first tap on input column `column`.
// `left` and `right` of the outermost tap columns lie on padding, less than the window is wide.
struct TilePlace {
  int64_t x, column;
  int left, right;
};

// kTile output pixels side by side, whole blocks [begin, end) of channels.
template <int kWidth, int kStride, int kTile>
HWY_NOINLINE void convolve_tile(const Row& row, const TilePlace& place, int64_t begin,
                                int64_t end) {
  constexpr int kColumns = (kTile - 1) * kStride + kWidth;
  const int64_t stride = row.input_stride, out_stride = row.output_stride;
  const int64_t taps = row.taps, row_step = row.row_step, channels = row.channels;
  const int64_t weight_stride = row.weight_stride;
  const int left = place.left, inside = kColumns - place.right;
  const bool hardswish = row.hardswish;
  const float* const* const input_rows = row.input_rows;
  const float* const bias = row.bias;
  const float* const weights = row.weight;
  float* const output = row.output + place.x * out_stride;
  const int64_t column = place.column * stride;
  const V low = hn::Set(d, row.bounds.low), high = hn::Set(d, row.bounds.high);
  for (int64_t v = begin * kVectorsPerBlock; v < end * kVectorsPerBlock; ++v) {
    const int64_t block = v / kVectorsPerBlock, part = v % kVectorsPerBlock * kLanes;
    const int64_t c = std::min(block * kDwConvBlock, channels - kDwConvBlock) + part;
    V sum[kTile];
    const V start = bias ? hn::LoadU(d, bias + c) : hn::Zero(d);
    HWY_UNROLL(8)
    for (int t = 0; t < kTile; ++t) sum[t] = start;
    const float* HWY_RESTRICT weight = weights + block * weight_stride + part;
    for (int64_t i = 0; i < taps; ++i) {
      const float* HWY_RESTRICT in = input_rows[i * row_step] + column + c;
      V w[kWidth];
      HWY_UNROLL(5)
      for (int j = 0; j < kWidth; ++j) w[j] = hn::LoadU(d, weight + j * kDwConvBlock);
      HWY_UNROLL(19)
      for (int k = 0; k < kColumns; ++k, in += stride) {
        if (k < kWidth - 1 && k < left) continue;
        if (k > kColumns - kWidth && k >= inside) continue;
        const V pixel = keep_in_register(hn::LoadU(d, in));
        HWY_UNROLL(8)
        for (int t = 0; t < kTile; ++t) {
          const int j = k - t * kStride;
          if (j >= 0 && j < kWidth) sum[t] = hn::MulAdd(pixel, w[j], sum[t]);
        }
      }
      weight += kWidth * kDwConvBlock;
    }
    float* HWY_RESTRICT out = output + c;
    if (hardswish) {
      HWY_UNROLL(8)
      for (int t = 0; t < kTile; ++t) sum[t] = activate_hardswish(d, sum[t]);
    } else {
      HWY_UNROLL(8)
      for (int t = 0; t < kTile; ++t) sum[t] = clamp(sum[t], low, high);
    }
    HWY_UNROLL(8)
    for (int t = 0; t < kTile; ++t, out += out_stride) hn::StoreU(sum[t], d, out);
  }
}

// One output pixel under any window; tap columns [j_begin, j_end) lie on the picture, the first of
// them `column_step` columns after `column`.
struct PixelTaps {
  int64_t width, column, column_step, j_begin, j_end;
};

// Blocks [begin, end) of channels; a block may be the only one and not whole.
HWY_NOINLINE void convolve_pixel(const Row& row, const PixelTaps& taps, int64_t x, int64_t begin,
                                 int64_t end) {
  const V low = hn::Set(d, row.bounds.low), high = hn::Set(d, row.bounds.high);
  const int64_t step = taps.column_step * row.input_stride;
  const int64_t first = (taps.column + taps.j_begin * taps.column_step) * row.input_stride;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t c = dwconv_block_channel(row.channels, block);
    const int64_t count = std::min(kDwConvBlock, row.channels);
    V sum[kVectorsPerBlock];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const int64_t at = v * kLanes;
      sum[v] = row.bias ? load_part(row.bias + c + at, count - at) : hn::Zero(d);
    }
    for (int64_t i = 0; i < row.taps; ++i) {
      const float* in = row.input_rows[i * row.row_step] + first + c;
      const float* weight =
          row.weight + block * row.weight_stride + (i * taps.width + taps.j_begin) * kDwConvBlock;
      for (int64_t j = taps.j_begin; j < taps.j_end; ++j) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectorsPerBlock; ++v) {
          const int64_t at = v * kLanes;
          sum[v] = hn::MulAdd(load_part(in + at, count - at), hn::LoadU(d, weight + at), sum[v]);
        }
        in += step;
        weight += kDwConvBlock;
      }
    }
    float* out = row.output + x * row.output_stride + c;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const int64_t at = v * kLanes;
      const V value = row.hardswish ? activate_hardswish(d, sum[v]) : clamp(sum[v], low, high);
      if (count > at) store_first(value, d, out + at, count - at);
    }
  }
}

using ConvolveTile = void (*)(const Row&, const TilePlace&, int64_t, int64_t);
struct Tile {
  ConvolveTile convolve;
  int64_t size;  // output pixels
};

// Of the tiles no wider than the row the one that computes the fewest pixels twice.
template <int kWidth, int kStride>
Tile choose_tile(int64_t out_w) {
  static constexpr Tile kTiles[] = {{convolve_tile<kWidth, kStride, 8>, 8},
                                    {convolve_tile<kWidth, kStride, 7>, 7},
                                    {convolve_tile<kWidth, kStride, 4>, 4},
                                    {convolve_tile<kWidth, kStride, 1>, 1}};
  const auto computed = [&](const Tile& tile) {
    return (out_w + tile.size - 1) / tile.size * tile.size + (tile.size == 1 ? out_w : 0);
  };
  const Tile* best = &kTiles[3];
  for (const Tile& tile : kTiles) {
    if (tile.size <= out_w && computed(tile) < computed(*best)) best = &tile;
  }
  return *best;
}

Tile choose_tile(const DwConvShape& shape) {
  const Window2dShape& s = shape.window;
  // The tap columns of an outer window that lie on padding have to be fewer than all.
  const int64_t last = (s.out_w - 1) * s.stride_w - s.pad_w;
  const bool is_inside = s.pad_w < s.kernel_w && last < s.in_w;
  if (shape.channels < kDwConvBlock || s.dilation_w != 1 || !is_inside) return {nullptr, 0};
  if (s.kernel_w == 3 && s.stride_w == 1) return choose_tile<3, 1>(s.out_w);
  if (s.kernel_w == 3 && s.stride_w == 2) return choose_tile<3, 2>(s.out_w);
  if (s.kernel_w == 5 && s.stride_w == 1) return choose_tile<5, 1>(s.out_w);
  if (s.kernel_w == 5 && s.stride_w == 2) return choose_tile<5, 2>(s.out_w);
  return {nullptr, 0};
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

void convolve_row(const Window2dShape& s, const Tile& tile, const Row& row, int64_t begin,
                  int64_t end) {
  if (tile.convolve) {
    for (int64_t next = 0; next < s.out_w; next += tile.size) {
      const int64_t x = std::min(next, s.out_w - tile.size);  // the last tile overlaps
      const int64_t column = x * s.stride_w - s.pad_w;
      const int64_t column_end = column + (tile.size - 1) * s.stride_w + s.kernel_w;
      tile.convolve(row,
                    {x, column, static_cast<int>(std::max<int64_t>(0, -column)),
                     static_cast<int>(std::max<int64_t>(0, column_end - s.in_w))},
                    begin, end);
    }
    return;
  }
  for (int64_t x = 0; x < s.out_w; ++x) {
    const int64_t column = x * s.stride_w - s.pad_w;
    const Range taps = taps_inside(column, s.dilation_w, s.kernel_w, s.in_w);
    convolve_pixel(row, {s.kernel_w, column, s.dilation_w, taps.begin, taps.end}, x, begin, end);
  }
}

void convolve(const DwConvTask& task) {
  const DwConvShape& shape = *task.shape;
  const Window2dShape& s = shape.window;
  const EpilogueF32& epilogue = *task.epilogue;
  const bool hardswish =
      epilogue.activation.kind == ActivationKind::kHardswish && !epilogue.residual;
  const bool in_registers = hardswish || (is_clamp(epilogue.activation) && !epilogue.residual);
  const int64_t begin = dwconv_block_channel(shape.channels, task.block_begin);
  const int64_t end = std::min(shape.channels, task.block_end * kDwConvBlock);
  const Tile tile = choose_tile(shape);
  for (int64_t y = task.row_begin; y < task.row_end; ++y) {
    const int64_t first = y * s.stride_h - s.pad_h;
    const Range taps = taps_inside(first, s.dilation_h, s.kernel_h, s.in_h);
    const int64_t pixel = (y - task.row_begin) * s.out_w;
    const Row row{task.input_rows + first + taps.begin * s.dilation_h,
                  s.dilation_h,
                  taps.end - taps.begin,
                  task.weight + taps.begin * s.kernel_w * kDwConvBlock,
                  s.kernel_h * s.kernel_w * kDwConvBlock,
                  task.input_stride,
                  shape.channels,
                  epilogue.bias,
                  task.output + pixel * task.output_stride,
                  task.output_stride,
                  hardswish,
                  bounds_of(in_registers ? epilogue.activation : Activation{})};
    convolve_row(s, tile, row, task.block_begin, task.block_end);
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

// Blocks of channels that are convolved over a strip of rows before the next ones: the input rows
// that neighbouring output rows share then stay in the first-level cache. Pictures that do not fit
// the second-level cache are read in their own order instead, as the processor's prefetcher likes.
int64_t blocks_at_once(const DwConvShape& shape) {
  constexpr int64_t kNear = int64_t{32} << 10, kFar = int64_t{1} << 20;
  constexpr int64_t kBlockBytes = kDwConvBlock * static_cast<int64_t>(sizeof(float));
  const Window2dShape& s = shape.window;
  const int64_t blocks = dwconv_blocks(shape.channels);
  if (s.in_h * s.in_w * blocks * kBlockBytes > kFar) return blocks;
  const int64_t pixels = s.in_w * (s.kernel_h + s.stride_h) + s.out_w;
  return std::max<int64_t>(1, kNear / (pixels * kBlockBytes));
}

void convolve_blocks(DwConvTask task) {
  const int64_t step = blocks_at_once(*task.shape), end = task.block_end;
  // The last block overlaps the one before it, so a function after the sum has to see both at once.
  for (; task.block_begin < end; task.block_begin = task.block_end) {
    task.block_end = end - task.block_begin <= step + 1 ? end : task.block_begin + step;
    HWY_DYNAMIC_DISPATCH(convolve)(task);
  }
}

}  // namespace

size_t dwconv_nhwc_f32_packed_bytes(const DwConvShape& shape) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  return static_cast<size_t>(dwconv_blocks(shape.channels) * taps * kDwConvBlock) * sizeof(float);
}

void dwconv_nhwc_f32_pack(const DwConvShape& shape, const float* weight, void* packed) {
  const int64_t taps = shape.window.kernel_h * shape.window.kernel_w;
  float* to = static_cast<float*>(packed);
  for (int64_t block = 0; block < dwconv_blocks(shape.channels); ++block) {
    const int64_t channel = dwconv_block_channel(shape.channels, block);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < kDwConvBlock; ++i) {
        const int64_t c = channel + i;
        *to++ = c < shape.channels ? weight[c * taps + tap] : 0;
      }
    }
  }
}

void dwconv_nhwc_f32_rows(const DwConvShape& shape, const float* const* input_rows,
                          int64_t input_stride, const void* packed, const EpilogueF32& epilogue,
                          float* output, int64_t output_stride, int64_t row_begin,
                          int64_t row_end) {
  convolve_blocks({&shape, input_rows, input_stride, static_cast<const float*>(packed), &epilogue,
                   output, output_stride, row_begin, row_end, 0, dwconv_blocks(shape.channels)});
}

void dwconv_nhwc_f32(const DwConvShape& shape, const float* input, int64_t input_stride,
                     const void* packed, const EpilogueF32& epilogue, float* output,
                     int64_t output_stride) {
  const Window2dShape& s = shape.window;
  const int64_t all_rows = shape.batch * s.in_h;
  const Scratch<const float*> rows(all_rows);
  for (int64_t y = 0; y < all_rows; ++y) rows[y] = input + y * s.in_w * input_stride;

  const auto run = [&](int64_t picture, int64_t row_begin, int64_t row_end, int64_t block_begin,
                       int64_t block_end) {
    const int64_t pixel = (picture * s.out_h + row_begin) * s.out_w;
    EpilogueF32 local = epilogue;
    if (local.residual) local.residual += pixel * local.residual_stride;
    convolve_blocks({&shape, rows.data() + picture * s.in_h, input_stride,
                     static_cast<const float*>(packed), &local, output + pixel * output_stride,
                     output_stride, row_begin, row_end, block_begin, block_end});
  };
  constexpr int64_t kOpsPerTask = int64_t{1} << 16;
  const int64_t row_ops = std::max<int64_t>(1, s.out_w * s.kernel_h * s.kernel_w * shape.channels);
  if (is_cut_by_columns(s.in_h * s.in_w)) {
    const int64_t blocks = dwconv_blocks(shape.channels);
    // If the last block overlaps the one before it, they stay together.
    const int64_t units =
        shape.channels % kDwConvBlock == 0 ? blocks : std::max<int64_t>(1, blocks - 1);
    const int64_t ops = row_ops * s.out_h * shape.batch;
    const int64_t grain = even_grain(units, 1, ops, kOpsPerTask);
    return parallel_for(units, grain, [&](int64_t begin, int64_t end) {
      for (int64_t picture = 0; picture < shape.batch; ++picture) {
        run(picture, 0, s.out_h, begin, end == units ? blocks : end);
      }
    });
  }

  // A strip of output rows whose input fits the second-level cache is a task.
  constexpr int64_t kStripBytes = int64_t{512} << 10;
  const int64_t threads = num_threads();
  const int64_t row_bytes =
      s.in_w * s.stride_h * shape.channels * static_cast<int64_t>(sizeof(float));
  const int64_t far_strips = (s.out_h * row_bytes - 1) / kStripBytes + 1;
  const int64_t most_strips = std::clamp<int64_t>(s.out_h * row_ops / kOpsPerTask, 1, s.out_h);
  const int64_t even_strips = (far_strips + threads - 1) / threads * threads;
  const int64_t strips = std::min(even_strips, most_strips);
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask * strips / (row_ops * s.out_h));
  parallel_for(shape.batch * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t strip = index % strips;
      run(index / strips, strip * s.out_h / strips, (strip + 1) * s.out_h / strips, 0,
          dwconv_blocks(shape.channels));
    }
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
