// A quantized convolution as a matrix product: a row for each output pixel, a column for each
// output channel. A tile of rows times a panel of columns stays in registers until it is stored as
// bytes. Rows are found through a table of pointers, one for each tap of the window.

#define HWY_WANT_AVX3_DL  // for its integer dot product
#define TORCHLET_WANT_ARM_MATRIX
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized/conv_nhwc_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/simd/foreach_dot.h"  // IWYU pragma: keep
// After the line above.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/quantized/conv_nhwc_q8.h"
#include "kernels/quantized/conv_q8_amx-inl.h"
#include "kernels/quantized/conv_q8_indirection-inl.h"
#include "kernels/quantized/conv_q8_internal.h"
#include "kernels/quantized/conv_q8_winograd-inl.h"
#include "kernels/quantized/dot_q8-inl.h"
#include "kernels/quantized/dot_sums-inl.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// ---- The shape of a tile ----

constexpr int kMaxVectors = 4;  // of columns in a panel

// Rows of a tile, so that the sums fit the registers.
template <int kVectors>
constexpr int tile_rows() {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  constexpr int kRows[] = {12, 12, 8, 6};
#elif TORCHLET_ARM_DOT
  constexpr int kRows[] = {8, 8, 6, 6};
#elif TORCHLET_AVX_VNNI
  constexpr int kRows[] = {12, 6, 4, 2};
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  constexpr int kRows[] = {8, 6, 4, 3};
#elif HWY_TARGET == HWY_NEON
  constexpr int kRows[] = {4, 2, 2, 1};
#else
  constexpr int kRows[] = {8, 4, 3, 2};
#endif
  return kRows[kVectors - 1];
}
// Rows of a tile for the last few, such as one of 7 x 7 pixels, where that pays for its code.
template <int kVectors>
constexpr int few_rows() {
  constexpr int kRows = tile_rows<kVectors>();
  return HWY_TARGET == HWY_AVX3_DL ? kRows / 3 : kRows;
}
constexpr int64_t kRowStep = 24;  // a multiple of the rows of any tile

// ---- The columns ----

// The most vectors of a panel of so many rows. With AVX2 alone a panel that the first-level cache
// does not hold has half of them, and twice as many rows of a tile share what is read of it.
int64_t most_vectors(int64_t depth) {
  constexpr int64_t kPanelBytes = int64_t{32} << 10;
  constexpr int64_t kRowBytes = kMaxVectors * kDotLanes * sizeof(DotWeight);
  const bool is_half = HWY_TARGET == HWY_AVX2 && !kDotBytes && depth * kRowBytes > kPanelBytes;
  return is_half ? kMaxVectors / 2 : kMaxVectors;
}

// The columns of one group: panels of up to `most` vectors, as equal as can be.
struct Columns {
  Columns(int64_t n, int64_t most)
      : channels(n),
        vectors((n + kDotLanes - 1) / kDotLanes),
        panels((vectors + most - 1) / most) {}

  int64_t first_vector(int64_t panel) const {
    return panel * (vectors / panels) + std::min(panel, vectors % panels);
  }
  int64_t panel_vectors(int64_t panel) const {
    return vectors / panels + (panel < vectors % panels);
  }

  int64_t channels, vectors, panels;
};

struct Sizes {
  Sizes(const Conv2dShape& s, int repeats)
      : taps(s, repeats),
        columns(s.out_channels / s.groups, most_vectors(taps.count * taps.steps * kDotDepth)),
        rows(s.batch * s.window.out_h * s.window.out_w) {}

  // A vector of columns: start values, multipliers, weights [taps, steps].
  int64_t vector_bytes() const {
    return kDotLanes *
           (8 + taps.count * taps.steps * kDotDepth * static_cast<int64_t>(sizeof(DotWeight)));
  }
  int64_t group_bytes() const { return columns.vectors * vector_bytes(); }

  ConvTaps taps;
  Columns columns;
  int64_t rows;
};

ConvQ8Form form_of(const Conv2dShape& s, [[maybe_unused]] const LayerQ8& layer) {
#if TORCHLET_KERNELS_AMX
  if (amx_pays(s, layer)) return ConvQ8Form::kAmx;
#endif
#if TORCHLET_KERNELS_WINOGRAD_Q8
  if (winograd::pays(s)) return ConvQ8Form::kWinograd;
#endif
  (void)s;
  return ConvQ8Form::kDirect;
}

size_t packed_bytes(const Conv2dShape& s, const LayerQ8& layer) {
  [[maybe_unused]] const ConvQ8Form form = form_of(s, layer);
#if TORCHLET_KERNELS_AMX
  if (form == ConvQ8Form::kAmx) {
    return static_cast<size_t>(kConvQ8HeaderBytes + s.groups * AmxSizes(s).group_bytes());
  }
#endif
#if TORCHLET_KERNELS_WINOGRAD_Q8
  if (form == ConvQ8Form::kWinograd) {
    const winograd::Sizes sizes(s);
    return static_cast<size_t>(kConvQ8HeaderBytes + sizes.panels * sizes.panel_bytes());
  }
#endif
  const Sizes sizes(s, weight_repeats(layer, s.out_channels));
  return static_cast<size_t>(kConvQ8HeaderBytes + s.groups * sizes.group_bytes());
}

// Writes one column of a panel of `vectors`; `to` is the panel. Returns whether the column is wide.
bool pack_column(const Conv2dShape& s, const LayerQ8& layer, const Sizes& sizes, int repeats,
                 int64_t channel, int64_t to_column, int64_t vectors, uint8_t* to) {
  const int64_t width = vectors * kDotLanes;
  const ConvTaps& taps = sizes.taps;
  const Window2dShape& w = s.window;
  const int64_t pixels = w.kernel_h * w.kernel_w;
  const int8_t* weights = layer.weight + channel * taps.channels * pixels;
  const int zero = weight_zero_point(layer, channel);
  DotWeight* packed = reinterpret_cast<DotWeight*>(to + width * 8);
  int64_t sum = 0, magnitude = 0;
  for (int64_t i = 0; i < pixels * repeats; ++i) {
    const int64_t pixel = i % pixels, line = i / w.kernel_w, column = i % w.kernel_w;
    const int64_t tap = taps.joined ? line : i;
    for (int64_t c = 0; c < taps.channels; ++c) {
      const int64_t at = taps.joined ? column * taps.channels + c : c;
      const DotWeight part =
          weight_part(weights[c * pixels + pixel] - zero, repeats, static_cast<int>(i / pixels));
      packed[((tap * taps.steps + at / kDotDepth) * width + to_column) * kDotDepth +
             at % kDotDepth] = part;
      sum += part;
      magnitude += std::abs(part);
    }
  }
  const ColumnConstants constants = column_constants(layer, channel, sum, magnitude);
  reinterpret_cast<int32_t*>(to)[to_column] = constants.start;
  reinterpret_cast<float*>(to)[width + to_column] = constants.multiplier;
  return constants.wide;
}

int packed_form(const Conv2dShape& s, const LayerQ8& layer) {
  return static_cast<int>(form_of(s, layer));
}

void pack(const Conv2dShape& s, const LayerQ8& layer, void* packed) {
  const int repeats = weight_repeats(layer, s.out_channels);
  const Sizes sizes(s, repeats);
  uint8_t* to = static_cast<uint8_t*>(packed);
  std::memset(to, 0, packed_bytes(s, layer));
  PackedConvQ8* header = reinterpret_cast<PackedConvQ8*>(to);
  *header = {repeats, false, layer.input_zero_point, form_of(s, layer)};
  to += kConvQ8HeaderBytes;
#if TORCHLET_KERNELS_AMX
  if (header->form == ConvQ8Form::kAmx) {
    header->wide = amx_pack(s, layer, to);
    return;
  }
#endif
#if TORCHLET_KERNELS_WINOGRAD_Q8
  if (header->form == ConvQ8Form::kWinograd) {
    header->wide = winograd::pack(s, layer, to);
    return;
  }
#endif
  for (int64_t group = 0; group < s.groups; ++group) {
    for (int64_t panel = 0; panel < sizes.columns.panels; ++panel) {
      const int64_t vectors = sizes.columns.panel_vectors(panel);
      const int64_t first = sizes.columns.first_vector(panel) * kDotLanes;
      for (int64_t column = 0; column < vectors * kDotLanes; ++column) {
        const int64_t channel = first + channel_of_column(column, vectors);
        if (channel >= sizes.columns.channels) continue;
        header->wide |= pack_column(s, layer, sizes, repeats,
                                    group * sizes.columns.channels + channel, column, vectors, to);
      }
      to += vectors * sizes.vector_bytes();
    }
  }
}

// ---- One tile ----

struct Tile {
  const DotInput* const* rows;  // [taps, row_count], see conv_q8_indirection-inl.h
  int64_t row_count;
  int64_t taps, steps;
  const uint8_t* panel;
  uint8_t* output;  // of the first row
  int64_t output_stride;
  int64_t row_limit, channel_limit;  // how many exist
};

// kRows rows of `t` from row `first` on.
template <int kVectors, int kRows>
HWY_INLINE void multiply_tile(const Tile& t, int64_t first, const RequantizeQ8& requantize) {
  constexpr int64_t kWidth = kVectors * kDotLanes;
  DotVec start[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    start[v] = hn::LoadU(DotTag(), reinterpret_cast<const int32_t*>(t.panel) + v * kDotLanes);
  }
  DotSums<kRows, kVectors> sums(start);
  const DotWeight* HWY_RESTRICT weights = reinterpret_cast<const DotWeight*>(t.panel + kWidth * 8);
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const DotInput* row[kRows];
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) row[r] = t.rows[tap * t.row_count + first + r];
    weights = add_products(row, t.steps, weights, sums);
  }
  VecF32 multiplier[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    multiplier[v] =
        hn::LoadU(TagF32(), reinterpret_cast<const float*>(t.panel) + kWidth + v * kDotLanes);
  }
  constexpr int kB = kVectors > 1 ? 1 : 0, kC = kVectors > 2 ? 2 : 0, kD = kVectors > 3 ? 3 : 0;
  uint8_t* to = t.output + first * t.output_stride;
  const int64_t stride = t.output_stride, rows = t.row_limit - first;
  const int64_t channels = std::min(kWidth, t.channel_limit);
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) break;
    const VecU8 bytes = requantize(sums(r, 0), multiplier[0], sums(r, kB), multiplier[kB],
                                   sums(r, kC), multiplier[kC], sums(r, kD), multiplier[kD]);
    store_bytes(join_blocks<kVectors>(bytes), to, channels);
    to += stride;
  }
}

template <int kVectors>
HWY_NOINLINE void multiply_panel(const Tile& tile, const RequantizeQ8& to_bytes) {
  const Tile t = tile;
  const RequantizeQ8 requantize = to_bytes;
  constexpr int kRows = tile_rows<kVectors>(), kFew = few_rows<kVectors>();
  const int64_t end = t.row_limit - (kFew < kRows ? kFew : 0);
  int64_t first = 0;
  for (; first < end; first += kRows) multiply_tile<kVectors, kRows>(t, first, requantize);
  if constexpr (kFew < kRows) {
    if (first < t.row_limit) multiply_tile<kVectors, kFew>(t, first, requantize);
  }
}

void multiply(const Tile& t, int64_t vectors, const RequantizeQ8& requantize) {
  switch (vectors) {
    case 1:
      return multiply_panel<1>(t, requantize);
    case 2:
      return multiply_panel<2>(t, requantize);
    case 3:
      return multiply_panel<3>(t, requantize);
    default:
      return multiply_panel<4>(t, requantize);
  }
}

// ---- Blocks of rows ----

// Rows that share a table of pointers, and copies if there are any.
int64_t block_rows(const Window2dShape& w, const Sizes& sizes, bool by_weights) {
  constexpr int64_t kCopyBytes = int64_t{384} << 10;
  int64_t most = 96;
  while (sizes.taps.copies && most > kRowStep &&
         copied_numbers(w, sizes.taps, most) * static_cast<int64_t>(sizeof(DotInput)) >
             kCopyBytes) {
    most -= kRowStep;
  }
  return by_weights ? even_block(sizes.rows, most, kRowStep)
                    : even_block_rows(sizes.rows, most, kRowStep);
}

ConvCutQ8 cut_work(const Conv2dShape& s, const Sizes& sizes) {
  // Panels are not shared where that copied the rows for each.
  const int64_t panels = sizes.columns.panels;
  const bool by_weights =
      !sizes.taps.copies && panels >= num_threads() &&
      is_cut_by_weights(sizes.rows, s.window.kernel_h * s.window.kernel_w * sizes.columns.channels);
  const bool by_columns = is_cut_by_columns(sizes.rows) && !sizes.taps.copies;
  const int64_t rows = block_rows(s.window, sizes, by_weights), blocks = ceil_div(sizes.rows, rows);
  return {s.groups, rows, blocks, panels, by_columns || by_weights ? panels : 1, by_weights};
}

void multiply_chunks(const ConvRunQ8& run, int64_t begin, int64_t end) {
  const Conv2dShape& s = run.shape;
  const PackedConvQ8& header = run.header();
#if TORCHLET_KERNELS_AMX
  if (header.form == ConvQ8Form::kAmx) return amx_multiply_chunks(run, begin, end);
#endif
#if TORCHLET_KERNELS_WINOGRAD_Q8
  if (header.form == ConvQ8Form::kWinograd) return winograd::multiply_chunks(run, begin, end);
#endif
  const Sizes sizes(s, header.repeats);
  const ConvCutQ8& cut = run.cut;
  RowTable table(s, sizes.taps, header.input_zero_point, cut.rows);
  const RequantizeQ8 requantize(run.result, header.wide);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t group = cut.group(i), first_row = cut.first_row(i);
    const int64_t rows = std::min(cut.rows, sizes.rows - first_row);
    if (i == begin || cut.block_of(i) != cut.block_of(i - 1)) {
      table.load(run.input + group * sizes.taps.channels, run.input_stride, first_row, rows);
    }
    for (int64_t panel = cut.first_panel(i); panel < cut.end_panel(i); ++panel) {
      const int64_t vector = sizes.columns.first_vector(panel), channel = vector * kDotLanes;
      const Tile tile{
          table.rows(),
          cut.rows,
          sizes.taps.count,
          sizes.taps.steps,
          run.weights() + group * sizes.group_bytes() + vector * sizes.vector_bytes(),
          run.output + first_row * run.output_stride + group * sizes.columns.channels + channel,
          run.output_stride,
          rows,
          sizes.columns.channels - channel};
      multiply(tile, sizes.columns.panel_vectors(panel), requantize);
    }
  }
}

ConvCutQ8 cut_of(const Conv2dShape& s, const void* packed) {
  const PackedConvQ8& header = *static_cast<const PackedConvQ8*>(packed);
#if TORCHLET_KERNELS_AMX
  if (header.form == ConvQ8Form::kAmx) return amx_cut(AmxSizes(s), s.groups);
#endif
#if TORCHLET_KERNELS_WINOGRAD_Q8
  if (header.form == ConvQ8Form::kWinograd) return winograd::cut(s);
#endif
  return cut_work(s, Sizes(s, header.repeats));
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(packed_bytes);
HWY_EXPORT(packed_form);
HWY_EXPORT(pack);
HWY_EXPORT(multiply_chunks);
HWY_EXPORT(cut_of);

namespace {

// If every pixel stands alone, they are one line.
Conv2dShape with_flat_pixels(Conv2dShape s) {
  Window2dShape& w = s.window;
  if (w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_h == 0 &&
      w.pad_w == 0 && w.in_h == w.out_h && w.in_w == w.out_w) {
    w.in_w = w.out_w = s.batch * w.out_h * w.out_w;
    w.in_h = w.out_h = s.batch = 1;
  }
  return s;
}

}  // namespace

size_t conv_nhwc_q8_packed_bytes(const Conv2dShape& shape, const LayerQ8& layer) {
  return TORCHLET_DOT_DISPATCH(packed_bytes)(shape, layer);
}

int conv_nhwc_q8_form(const Conv2dShape& shape, const LayerQ8& layer) {
  return TORCHLET_DOT_DISPATCH(packed_form)(shape, layer);
}

void conv_nhwc_q8_pack(const Conv2dShape& shape, const LayerQ8& layer, void* packed) {
  TORCHLET_DOT_DISPATCH(pack)(shape, layer, packed);
}

void conv_nhwc_q8(const Conv2dShape& shape, const uint8_t* input, int64_t input_stride,
                  const void* packed, const OutputQ8& result, uint8_t* output,
                  int64_t output_stride) {
  constexpr int64_t kProductsPerTask = int64_t{1} << 19;
  const Conv2dShape flat = with_flat_pixels(shape);
  const ConvCutQ8 cut = TORCHLET_DOT_DISPATCH(cut_of)(flat, packed);
  const int64_t chunks = cut.count();
  if (chunks == 0) return;
  const Window2dShape& w = flat.window;
  const int64_t products = flat.batch * w.out_h * w.out_w * shape.out_channels * w.kernel_h *
                           w.kernel_w * (shape.in_channels / shape.groups);
  const int64_t grain = std::max<int64_t>(1, kProductsPerTask / (products / chunks + 1));
  const auto run = [&](int64_t begin, int64_t end) {
    TORCHLET_DOT_DISPATCH(multiply_chunks)
    ({flat, input, input_stride, static_cast<const uint8_t*>(packed), result, output, output_stride,
      cut},
     begin, end);
  };
  parallel_for(chunks, grain, run);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
