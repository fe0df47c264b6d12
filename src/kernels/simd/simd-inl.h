// What Highway leaves open: loads and stores of the first lanes of a vector that touch no other
// memory, and minima and maxima that keep a NaN.

#if defined(TORCHLET_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_SIMD_INL_H_
#undef TORCHLET_KERNELS_SIMD_INL_H_
#else
#define TORCHLET_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef TORCHLET_SIMD_MASKED_MEMORY
// 1 if masked loads and stores do not fault on lanes that are masked out.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define TORCHLET_SIMD_MASKED_MEMORY 1
#else
#define TORCHLET_SIMD_MASKED_MEMORY 0
#endif

#if !TORCHLET_SIMD_MASKED_MEMORY
// The last elements of a row, one by one: out of line, because every loop has such an end.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE hn::Vec<D> load_some(D d, const T* from, int64_t count) {
  HWY_ALIGN T lanes[HWY_LANES(T)] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void store_some(hn::Vec<D> v, D d, T* to, int64_t count) {
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}
#endif

// The first `count` elements at `from`, count >= 0; the other lanes are zero.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* HWY_RESTRICT from, int64_t count) {
  if (count >= static_cast<int64_t>(HWY_LANES(T))) return hn::LoadU(d, from);
#if TORCHLET_SIMD_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  return load_some(d, from, count);
#endif
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* HWY_RESTRICT to, int64_t count) {
  if (count >= static_cast<int64_t>(HWY_LANES(T))) return hn::StoreU(v, d, to);
#if TORCHLET_SIMD_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  store_some(v, d, to, count);
#endif
}

// a b + c, of integers modulo their range.
template <class V>
HWY_INLINE V multiply_add(V a, V b, V c) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
    return hn::MulAdd(a, b, c);
  } else {
    return hn::Add(hn::Mul(a, b), c);
  }
}

// The same vector. GCC would rather load a vector again for each multiply-add that it is part of.
template <class V>
HWY_INLINE V keep_in_register(V v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// The maximum (minimum) of a number and of x, which may be NaN and then is the result.
#if HWY_TARGET == HWY_NEON
HWY_INLINE hn::Vec128<float> max_keeping_nan(hn::Vec128<float> number, hn::Vec128<float> x) {
  return hn::Vec128<float>(vmaxq_f32(number.raw, x.raw));
}
HWY_INLINE hn::Vec128<float> min_keeping_nan(hn::Vec128<float> number, hn::Vec128<float> x) {
  return hn::Vec128<float>(vminq_f32(number.raw, x.raw));
}
#if HWY_HAVE_FLOAT64
HWY_INLINE hn::Vec128<double> max_keeping_nan(hn::Vec128<double> number, hn::Vec128<double> x) {
  return hn::Vec128<double>(vmaxq_f64(number.raw, x.raw));
}
HWY_INLINE hn::Vec128<double> min_keeping_nan(hn::Vec128<double> number, hn::Vec128<double> x) {
  return hn::Vec128<double>(vminq_f64(number.raw, x.raw));
}
#endif
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
// These return the operand that is a number.
template <class V>
HWY_INLINE V max_keeping_nan(V number, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(number, x));
}
template <class V>
HWY_INLINE V min_keeping_nan(V number, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(number, x));
}
#else
// x86 returns the second operand if one of the two is NaN.
template <class V>
HWY_INLINE V max_keeping_nan(V number, V x) {
  return hn::Max(number, x);
}
template <class V>
HWY_INLINE V min_keeping_nan(V number, V x) {
  return hn::Min(number, x);
}
#endif

template <class V>
HWY_INLINE V clamp(V x, V low, V high) {
  return min_keeping_nan(high, max_keeping_nan(low, x));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_SIMD_INL_H_
