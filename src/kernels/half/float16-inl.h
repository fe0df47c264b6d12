#pragma once

// Vectors of Float16, for sources between TORCHLET_FLOAT16_BEGIN and TORCHLET_FLOAT16_END, which
// are compiled for the one instruction set that has them. Highway has none yet.

#include <hwy/base.h>

#include <cstdint>
#include <cstring>

#include "kernels/half/float16.h"

#if HWY_ARCH_X86
HWY_DIAGNOSTICS(push)
HWY_DIAGNOSTICS_OFF(disable : 4701 4703, ignored "-Wuninitialized")
#if HWY_COMPILER_GCC_ACTUAL
HWY_DIAGNOSTICS_OFF(disable : 4701 4703, ignored "-Wmaybe-uninitialized")
#endif
#include <immintrin.h>
HWY_DIAGNOSTICS(pop)
#define TORCHLET_FLOAT16_TARGET \
  "avx512fp16,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2"
#elif HWY_ARCH_ARM
#include <arm_neon.h>
#define TORCHLET_FLOAT16_TARGET "arch=armv8.2-a+fp16"
#endif
#if HWY_ARCH_ARM && HWY_COMPILER_CLANG  // the whole file has the instructions
#define TORCHLET_FLOAT16_BEGIN
#define TORCHLET_FLOAT16_END
#define TORCHLET_FLOAT16_ATTR
#else
#define TORCHLET_FLOAT16_ATTR __attribute__((target(TORCHLET_FLOAT16_TARGET)))  // of a lambda
#define TORCHLET_FLOAT16_BEGIN HWY_PUSH_ATTRIBUTES(TORCHLET_FLOAT16_TARGET)
#define TORCHLET_FLOAT16_END HWY_POP_ATTRIBUTES
#endif

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels::float16 {

#if HWY_ARCH_X86

using Vec = __m512h;
using Floats = __m512;
constexpr int kLanes = 32, kFloatLanes = 16;

HWY_INLINE Vec zero() { return _mm512_setzero_ph(); }
HWY_INLINE Vec load(const Float16* from) { return _mm512_loadu_ph(from); }
HWY_INLINE void store(Vec v, Float16* to) { _mm512_storeu_ph(to, v); }
HWY_INLINE Vec mul_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ph(a, b, c); }
HWY_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ph(a, b); }
HWY_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ph(a, b); }
// A NaN in the second operand stays.
HWY_INLINE Vec min(Vec number, Vec x) { return _mm512_min_ph(number, x); }
HWY_INLINE Vec max(Vec number, Vec x) { return _mm512_max_ph(number, x); }
// The larger of two, NaN if one of them is.
HWY_INLINE Vec larger(Vec a, Vec b) {
  const __mmask32 nan = _mm512_cmp_ph_mask(a, a, _CMP_UNORD_Q);
  return _mm512_mask_blend_ph(nan, _mm512_max_ph(a, b), a);
}

HWY_INLINE Floats zero_floats() { return _mm512_setzero_ps(); }
HWY_INLINE Floats set_floats(float x) { return _mm512_set1_ps(x); }
HWY_INLINE Floats load(const float* from) { return _mm512_loadu_ps(from); }
HWY_INLINE void store(Floats v, float* to) { _mm512_storeu_ps(to, v); }
HWY_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
HWY_INLINE Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
HWY_INLINE Floats min(Floats number, Floats x) { return _mm512_min_ps(number, x); }
HWY_INLINE Floats max(Floats number, Floats x) { return _mm512_max_ps(number, x); }

// The first and the second half of a vector.
HWY_INLINE Floats widen_low(Vec v) {
  return _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_castph_si512(v)));
}
HWY_INLINE Floats widen_high(Vec v) {
  return _mm512_cvtph_ps(_mm512_extracti64x4_epi64(_mm512_castph_si512(v), 1));
}
HWY_INLINE Vec narrow(Floats low, Floats high) {
  const __m512i first = _mm512_castsi256_si512(_mm512_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT));
  const __m256i second = _mm512_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT);
  return _mm512_castsi512_ph(_mm512_inserti64x4(first, second, 1));
}

// The first `count` >= 0 elements, the others zero; no other memory is touched.
HWY_INLINE __mmask32 first_lanes(int64_t count) {
  return count >= kLanes ? ~__mmask32{0} : _bzhi_u32(~0u, static_cast<unsigned>(count));
}
HWY_INLINE Vec load_first(const Float16* from, int64_t count) {
  return _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(first_lanes(count), from));
}
HWY_INLINE void store_first(Vec v, Float16* to, int64_t count) {
  _mm512_mask_storeu_epi16(to, first_lanes(count), _mm512_castph_si512(v));
}
HWY_INLINE __mmask16 first_floats(int64_t count) {
  return static_cast<__mmask16>(
      count >= kFloatLanes ? 0xffffu : _bzhi_u32(~0u, static_cast<unsigned>(count)));
}
HWY_INLINE Floats load_first(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(first_floats(count), from);
}
HWY_INLINE void store_first(Floats v, float* to, int64_t count) {
  _mm512_mask_storeu_ps(to, first_floats(count), v);
}

// Two neighbours in all pairs of lanes; or one with zeros.
HWY_INLINE Vec set_pair(const Float16* from) {
  int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return _mm512_castsi512_ph(_mm512_set1_epi32(pair));
}
HWY_INLINE Vec set_single(const Float16* from) {
  return _mm512_castsi512_ph(_mm512_set1_epi32(from->bits));
}
// The sums of neighbouring lanes, those of a and b in turns; or those of a, in the first lanes.
HWY_INLINE Vec add_pairs(Vec a, Vec b) {
  constexpr __mmask32 kOdd = 0xaaaaaaaau;
  const __m512i crossed = _mm512_castph_si512(_mm512_mask_blend_ph(kOdd, b, a));
  return _mm512_add_ph(_mm512_mask_blend_ph(kOdd, a, b),
                       _mm512_castsi512_ph(_mm512_rol_epi32(crossed, 16)));
}
HWY_INLINE Vec add_pairs(Vec a) {
  const __m512i turned = _mm512_rol_epi32(_mm512_castph_si512(a), 16);
  const __m512i sums = _mm512_castph_si512(_mm512_add_ph(a, _mm512_castsi512_ph(turned)));
  return _mm512_castsi512_ph(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(sums)));
}

// a in the even lanes, b in the odd ones; and the pairs of a and of b in turns.
HWY_INLINE Vec zip(Floats a, Floats b) {
  const __m512i even = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  const __m512i odd = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT));
  return _mm512_castsi512_ph(_mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
}
HWY_INLINE void store_zipped_pairs(Vec a, Vec b, Float16* to) {
  const __m512i first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  const __m512i p = _mm512_castph_si512(a), q = _mm512_castph_si512(b);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi32(p, first, q));
  _mm512_storeu_si512(to + kLanes, _mm512_permutex2var_epi32(p, last, q));
}

#elif HWY_ARCH_ARM

using Vec = float16x8_t;
using Floats = float32x4_t;
constexpr int kLanes = 8, kFloatLanes = 4;

HWY_INLINE Vec zero() { return vreinterpretq_f16_u16(vdupq_n_u16(0)); }
HWY_INLINE Vec load(const Float16* from) { return vreinterpretq_f16_u16(vld1q_u16(&from->bits)); }
HWY_INLINE void store(Vec v, Float16* to) { vst1q_u16(&to->bits, vreinterpretq_u16_f16(v)); }
HWY_INLINE Vec mul_add(Vec a, Vec b, Vec c) { return vfmaq_f16(c, a, b); }
HWY_INLINE Vec add(Vec a, Vec b) { return vaddq_f16(a, b); }
HWY_INLINE Vec mul(Vec a, Vec b) { return vmulq_f16(a, b); }
HWY_INLINE Vec min(Vec number, Vec x) { return vminq_f16(number, x); }
HWY_INLINE Vec max(Vec number, Vec x) { return vmaxq_f16(number, x); }
HWY_INLINE Vec larger(Vec a, Vec b) { return vmaxq_f16(a, b); }

HWY_INLINE Floats zero_floats() { return vdupq_n_f32(0); }
HWY_INLINE Floats set_floats(float x) { return vdupq_n_f32(x); }
HWY_INLINE Floats load(const float* from) { return vld1q_f32(from); }
HWY_INLINE void store(Floats v, float* to) { vst1q_f32(to, v); }
HWY_INLINE Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
HWY_INLINE Floats mul(Floats a, Floats b) { return vmulq_f32(a, b); }
HWY_INLINE Floats min(Floats number, Floats x) { return vminq_f32(number, x); }
HWY_INLINE Floats max(Floats number, Floats x) { return vmaxq_f32(number, x); }

HWY_INLINE Floats widen_low(Vec v) { return vcvt_f32_f16(vget_low_f16(v)); }
HWY_INLINE Floats widen_high(Vec v) { return vcvt_f32_f16(vget_high_f16(v)); }
HWY_INLINE Vec narrow(Floats low, Floats high) {
  return vcombine_f16(vcvt_f16_f32(low), vcvt_f16_f32(high));
}

template <typename T, typename V, int kCount>
HWY_INLINE V load_lanes(const T* from, int64_t count) {
  if (count >= kCount) return load(from);
  T lanes[kCount] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
template <typename T, typename V, int kCount>
HWY_INLINE void store_lanes(V v, T* to, int64_t count) {
  if (count >= kCount) return store(v, to);
  T lanes[kCount];
  store(v, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}
HWY_INLINE Vec load_first(const Float16* from, int64_t count) {
  return load_lanes<Float16, Vec, kLanes>(from, count);
}
HWY_INLINE void store_first(Vec v, Float16* to, int64_t count) {
  store_lanes<Float16, Vec, kLanes>(v, to, count);
}
HWY_INLINE Floats load_first(const float* from, int64_t count) {
  return load_lanes<float, Floats, kFloatLanes>(from, count);
}
HWY_INLINE void store_first(Floats v, float* to, int64_t count) {
  store_lanes<float, Floats, kFloatLanes>(v, to, count);
}

HWY_INLINE Vec set_pair(const Float16* from) {
  uint32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return vreinterpretq_f16_u32(vdupq_n_u32(pair));
}
HWY_INLINE Vec set_single(const Float16* from) {
  return vreinterpretq_f16_u32(vdupq_n_u32(from->bits));
}
HWY_INLINE Vec add_pairs(Vec a, Vec b) { return vaddq_f16(vtrn1q_f16(a, b), vtrn2q_f16(a, b)); }
HWY_INLINE Vec add_pairs(Vec a) { return vpaddq_f16(a, a); }

HWY_INLINE Vec zip(Floats a, Floats b) { return vzip1q_f16(narrow(a, a), narrow(b, b)); }
HWY_INLINE void store_zipped_pairs(Vec a, Vec b, Float16* to) {
  const uint32x4_t p = vreinterpretq_u32_f16(a), q = vreinterpretq_u32_f16(b);
  store(vreinterpretq_f16_u32(vzip1q_u32(p, q)), to);
  store(vreinterpretq_f16_u32(vzip2q_u32(p, q)), to + kLanes);
}

#endif

HWY_INLINE Vec set(float x) { return narrow(set_floats(x), set_floats(x)); }
HWY_INLINE Vec load_narrow(const float* from) {
  return narrow(load(from), load(from + kFloatLanes));
}
HWY_INLINE Vec load_narrow_first(const float* from, int64_t count) {
  const int64_t rest = count - kFloatLanes;
  return narrow(load_first(from, count),
                rest > 0 ? load_first(from + kFloatLanes, rest) : zero_floats());
}
template <typename V>
HWY_INLINE V clamp(V x, V low, V high) {
  return min(high, max(low, x));
}
HWY_INLINE Vec apply_hardswish(Vec x) {
  return mul(x, clamp(mul_add(x, set(1.0f / 6), set(0.5f)), zero(), set(1)));
}
// The same vector. GCC would rather load a vector again for each multiply-add that it is part of.
HWY_INLINE Vec keep_in_register(Vec v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v));
#endif
  return v;
}

}  // namespace torchlet::kernels::float16
TORCHLET_FLOAT16_END
