// Rows of panels as floats, which may lie in memory as Float16.

#if defined(TORCHLET_KERNELS_GEMM_HALF_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_GEMM_HALF_PANELS_INL_H_
#undef TORCHLET_KERNELS_GEMM_HALF_PANELS_INL_H_
#else
#define TORCHLET_KERNELS_GEMM_HALF_PANELS_INL_H_
#endif

#include <hwy/highway.h>

#include "base/selection.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether instructions convert them. Elsewhere Highway's functions do not round, and know no
// infinity.
constexpr bool kHasHalfPanels =
    selection::kHasFloat16 && ((HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64);

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const float* from) {
  return hn::Load(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const hwy::float16_t* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), from));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_GEMM_HALF_PANELS_INL_H_
