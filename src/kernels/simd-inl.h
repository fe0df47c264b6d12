// Loads and stores of the first lanes of a vector, which touch no other memory.

#if defined(TORCHLET_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_SIMD_INL_H_
#undef TORCHLET_KERNELS_SIMD_INL_H_
#else
#define TORCHLET_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

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

// The first `count` elements at `from`, count >= 0; the other lanes are zero.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* HWY_RESTRICT from, int64_t count) {
  if (count >= static_cast<int64_t>(HWY_LANES(T))) return hn::LoadU(d, from);
#if TORCHLET_SIMD_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN T lanes[HWY_LANES(T)] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* HWY_RESTRICT to, int64_t count) {
  if (count >= static_cast<int64_t>(HWY_LANES(T))) return hn::StoreU(v, d, to);
#if TORCHLET_SIMD_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_SIMD_INL_H_
