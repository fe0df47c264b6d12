#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/gemm/gemm-inl.h"
#include "kernels/gemm/gemm_thin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

PanelShape panel_shape_f32() {
  return {kRows, panel_width<float>(), static_cast<int>(HWY_LANES(float))};
}
void multiply_block_f32(const BlockProduct<float>& product) { multiply_block_t(product); }
void multiply_thin_f32(const ThinProduct<float>& product, int64_t rows, int64_t begin,
                       int64_t end) {
  multiply_thin_t(product, rows, begin, end);
}
void add_rows_f32(const RowSum<float>& sum, int64_t rows) {
  rows == 1 ? add_rows_t<1>(sum) : add_rows_t<2>(sum);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(panel_shape_f32);
HWY_EXPORT(multiply_block_f32);
HWY_EXPORT(multiply_thin_f32);
HWY_EXPORT(add_rows_f32);

PanelShape panel_shape(const float*) { return HWY_DYNAMIC_DISPATCH(panel_shape_f32)(); }
void multiply_block(const BlockProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_block_f32)(product);
}
void multiply_thin(const ThinProduct<float>& product, int64_t rows, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_thin_f32)(product, rows, begin, end);
}
void add_rows(const RowSum<float>& sum, int64_t rows) {
  HWY_DYNAMIC_DISPATCH(add_rows_f32)(sum, rows);
}

void gemm_f32(int64_t m, int64_t n, int64_t k, ConstMatrix<float> a, ConstMatrix<float> b, float* c,
              int64_t c_stride, const GemmEpilogue<float>& epilogue) {
  run_plain_gemm(m, n, k, a, b, c, c_stride, epilogue);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
