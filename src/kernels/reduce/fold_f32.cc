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

void fold_runs_f32(Fold fold, const FoldRuns<float>& m, float* into, int64_t into_stride) {
  fold_any_runs(fold, m, into, into_stride);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(fold_f32);
HWY_EXPORT(fold_runs_f32);

void fold_rows(Fold fold, const FoldRows& matrix, void* into) {
  if (matrix.type != FoldType::kFloat32) return fold_rows_wide(fold, matrix, into);
  HWY_DYNAMIC_DISPATCH(fold_f32)(fold, matrix, into);
}

void fold_runs(Fold fold, const FoldRuns<float>& matrix, float* into, int64_t into_stride) {
  HWY_DYNAMIC_DISPATCH(fold_runs_f32)(fold, matrix, into, into_stride);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
