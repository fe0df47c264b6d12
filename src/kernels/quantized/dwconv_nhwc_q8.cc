// The depthwise convolution of quantized images. A dot product sums over rows of the input: of a
// few rows at a time, the pixels one below the other are interleaved, column by column, into
// operands for it, and every operand serves all taps and output rows that its pixels are part of.

#define HWY_WANT_AVX3_DL  // for its integer dot product
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized/dwconv_nhwc_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/simd/foreach_dot.h"  // IWYU pragma: keep
// After the line above.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/quantized/dot_q8-inl.h"
#include "kernels/quantized/dwconv_nhwc_q8.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

#ifndef TORCHLET_KERNELS_DWCONV_NHWC_Q8_ONCE
#define TORCHLET_KERNELS_DWCONV_NHWC_Q8_ONCE
namespace torchlet::kernels {

// In front of the packed weights.
struct PackedDwconvQ8 {
  int32_t repeats;  // of the weights, see dot_q8-inl.h
  bool wide;        // see RequantizeQ8
  uint8_t input_zero_point;
};
constexpr int64_t kDwconvHeaderBytes = 64;

// One call.
struct DwconvRunQ8 {
  const Conv2dShape& shape;
  const uint8_t* input;
  int64_t input_stride;
  const uint8_t* packed;
  OutputQ8 result;
  uint8_t* output;
  int64_t output_stride;
};

// How many blocks of rows, over all pictures, and panels of channels there are.
struct DwconvCutQ8 {
  int64_t blocks, panels;
};

struct DwconvPartQ8 {
  int64_t block_begin, block_end;
  int64_t panel_begin, panel_end;
};

}  // namespace torchlet::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr int kMaxVectors = 4;  // of channels in a panel
constexpr int64_t kPanelChannels = kMaxVectors * kDotLanes;

// How a window is computed.
struct Plan {
  Plan(const Conv2dShape& s, int repeats)
      : w(s.window),
        rows(rows_at_once(s.window)),
        slots((rows - 1) * w.stride_h + w.kernel_h),
        groups((slots + kDotDepth - 1) / kDotDepth),
        taps(w.kernel_w * repeats),
        channels(s.out_channels),
        panels((channels + kPanelChannels - 1) / kPanelChannels),
        row_blocks((w.out_h + rows - 1) / rows) {}

  // As many output rows as fill the operands.
  static int64_t rows_at_once(const Window2dShape& window) {
    if (window.dilation_h != 1) return 1;
    const int64_t filled = (window.kernel_h + 3) / 4 * 4;
    const int64_t rows = (filled - window.kernel_h) / window.stride_h + 1;
    return std::clamp(window.out_h, int64_t{1}, rows);
  }

  int64_t panel_vectors(int64_t panel) const {
    const int64_t left = channels - panel * kPanelChannels;
    return std::min<int64_t>(kMaxVectors, (left + kDotLanes - 1) / kDotLanes);
  }
  // A vector of channels: start values, multipliers, weights [rows, taps, groups].
  int64_t vector_bytes() const {
    return kDotLanes *
           (8 + rows * taps * groups * kDotDepth * static_cast<int64_t>(sizeof(DotWeight)));
  }
  int64_t panel_offset(int64_t panel) const {
    return kDwconvHeaderBytes + panel * kMaxVectors * vector_bytes();
  }
  size_t packed_bytes() const {
    return static_cast<size_t>(panel_offset(panels - 1) +
                               panel_vectors(panels - 1) * vector_bytes());
  }

  const Window2dShape& w;
  int64_t rows;    // of the output at once
  int64_t slots;   // rows of the input for that
  int64_t groups;  // of kDotDepth slots
  int64_t taps;    // columns of the window
  int64_t channels, panels, row_blocks;
};

size_t packed_bytes(const Conv2dShape& s, const LayerQ8& layer) {
  return Plan(s, weight_repeats(layer, s.out_channels)).packed_bytes();
}

// Writes one column of a panel of `vectors`; `to` is the panel. Returns whether it is wide.
bool pack_column(const Plan& plan, const LayerQ8& layer, int repeats, int64_t channel,
                 int64_t column, int64_t vectors, uint8_t* to) {
  const Window2dShape& w = plan.w;
  const int64_t width = vectors * kDotLanes;
  const int zero = weight_zero_point(layer, channel);
  DotWeight* packed = reinterpret_cast<DotWeight*>(to + width * 8);
  int64_t sum = 0, magnitude = 0;
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    for (int64_t j = 0; j < plan.taps; ++j) {
      const int weight = layer.weight[(channel * w.kernel_h + i) * w.kernel_w + j % w.kernel_w];
      const DotWeight part = weight_part(weight - zero, repeats, static_cast<int>(j / w.kernel_w));
      sum += part;
      magnitude += std::abs(part);
      for (int64_t row = 0; row < plan.rows; ++row) {
        const int64_t slot = row * w.stride_h + i;
        const int64_t operand =
            ((row * plan.taps + j) * plan.groups + slot / kDotDepth) * width + column;
        packed[operand * kDotDepth + slot % kDotDepth] = part;
      }
    }
  }
  const ColumnConstants constants = column_constants(layer, channel, sum, magnitude);
  reinterpret_cast<int32_t*>(to)[column] = constants.start;
  reinterpret_cast<float*>(to)[width + column] = constants.multiplier;
  return constants.wide;
}

int packed_form(const Conv2dShape& s, const LayerQ8& layer) {
  return static_cast<int>(Plan(s, weight_repeats(layer, s.out_channels)).rows);
}

void pack(const Conv2dShape& s, const LayerQ8& layer, void* packed) {
  const int repeats = weight_repeats(layer, s.out_channels);
  const Plan plan(s, repeats);
  uint8_t* to = static_cast<uint8_t*>(packed);
  std::memset(to, 0, plan.packed_bytes());
  PackedDwconvQ8* header = reinterpret_cast<PackedDwconvQ8*>(to);
  *header = {repeats, false, layer.input_zero_point};
  for (int64_t panel = 0; panel < plan.panels; ++panel) {
    const int64_t vectors = plan.panel_vectors(panel);
    for (int64_t column = 0; column < vectors * kDotLanes; ++column) {
      const int64_t channel = panel * kPanelChannels + channel_of_column(column, vectors);
      if (channel >= plan.channels) continue;
      header->wide |= pack_column(plan, layer, repeats, channel, column, vectors,
                                  to + plan.panel_offset(panel));
    }
  }
}

// ---- Interleaving ----

// The first `count` bytes of a pixel, spread so that each block of 128 bits has 4 * kVectors.
template <int kVectors>
HWY_INLINE VecU8 load_pixel(const uint8_t* from, int64_t count) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const VecU8 bytes{_mm512_maskz_loadu_epi8(~uint64_t{0} >> (64 - count), from)};
#else
  const TagU8 d;
  VecU8 bytes;
  if (kVectors == 4 && count == kPanelChannels) {
    bytes = hn::LoadU(d, from);
  } else if (kVectors == 2 && count == kPanelChannels / 2) {
    bytes = hn::ZeroExtendVector(d, hn::LoadU(hn::Half<TagU8>(), from));
  } else {
    alignas(64) uint8_t buffer[HWY_LANES(uint8_t)];
    std::memcpy(buffer, from, static_cast<size_t>(count));
    bytes = hn::Load(d, buffer);
  }
#endif
  if constexpr (kVectors < 4 && kDotLanes > 4) {
    alignas(64) int32_t index[kDotLanes];
    for (int i = 0; i < kDotLanes; ++i) index[i] = (i / 4 * kVectors + i % 4) % kDotLanes;
    return hn::BitCast(TagU8(), hn::TableLookupLanes(hn::BitCast(TagI32(), bytes),
                                                     hn::SetTableIndices(TagI32(), index)));
  } else {
    return bytes;
  }
}

// Bytes as dot() takes them.
HWY_INLINE VecU8 dot_bytes(VecU8 bytes) {
  return kDotOffset == 0 ? bytes : hn::Xor(bytes, hn::Set(TagU8(), kDotOffset));
}

[[maybe_unused]] HWY_INLINE VecU8 interleave_pairs(VecU8 a, VecU8 b, bool upper) {
  const hn::Repartition<uint16_t, TagU8> d16;
  const auto a16 = hn::BitCast(d16, a), b16 = hn::BitCast(d16, b);
  return hn::BitCast(
      TagU8(), upper ? hn::InterleaveUpper(d16, a16, b16) : hn::InterleaveLower(d16, a16, b16));
}

// One column of a group: kVectors operands.
template <int kVectors>
HWY_INLINE void interleave(const VecU8* slots, uint8_t* HWY_RESTRICT to) {
  const TagU8 d;
  constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
  const VecU8 lower = hn::InterleaveLower(d, slots[0], slots[1]);
  const VecU8 upper = hn::InterleaveUpper(d, slots[0], slots[1]);
  if constexpr (kDotBytes) {
    const VecU8 lower2 = hn::InterleaveLower(d, slots[2], slots[3]);
    const VecU8 upper2 = hn::InterleaveUpper(d, slots[2], slots[3]);
    hn::Store(interleave_pairs(lower, lower2, false), d, to);
    if (kVectors > 1) hn::Store(interleave_pairs(lower, lower2, true), d, to + kBytes);
    if (kVectors > 2) hn::Store(interleave_pairs(upper, upper2, false), d, to + 2 * kBytes);
    if (kVectors > 3) hn::Store(interleave_pairs(upper, upper2, true), d, to + 3 * kBytes);
  } else {
    const VecU8 zero = hn::Zero(d);
    hn::Store(hn::InterleaveLower(d, lower, zero), d, to);
    if (kVectors > 1) hn::Store(hn::InterleaveUpper(d, lower, zero), d, to + kBytes);
    if (kVectors > 2) hn::Store(hn::InterleaveLower(d, upper, zero), d, to + 2 * kBytes);
    if (kVectors > 3) hn::Store(hn::InterleaveUpper(d, upper, zero), d, to + 3 * kBytes);
  }
}

// Columns of the input that a strip of the output needs; those outside of the input are padding.
struct Strip {
  int64_t x, width;          // of the output
  int64_t columns;           // of the input, all
  int64_t left, begin, end;  // how many are padding on the left; those that exist
};

Strip make_strip(const Plan& plan, int64_t x, int64_t width) {
  const Window2dShape& w = plan.w;
  Strip strip{x, width, (width - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1, 0, 0, 0};
  const int64_t first = x * w.stride_w - w.pad_w;
  strip.begin = std::clamp<int64_t>(first, 0, w.in_w);
  strip.end = std::clamp<int64_t>(first + strip.columns, strip.begin, w.in_w);
  strip.left = strip.end > strip.begin ? strip.begin - first : strip.columns;
  return strip;
}

// Operands [columns, groups, kVectors] of one group of slots; `pixel` has the first pixel of each
// slot and 0 as its stride if all of them are padding.
template <int kVectors>
HWY_INLINE void interleave_columns(const Strip& strip, const uint8_t* const* pixels,
                                   const int64_t* strides, int64_t count, uint8_t zero_point,
                                   int64_t step, uint8_t* to) {
  VecU8 slots[kDotDepth];
  HWY_UNROLL(4)
  for (int i = 0; i < kDotDepth; ++i) slots[i] = dot_bytes(hn::Set(TagU8(), zero_point));
  const int64_t inside = strip.end - strip.begin;
  for (int64_t c = 0; c < strip.left; ++c) interleave<kVectors>(slots, to + c * step);
  for (int64_t c = strip.left + inside; c < strip.columns; ++c) {
    interleave<kVectors>(slots, to + c * step);
  }
  to += strip.left * step;
  const uint8_t* from[kDotDepth];
  HWY_UNROLL(4)
  for (int i = 0; i < kDotDepth; ++i) from[i] = pixels[i];
  for (int64_t c = 0; c < inside; ++c) {
    HWY_UNROLL(4)
    for (int i = 0; i < kDotDepth; ++i) {
      slots[i] = dot_bytes(load_pixel<kVectors>(from[i], count));
      from[i] += strides[i];
    }
    interleave<kVectors>(slots, to);
    to += step;
  }
}

// ---- Summing ----

struct OutputRow {
  const uint8_t* operands;  // of the strip
  const uint8_t* panel;
  const DotWeight* weights;  // of the row
  int64_t width, channels;
  uint8_t* output;
};

HWY_INLINE DotVec load_operand(const void* from) {
  return hn::LoadU(DotTag(), static_cast<const int32_t*>(from));
}

// What turns the sums of a panel into bytes, in registers.
template <int kVectors>
struct PanelOutput {
  PanelOutput(const uint8_t* panel, const RequantizeQ8& to_bytes, int64_t count)
      : requantize(to_bytes), channels(std::min<int64_t>(kVectors * kDotLanes, count)) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      start[v] = load_operand(panel + v * kDotLanes * 4);
      multiplier[v] =
          hn::LoadU(TagF32(), reinterpret_cast<const float*>(panel) + (kVectors + v) * kDotLanes);
    }
  }
  HWY_INLINE void store(const DotVec* sum, uint8_t* to) const {
    constexpr int kB = kVectors > 1 ? 1 : 0, kC = kVectors > 2 ? 2 : 0, kD = kVectors > 3 ? 3 : 0;
    const VecU8 bytes = requantize(sum[0], multiplier[0], sum[kB], multiplier[kB], sum[kC],
                                   multiplier[kC], sum[kD], multiplier[kD]);
    store_bytes(join_blocks<kVectors>(bytes), to, channels);
  }

  const RequantizeQ8 requantize;
  const int64_t channels;
  DotVec start[kVectors];
  VecF32 multiplier[kVectors];
};

// `kTaps` neighbouring columns of one group, whose weights stay in registers.
template <int kVectors, int kTaps>
HWY_NOINLINE void sum_near_taps(const Plan& plan, const OutputRow& row,
                                const RequantizeQ8& requantize, int64_t output_stride) {
  constexpr int64_t kOperands = kVectors * kDotLanes;
  const PanelOutput<kVectors> panel(row.panel, requantize, row.channels);
  DotVec weights[kTaps][kVectors];
  HWY_UNROLL(4)
  for (int j = 0; j < kTaps; ++j) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      weights[j][v] = load_operand(row.weights + (j * kOperands + v * kDotLanes) * kDotDepth);
    }
  }
  const uint8_t* HWY_RESTRICT operands = row.operands;
  uint8_t* HWY_RESTRICT to = row.output;
  const int64_t step = plan.w.stride_w * kOperands * 4, width = row.width;
  for (int64_t x = 0; x < width; ++x) {
    DotVec sum[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] = panel.start[v];
    HWY_UNROLL(4)
    for (int j = 0; j < kTaps; ++j) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        sum[v] = dot(sum[v], load_operand(operands + (j * kOperands + v * kDotLanes) * 4),
                     weights[j][v]);
      }
    }
    panel.store(sum, to);
    operands += step;
    to += output_stride;
  }
}

// Any window.
template <int kVectors>
HWY_NOINLINE void sum_taps(const Plan& plan, const OutputRow& row, const RequantizeQ8& requantize,
                           int64_t output_stride) {
  constexpr int64_t kOperands = kVectors * kDotLanes;
  const PanelOutput<kVectors> panel(row.panel, requantize, row.channels);
  const int64_t column_bytes = plan.groups * kOperands * 4;
  // Neighbouring columns lie one behind the other, as their weights do.
  const bool is_run = plan.w.dilation_w == 1 && plan.taps == plan.w.kernel_w;
  const int64_t runs = is_run ? 1 : plan.taps;
  const int64_t steps = is_run ? plan.taps * plan.groups : plan.groups;
  for (int64_t x = 0; x < row.width; ++x) {
    DotVec sum[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[v] = panel.start[v];
    const DotWeight* HWY_RESTRICT weights = row.weights;
    for (int64_t tap = 0, column = 0; tap < runs; ++tap, ++column) {
      if (column == plan.w.kernel_w) column = 0;
      const uint8_t* HWY_RESTRICT operands =
          row.operands + (x * plan.w.stride_w + column * plan.w.dilation_w) * column_bytes;
      for (int64_t step = 0; step < steps; ++step) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          sum[v] = dot(sum[v], load_operand(operands + v * kDotLanes * 4),
                       load_operand(weights + v * kDotLanes * kDotDepth));
        }
        operands += kOperands * 4;
        weights += kOperands * kDotDepth;
      }
    }
    panel.store(sum, row.output + x * output_stride);
  }
}

// ---- Blocks of rows ----

constexpr int64_t kBufferBytes = int64_t{16} << 10;

// Output columns of one strip, so that its operands stay in the first-level cache.
int64_t strip_width(const Plan& plan) {
  const int64_t column_bytes = plan.groups * kPanelChannels * 4;
  const int64_t more = (plan.w.kernel_w - 1) * plan.w.dilation_w;
  const int64_t width = (kBufferBytes / column_bytes - more) / plan.w.stride_w;
  const int64_t strips =
      (plan.w.out_w + std::max<int64_t>(8, width) - 1) / std::max<int64_t>(8, width);
  return (plan.w.out_w + strips - 1) / strips;
}

// Rows [y, y + plan.rows) of one picture and the channels of one panel.
template <int kVectors>
HWY_NOINLINE void convolve_block(const DwconvRunQ8& run, const Plan& plan, int64_t image, int64_t y,
                                 int64_t panel, int64_t most_width, const RequantizeQ8& requantize,
                                 uint8_t* buffer) {
  const Window2dShape& w = plan.w;
  const int64_t channel = panel * kPanelChannels;
  const int64_t count = std::min<int64_t>(kVectors * kDotLanes, plan.channels - channel);
  const uint8_t zero_point = reinterpret_cast<const PackedDwconvQ8*>(run.packed)->input_zero_point;
  alignas(64) uint8_t padding[kPanelChannels];
  std::memset(padding, zero_point, sizeof padding);
  const uint8_t* packed = run.packed + plan.panel_offset(panel);
  for (int64_t x = 0; x < w.out_w; x += most_width) {
    const Strip strip = make_strip(plan, x, std::min(most_width, w.out_w - x));
    for (int64_t group = 0; group < plan.groups; ++group) {
      const uint8_t* pixels[kDotDepth];
      int64_t strides[kDotDepth];
      for (int64_t i = 0; i < kDotDepth; ++i) {
        const int64_t slot = std::min(group * kDotDepth + i, plan.slots - 1);
        const int64_t in_y = y * w.stride_h - w.pad_h + slot * w.dilation_h;
        const bool exists = in_y >= 0 && in_y < w.in_h;
        strides[i] = exists ? run.input_stride : 0;
        pixels[i] = exists
                        ? run.input +
                              ((image * w.in_h + in_y) * w.in_w + strip.begin) * run.input_stride +
                              channel
                        : padding;
      }
      interleave_columns<kVectors>(strip, pixels, strides, count, zero_point,
                                   plan.groups * kVectors * kDotLanes * 4,
                                   buffer + group * kVectors * kDotLanes * 4);
    }
    for (int64_t row = 0; row < std::min(plan.rows, w.out_h - y); ++row) {
      const OutputRow output{
          buffer,
          packed,
          reinterpret_cast<const DotWeight*>(packed + kVectors * kDotLanes * 8) +
              row * plan.taps * plan.groups * kVectors * kDotLanes * kDotDepth,
          strip.width,
          count,
          run.output + ((image * w.out_h + y + row) * w.out_w + x) * run.output_stride + channel};
      if (kDotBytes && plan.groups == 1 && plan.taps == 3 && w.kernel_w == 3 && w.dilation_w == 1) {
        sum_near_taps<kVectors, 3>(plan, output, requantize, run.output_stride);
      } else {
        sum_taps<kVectors>(plan, output, requantize, run.output_stride);
      }
    }
  }
}

DwconvCutQ8 cut_of(const Conv2dShape& s, const void* packed) {
  const Plan plan(s, static_cast<const PackedDwconvQ8*>(packed)->repeats);
  return {s.batch * plan.row_blocks, plan.panels};
}

void convolve_part(const DwconvRunQ8& run, const DwconvPartQ8& part) {
  const PackedDwconvQ8& header = *reinterpret_cast<const PackedDwconvQ8*>(run.packed);
  const Plan plan(run.shape, header.repeats);
  const RequantizeQ8 requantize(run.result, header.wide);
  const int64_t width = strip_width(plan);
  const Scratch<uint8_t> buffer(make_strip(plan, 0, width).columns * plan.groups * kPanelChannels *
                                4);
  constexpr decltype(&convolve_block<1>) kConvolve[] = {convolve_block<1>, convolve_block<2>,
                                                        convolve_block<3>, convolve_block<4>};
  for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
    for (int64_t block = part.block_begin; block < part.block_end; ++block) {
      kConvolve[plan.panel_vectors(panel) - 1](run, plan, block / plan.row_blocks,
                                               block % plan.row_blocks * plan.rows, panel, width,
                                               requantize, buffer.data());
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

HWY_EXPORT(packed_bytes);
HWY_EXPORT(packed_form);
HWY_EXPORT(pack);
HWY_EXPORT(cut_of);
HWY_EXPORT(convolve_part);

size_t dwconv_nhwc_q8_packed_bytes(const Conv2dShape& shape, const LayerQ8& layer) {
  return TORCHLET_DOT_DISPATCH(packed_bytes)(shape, layer);
}

int dwconv_nhwc_q8_form(const Conv2dShape& shape, const LayerQ8& layer) {
  return TORCHLET_DOT_DISPATCH(packed_form)(shape, layer);
}

void dwconv_nhwc_q8_pack(const Conv2dShape& shape, const LayerQ8& layer, void* packed) {
  TORCHLET_DOT_DISPATCH(pack)(shape, layer, packed);
}

void dwconv_nhwc_q8(const Conv2dShape& shape, const uint8_t* input, int64_t input_stride,
                    const void* packed, const OutputQ8& result, uint8_t* output,
                    int64_t output_stride) {
  constexpr int64_t kProductsPerTask = int64_t{1} << 16;
  const Window2dShape& w = shape.window;
  const int64_t pixels = shape.batch * w.out_h * w.out_w;
  if (pixels == 0) return;
  const DwconvCutQ8 cut = TORCHLET_DOT_DISPATCH(cut_of)(shape, packed);
  const int64_t products = pixels * shape.out_channels * w.kernel_h * w.kernel_w;
  const bool by_columns = is_cut_by_columns(pixels);
  const int64_t units = by_columns ? cut.panels : cut.blocks;
  const auto run = [&](int64_t begin, int64_t end) {
    DwconvPartQ8 part{0, cut.blocks, 0, cut.panels};
    (by_columns ? part.panel_begin : part.block_begin) = begin;
    (by_columns ? part.panel_end : part.block_end) = end;
    TORCHLET_DOT_DISPATCH(convolve_part)
    ({shape, input, input_stride, static_cast<const uint8_t*>(packed), result, output,
      output_stride},
     part);
  };
  parallel_for(units, even_grain(units, 1, products, kProductsPerTask), run);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
