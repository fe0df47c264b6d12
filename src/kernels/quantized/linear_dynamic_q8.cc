// Weights lie in panels of four vectors of columns, [depth, columns, kDotDepth], which are read in
// one go: a single row is bound by memory. The same panels are operands of AMX for many rows.

#define HWY_WANT_AVX3_DL  // for its integer dot product
#define TORCHLET_WANT_ARM_MATRIX
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized/linear_dynamic_q8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/simd/foreach_dot.h"  // IWYU pragma: keep
// After the line above.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/thread_pool.h"
#include "kernels/quantized/conv_q8_amx-inl.h"
#include "kernels/quantized/dot_q8-inl.h"
#include "kernels/quantized/dot_sums-inl.h"
#include "kernels/quantized/linear_dynamic_q8.h"
#include "kernels/quantized/requantize_q8-inl.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

#ifndef TORCHLET_KERNELS_LINEAR_DYNAMIC_Q8_
#define TORCHLET_KERNELS_LINEAR_DYNAMIC_Q8_
namespace torchlet::kernels {
constexpr int64_t kQuantizedRowStep = 64;  // bytes that a quantized row is a multiple of
constexpr int64_t kQuantizedRows = 32;     // the block of rows that AMX takes
inline int64_t quantized_row_bytes(int64_t in) {
  return (in + kQuantizedRowStep - 1) / kQuantizedRowStep * kQuantizedRowStep;
}
}  // namespace torchlet::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr int kVectors = 4;
constexpr int64_t kWidth = kVectors * kDotLanes;

// Rows of a tile, so that the sums fit the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 6;
#elif TORCHLET_ARM_DOT
constexpr int kTileRows = 6;
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kTileRows = 3;
#else
constexpr int kTileRows = 2;
#endif

// A column's sum of (weight - zero), its zero, scale and bias.
constexpr int64_t kColumnBytes = 4 * 4;
constexpr int64_t kHeaderBytes = 64;  // one bool: is there a zero point that is not 0?

struct Sizes {
  Sizes(int64_t in, int64_t out)
      : groups((kDotBytes ? quantized_row_bytes(in) : in + in % 2) / kDotDepth),
        panels((out + kWidth - 1) / kWidth) {}
  int64_t panel_bytes() const { return kWidth * (kColumnBytes + groups * kDotDepth); }

  int64_t groups, panels;
};

size_t packed_bytes(int64_t in, int64_t out) {
  const Sizes sizes(in, out);
  return static_cast<size_t>(kHeaderBytes + sizes.panels * sizes.panel_bytes());
}

// The numbers of a panel's columns.
struct Columns {
  explicit Columns(const uint8_t* panel) : data(reinterpret_cast<const int32_t*>(panel)) {}
  const int32_t* sums() const { return data; }
  const int32_t* zeros() const { return data + kWidth; }
  const float* scales() const { return reinterpret_cast<const float*>(data) + 2 * kWidth; }
  const float* biases() const { return reinterpret_cast<const float*>(data) + 3 * kWidth; }
  const int8_t* weights() const { return reinterpret_cast<const int8_t*>(data + 4 * kWidth); }

  const int32_t* data;
};

void pack(int64_t in, int64_t out, const LayerQ8& layer, uint8_t* to) {
  const Sizes sizes(in, out);
  std::memset(to, 0, packed_bytes(in, out));
  bool has_zeros = false;
  for (int64_t channel = 0; channel < out; ++channel) {
    uint8_t* panel = to + kHeaderBytes + channel / kWidth * sizes.panel_bytes();
    const int64_t column = channel % kWidth;
    const int8_t* from = layer.weight + channel * in;
    int8_t* weights = reinterpret_cast<int8_t*>(panel + kWidth * kColumnBytes);
    const int32_t zero = weight_zero_point(layer, channel);
    int32_t sum = 0;
    for (int64_t i = 0; i < in; ++i) {
      weights[(i / kDotDepth * kWidth + column) * kDotDepth + i % kDotDepth] = from[i];
      sum += from[i] - zero;
    }
    int32_t* integers = reinterpret_cast<int32_t*>(panel) + column;
    float* reals = reinterpret_cast<float*>(panel) + column;
    integers[0] = sum;
    integers[kWidth] = zero;
    reals[2 * kWidth] = layer.weight_scales[channel];
    reals[3 * kWidth] = layer.bias ? layer.bias[channel] : 0;
    has_zeros |= zero != 0;
  }
  to[0] = has_zeros;
}

// One call. `linear.work` holds the quantized rows.
struct Run {
  explicit Run(const LinearDynamicQ8& l)
      : linear(l),
        sizes(l.in, l.out),
        row_bytes(quantized_row_bytes(l.in)),
        panels(static_cast<const uint8_t*>(l.packed) + kHeaderBytes),
        has_zeros(panels[-kHeaderBytes] != 0) {}

  const LinearDynamicQ8& linear;
  Sizes sizes;
  int64_t row_bytes;
  const uint8_t* panels;
  bool has_zeros;
};

// Sums to real numbers, for vector `v` of a panel.
class ToReal {
 public:
  ToReal(const LinearDynamicQ8& l, const uint8_t* panel, int v) : linear_(l) {
    const TagF32 d;
    const Columns columns(panel);
    zero_ = hn::LoadU(TagI32(), columns.zeros() + v * kDotLanes);
    const VecF32 scale = hn::LoadU(d, columns.scales() + v * kDotLanes);
    factor_ = hn::Mul(scale, hn::Set(d, l.quantization.scale));
    bias_ = hn::LoadU(d, columns.biases() + v * kDotLanes);
  }
  // `row_sum` is that of the quantized row as dot() takes it.
  HWY_INLINE VecF32 operator()(VecI32 sum, int32_t row_sum) const {
    const TagF32 d;
    const VecI32 correction = hn::Mul(zero_, hn::Set(TagI32(), row_sum));
    const VecF32 real = hn::Mul(hn::ConvertTo(d, hn::Sub(sum, correction)), factor_);
    return clamp(hn::Add(real, bias_), hn::Set(d, linear_.low), hn::Set(d, linear_.high));
  }

 private:
  const LinearDynamicQ8& linear_;
  VecI32 zero_;
  VecF32 factor_, bias_;
};

// What the sums of vector `v` begin with.
HWY_INLINE VecI32 start_of(const Run& run, const uint8_t* panel, int v) {
  const VecI32 zero = hn::Set(TagI32(), kDotOffset - run.linear.quantization.zero_point);
  return hn::Mul(hn::LoadU(TagI32(), Columns(panel).sums() + v * kDotLanes), zero);
}

// A block of rows as the dot product takes them.
struct Block {
  int64_t first, count;
  const DotInput* rows;
  int64_t stride;
  const int32_t* sums;  // of each row, less kDotOffset; all 0 if no weight has a zero point
};

// R rows of the block from `row` on, of which those beyond the last repeat it.
template <int R>
HWY_NOINLINE void multiply_tile(const Run& run, const Block& block, int64_t row,
                                const uint8_t* panel, int64_t channel) {
  const DotInput* x[R];
  HWY_UNROLL(6)
  for (int r = 0; r < R; ++r) {
    x[r] = block.rows + std::min<int64_t>(row + r, block.count - 1) * block.stride;
  }
  DotVec start[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) start[v] = start_of(run, panel, v);
  DotSums<R, kVectors> sums(start);
  add_products(x, run.sizes.groups, Columns(panel).weights(), sums);
  const LinearDynamicQ8& l = run.linear;
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = l.out - channel - v * kDotLanes;
    if (left <= 0) break;
    const ToReal real(l, panel, v);
    float* y = l.y + (block.first + row) * l.y_stride + channel + v * kDotLanes;
    HWY_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      if (r >= block.count - row) break;
      store_first(real(sums(r, v), block.sums[row + r]), TagF32(), y + r * l.y_stride, left);
    }
  }
}

#if TORCHLET_KERNELS_AMX
// 32 rows by 32 columns at a time.
void amx_multiply_panel(const Run& run, const Block& block, const uint8_t* panel, int64_t channel) {
  const LinearDynamicQ8& l = run.linear;
  alignas(64) int32_t sums[kAmxRows * kAmxColumns];
  AmxPrefetch prefetch;
  for (int half = 0; half < 2 && channel + half * kAmxColumns < l.out; ++half) {
    const uint8_t* weights =
        reinterpret_cast<const uint8_t*>(Columns(panel).weights()) + half * kAmxColumns * 4;
    for (int64_t row = 0; row < block.count; row += kAmxRows) {
      amx_multiply<2>(block.rows + row * block.stride, block.stride, weights, run.row_bytes,
                      prefetch, {kWidth * 4, 64, kWidth * kAmxDepth});
      amx_store_sums<2>(sums);
      for (int i = 0; i < 2; ++i) {
        const int v = 2 * half + i;
        const int64_t left = l.out - channel - v * kDotLanes;
        if (left <= 0) break;
        const ToReal real(l, panel, v);
        const VecI32 start = start_of(run, panel, v);
        float* y = l.y + (block.first + row) * l.y_stride + channel + v * kDotLanes;
        for (int64_t r = 0; r < std::min(kAmxRows, block.count - row); ++r) {
          const VecI32 sum = hn::LoadU(TagI32(), sums + r * kAmxColumns + i * kDotLanes);
          store_first(real(hn::Add(sum, start), block.sums[row + r]), TagF32(), y + r * l.y_stride,
                      left);
        }
      }
    }
  }
}
#endif

void multiply_panel(const Run& run, const Block& block, const uint8_t* panel, int64_t channel) {
  int64_t row = 0;
  for (; block.count - row > 2; row += kTileRows) {
    multiply_tile<kTileRows>(run, block, row, panel, channel);
  }
  if (block.count - row == 2) multiply_tile<2>(run, block, row, panel, channel);
  if (block.count - row == 1) multiply_tile<1>(run, block, row, panel, channel);
}

// Rows that stay in the second-level cache while all panels pass by.
int64_t block_rows(int64_t row_bytes) {
  constexpr int64_t kBlockBytes = int64_t{384} << 10;
  return std::clamp(kBlockBytes / row_bytes / kQuantizedRows, int64_t{1}, int64_t{8}) *
         kQuantizedRows;
}

int64_t chunk_count(const LinearDynamicQ8& l) {
  const int64_t rows = block_rows(quantized_row_bytes(l.in));
  return (l.rows + rows - 1) / rows * Sizes(l.in, l.out).panels;
}

// Chunk i is panel i % panels of block i / panels.
void multiply_chunks(const LinearDynamicQ8& linear, int64_t begin, int64_t end) {
  const Run run(linear);
  const int64_t most = block_rows(run.row_bytes), panels = run.sizes.panels;
  const Scratch<int32_t> sums(most);
  const Scratch<DotInput> wide(kDotBytes ? 0 : std::min(most, linear.rows) * run.row_bytes);
  std::fill_n(sums.data(), most, 0);
  Block block{};
#if TORCHLET_KERNELS_AMX
  const bool is_amx = linear.rows >= 16 && linear.in >= kAmxDepth && has(Isa::kAmx);
  std::optional<AmxTiles> tiles;
  if (is_amx) tiles.emplace();
#endif
  for (int64_t i = begin; i < end; ++i) {
    if (i == begin || i % panels == 0) {
      const int64_t first = i / panels * most;
      const uint8_t* bytes = linear.work + first * run.row_bytes;
      block = {first, std::min(most, linear.rows - first), reinterpret_cast<const DotInput*>(bytes),
               run.row_bytes, sums.data()};
      if constexpr (!kDotBytes) {
        for (int64_t r = 0; r < block.count; ++r) {
          copy_numbers(bytes + r * run.row_bytes, run.row_bytes, wide.data() + r * run.row_bytes);
        }
        block.rows = wide.data();
      }
      for (int64_t r = 0; run.has_zeros && r < block.count; ++r) {
        const uint8_t* row = bytes + r * run.row_bytes;
        int32_t sum = 0;
        for (int64_t k = 0; k < linear.in; ++k) sum += row[k] - kDotOffset;
        sums[r] = sum;
      }
    }
    const int64_t panel = i % panels;
    const uint8_t* packed = run.panels + panel * run.sizes.panel_bytes();
#if TORCHLET_KERNELS_AMX
    if (is_amx) {
      amx_multiply_panel(run, block, packed, panel * kWidth);
      continue;
    }
#endif
    multiply_panel(run, block, packed, panel * kWidth);
  }
}

#if !TORCHLET_ARM_DOT && !TORCHLET_AVX_VNNI
void range_row(const float* x, int64_t count, float* low, float* high) {
  const TagF32 d;
  VecF32 smallest = hn::Zero(d), largest = hn::Zero(d);
  for (int64_t i = 0; i < count; i += kLanesI32) {
    const VecF32 v = load_first(d, x + i, count - i);  // 0 beyond the end
    smallest = hn::IfThenElse(hn::Lt(v, smallest), v, smallest);
    largest = hn::IfThenElse(hn::Lt(largest, v), v, largest);
  }
  *low = hn::GetLane(hn::MinOfLanes(d, smallest));
  *high = hn::GetLane(hn::MaxOfLanes(d, largest));
}
#endif

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(packed_bytes);
HWY_EXPORT(pack);
HWY_EXPORT(chunk_count);
HWY_EXPORT(multiply_chunks);
HWY_EXPORT(range_row);

RangeF32 range_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t stride) {
  constexpr int64_t kElementsPerTask = int64_t{1} << 16;
  const Scratch<RangeF32> ranges(rows);
  parallel_for(rows, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, columns)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   HWY_DYNAMIC_DISPATCH(range_row)
                   (x + row * stride, columns, &ranges[row].low, &ranges[row].high);
                 }
               });
  RangeF32 all{0, 0};
  for (int64_t row = 0; row < rows; ++row) {
    all.low = std::min(all.low, ranges[row].low);
    all.high = std::max(all.high, ranges[row].high);
  }
  return all;
}

size_t linear_dynamic_q8_packed_bytes(int64_t in, int64_t out) {
  return TORCHLET_DOT_DISPATCH(packed_bytes)(in, out);
}

void linear_dynamic_q8_pack(int64_t in, int64_t out, const LayerQ8& layer, void* packed) {
  TORCHLET_DOT_DISPATCH(pack)(in, out, layer, static_cast<uint8_t*>(packed));
}

int64_t linear_dynamic_q8_work_bytes(int64_t rows, int64_t in) {
  return (rows + kQuantizedRows - 1) / kQuantizedRows * kQuantizedRows * quantized_row_bytes(in);
}

void linear_dynamic_q8(const LinearDynamicQ8& l) {
  constexpr int64_t kProductsPerTask = int64_t{1} << 18;
  quantize_rows_q8(l.rows, l.in, l.x, l.x_stride, l.quantization, l.work,
                   quantized_row_bytes(l.in));
  const int64_t chunks = TORCHLET_DOT_DISPATCH(chunk_count)(l);
  const int64_t products = l.rows * l.in * l.out;
  const int64_t grain = std::max<int64_t>(1, kProductsPerTask / (products / chunks + 1));
  parallel_for(chunks, grain, [&](int64_t begin, int64_t end) {
    TORCHLET_DOT_DISPATCH(multiply_chunks)(l, begin, end);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
