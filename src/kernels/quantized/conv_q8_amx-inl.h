// Quantized convolutions on x86 processors with AMX, which multiplies a tile of 16 rows of 64 bytes
// by one of 64 x 16 into registers of their own: four times the products of VNNI.
//
// 32 rows by 32 columns of sums stay in four tiles. Rows are read where they lie if they are pixels
// of 64 channels at equal distances; otherwise blocks of them are gathered, all taps of a row one
// after the other.

#if defined(TORCHLET_KERNELS_CONV_Q8_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_CONV_Q8_AMX_INL_H_
#undef TORCHLET_KERNELS_CONV_Q8_AMX_INL_H_
#else
#define TORCHLET_KERNELS_CONV_Q8_AMX_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/quantized/conv_q8_indirection-inl.h"
#include "kernels/quantized/conv_q8_internal.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

#undef TORCHLET_KERNELS_AMX
#if HWY_TARGET == HWY_AVX3_DL && HWY_ARCH_X86_64
#define TORCHLET_KERNELS_AMX 1

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kAmxDepth = 64;    // bytes of a row of a tile
constexpr int64_t kAmxRows = 32;     // two tiles
constexpr int64_t kAmxColumns = 32;  // two tiles
constexpr int64_t kTileBytes = 1024;

struct AmxSizes {
  explicit AmxSizes(const Conv2dShape& s)
      : taps(s, 1),
        depth((taps.count * taps.length + kAmxDepth - 1) / kAmxDepth * kAmxDepth),
        channels(s.out_channels / s.groups),
        tiles((channels + 15) / 16),
        panels((tiles + 1) / 2),
        rows(s.batch * s.window.out_h * s.window.out_w) {}

  int64_t panel_tiles(int64_t panel) const { return std::min<int64_t>(2, tiles - 2 * panel); }
  // Of 16 columns: start values, multipliers, weights.
  int64_t tile_bytes() const { return 2 * 64 + 16 * depth; }
  int64_t group_bytes() const { return tiles * tile_bytes(); }

  // Rows of a block, which stays in the second-level cache while all columns pass by.
  int64_t block_rows() const {
    constexpr int64_t kBlockBytes = int64_t{256} << 10, kMostRows = 256;
    const int64_t most = std::clamp(kBlockBytes / depth / kAmxRows * kAmxRows, kAmxRows, kMostRows);
    return even_block_rows(rows, most, kAmxRows);
  }

  ConvTaps taps;
  int64_t depth;  // of the product, in whole tiles
  int64_t channels, tiles, panels, rows;
};

// Rows that are read where they lie: those of flat pixels (see conv_nhwc_q8).
inline bool amx_reads_in_place(const Conv2dShape& s) {
  const Window2dShape& w = s.window;
  return w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 &&
         w.pad_w == 0 && w.in_h == w.out_h && w.in_w == w.out_w &&
         s.in_channels / s.groups % kAmxDepth == 0;
}

// Sums of few products are bound by what happens to them afterwards, and the tiles' detour through
// memory costs more than they gain; so does gathering rows for few columns.
inline bool amx_pays(const Conv2dShape& s, const LayerQ8& layer) {
  const AmxSizes sizes(s);
  const int64_t products = sizes.taps.count * sizes.taps.length;
  const bool is_used_often = amx_reads_in_place(s) || sizes.channels > 32 || products >= 192;
  return products >= 64 && is_used_often && sizes.rows >= 16 && sizes.channels >= 8 &&
         weight_repeats(layer, s.out_channels) == 1 && has(Isa::kAmx);
}

// Writes one column of a panel; `to` is the panel. Returns whether the column is wide.
inline bool amx_pack_column(const Conv2dShape& s, const LayerQ8& layer, const AmxSizes& sizes,
                            int64_t channel, int64_t column, int64_t tiles, uint8_t* to) {
  const Window2dShape& w = s.window;
  const int64_t pixels = w.kernel_h * w.kernel_w, channels = sizes.taps.channels;
  const int8_t* weights = layer.weight + channel * channels * pixels;
  uint8_t* packed = to + tiles * 2 * 64 + column / 16 * kTileBytes + column % 16 * 4;
  int64_t sum = 0, magnitude = 0, at = 0;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t c = 0; c < channels; ++c, ++at) {
      const int8_t weight = weights[c * pixels + pixel];
      packed[at / kAmxDepth * tiles * kTileBytes + at % kAmxDepth / 4 * 64 + at % 4] =
          static_cast<uint8_t>(weight);
      sum += weight;
      magnitude += std::abs(weight);
    }
  }
  const ColumnConstants constants = column_constants(layer, channel, sum, magnitude);
  reinterpret_cast<int32_t*>(to)[column] = constants.start;
  reinterpret_cast<float*>(to)[tiles * 16 + column] = constants.multiplier;
  return constants.wide;
}

// Into zeroed memory. Returns whether a column is wide.
inline bool amx_pack(const Conv2dShape& s, const LayerQ8& layer, uint8_t* to) {
  const AmxSizes sizes(s);
  bool wide = false;
  for (int64_t group = 0; group < s.groups; ++group) {
    for (int64_t panel = 0; panel < sizes.panels; ++panel) {
      const int64_t tiles = sizes.panel_tiles(panel);
      for (int64_t column = 0; column < tiles * 16; ++column) {
        const int64_t channel = panel * kAmxColumns + channel_of_column(column, tiles);
        if (channel >= sizes.channels) continue;
        wide |=
            amx_pack_column(s, layer, sizes, group * sizes.channels + channel, column, tiles, to);
      }
      to += tiles * sizes.tile_bytes();
    }
  }
  return wide;
}

// All tiles have 16 rows of 64 bytes while this lives.
class AmxTiles {
 public:
  AmxTiles() {
    struct alignas(64) {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~AmxTiles() { asm volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
};

#define TORCHLET_TILE_LOAD(tile, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(stride) : "memory")
#define TORCHLET_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : : : "memory")
#define TORCHLET_TILE_STORE(tile, to, stride) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(stride) : "memory")
#define TORCHLET_TILE_DOT(sum, a, b) \
  asm volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #sum : : : "memory")

// Memory that is wanted soon, fetched a few lines at a time.
struct AmxPrefetch {
  HWY_INLINE void step() {
    for (int64_t i = 0; i < lines_per_step && next < end; ++i, next += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
    }
  }
  const uint8_t* next = nullptr;
  const uint8_t* end = nullptr;
  int64_t lines_per_step = 0;
};

// Bytes between the rows of a tile of weights, to the tile of the next 16 columns, and to those of
// the next kAmxDepth rows.
struct AmxWeightStrides {
  int64_t row = 64, columns = kTileBytes, depth;
};

// The sums of kAmxRows rows times 16 * kTiles columns, in tiles 0 to 3.
template <int kTiles>
HWY_INLINE void amx_multiply(const uint8_t* rows, int64_t stride, const uint8_t* weights,
                             int64_t depth, AmxPrefetch& prefetch,
                             const AmxWeightStrides& w = {.depth = kTiles * kTileBytes}) {
  TORCHLET_TILE_ZERO(0);
  TORCHLET_TILE_ZERO(2);
  if (kTiles == 2) {
    TORCHLET_TILE_ZERO(1);
    TORCHLET_TILE_ZERO(3);
  }
  const uint8_t* lower = rows + 16 * stride;
  for (int64_t k = 0; k < depth; k += kAmxDepth) {
    TORCHLET_TILE_LOAD(6, weights, w.row);
    TORCHLET_TILE_LOAD(4, rows + k, stride);
    TORCHLET_TILE_DOT(0, 4, 6);
    TORCHLET_TILE_LOAD(5, lower + k, stride);
    TORCHLET_TILE_DOT(2, 5, 6);
    if (kTiles == 2) {
      TORCHLET_TILE_LOAD(7, weights + w.columns, w.row);
      TORCHLET_TILE_DOT(1, 4, 7);
      TORCHLET_TILE_DOT(3, 5, 7);
    }
    weights += w.depth;
    prefetch.step();
  }
}

// Those sums as [kAmxRows, 16 * kTiles].
template <int kTiles>
HWY_INLINE void amx_store_sums(int32_t* sums) {
  const int64_t stride = kTiles * 64;
  TORCHLET_TILE_STORE(0, sums, stride);
  TORCHLET_TILE_STORE(2, sums + 16 * 16 * kTiles, stride);
  if (kTiles == 2) {
    TORCHLET_TILE_STORE(1, sums + 16, stride);
    TORCHLET_TILE_STORE(3, sums + 16 * 16 * kTiles + 16, stride);
  }
}

#undef TORCHLET_TILE_LOAD
#undef TORCHLET_TILE_ZERO
#undef TORCHLET_TILE_STORE
#undef TORCHLET_TILE_DOT

// 4 / kTiles rows of sums become one vector of bytes.
template <int kTiles>
HWY_INLINE void amx_store(const int32_t* sums, const uint8_t* panel, const RequantizeQ8& requantize,
                          int64_t rows, int64_t channels, uint8_t* to, int64_t stride) {
  constexpr int kRows = 4 / kTiles, kWidth = 16 * kTiles;
  const float* multipliers = reinterpret_cast<const float*>(panel) + kWidth;
  // From blocks of [kRows, kTiles] four bytes to rows of [4 blocks, kTiles].
  alignas(64) int32_t from[16];
  for (int i = 0; i < 16; ++i) {
    const int row = i / (4 * kTiles), block = i / kTiles % 4, tile = i % kTiles;
    from[i] = block * 4 + row * kTiles + tile;
  }
  const auto order = hn::SetTableIndices(TagI32(), from);
  VecI32 start[kTiles];
  VecF32 multiplier[kTiles];
  for (int v = 0; v < kTiles; ++v) {
    start[v] = hn::LoadU(TagI32(), reinterpret_cast<const int32_t*>(panel) + v * 16);
    multiplier[v] = hn::LoadU(TagF32(), multipliers + v * 16);
  }
  for (int64_t row = 0; row < rows; row += kRows) {
    const auto sum = [&](int i) {
      return hn::Add(hn::LoadU(TagI32(), sums + (row * kTiles + i) * 16), start[i % kTiles]);
    };
    const VecU8 blocks = requantize(sum(0), multiplier[0], sum(1), multiplier[1 % kTiles], sum(2),
                                    multiplier[0], sum(3), multiplier[1 % kTiles]);
    const auto bytes = hn::TableLookupLanes(hn::BitCast(TagI32(), blocks), order).raw;
    uint8_t* line = to + row * stride;
    if (channels >= kWidth && row + kRows <= rows) {
      if constexpr (kTiles == 2) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(line), _mm512_castsi512_si256(bytes));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(line + stride),
                            _mm512_extracti64x4_epi64(bytes, 1));
      } else {
        const auto store = [&](int64_t r, __m128i v) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(line + r * stride), v);
        };
        store(0, _mm512_castsi512_si128(bytes));
        store(1, _mm512_extracti32x4_epi32(bytes, 1));
        store(2, _mm512_extracti32x4_epi32(bytes, 2));
        store(3, _mm512_extracti32x4_epi32(bytes, 3));
      }
    } else {
      alignas(64) uint8_t buffer[64];
      _mm512_store_si512(buffer, bytes);
      for (int64_t r = 0; r < std::min<int64_t>(kRows, rows - row); ++r) {
        std::memcpy(line + r * stride, buffer + r * kWidth,
                    static_cast<size_t>(std::min<int64_t>(kWidth, channels)));
      }
    }
  }
}

// Rows [first, first + kAmxRows) of the table [taps, row_count], one after the other. Writes up to
// a vector beyond the last.
inline void amx_gather(const AmxSizes& sizes, const uint8_t* const* table, int64_t row_count,
                       int64_t first, uint8_t* to) {
  const int64_t length = sizes.taps.length;
  const uint64_t tail = ~uint64_t{0} >> (63 - (length - 1) % 64);
  for (int64_t r = 0; r < kAmxRows; ++r) {
    uint8_t* at = to + r * sizes.depth;
    for (int64_t tap = 0; tap < sizes.taps.count; ++tap) {
      const uint8_t* from = table[tap * row_count + first + r];
      int64_t i = 0;
      for (; i + 64 < length; i += 64) _mm512_storeu_si512(at + i, _mm512_loadu_si512(from + i));
      _mm512_storeu_si512(at + i, _mm512_maskz_loadu_epi8(tail, from + i));
      at += length;
    }
  }
}

struct AmxBlock {
  const uint8_t* rows;  // of the block, `row_stride` apart, if they are read where they lie
  int64_t row_stride;
  const uint8_t* const* table;
  int64_t row_count;
  int64_t count;           // of rows
  bool is_first;           // of the picture
  const uint8_t* weights;  // of the group
  uint8_t* output;         // of the block and the group
  int64_t output_stride;
};

struct AmxOperand {
  const uint8_t* rows;
  int64_t stride;
};

template <int kTiles>
void amx_panel(const AmxSizes& sizes, const AmxBlock& block, const AmxOperand* operands,
               const uint8_t* panel, int64_t channel, const RequantizeQ8& requantize,
               AmxPrefetch& prefetch) {
  alignas(64) int32_t sums[2][kAmxRows * 16 * kTiles];
  // The sums of one tile become bytes while the next one is multiplied.
  const int64_t tiles = (block.count + kAmxRows - 1) / kAmxRows;
  for (int64_t i = 0; i <= tiles; ++i) {
    if (i < tiles) {
      amx_multiply<kTiles>(operands[i].rows, operands[i].stride, panel + kTiles * 2 * 64,
                           sizes.depth, prefetch);
    }
    if (i > 0) {
      const int64_t row = (i - 1) * kAmxRows;
      amx_store<kTiles>(sums[(i - 1) % 2], panel, requantize, std::min(kAmxRows, block.count - row),
                        sizes.channels - channel,
                        block.output + row * block.output_stride + channel, block.output_stride);
    }
    if (i < tiles) amx_store_sums<kTiles>(sums[i % 2]);
  }
}

inline void amx_multiply_block(const AmxSizes& sizes, const AmxBlock& block, int64_t first_panel,
                               int64_t end_panel, bool is_new, const RequantizeQ8& requantize,
                               AmxOperand* operands, uint8_t* buffer) {
  for (int64_t row = 0; is_new && row < block.count; row += kAmxRows) {
    AmxOperand& operand = operands[row / kAmxRows];
    if (block.rows && row + kAmxRows <= block.count) {
      operand = {block.rows + row * block.row_stride, block.row_stride};
      continue;
    }
    operand = {buffer + row * sizes.depth, sizes.depth};
    amx_gather(sizes, block.table, block.row_count, row, buffer + row * sizes.depth);
  }
  // The weights of the next panel come from afar while this one is multiplied, unless rows before
  // these have brought them near.
  const int64_t row_tiles = (block.count + kAmxRows - 1) / kAmxRows;
  AmxPrefetch prefetch;
  prefetch.lines_per_step = block.is_first ? (2 * kTileBytes / 64 + row_tiles - 1) / row_tiles : 0;
  prefetch.end = block.weights + sizes.group_bytes();
  for (int64_t panel = first_panel; panel < end_panel; ++panel) {
    const uint8_t* packed = block.weights + panel * 2 * sizes.tile_bytes();
    const int64_t channel = panel * kAmxColumns;
    prefetch.next = packed + 2 * sizes.tile_bytes();
    if (sizes.panel_tiles(panel) == 2) {
      amx_panel<2>(sizes, block, operands, packed, channel, requantize, prefetch);
    } else {
      amx_panel<1>(sizes, block, operands, packed, channel, requantize, prefetch);
    }
  }
}

inline ConvCutQ8 amx_cut(const AmxSizes& sizes, int64_t groups) {
  const int64_t rows = sizes.block_rows(), blocks = (sizes.rows + rows - 1) / rows;
  return {groups, rows, blocks, sizes.panels, is_cut_by_columns(sizes.rows) ? sizes.panels : 1};
}

inline void amx_multiply_chunks(const ConvRunQ8& run, int64_t begin, int64_t end) {
  const Conv2dShape& s = run.shape;
  const AmxSizes sizes(s);
  const ConvCutQ8& cut = run.cut;
  RowTable table(s, sizes.taps, run.header().input_zero_point, cut.rows);
  const Scratch<AmxOperand> operands(cut.rows / kAmxRows);
  const Scratch<uint8_t> buffer(cut.rows * sizes.depth + kAmxDepth);
  const RequantizeQ8 requantize(run.result, run.header().wide);
  const AmxTiles tiles;
  const bool is_direct = amx_reads_in_place(s);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t group = cut.group(i), first_row = cut.first_row(i);
    const int64_t rows = std::min(cut.rows, sizes.rows - first_row);
    const bool is_new = i == begin || cut.block_of(i) != cut.block_of(i - 1);
    const uint8_t* input = run.input + group * sizes.taps.channels;
    if (is_new && (!is_direct || rows % kAmxRows != 0)) {
      table.load(input, run.input_stride, first_row, rows);
    }
    const AmxBlock block{is_direct ? input + first_row * run.input_stride : nullptr,
                         run.input_stride,
                         table.rows(),
                         cut.rows,
                         rows,
                         i == begin,
                         run.weights() + group * sizes.group_bytes(),
                         run.output + first_row * run.output_stride + group * sizes.channels,
                         run.output_stride};
    amx_multiply_block(sizes, block, cut.first_panel(i), cut.end_panel(i), is_new, requantize,
                       operands.data(), buffer.data());
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#else
#define TORCHLET_KERNELS_AMX 0
#endif  // HWY_TARGET == HWY_AVX3_DL && HWY_ARCH_X86_64

#endif  // TORCHLET_KERNELS_CONV_Q8_AMX_INL_H_
