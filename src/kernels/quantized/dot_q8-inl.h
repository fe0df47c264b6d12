// What the quantized kernels with weights share: the types that the dot product of dot-inl.h takes
// and the order of channels in registers.

#if defined(TORCHLET_KERNELS_DOT_Q8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_DOT_Q8_INL_H_
#undef TORCHLET_KERNELS_DOT_Q8_INL_H_
#else
#define TORCHLET_KERNELS_DOT_Q8_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstdlib>

#include "kernels/quantized/layer_q8.h"
#include "kernels/simd/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The dot product takes a depth of four or eight bytes, or of two integers of 16 bits. Weights of
// 16 bits hold w - zero. In 8 bits that may not fit: such a layer has the sum of three smaller
// weights instead, and uses its input three times.
constexpr bool kDotBytes = kDotDepth >= 4;
template <bool>
struct DotTypes {
  using Input = uint8_t;
  using Weight = int8_t;
};
template <>
struct DotTypes<false> {
  using Input = int16_t;
  using Weight = int16_t;
};
using DotInput = DotTypes<kDotBytes>::Input;
using DotWeight = DotTypes<kDotBytes>::Weight;

inline int weight_repeats(const LayerQ8& layer, int64_t channels) {
  if (!kDotBytes) return 1;
  for (int64_t c = 0; c < channels; ++c) {
    if (weight_zero_point(layer, c) != 0) return 3;
  }
  return 1;
}

inline DotWeight weight_part(int weight, int repeats, int part) {
  const int third = repeats == 1 ? 0 : weight / 3;
  return static_cast<DotWeight>(part == 0 ? weight - (repeats - 1) * third : third);
}

// Which channel of a panel of `vectors` vectors has a column in memory: packing bytes in blocks of
// 128 bits then puts them in order.
inline int64_t channel_of_column(int64_t column, int64_t vectors) {
  const int64_t vector = column / kDotLanes, lane = column % kDotLanes;
  return lane / 4 * 4 * vectors + vector * 4 + lane % 4;
}

// What the sums of a column begin with, and whether the column is wide (see RequantizeQ8).
struct ColumnConstants {
  int32_t start;
  float multiplier;
  bool wide;
};

// From the sums of the column's weights and of their magnitudes.
inline ColumnConstants column_constants(const LayerQ8& layer, int64_t channel, int64_t sum,
                                        int64_t magnitude) {
  const RequantizationQ8 r = requantization_q8(layer, channel);
  const int64_t start = r.bias - (layer.input_zero_point - kDotOffset) * sum;
  const double most = static_cast<double>(std::abs(int64_t{r.bias}) + 255 * magnitude);
  return {static_cast<int32_t>(static_cast<uint32_t>(start)), r.multiplier,
          !(most * static_cast<double>(r.multiplier) < 0x1p30)};
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_DOT_Q8_INL_H_
