// Quantized 3 x 3 convolutions of stride 1 by Winograd's F(2 x 2, 3 x 3) (winograd-inl.h has the
// source), in integers of 16 bits: 16 products for 4 results in place of 36. For processors that
// multiply 16 bits anyway, since they have no dot product of bytes. Those with SSE4 alone are too
// old to be worth the code.
//
// It is exact. The input's transform adds four numbers of 9 bits; the weights' has halves, so it is
// taken twice along each axis, and results are four times the sums: multiples of 4 that fit 32
// bits, whatever wraps around on the way.

#if defined(TORCHLET_KERNELS_CONV_Q8_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_CONV_Q8_WINOGRAD_INL_H_
#undef TORCHLET_KERNELS_CONV_Q8_WINOGRAD_INL_H_
#else
#define TORCHLET_KERNELS_CONV_Q8_WINOGRAD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/selection.h"
#include "kernels/quantized/conv_q8_internal.h"
#include "kernels/quantized/dot_sums-inl.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

#undef TORCHLET_KERNELS_WINOGRAD_Q8
#if HWY_TARGET != HWY_AVX3_DL && HWY_TARGET != HWY_SSE4 && !TORCHLET_AVX_VNNI && !TORCHLET_ARM_DOT
#define TORCHLET_KERNELS_WINOGRAD_Q8 1

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace winograd {

constexpr int64_t kTile = 2, kIn = 4, kPoints = kIn * kIn;
constexpr int kVectors = 2;  // of columns in a panel
constexpr int64_t kColumns = kVectors * kDotLanes;

// Tiles of a product, so that the sums fit the registers.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12;
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kRows = 6;
#elif HWY_TARGET == HWY_NEON
constexpr int kRows = 2;
#else
constexpr int kRows = 4;
#endif

using Tag = hn::Repartition<int16_t, DotTag>;
using Vec = hn::Vec<Tag>;
constexpr int64_t kLanes16 = static_cast<int64_t>(HWY_LANES(int16_t));

struct Sizes {
  explicit Sizes(const Conv2dShape& s)
      : channels(s.in_channels),
        steps(ceil_div(channels, kDotDepth)),
        panels(ceil_div(s.out_channels, kColumns)),
        across(ceil_div(s.window.out_w, kTile)),
        down(ceil_div(s.window.out_h, kTile)),
        tiles(s.batch * down * across) {}

  // Of the inputs of a tile at a point; rows do not collide in the first-level cache.
  int64_t row_stride() const { return steps * kDotDepth + kLanes16; }
  // Start values, multipliers, weights [points, steps, columns, kDotDepth].
  int64_t panel_bytes() const {
    return kColumns * (8 + kPoints * steps * kDotDepth * static_cast<int64_t>(sizeof(DotWeight)));
  }
  // Tiles whose inputs stay in the second-level cache while all panels pass by.
  int64_t block_tiles() const {
    constexpr int64_t kBlockBytes = int64_t{256} << 10;
    const int64_t tile_bytes = kPoints * row_stride() * static_cast<int64_t>(sizeof(DotInput));
    return even_block_rows(tiles, std::max<int64_t>(2 * kRows, cached(kBlockBytes) / tile_bytes),
                           kRows);
  }

  int64_t channels, steps, panels, across, down, tiles;
};

// Of fewer channels, the transforms cost more than they save; so do tiles that reach far beyond the
// image. Of very many channels results might need more than 32 bits.
inline bool pays(const Conv2dShape& s) {
  if constexpr (!selection::kHasWinograd) return false;
  constexpr int64_t kLeastChannels = 32, kLeastTiles = 12;
  const Window2dShape& w = s.window;
  if (s.groups != 1 || w.kernel_h != 3 || w.kernel_w != 3 || w.stride_h != 1 || w.stride_w != 1 ||
      w.dilation_h != 1 || w.dilation_w != 1 ||
      std::min(s.in_channels, s.out_channels) < kLeastChannels) {
    return false;
  }
  constexpr int64_t kMostOfProduct = 255 * 255 * 9 * 4;
  if (s.in_channels > std::numeric_limits<int32_t>::max() / kMostOfProduct) return false;
  const int64_t tiles = Sizes(s).tiles;
  return !s.lean && tiles >= kLeastTiles &&
         3 * kPoints * tiles <= 2 * 9 * s.batch * w.out_h * w.out_w;
}

// Twice a line of weights at the points.
inline void transform_weight_line(int a, int b, int c, int* to) {
  to[0] = 2 * a;
  to[1] = a + b + c;
  to[2] = a - b + c;
  to[3] = 2 * c;
}

// Four times the weights of a filter at the points.
inline void transform_weights(const int8_t* weights, int zero, DotWeight* to, int64_t stride) {
  int columns[3][kIn];
  for (int x = 0; x < 3; ++x) {
    transform_weight_line(weights[x] - zero, weights[3 + x] - zero, weights[6 + x] - zero,
                          columns[x]);
  }
  for (int64_t y = 0; y < kIn; ++y) {
    int line[kIn];
    transform_weight_line(columns[0][y], columns[1][y], columns[2][y], line);
    for (int64_t x = 0; x < kIn; ++x, to += stride) *to = static_cast<DotWeight>(line[x]);
  }
}

// Into zeroed memory. Returns whether a column is wide.
inline bool pack(const Conv2dShape& s, const LayerQ8& layer, uint8_t* to) {
  const Sizes sizes(s);
  const int64_t to_next_point = sizes.steps * kColumns * kDotDepth;
  bool wide = false;
  for (int64_t panel = 0; panel < sizes.panels; ++panel, to += sizes.panel_bytes()) {
    DotWeight* packed = reinterpret_cast<DotWeight*>(to + kColumns * 8);
    int64_t magnitudes[kColumns] = {};
    const auto channel_of = [&](int64_t column) {
      return panel * kColumns + channel_of_column(column, kVectors);
    };
    // All columns of a channel of the input, which lie side by side.
    for (int64_t c = 0; c < sizes.channels; ++c) {
      for (int64_t column = 0; column < kColumns; ++column) {
        const int64_t channel = channel_of(column);
        if (channel >= s.out_channels) continue;
        const int8_t* weights = layer.weight + (channel * sizes.channels + c) * 9;
        const int zero = weight_zero_point(layer, channel);
        for (int i = 0; i < 9; ++i) magnitudes[column] += std::abs(weights[i] - zero);
        transform_weights(weights, zero,
                          packed + (c / kDotDepth * kColumns + column) * kDotDepth + c % kDotDepth,
                          to_next_point);
      }
    }
    for (int64_t column = 0; column < kColumns; ++column) {
      if (channel_of(column) >= s.out_channels) continue;
      // The inputs are differences from the zero point already.
      const ColumnConstants constants =
          column_constants(layer, channel_of(column), 0, magnitudes[column]);
      reinterpret_cast<int32_t*>(to)[column] = constants.start;
      reinterpret_cast<float*>(to)[kColumns + column] = constants.multiplier;
      wide |= constants.wide;
    }
  }
  return wide;
}

inline ConvCutQ8 cut(const Conv2dShape& s) {
  const Sizes sizes(s);
  const int64_t rows = sizes.block_tiles(), blocks = ceil_div(sizes.tiles, rows);
  return {1, rows, blocks, sizes.panels, is_cut_by_columns(sizes.tiles) ? sizes.panels : 1};
}

class Convolution {
 public:
  explicit Convolution(const ConvRunQ8& run)
      : run_(run),
        w_(run.shape.window),
        sizes_(run.shape),
        requantize_(run.result, run.header().wide),
        point_stride_(run.cut.rows * sizes_.row_stride()),
        padding_(sizes_.channels),
        points_(kPoints * point_stride_),
        sums_(round_up(run.cut.rows) * kPoints * kColumns) {
    std::fill_n(padding_.data(), sizes_.channels, run.header().input_zero_point);
  }

  // Transforms `count` tiles of the input, from `first` on.
  void load(int64_t first, int64_t count) {
    first_ = first;
    count_ = count;
    for (int64_t i = 0; i < count; ++i) {
      const Origin origin = origin_of(first + i);
      const uint8_t* pixels[kPoints];
      for (int64_t p = 0; p < kPoints; ++p) {
        const int64_t y = origin.y - w_.pad_h + p / kIn, x = origin.x - w_.pad_w + p % kIn;
        const bool exists = y >= 0 && y < w_.in_h && x >= 0 && x < w_.in_w;
        pixels[p] =
            exists ? run_.input + ((origin.image * w_.in_h + y) * w_.in_w + x) * run_.input_stride
                   : padding_.data();
      }
      transform_input(pixels, points_.data() + i * sizes_.row_stride());
    }
  }

  // The results of what was loaded in the columns of a panel.
  void multiply(int64_t panel) {
    const uint8_t* constants = run_.weights() + panel * sizes_.panel_bytes();
    const DotWeight* weights = reinterpret_cast<const DotWeight*>(constants + kColumns * 8);
    for (int64_t p = 0; p < kPoints; ++p) {
      const DotInput* inputs = points_.data() + p * point_stride_;
      for (int64_t i = 0; i < count_; i += kRows) {
        multiply_tiles(inputs, i, weights, sums_.data() + (i * kPoints + p) * kColumns);
      }
      weights += sizes_.steps * kColumns * kDotDepth;
    }
    const int64_t channel = panel * kColumns;
    for (int64_t i = 0; i < count_; ++i) {
      store_tile(origin_of(first_ + i), sums_.data() + i * kPoints * kColumns, constants, channel);
    }
  }

 private:
  struct Origin {
    int64_t image, y, x;
  };
  Origin origin_of(int64_t tile) const {
    const int64_t across = tile % sizes_.across, line = tile / sizes_.across;
    return {line / sizes_.down, line % sizes_.down * kTile, across * kTile};
  }
  static int64_t round_up(int64_t rows) { return ceil_div(rows, kRows) * kRows; }

  static HWY_INLINE void transform_line(const Vec* x, Vec* to) {
    to[0] = hn::Sub(x[0], x[2]);
    to[1] = hn::Add(x[1], x[2]);
    to[2] = hn::Sub(x[2], x[1]);
    to[3] = hn::Sub(x[1], x[3]);
  }

  void transform_input(const uint8_t* const (&pixels)[kPoints], DotInput* to) const {
    const Tag d;
    const hn::Rebind<uint8_t, Tag> bytes;
    // A constant added to all inputs changes but the point that sums four of them.
    const Vec zero = hn::Set(d, static_cast<int16_t>(4 * run_.header().input_zero_point));
    for (int64_t c = 0; c < sizes_.channels; c += kLanes16) {
      c = std::min(c, sizes_.channels - kLanes16);
      Vec lines[kPoints];  // transformed along y
      HWY_UNROLL(4)
      for (int x = 0; x < kIn; ++x) {
        Vec in[kIn], out[kIn];
        HWY_UNROLL(4)
        for (int y = 0; y < kIn; ++y) {
          in[y] = hn::PromoteTo(d, hn::LoadU(bytes, pixels[y * kIn + x] + c));
        }
        transform_line(in, out);
        HWY_UNROLL(4)
        for (int y = 0; y < kIn; ++y) lines[y * kIn + x] = out[y];
      }
      HWY_UNROLL(4)
      for (int y = 0; y < kIn; ++y) {
        Vec out[kIn];
        transform_line(lines + y * kIn, out);
        if (y == 1) out[1] = hn::Sub(out[1], zero);
        HWY_UNROLL(4)
        for (int x = 0; x < kIn; ++x) {
          hn::StoreU(out[x], d, to + (y * kIn + x) * point_stride_ + c);
        }
      }
    }
  }

  // Tiles from `first` on at one point; the sums of a tile are kPoints * kColumns apart.
  HWY_NOINLINE void multiply_tiles(const DotInput* inputs, int64_t first, const DotWeight* weights,
                                   int32_t* to) const {
    const DotInput* rows[kRows];
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      rows[r] = inputs + std::min(first + r, count_ - 1) * sizes_.row_stride();
    }
    DotVec start[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) start[v] = hn::Zero(DotTag());
    DotSums<kRows, kVectors> sums(start);
    add_products(rows, sizes_.steps, weights, sums);
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sums(r, v), DotTag(), to + r * kPoints * kColumns + v * kDotLanes);
      }
    }
  }

  static HWY_INLINE void transform_sums(const DotVec* x, DotVec* to) {
    to[0] = hn::Add(hn::Add(x[0], x[1]), x[2]);
    to[1] = hn::Sub(hn::Sub(x[1], x[2]), x[3]);
  }

  HWY_NOINLINE void store_tile(const Origin& origin, const int32_t* sums, const uint8_t* constants,
                               int64_t channel) const {
    DotVec results[kTile * kTile][kVectors];
    VecF32 multiplier[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      DotVec lines[kTile * kIn];
      HWY_UNROLL(4)
      for (int x = 0; x < kIn; ++x) {
        DotVec in[kIn], out[kTile];
        HWY_UNROLL(4)
        for (int y = 0; y < kIn; ++y) {
          in[y] = hn::LoadU(DotTag(), sums + (y * kIn + x) * kColumns + v * kDotLanes);
        }
        transform_sums(in, out);
        lines[x] = out[0];
        lines[kIn + x] = out[1];
      }
      const auto* starts = reinterpret_cast<const int32_t*>(constants);
      const DotVec start = hn::LoadU(DotTag(), starts + v * kDotLanes);
      HWY_UNROLL(2)
      for (int y = 0; y < kTile; ++y) {
        DotVec out[kTile];
        transform_sums(lines + y * kIn, out);
        HWY_UNROLL(2)
        for (int x = 0; x < kTile; ++x) {
          results[y * kTile + x][v] = hn::Add(hn::ShiftRight<2>(out[x]), start);
        }
      }
      multiplier[v] =
          hn::LoadU(TagF32(), reinterpret_cast<const float*>(constants) + kColumns + v * kDotLanes);
    }
    const int64_t channels = std::min(kColumns, run_.shape.out_channels - channel);
    HWY_UNROLL(4)
    for (int64_t i = 0; i < kTile * kTile; ++i) {
      const int64_t y = origin.y + i / kTile, x = origin.x + i % kTile;
      if (y >= w_.out_h || x >= w_.out_w) continue;
      const auto& sum = results[i];
      const VecU8 bytes = requantize_(sum[0], multiplier[0], sum[1], multiplier[1], sum[0],
                                      multiplier[0], sum[1], multiplier[1]);
      uint8_t* to = run_.output +
                    ((origin.image * w_.out_h + y) * w_.out_w + x) * run_.output_stride + channel;
      store_bytes(join_blocks<kVectors>(bytes), to, channels);
    }
  }

  const ConvRunQ8& run_;
  const Window2dShape& w_;
  const Sizes sizes_;
  const RequantizeQ8 requantize_;
  const int64_t point_stride_;
  const Scratch<uint8_t> padding_;
  const Scratch<DotInput> points_;  // [points, tiles, row_stride]
  const Scratch<int32_t> sums_;     // [tiles, points, columns]
  int64_t first_ = 0, count_ = 0;
};

inline void multiply_chunks(const ConvRunQ8& run, int64_t begin, int64_t end) {
  const ConvCutQ8& cut = run.cut;
  const int64_t tiles = Sizes(run.shape).tiles;
  Convolution convolution(run);
  for (int64_t i = begin; i < end; ++i) {
    if (i == begin || cut.block_of(i) != cut.block_of(i - 1)) {
      convolution.load(cut.first_row(i), std::min(cut.rows, tiles - cut.first_row(i)));
    }
    for (int64_t panel = cut.first_panel(i); panel < cut.end_panel(i); ++panel) {
      convolution.multiply(panel);
    }
  }
}

}  // namespace winograd
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // the target
#endif  // TORCHLET_KERNELS_CONV_Q8_WINOGRAD_INL_H_
