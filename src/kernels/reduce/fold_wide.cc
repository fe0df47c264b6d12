#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3  // reductions wait for memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/fold_wide.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/reduce/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void fold_f64(Fold fold, const FoldRows& matrix, void* into) {
  fold_any<double>(fold, matrix, into);
}
void fold_i64(Fold fold, const FoldRows& matrix, void* into) {
  fold_any<int64_t>(fold, matrix, into);
}
void fold_runs_f64(Fold fold, const FoldRuns<double>& m, double* into, int64_t into_stride) {
  fold_any_runs(fold, m, into, into_stride);
}
void fold_runs_i64(Fold fold, const FoldRuns<int64_t>& m, int64_t* into, int64_t into_stride) {
  fold_any_runs(fold, m, into, into_stride);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(fold_f64);
HWY_EXPORT(fold_i64);
HWY_EXPORT(fold_runs_f64);
HWY_EXPORT(fold_runs_i64);

void fold_rows_wide(Fold fold, const FoldRows& matrix, void* into) {
  if (matrix.type == FoldType::kFloat64) return HWY_DYNAMIC_DISPATCH(fold_f64)(fold, matrix, into);
  HWY_DYNAMIC_DISPATCH(fold_i64)(fold, matrix, into);
}

void fold_runs(Fold fold, const FoldRuns<double>& matrix, double* into, int64_t into_stride) {
  HWY_DYNAMIC_DISPATCH(fold_runs_f64)(fold, matrix, into, into_stride);
}
void fold_runs(Fold fold, const FoldRuns<int64_t>& matrix, int64_t* into, int64_t into_stride) {
  HWY_DYNAMIC_DISPATCH(fold_runs_i64)(fold, matrix, into, into_stride);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
