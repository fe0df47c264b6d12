#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#define TORCHLET_NO_AVX3
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/signal/fft_f64.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/signal/fft_stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void stage_f64(const FftStage<double>& stage) { any_stage(stage); }
void multiply_f64(const RowProducts<double>& rows) { multiply_any(rows); }
void split_f64(const double* from, double* re, double* im, int64_t count) {
  split_any(from, re, im, count);
}
void join_f64(const double* re, const double* im, double scale, double* to, int64_t count) {
  join_any(re, im, scale, to, count);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(stage_f64);
HWY_EXPORT(multiply_f64);
HWY_EXPORT(split_f64);
HWY_EXPORT(join_f64);

template <>
void run_stage(const FftStage<double>& stage) {
  HWY_DYNAMIC_DISPATCH(stage_f64)(stage);
}
template <>
void multiply_rows(const RowProducts<double>& rows) {
  HWY_DYNAMIC_DISPATCH(multiply_f64)(rows);
}
void split_complex(const double* from, double* re, double* im, int64_t count) {
  HWY_DYNAMIC_DISPATCH(split_f64)(from, re, im, count);
}
void join_complex(const double* re, const double* im, double scale, double* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(join_f64)(re, im, scale, to, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
