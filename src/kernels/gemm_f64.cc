#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_f64.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

PanelShape panel_shape_f64() { return {kRows, panel_width<double>()}; }
void multiply_panel_f64(const PanelProduct<double>& product) { multiply_panel_t(product); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(panel_shape_f64);
HWY_EXPORT(multiply_panel_f64);

PanelShape panel_shape(const double*) { return HWY_DYNAMIC_DISPATCH(panel_shape_f64)(); }
void multiply_panel(const PanelProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_panel_f64)(product);
}

void gemm_f64(int64_t m, int64_t n, int64_t k, ConstMatrix<double> a, ConstMatrix<double> b,
              double* c, int64_t c_stride, const GemmEpilogue<double>& epilogue) {
  run_gemm<double>(
      {.m = m, .n = n, .k = k, .a = a, .c = c, .c_stride = c_stride, .epilogue = epilogue},
      MatrixPanels<double>(b, m));
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
