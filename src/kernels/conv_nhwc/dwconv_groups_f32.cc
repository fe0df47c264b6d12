#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/dwconv_groups_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile is some pixels of the output side by side, one vector of channels. The rows of the input
// that a row of the output reads are copied to a ring, their columns in the order of the phases of
// the stride, zeros for the padding: so neighbouring pixels of a tile read neighbouring vectors,
// whatever the window and the stride are, and share no cache set.
namespace groups {

constexpr hn::ScalableTag<float> kD;
using V = hn::Vec<decltype(kD)>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Columns phase, phase + stride_w ... of a row that exist.
struct Phase {
  int64_t at;     // of the first one in a copy
  int64_t first;  // column of the picture
  int64_t count;
};

// A column of taps.
struct Tap {
  int64_t at;          // what output pixel 0 reads, in a copy
  int64_t begin, end;  // the output pixels for which it lies on the picture
};

// What the tiles of a row have in common.
struct Row {
  const float* const* copies;  // a row for each row of taps on the picture
  int64_t height;              // of them
  const Tap* taps;
  int64_t width;
  int64_t group;
  int64_t plane_stride;  // from a vector of a pixel to its next one, in a copy
  const float* weight;   // of the first row of taps
  V bias;
  const int32_t* order;  // the lanes' in the result, if several groups share a vector
  float* output;
  int64_t output_stride;
  int64_t count;   // of lanes to store
  bool hardswish;  // instead of the bounds
  Bounds bounds;
};

// One channel of kTogether groups, for all lanes. Vectors of four lanes have those of one group.
template <int kTogether>
HWY_INLINE V load_channel(const float* from) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (kTogether == 2) {
    double pair;
    std::memcpy(&pair, from, sizeof(pair));
    return hn::BitCast(kD, hn::Set(hn::ScalableTag<double>(), pair));
  }
  if constexpr (kTogether == 4) return hn::LoadDup128(kD, from);
#endif
  return hn::Set(kD, *from);
}

// Adds kTaps taps that are one pixel apart, for `count` channels of the input. Outermost columns
// outside [begin, end) need not be added: they are zeros.
template <int kTogether, int kTaps, bool kIsInside, int kTile>
HWY_INLINE void add_taps(const float* HWY_RESTRICT in, const float* HWY_RESTRICT weight,
                         int64_t count, int64_t begin, int64_t end, V* HWY_RESTRICT sum) {
  constexpr int kColumns = kTile + kTaps - 1, kOutermost = 2;
  for (int64_t k = 0; k < count; ++k, in += kTogether, weight += kLanes) {
    const V w = hn::LoadU(kD, weight);
    const V next = kTaps == 2 ? hn::LoadU(kD, weight + count * kLanes) : w;
    HWY_UNROLL(29)
    for (int t = 0; t < kColumns; ++t) {
      if (!kIsInside && t < kOutermost && t < begin) continue;
      if (!kIsInside && t >= kColumns - kOutermost && t >= end) continue;
      V x = load_channel<kTogether>(in + t * kLanes);
      if constexpr (kTaps == 2) x = keep_in_register(x);
      if (t < kTile) sum[t] = hn::MulAdd(x, w, sum[t]);
      if (kTaps == 2 && t > 0) sum[t - 1] = hn::MulAdd(x, next, sum[t - 1]);
    }
  }
}

// The rarer end of a tile, the same code for all.
HWY_NOINLINE void store_tile(const Row& row, const V* HWY_RESTRICT sum, int count,
                             float* HWY_RESTRICT out) {
  const V low = hn::Set(kD, row.bounds.low), high = hn::Set(kD, row.bounds.high);
  for (int t = 0; t < count; ++t, out += row.output_stride) {
    V x = sum[t];
    if (row.order) x = hn::TableLookupLanes(x, hn::SetTableIndices(kD, row.order));
    x = row.hardswish ? activate_hardswish(kD, x) : clamp(x, low, high);
    store_first(x, kD, out, row.count);
  }
}

// kTile pixels of the output from column x on.
template <int kTogether, int kTile>
HWY_NOINLINE void convolve_tile(const Row& row, int64_t x) {
  // Two taps share the loads, unless these are part of the multiply-adds (AVX-512) or the registers
  // are full of sums (AVX2).
  constexpr bool kInPairs = kTogether > 1 || kLanes == 4;
  V sum[kTile];
  HWY_UNROLL(28)
  for (int t = 0; t < kTile; ++t) sum[t] = row.bias;
  const float* HWY_RESTRICT weight = row.weight;
  for (int64_t i = 0; i < row.height; ++i) {
    const float* plane = row.copies[i] + x * kLanes;
    for (int64_t first = 0; first < row.group; first += kLanes, plane += row.plane_stride) {
      const int64_t count = std::min(kLanes, row.group - first);
      for (int64_t j = 0; j < row.width;) {
        const Tap& tap = row.taps[j];
        const float* HWY_RESTRICT in = plane + tap.at;
        const int64_t begin = tap.begin - x, end = tap.end - x;
        const bool is_inside = begin <= 0 && end >= kTile;
        if (kInPairs && j + 1 < row.width && row.taps[j + 1].at == tap.at + kLanes) {
          const int64_t end_of_pair = row.taps[j + 1].end - x + 1;
          if (is_inside && end_of_pair > kTile) {
            add_taps<kTogether, 2, true, kTile>(in, weight, count, 0, 0, sum);
          } else {
            add_taps<kTogether, 2, false, kTile>(in, weight, count, begin, end_of_pair, sum);
          }
          j += 2;
          weight += 2 * count * kLanes;
          continue;
        }
        if (is_inside) {
          add_taps<kTogether, 1, true, kTile>(in, weight, count, 0, 0, sum);
        } else {
          add_taps<kTogether, 1, false, kTile>(in, weight, count, begin, end, sum);
        }
        ++j;
        weight += count * kLanes;
      }
    }
  }
  float* HWY_RESTRICT out = row.output + x * row.output_stride;
  if (row.hardswish || row.count < kLanes) {
    V done[kTile];
    HWY_UNROLL(28)
    for (int t = 0; t < kTile; ++t) done[t] = sum[t];
    return store_tile(row, done, kTile, out);
  }
  if constexpr (kTogether > 1) {
    const auto order = hn::SetTableIndices(kD, row.order);
    HWY_UNROLL(28)
    for (int t = 0; t < kTile; ++t) sum[t] = hn::TableLookupLanes(sum[t], order);
  }
  const V low = hn::Set(kD, row.bounds.low), high = hn::Set(kD, row.bounds.high);
  HWY_UNROLL(28)
  for (int t = 0; t < kTile; ++t, out += row.output_stride) {
    hn::StoreU(clamp(sum[t], low, high), kD, out);
  }
}

struct Tile {
  void (*convolve)(const Row&, int64_t);
  int64_t size;  // pixels of the output
};
struct Tiles {
  Tile first, last;  // of DwConvTiles
};
template <int kTogether, int... kSizes>
Tiles best_tiles(int64_t out_w) {
  static constexpr Tile kTiles[] = {{convolve_tile<kTogether, kSizes>, kSizes}...};
  static constexpr int kAll[] = {kSizes...};
  const DwConvTiles best = dwconv_tiles(kAll, sizeof...(kSizes), out_w);
  return {kTiles[best.first], kTiles[best.last]};
}
Tiles choose_tiles([[maybe_unused]] int64_t together, int64_t out_w) {
#if HWY_TARGET <= HWY_AVX3
  if (together == 4) return best_tiles<4, 14, 7, 4>(out_w);
  if (together == 2) return best_tiles<2, 14, 7, 4>(out_w);
  return best_tiles<1, 28, 16, 14, 8, 7, 4>(out_w);
#else
#if HWY_TARGET == HWY_AVX2
  if (together == 2) return best_tiles<2, 7, 4>(out_w);
#endif
  return best_tiles<1, 14, 8, 7, 4>(out_w);
#endif
}

class Convolution {
 public:
  explicit Convolution(const DwConvTask<float>& task)
      : task_(task),
        shape_(*task.shape),
        s_(shape_.window),
        epilogue_(*task.epilogue),
        layout_(shape_),
        is_shared_(layout_.together > 1),
        columns_(ceil_div((s_.out_w - 1) * s_.stride_w + (s_.kernel_w - 1) * s_.dilation_w + 1,
                          s_.stride_w)),
        plane_stride_(columns_ * s_.stride_w * kLanes),
        copy_stride_(ceil_div(shape_.group, kLanes) * plane_stride_),
        reach_((s_.kernel_h - 1) * s_.dilation_h + 1),
        copies_(std::min(s_.in_h, reach_)),
        last_row_(std::min(s_.in_h, (task.row_end - 1) * s_.stride_h - s_.pad_h + reach_) - 1),
        ring_(copies_ * copy_stride_),
        pixels_(task.input_plane > 0 ? s_.in_w * kLanes : 0),
        phases_(s_.stride_w),
        taps_(s_.kernel_w),
        tap_rows_(s_.kernel_h),
        tiles_(choose_tiles(layout_.together, s_.out_w)) {
    std::fill_n(ring_.data(), copies_ * copy_stride_, 0.0f);
    for (int64_t phase = 0; phase < s_.stride_w; ++phase) {
      const int64_t begin = ceil_div(std::max<int64_t>(0, s_.pad_w - phase), s_.stride_w);
      const int64_t end = ceil_div(std::max<int64_t>(0, s_.in_w + s_.pad_w - phase), s_.stride_w);
      phases_[phase] = {(phase * columns_ + begin) * kLanes, phase + begin * s_.stride_w - s_.pad_w,
                        std::min(columns_, end) - begin};
    }
    const Scratch<int64_t> order(s_.kernel_w);
    dwconv_tap_order(s_, order.data());
    for (int64_t j = 0; j < s_.kernel_w; ++j) {
      const int64_t column = order[j] * s_.dilation_w;
      const auto pixels_before = [&](int64_t x) {
        return ceil_div(std::max<int64_t>(0, x - column), s_.stride_w);
      };
      taps_[j] = {(column % s_.stride_w * columns_ + column / s_.stride_w) * kLanes,
                  pixels_before(s_.pad_w), pixels_before(s_.pad_w + s_.in_w)};
    }
    // Channel k of group n of those that share a vector.
    for (int64_t n = 0; n < layout_.together; ++n) {
      for (int64_t k = 0; is_shared_ && k < shape_.group; ++k) {
        const int64_t channel = n * shape_.group + k, lane = k * layout_.together + n;
        channel_of_lane_[lane] = static_cast<int32_t>(channel);
        lane_of_channel_[channel] = static_cast<int32_t>(lane);
      }
    }
  }

  void run() const {
    for (int64_t unit = task_.block_begin; unit < task_.block_end; ++unit) {
      int64_t copied = 0;
      for (int64_t y = task_.row_begin; y < task_.row_end; ++y) {
        const int64_t first = y * s_.stride_h - s_.pad_h;
        const int64_t end = std::min(s_.in_h, first + reach_);
        for (copied = std::max(copied, first); copied < end; ++copied) {
          copy_row(copied, unit * layout_.channels, copy_of(copied));
        }
        convolve_row(y, unit);
      }
    }
  }

 private:
  float* copy_of(int64_t row) const { return ring_.data() + row % copies_ * copy_stride_; }

  // What the unit from `channel` on takes of row y of the input.
  void copy_row(int64_t y, int64_t channel, float* to) const {
    const int64_t end = is_shared_ ? channel + 1 : channel + shape_.group;
    const auto lanes = hn::SetTableIndices(kD, channel_of_lane_);
    for (int64_t c = channel; c < end; c += kLanes, to += plane_stride_) {
      const int64_t count = std::min(kLanes, shape_.channels - c);
      if (is_shared_) {
        copy_pixels(y, c, count, to, [&](const float* pixel) HWY_ATTR {
          return hn::TableLookupLanes(load_first(kD, pixel, count), lanes);
        });
      } else if (count == kLanes) {
        copy_pixels(y, c, count, to,
                    [](const float* pixel) HWY_ATTR { return hn::LoadU(kD, pixel); });
      } else {
        copy_pixels(y, c, count, to,
                    [&](const float* pixel) HWY_ATTR { return load_first(kD, pixel, count); });
      }
    }
  }

  // A vector of `count` channels from `channel` on of each pixel of row y.
  template <class Load>
  HWY_INLINE void copy_pixels(int64_t y, int64_t channel, int64_t count, float* to,
                              const Load& load) const {
    const float* row = task_.input_rows[y] + channel;
    int64_t stride = task_.input_stride;
    // The cache does not guess that one line of each pixel is asked for. What the next row of the
    // output takes is fetched while this one is computed.
    constexpr int kSecondLevel = 2;
    int64_t ahead = task_.input_rows[std::min(y + s_.stride_h, last_row_)] - task_.input_rows[y];
    if (task_.input_plane > 0) {
      transpose_f32(count, s_.in_w, task_.input_rows[y] + channel * task_.input_plane,
                    task_.input_plane, pixels_.data(), kLanes);
      row = pixels_.data();
      stride = kLanes;
      ahead = 0;
    }
    for (int64_t phase = 0; phase < s_.stride_w; ++phase) {
      const Phase& columns = phases_[phase];
      const float* from = row + columns.first * stride;
      float* at = to + columns.at;
      for (int64_t i = 0; i < columns.count; ++i, from += stride * s_.stride_w, at += kLanes) {
        __builtin_prefetch(from + ahead, 0, kSecondLevel);
        hn::StoreU(load(from), kD, at);
      }
    }
  }

  void convolve_row(int64_t y, int64_t unit) const {
    const bool hardswish =
        epilogue_.activation.kind == ActivationKind::kHardswish && !epilogue_.residual;
    const bool in_registers = hardswish || (is_clamp(epilogue_.activation) && !epilogue_.residual);
    int64_t height = 0, first_tap = 0;
    for (int64_t i = 0; i < s_.kernel_h; ++i) {
      const int64_t row = y * s_.stride_h - s_.pad_h + i * s_.dilation_h;
      if (row < 0 || row >= s_.in_h) continue;
      if (height == 0) first_tap = i;
      tap_rows_[height++] = copy_of(row);
    }
    const int64_t channel = unit * layout_.channels, pixel = (y - task_.row_begin) * s_.out_w;
    const int64_t channels = std::min(layout_.channels, shape_.channels - channel);
    const int64_t row_weights = s_.kernel_w * shape_.group * kLanes;
    // A vector may reach over channels that come later in this task.
    const int64_t last = std::min(shape_.channels, task_.block_end * layout_.channels);
    float* output = task_.output + pixel * task_.output_stride + channel;
    for (int64_t v = 0; v < layout_.vectors; ++v) {
      const int64_t at = v * kLanes;
      V bias = hn::Zero(kD);
      if (epilogue_.bias) bias = load_first(kD, epilogue_.bias + channel + at, channels - at);
      if (is_shared_) {
        bias = hn::TableLookupLanes(bias, hn::SetTableIndices(kD, channel_of_lane_));
      }
      const Row row{
          .copies = tap_rows_.data(),
          .height = height,
          .taps = taps_.data(),
          .width = s_.kernel_w,
          .group = shape_.group,
          .plane_stride = plane_stride_,
          .weight =
              task_.weight + ((unit * layout_.vectors + v) * s_.kernel_h + first_tap) * row_weights,
          .bias = bias,
          .order = is_shared_ ? lane_of_channel_ : nullptr,
          .output = output + at,
          .output_stride = task_.output_stride,
          .count = std::min(kLanes, last - channel - at),
          .hardswish = hardswish,
          .bounds = bounds_of(in_registers ? epilogue_.activation : Activation{})};
      for (int64_t x = 0; x < s_.out_w; x += tiles_.first.size) {
        const Tile& tile = x + tiles_.first.size <= s_.out_w ? tiles_.first : tiles_.last;
        tile.convolve(row, std::min(x, s_.out_w - tile.size));
      }
    }
    if (in_registers) return;
    const float* residual = epilogue_.residual
                                ? epilogue_.residual + pixel * epilogue_.residual_stride + channel
                                : nullptr;
    finish_rows(epilogue_, residual, output, task_.output_stride, s_.out_w, channels);
  }

  const DwConvTask<float>& task_;
  const DwConvShape& shape_;
  const Window2dShape& s_;
  const EpilogueF32& epilogue_;
  const DwConvGroups layout_;
  const bool is_shared_;  // a vector, by several groups
  // A copy of a row is [vectors of a pixel, phases, columns of a phase].
  const int64_t columns_, plane_stride_, copy_stride_;
  const int64_t reach_;     // rows from the first tap to behind the last
  const int64_t copies_;    // rows in the ring
  const int64_t last_row_;  // of the input that the task reads
  const Scratch<float> ring_;
  const Scratch<float> pixels_;  // a row of a plane's, channels last
  const Scratch<Phase> phases_;
  const Scratch<Tap> taps_;
  const Scratch<const float*> tap_rows_;
  const Tiles tiles_;
  alignas(kLanes * sizeof(int32_t)) int32_t channel_of_lane_[kLanes] = {};
  alignas(kLanes * sizeof(int32_t)) int32_t lane_of_channel_[kLanes] = {};
};

}  // namespace groups

void convolve_groups_in_tiles(const DwConvTask<float>& task) { groups::Convolution(task).run(); }

int64_t lanes_of_groups() { return groups::kLanes; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convolve_groups_in_tiles);
HWY_EXPORT(lanes_of_groups);

void dwconv_group_task(const DwConvTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(convolve_groups_in_tiles)(task);
}
int64_t dwconv_group_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_of_groups)(); }

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
