#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/dwconv_pixels_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile is some vectors of pixels of a row of the output, for kChannels channels. The rows of the
// input that a row of the output reads are copied to a ring in the first-level cache, their columns
// in the order of the phases of the stride, zeros for the padding: so a tap reads neighbouring
// pixels, and channels share no cache set.
namespace pixels {

constexpr hn::ScalableTag<float> kD;
using V = hn::Vec<decltype(kD)>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int kChannels = kDwConvTileChannels;

// What the tiles of some channels in a row have in common.
struct Row {
  const float* const* copies;  // a row for each row of taps on the picture
  int64_t height;              // of them
  const int64_t* taps;         // where each reads pixel 0 of the output, in a channel's copy
  int64_t width;               // of them
  int64_t group;
  int64_t channel_stride;  // in a copy
  const float* weight;     // of the first row of taps: kLanes of each product
  const float* bias;       // or null
  Bounds bounds;
  float* output;
  int64_t plane;  // of the output
};

// The pixels from x on.
template <int kVectors>
HWY_NOINLINE void convolve_tile(const Row& row, int64_t x) {
  V sum[kChannels][kVectors];
  HWY_UNROLL(4)
  for (int c = 0; c < kChannels; ++c) {
    const V start = row.bias ? hn::Set(kD, row.bias[c]) : hn::Zero(kD);
    HWY_UNROLL(6)
    for (int v = 0; v < kVectors; ++v) sum[c][v] = start;
  }
  const float* HWY_RESTRICT weight = row.weight;
  for (int64_t i = 0; i < row.height; ++i) {
    for (int64_t first = 0; first < row.group; first += kLanes) {
      const int64_t count = std::min(kLanes, row.group - first);
      const float* from = row.copies[i] + first * row.channel_stride + x;
      for (int64_t j = 0; j < row.width; ++j) {
        const float* HWY_RESTRICT in = from + row.taps[j];
        for (int64_t k = 0; k < count; ++k, in += row.channel_stride, weight += kLanes) {
          V pixels[kVectors];
          HWY_UNROLL(6)
          for (int v = 0; v < kVectors; ++v) {
            pixels[v] = keep_in_register(hn::LoadU(kD, in + v * kLanes));
          }
          HWY_UNROLL(4)
          for (int c = 0; c < kChannels; ++c) {
            const V w = keep_in_register(hn::Set(kD, weight[c]));
            HWY_UNROLL(6)
            for (int v = 0; v < kVectors; ++v) sum[c][v] = hn::MulAdd(pixels[v], w, sum[c][v]);
          }
        }
      }
    }
  }
  const V low = hn::Set(kD, row.bounds.low), high = hn::Set(kD, row.bounds.high);
  HWY_UNROLL(4)
  for (int c = 0; c < kChannels; ++c) {
    float* HWY_RESTRICT out = row.output + c * row.plane + x;
    HWY_UNROLL(6)
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(clamp(sum[c][v], low, high), kD, out + v * kLanes);
    }
  }
}

struct Tile {
  void (*convolve)(const Row&, int64_t);
  int64_t size;  // pixels of the output
};
struct Tiles {
  Tile first, last;  // of DwConvTiles
  bool suit = false;
};
template <int... kVectors>
Tiles best_tiles(int64_t out_w) {
  static constexpr Tile kTiles[] = {{convolve_tile<kVectors>, kVectors * kLanes}...};
  static constexpr int kSizes[] = {kVectors * static_cast<int>(kLanes)...};
  const DwConvTiles best = dwconv_tiles(kSizes, sizeof...(kVectors), out_w);
  if (best.first < 0) return {};
  const Tile first = kTiles[best.first], last = kTiles[best.last];
  const int64_t left = out_w % first.size;
  const int64_t computed = out_w - left + (left > 0 ? last.size : 0);
  return {first, last, 4 * computed <= 5 * out_w};
}
// Sums, pixels and a weight have registers; with fewer vectors, weights would be most of the loads.
Tiles choose_tiles(int64_t out_w) {
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
  return best_tiles<6, 5, 4, 3>(out_w);
#else
  return best_tiles<3>(out_w);
#endif
}

class Convolution {
 public:
  explicit Convolution(const DwConvTask<float>& task)
      : task_(task),
        shape_(*task.shape),
        s_(shape_.window),
        tiles_(choose_tiles(s_.out_w)),
        columns_(s_.out_w + (s_.kernel_w - 1) * s_.dilation_w / s_.stride_w),
        channel_stride_((columns_ * s_.stride_w) / kLine * kLine + kLine),
        copy_stride_(shape_.group * channel_stride_),
        reach_((s_.kernel_h - 1) * s_.dilation_h + 1),
        copies_(std::min(s_.in_h, reach_)),
        ring_(copies_ * copy_stride_),
        taps_(s_.kernel_w),
        tap_rows_(s_.kernel_h) {
    std::fill_n(ring_.data(), copies_ * copy_stride_, 0.0f);
    dwconv_tap_order(s_, taps_.data());
    for (int64_t j = 0; j < s_.kernel_w; ++j) {
      const int64_t column = taps_[j] * s_.dilation_w;
      taps_[j] = column % s_.stride_w * columns_ + column / s_.stride_w;
    }
  }

  void run() const {
    for (int64_t unit = task_.block_begin; unit < task_.block_end; ++unit) {
      int64_t copied = 0;
      for (int64_t y = task_.row_begin; y < task_.row_end; ++y) {
        const int64_t first = y * s_.stride_h - s_.pad_h;
        const int64_t end = std::min(s_.in_h, first + reach_);
        for (copied = std::max(copied, first); copied < end; ++copied) {
          copy_row(copied, unit * shape_.group, copy_of(copied));
        }
        convolve_row(y, unit);
      }
    }
  }

 private:
  static constexpr int64_t kLine = 16;  // floats of a cache line

  float* copy_of(int64_t row) const { return ring_.data() + row % copies_ * copy_stride_; }

  // Row y of the channels of a group.
  void copy_row(int64_t y, int64_t channel, float* to) const {
    const float* from = task_.input_rows[y] + channel * task_.input_plane;
    for (int64_t c = 0; c < shape_.group; ++c) {
      split_row(from + c * task_.input_plane, to + c * channel_stride_);
    }
  }

  // Column x of a row to its place in phase (x + pad_w) % stride_w, if a tap reads it.
  void split_row(const float* HWY_RESTRICT from, float* HWY_RESTRICT to) const {
    const int64_t read = std::min(s_.in_w, columns_ * s_.stride_w - s_.pad_w);
    if (s_.stride_w == 1) {
      std::copy_n(from, read, to + s_.pad_w);
      return;
    }
    const auto place_of = [&](int64_t x) {
      return to + (x + s_.pad_w) % 2 * columns_ + (x + s_.pad_w) / 2;
    };
    constexpr int kSecondLevel = 2;
    float* const even_to = place_of(0);
    float* const odd_to = place_of(1);
    int64_t x = 0;
    for (; x + 2 * kLanes <= read; x += 2 * kLanes) {
      // What the next row of the output takes is fetched while this one is computed.
      for (int64_t i = 0; i < 2 * kLanes; i += kLine) {
        __builtin_prefetch(from + x + i + s_.stride_h * s_.in_w, 0, kSecondLevel);
      }
      V even, odd;
      hn::LoadInterleaved2(kD, from + x, even, odd);
      hn::StoreU(even, kD, even_to + x / 2);
      hn::StoreU(odd, kD, odd_to + x / 2);
    }
    for (; x < read; ++x) *place_of(x) = from[x];
  }

  void convolve_row(int64_t y, int64_t unit) const {
    const EpilogueF32& epilogue = *task_.epilogue;
    const bool is_clamped = is_clamp(epilogue.activation);
    int64_t height = 0, first_tap = 0;
    for (int64_t i = 0; i < s_.kernel_h; ++i) {
      const int64_t row = y * s_.stride_h - s_.pad_h + i * s_.dilation_h;
      if (row < 0 || row >= s_.in_h) continue;
      if (height == 0) first_tap = i;
      tap_rows_[height++] = copy_of(row);
    }
    const int64_t channel = unit * shape_.group;
    const int64_t row_weights = s_.kernel_w * shape_.group * kLanes;
    const int64_t vectors = ceil_div(shape_.group, kLanes);
    float* const output =
        task_.output + channel * task_.output_stride + (y - task_.row_begin) * s_.out_w;
    for (int64_t x = 0; x < s_.out_w; x += tiles_.first.size) {
      const Tile& tile = x + tiles_.first.size <= s_.out_w ? tiles_.first : tiles_.last;
      for (int64_t c = 0; c < shape_.group; c += kChannels) {
        const int64_t vector = unit * vectors + c / kLanes;
        const Row row{
            .copies = tap_rows_.data(),
            .height = height,
            .taps = taps_.data(),
            .width = s_.kernel_w,
            .group = shape_.group,
            .channel_stride = channel_stride_,
            .weight = task_.weight + (vector * s_.kernel_h + first_tap) * row_weights + c % kLanes,
            .bias = epilogue.bias ? epilogue.bias + channel + c : nullptr,
            .bounds = bounds_of(is_clamped ? epilogue.activation : Activation{}),
            .output = output + c * task_.output_stride,
            .plane = task_.output_stride};
        tile.convolve(row, std::min(x, s_.out_w - tile.size));
      }
    }
    if (!is_clamped) {
      activate_f32(epilogue.activation, output, task_.output_stride, shape_.group, s_.out_w);
    }
  }

  const DwConvTask<float>& task_;
  const DwConvShape& shape_;
  const Window2dShape& s_;
  const Tiles tiles_;
  // A copy of a row is [channels, phases, columns of a phase].
  const int64_t columns_, channel_stride_, copy_stride_;
  const int64_t reach_;   // rows from the first tap to behind the last
  const int64_t copies_;  // rows in the ring
  const Scratch<float> ring_;
  const Scratch<int64_t> taps_;
  const Scratch<const float*> tap_rows_;
};

}  // namespace pixels

void convolve_groups_of_pixels(const DwConvTask<float>& task) { pixels::Convolution(task).run(); }

bool row_suits_pixels(int64_t out_w) { return pixels::choose_tiles(out_w).suit; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convolve_groups_of_pixels);
HWY_EXPORT(row_suits_pixels);

bool dwconv_row_suits_pixels(int64_t out_w) {
  return HWY_DYNAMIC_DISPATCH(row_suits_pixels)(out_w);
}
void dwconv_pixels_task(const DwConvTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(convolve_groups_of_pixels)(task);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
