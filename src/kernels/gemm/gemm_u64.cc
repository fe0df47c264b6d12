#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_u64.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "kernels/gemm/gemm-inl.h"
#include "kernels/gemm/gemm_thin-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

PanelShape panel_shape_u64() {
  return {kRows, panel_width<uint64_t>(), static_cast<int>(HWY_LANES(uint64_t))};
}
void multiply_block_u64(const BlockProduct<uint64_t>& product) { multiply_block_t(product); }
void multiply_thin_u64(const ThinProduct<uint64_t>& product, int64_t rows, int64_t begin,
                       int64_t end) {
  multiply_thin_t(product, rows, begin, end);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(panel_shape_u64);
HWY_EXPORT(multiply_block_u64);
HWY_EXPORT(multiply_thin_u64);

PanelShape panel_shape(const uint64_t*) { return HWY_DYNAMIC_DISPATCH(panel_shape_u64)(); }
void multiply_block(const BlockProduct<uint64_t>& product) {
  HWY_DYNAMIC_DISPATCH(multiply_block_u64)(product);
}
void multiply_thin(const ThinProduct<uint64_t>& product, int64_t rows, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(multiply_thin_u64)(product, rows, begin, end);
}

void gemm_u64(int64_t m, int64_t n, int64_t k, ConstMatrix<uint64_t> a, ConstMatrix<uint64_t> b,
              uint64_t* c, int64_t c_stride, const GemmEpilogue<uint64_t>& epilogue) {
  run_plain_gemm(m, n, k, a, b, c, c_stride, epilogue);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
