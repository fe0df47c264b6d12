// Sums of integers to bytes, in registers. See layer_q8.h for the arithmetic.

#if defined(TORCHLET_KERNELS_REQUANTIZE_Q8_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_REQUANTIZE_Q8_INL_H_
#undef TORCHLET_KERNELS_REQUANTIZE_Q8_INL_H_
#else
#define TORCHLET_KERNELS_REQUANTIZE_Q8_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/quantized/layer_q8.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagI32 = hn::ScalableTag<int32_t>;
using TagF32 = hn::ScalableTag<float>;
using TagI16 = hn::ScalableTag<int16_t>;
using TagU8 = hn::ScalableTag<uint8_t>;
using VecI32 = hn::Vec<TagI32>;
using VecF32 = hn::Vec<TagF32>;
using VecI16 = hn::Vec<TagI16>;
using VecU8 = hn::Vec<TagU8>;
constexpr int kLanesI32 = static_cast<int>(HWY_LANES(int32_t));

// To the nearest integer, halves to even, of numbers that an int32 can hold.
HWY_INLINE VecI32 round_to_i32(VecF32 v) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VecI32{_mm512_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VecI32{_mm256_cvtps_epi32(v.raw)};
#elif HWY_TARGET == HWY_SSE4
  return VecI32{_mm_cvtps_epi32(v.raw)};
#else
  return hn::NearestInt(v);
#endif
}

// The two vectors, saturated, in blocks of 128 bits: block b of the result holds block b of `a`
// and then that of `b`.
HWY_INLINE VecI16 pack_i16(VecI32 a, VecI32 b) {
#if HWY_TARGET == HWY_NEON  // where Highway's ReorderDemote2To puts b first on 32-bit Arm
  const hn::Half<TagI16> half;
  return hn::Combine(TagI16(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#else
  return hn::ReorderDemote2To(TagI16(), a, b);
#endif
}
HWY_INLINE VecU8 pack_u8(VecI16 a, VecI16 b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VecU8{_mm512_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VecU8{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4
  return VecU8{_mm_packus_epi16(a.raw, b.raw)};
#else
  const hn::Half<TagU8> half;
  return hn::Combine(TagU8(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

// Brings four vectors of sums to bytes, packed in blocks as above: block b of the result holds
// block b of each of the four. Make a local copy before a loop that stores bytes: those could be
// part of anything that is not local.
class RequantizeQ8 {
 public:
  // `wide`: float(sum) * multiplier may leave the range of int32.
  RequantizeQ8(const OutputQ8& output, bool wide)
      : zero_(hn::Set(TagI16(), output.zero_point)),
        low_(hn::Set(TagU8(), output.low)),
        high_(hn::Set(TagU8(), output.high)),
        wide_(wide),
        clamps_(output.low != 0 || output.high != 255) {}

  HWY_INLINE VecU8 operator()(VecI32 a, VecF32 a_multiplier, VecI32 b, VecF32 b_multiplier,
                              VecI32 c, VecF32 c_multiplier, VecI32 d, VecF32 d_multiplier) const {
    const TagF32 d32;
    VecF32 xa = hn::Mul(hn::ConvertTo(d32, a), a_multiplier);
    VecF32 xb = hn::Mul(hn::ConvertTo(d32, b), b_multiplier);
    VecF32 xc = hn::Mul(hn::ConvertTo(d32, c), c_multiplier);
    VecF32 xd = hn::Mul(hn::ConvertTo(d32, d), d_multiplier);
    if (HWY_UNLIKELY(wide_)) {
      xa = within_i16(xa);
      xb = within_i16(xb);
      xc = within_i16(xc);
      xd = within_i16(xd);
    }
    return pack(round_to_i32(xa), round_to_i32(xb), round_to_i32(xc), round_to_i32(xd));
  }
  HWY_INLINE VecU8 pack(VecI32 a, VecI32 b, VecI32 c, VecI32 d) const {
    const VecI16 ab = hn::SaturatedAdd(pack_i16(a, b), zero_);
    const VecI16 cd = hn::SaturatedAdd(pack_i16(c, d), zero_);
    const VecU8 bytes = pack_u8(ab, cd);
    return clamps_ ? hn::Min(hn::Max(bytes, low_), high_) : bytes;
  }

 private:
  static HWY_INLINE VecF32 within_i16(VecF32 x) {
    const TagF32 d;
    return hn::Min(hn::Max(x, hn::Set(d, -65536.0f)), hn::Set(d, 65536.0f));
  }

  VecI16 zero_;
  VecU8 low_, high_;
  bool wide_, clamps_;
};

// The first 4 * kVectors bytes of every block, joined.
template <int kVectors>
HWY_INLINE VecU8 join_blocks(VecU8 bytes) {
  if constexpr (kVectors < 4 && kLanesI32 > 4) {
    alignas(64) static constexpr int32_t kFrom[3][16] = {
        {0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12},
        {0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13},
        {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 1, 2, 4}};
    alignas(64) int32_t from[kLanesI32];
    for (int i = 0; i < kLanesI32; ++i) from[i] = kFrom[kVectors - 1][i] % kLanesI32;
    return hn::BitCast(TagU8(), hn::TableLookupLanes(hn::BitCast(TagI32(), bytes),
                                                     hn::SetTableIndices(TagI32(), from)));
  } else {
    return bytes;
  }
}

using TagQuarter = hn::Rebind<uint8_t, TagI32>;  // the bytes of one vector of 32 bits

// The v-th such part of a vector of bytes.
HWY_INLINE VecI32 load_i32(const uint8_t* from, int v) {
  return hn::PromoteTo(TagI32(), hn::LoadU(TagQuarter(), from + v * kLanesI32));
}

// Four vectors that were packed in blocks, in their order.
HWY_INLINE VecU8 in_order(VecU8 blocks) {
  if constexpr (kLanesI32 == 4) {
    return blocks;
  } else {
    alignas(64) int32_t from[kLanesI32];
    constexpr int kBlocks = kLanesI32 / 4;
    for (int i = 0; i < kLanesI32; ++i) from[i] = i % kBlocks * 4 + i / kBlocks;
    return hn::BitCast(TagU8(), hn::TableLookupLanes(hn::BitCast(TagI32(), blocks),
                                                     hn::SetTableIndices(TagI32(), from)));
  }
}

// The first `count` bytes, and nothing beside them.
HWY_INLINE void store_bytes(VecU8 bytes, uint8_t* HWY_RESTRICT to, int64_t count) {
  constexpr int64_t kBytes = static_cast<int64_t>(HWY_LANES(uint8_t));
  if (count >= kBytes) return hn::StoreU(bytes, TagU8(), to);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  _mm512_mask_storeu_epi8(to, (uint64_t{1} << count) - 1, bytes.raw);
#else
  alignas(64) uint8_t buffer[kBytes];
  hn::Store(bytes, TagU8(), buffer);
  std::memcpy(to, buffer, static_cast<size_t>(count));
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_REQUANTIZE_Q8_INL_H_
