// Integer dot products, which have no portable form: each lane of 32 bits gets the sum of kDotDepth
// products.

#if defined(TORCHLET_KERNELS_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_DOT_INL_H_
#undef TORCHLET_KERNELS_DOT_INL_H_
#else
#define TORCHLET_KERNELS_DOT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DotTag = hn::ScalableTag<int32_t>;
using DotVec = hn::Vec<DotTag>;
constexpr int kDotLanes = static_cast<int>(HWY_LANES(int32_t));

#if HWY_TARGET == HWY_AVX3_DL

// AVX-512 VNNI: four bytes at a time.
constexpr int kDotDepth = 4;

// kDotDepth values of A, as dot() wants them in one lane.
inline int32_t dot_operand(const uint8_t* a) {
  return static_cast<int32_t>(a[0] | a[1] << 8 | a[2] << 16 | static_cast<uint32_t>(a[3]) << 24);
}
// kDotDepth values of B for each lane.
HWY_INLINE DotVec load_dot_operand(const int8_t* b) {
  return hn::LoadU(DotTag(), reinterpret_cast<const int32_t*>(b));
}
// The instruction itself, because Highway compiles this target without the intrinsic's switch.
HWY_INLINE DotVec dot(DotVec sum, DotVec a, DotVec b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
}

#else

// Two at a time, widened to 16 bits.
constexpr int kDotDepth = 2;

inline int32_t dot_operand(const uint8_t* a) { return a[0] | a[1] << 16; }

HWY_INLINE DotVec load_dot_operand(const int8_t* b) {
  const hn::Repartition<int16_t, DotTag> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  return hn::BitCast(DotTag(), hn::PromoteTo(d16, hn::LoadU(d8, b)));
}

HWY_INLINE DotVec dot(DotVec sum, DotVec a, DotVec b) {
  const hn::Repartition<int16_t, DotTag> d16;
  const auto a16 = hn::BitCast(d16, a), b16 = hn::BitCast(d16, b);
#if HWY_TARGET == HWY_NEON
  const int32x4_t low = vmull_s16(vget_low_s16(a16.raw), vget_low_s16(b16.raw));
  const int32x4_t high = vmull_s16(vget_high_s16(a16.raw), vget_high_s16(b16.raw));
#if HWY_ARCH_ARM_A64
  return hn::Add(sum, DotVec(vpaddq_s32(low, high)));
#else
  const int32x2_t low_sums = vpadd_s32(vget_low_s32(low), vget_high_s32(low));
  const int32x2_t high_sums = vpadd_s32(vget_low_s32(high), vget_high_s32(high));
  return hn::Add(sum, DotVec(vcombine_s32(low_sums, high_sums)));
#endif
#else
  auto unused = sum;
  return hn::ReorderWidenMulAccumulate(DotTag(), a16, b16, sum, unused);  // pmaddwd
#endif
}

#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_DOT_INL_H_
