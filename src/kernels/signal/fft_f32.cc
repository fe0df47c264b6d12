#define TORCHLET_NO_AVX3
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/signal/fft_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/signal/fft_stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

void stage_f32(const FftStage<float>& stage) { any_stage(stage); }
void multiply_f32(const RowProducts<float>& rows) { multiply_any(rows); }
void split_f32(const float* from, float* re, float* im, int64_t count) {
  split_any(from, re, im, count);
}
void join_f32(const float* re, const float* im, float scale, float* to, int64_t count) {
  join_any(re, im, scale, to, count);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(stage_f32);
HWY_EXPORT(multiply_f32);
HWY_EXPORT(split_f32);
HWY_EXPORT(join_f32);

template <>
void run_stage(const FftStage<float>& stage) {
  HWY_DYNAMIC_DISPATCH(stage_f32)(stage);
}
template <>
void multiply_rows(const RowProducts<float>& rows) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)(rows);
}
void split_complex(const float* from, float* re, float* im, int64_t count) {
  HWY_DYNAMIC_DISPATCH(split_f32)(from, re, im, count);
}
void join_complex(const float* re, const float* im, float scale, float* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(join_f32)(re, im, scale, to, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
