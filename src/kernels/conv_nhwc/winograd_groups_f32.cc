#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/winograd_groups_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/conv_nhwc/winograd-inl.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kBlock = kDwConvBlock<float>;
constexpr int kVectors = static_cast<int>(kBlock / kLanes);
constexpr int kPixels = kWinogradGroupPixels;
constexpr int kIn = kWinogradTiles[kWinogradGroupTile].x.points(), kPoints = kIn * kIn;
// Tiles whose points, products and weights stay in the first two levels of the cache. From one
// point to the next is an odd number of vectors, so that they share no cache set.
constexpr int64_t kTiles = 16;
constexpr int64_t kPointStride = (kTiles + 1) * kBlock, kProductStride = kPoints * kBlock;

// A block of channels, and the tiles of a task in rows.
struct GroupBlock {
  const DwConvTask<float>* task;
  int64_t channel;
  int64_t tiles_x;
  bool hardswish;  // instead of the bounds
  Bounds bounds;
};

// The tile's points to `to`, kPointStride apart.
void transform_group_input(const GroupBlock& block, int64_t tile, float* to) {
  const DwConvTask<float>& task = *block.task;
  const Window2dShape& s = task.shape->window;
  const int64_t y = task.row_begin + tile / block.tiles_x * kPixels - s.pad_h;
  const int64_t x = tile % block.tiles_x * kPixels - s.pad_w;
  const float* rows[kIn];
  hn::Mask<D> exists[kIn];
  for (int64_t i = 0; i < kIn; ++i) {
    const bool inside = y + i >= 0 && y + i < s.in_h;
    // What is not there is read all the same, and masked.
    rows[i] = task.input_rows[std::clamp<int64_t>(y + i, 0, s.in_h - 1)] + block.channel;
    exists[i] = hn::FirstN(kD, inside ? static_cast<size_t>(kLanes) : 0);
  }
  for (int64_t v = 0; v < kBlock; v += kLanes) {
    const auto column = [&](int i, V* pixels) HWY_ATTR {
      const int64_t at = x + i;
      if (at < 0 || at >= s.in_w) {
        std::fill_n(pixels, kIn, hn::Zero(kD));
        return;
      }
      HWY_UNROLL(6)
      for (int k = 0; k < kIn; ++k) {
        pixels[k] =
            hn::IfThenElseZero(exists[k], hn::LoadU(kD, rows[k] + at * task.input_stride + v));
      }
    };
    transform_input<kWinogradGroupTile>(column, to + v, kPointStride);
  }
}

// [kRows, channels of a block] times [those, those] at one point. Fetches `ahead`, as much as the
// weights.
template <int kRows>
HWY_INLINE void multiply_rows(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                              const float* ahead, float* HWY_RESTRICT c) {
  V sum[kRows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) std::fill_n(sum[r], kVectors, hn::Zero(kD));
  for (int64_t k = 0; k < kBlock; ++k) {
    __builtin_prefetch(ahead + k * kBlock);
    V w[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(kD, b + k * kBlock + v * kLanes);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(kD, a[r * kBlock + k]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, w[v], sum[r][v]);
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], kD, c + r * kProductStride + v * kLanes);
    }
  }
}

// points: [kPoints, tiles, channels]; products: [tiles, kPoints, channels], whose last rows may be
// of tiles that do not exist.
void multiply_group(const float* points, int64_t tiles, const float* weight, const float* ahead,
                    float* products) {
  constexpr int kFewRows = kVectors == 4 ? 2 : 4;  // as there are registers
  for (int64_t p = 0; p < kPoints; ++p) {
    const int64_t square = p * kBlock * kBlock;
    const auto multiply = [&](auto rows, int64_t row) HWY_ATTR {
      multiply_rows<rows()>(points + p * kPointStride + row * kBlock, weight + square,
                            ahead + square, products + row * kProductStride + p * kBlock);
      return row + rows();
    };
    for (int64_t row = 0; row < tiles;) {
      const int64_t left = tiles - row;
      if (kVectors == 1 && left > 12) {
        row = multiply(std::integral_constant < int, kVectors == 1 ? 16 : kFewRows > (), row);
      } else if (kVectors == 1 && left > 4) {
        row = multiply(std::integral_constant < int, kVectors == 1 ? 8 : kFewRows > (), row);
      } else {
        row = multiply(std::integral_constant<int, kFewRows>(), row);
      }
    }
  }
}

void store_group_output(const GroupBlock& block, int64_t tile, const float* products) {
  const DwConvTask<float>& task = *block.task;
  const Window2dShape& s = task.shape->window;
  const int64_t y = tile / block.tiles_x * kPixels;
  const int64_t x = tile % block.tiles_x * kPixels;
  const int64_t rows = task.row_end - task.row_begin - y, columns = s.out_w - x;
  float* const to = task.output + (y * s.out_w + x) * task.output_stride + block.channel;
  const V low = hn::Set(kD, block.bounds.low), high = hn::Set(kD, block.bounds.high);
  for (int64_t v = 0; v < kBlock; v += kLanes) {
    const float* bias = task.epilogue->bias;
    const V start = bias ? hn::LoadU(kD, bias + block.channel + v) : hn::Zero(kD);
    const auto store = [&](int i, int k, V value) HWY_ATTR {
      if (i >= rows || k >= columns) return;
      value = block.hardswish ? activate_hardswish(kD, value) : clamp(value, low, high);
      hn::StoreU(value, kD, to + (i * s.out_w + k) * task.output_stride + v);
    };
    transform_output<kWinogradGroupTile>(products + v, start, kBlock, store);
  }
}

void convolve_groups(const DwConvTask<float>& task) {
  const Window2dShape& s = task.shape->window;
  const EpilogueF32& epilogue = *task.epilogue;
  const bool hardswish =
      epilogue.activation.kind == ActivationKind::kHardswish && !epilogue.residual;
  const bool in_registers = hardswish || (is_clamp(epilogue.activation) && !epilogue.residual);
  const int64_t height = task.row_end - task.row_begin;
  const int64_t tiles_x = ceil_div(s.out_w, kPixels);
  const int64_t tiles = ceil_div(height, kPixels) * tiles_x;
  const Scratch<float> points(kPoints * kPointStride), products(kTiles * kProductStride);
  for (int64_t i = task.block_begin; i < task.block_end; ++i) {
    const GroupBlock block{&task, i * kBlock, tiles_x, hardswish,
                           bounds_of(in_registers ? epilogue.activation : Activation{})};
    constexpr int64_t kWeights = kPoints * kBlock * kBlock;
    const float* weight = task.weight + i * kWeights;
    for (int64_t first = 0; first < tiles; first += kTiles) {
      const int64_t count = std::min(kTiles, tiles - first);
      for (int64_t t = 0; t < count; ++t) {
        transform_group_input(block, first + t, points.data() + t * kBlock);
      }
      const bool is_last = first + count == tiles && i + 1 < task.block_end;
      multiply_group(points.data(), count, weight, weight + (is_last ? kWeights : 0),
                     products.data());
      for (int64_t t = 0; t < count; ++t) {
        store_group_output(block, first + t, products.data() + t * kProductStride);
      }
    }
    if (!in_registers) {
      const float* residual = epilogue.residual ? epilogue.residual + block.channel : nullptr;
      finish_rows(epilogue, residual, task.output + block.channel, task.output_stride,
                  height * s.out_w, kBlock);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convolve_groups);

void winograd_group_task(const DwConvTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(convolve_groups)(task);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
