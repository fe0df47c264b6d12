#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/reduce/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void fold_f32(Fold fold, const FoldRows& matrix, void* into) {
  fold_any<float>(fold, matrix, into);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(fold_f32);

void fold_rows(Fold fold, const FoldRows& matrix, void* into) {
  if (matrix.type != FoldType::kFloat32) return fold_rows_wide(fold, matrix, into);
  HWY_DYNAMIC_DISPATCH(fold_f32)(fold, matrix, into);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
