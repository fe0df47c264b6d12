#if defined(__arm__)
#define HWY_COMPILE_ONLY_EMU128  // 32-bit NEON has no vectors of doubles
#endif
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_f64.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/gemm/gemm-inl.h"
#include "kernels/gemm/gemm_thin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

PanelShape panel_shape_f64() {
  return {kRows, panel_width<double>(), static_cast<int>(HWY_LANES(double))};
}
void multiply_block_f64(const BlockProduct<double>& product) { multiply_block_t(product); }
void multiply_thin_f64(const ThinProduct<double>& product, int64_t rows, int64_t begin,
                       int64_t end) {
  multiply_thin_t(product, rows, begin, end);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(panel_shape_f64);
HWY_EXPORT(multiply_block_f64);
HWY_EXPORT(multiply_thin_f64);

PanelShape panel_shape(const double*) { return HWY_DYNAMIC_DISPATCH(panel_shape_f64)(); }
void multiply_block(const BlockProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_block_f64)(product);
}
void multiply_thin(const ThinProduct<double>& product, int64_t rows, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_thin_f64)(product, rows, begin, end);
}

void gemm_f64(int64_t m, int64_t n, int64_t k, ConstMatrix<double> a, ConstMatrix<double> b,
              double* c, int64_t c_stride, const GemmEpilogue<double>& epilogue) {
  run_plain_gemm(m, n, k, a, b, c, c_stride, epilogue);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
