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

#if HWY_TARGET == HWY_AVX3_DL || TORCHLET_AVX_VNNI

// AVX-512 VNNI and AVX-VNNI: four bytes at a time.
constexpr int kDotDepth = 4;
constexpr int kDotOffset = 0;  // what dot() has subtracted from the values of A

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
#if TORCHLET_AVX_VNNI
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(a.raw), "x"(b.raw));
#else
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
#endif
  return sum;
}

#elif HWY_TARGET == HWY_NEON && TORCHLET_ARM_DOT

// The dot product of signed bytes, four at a time, for which unsigned ones have 128 subtracted
// first; or the product of a matrix of two rows of eight unsigned bytes and one of two columns of
// signed ones, which is no dot() but in dot_sums-inl.h. The instructions themselves, because not
// every compiler has the intrinsics without its switch; foreach_dot.h tells the assembler.
constexpr int kDotDepth = TORCHLET_ARM_DOT == 1 ? 4 : 8;
constexpr int kDotOffset = TORCHLET_ARM_DOT == 1 ? 128 : 0;

inline int32_t dot_operand(const uint8_t* a) {
  return static_cast<int32_t>((a[0] | a[1] << 8 | a[2] << 16 | static_cast<uint32_t>(a[3]) << 24) ^
                              0x80808080);
}
HWY_INLINE DotVec load_dot_operand(const int8_t* b) {
  return hn::LoadU(DotTag(), reinterpret_cast<const int32_t*>(b));
}
HWY_INLINE DotVec dot(DotVec sum, DotVec a, DotVec b) {
  asm("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum.raw) : "w"(a.raw), "w"(b.raw));
  return sum;
}

#else

// Two at a time, widened to 16 bits.
constexpr int kDotDepth = 2;
constexpr int kDotOffset = 0;

inline int32_t dot_operand(const uint8_t* a) { return a[0] | a[1] << 16; }

HWY_INLINE DotVec load_dot_operand(const int16_t* b) {
  return hn::LoadU(DotTag(), reinterpret_cast<const int32_t*>(b));
}
HWY_INLINE DotVec load_dot_operand(const int8_t* b) {
  const hn::Repartition<int16_t, DotTag> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  return hn::BitCast(DotTag(), hn::PromoteTo(d16, hn::LoadU(d8, b)));
}

#if HWY_TARGET == HWY_NEON
// The sums of neighbouring lanes.
HWY_INLINE int32x4_t add_pairs(int32x4_t low, int32x4_t high) {
#if HWY_ARCH_ARM_A64
  return vpaddq_s32(low, high);
#else
  return vcombine_s32(vpadd_s32(vget_low_s32(low), vget_high_s32(low)),
                      vpadd_s32(vget_low_s32(high), vget_high_s32(high)));
#endif
}
#endif

HWY_INLINE DotVec dot(DotVec sum, DotVec a, DotVec b) {
  const hn::Repartition<int16_t, DotTag> d16;
  const auto a16 = hn::BitCast(d16, a), b16 = hn::BitCast(d16, b);
#if HWY_TARGET == HWY_NEON
  const int32x4_t low = vmull_s16(vget_low_s16(a16.raw), vget_low_s16(b16.raw));
  const int32x4_t high = vmull_s16(vget_high_s16(a16.raw), vget_high_s16(b16.raw));
  return hn::Add(sum, DotVec(add_pairs(low, high)));
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
