#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void transpose_scalar(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
                      int64_t to_stride) {
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

HWY_INLINE void transpose4x4(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride);
  const auto e = hn::LoadU(d, from + 3 * from_stride);
  const auto ab_low = hn::InterleaveLower(d, a, b), ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce_low = hn::InterleaveLower(d, c, e), ce_high = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce_low, ab_low), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_low, ab_low), d, to + to_stride);
  hn::StoreU(hn::ConcatLowerLower(d, ce_high, ab_high), d, to + 2 * to_stride);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_high, ab_high), d, to + 3 * to_stride);
}

void transpose(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
               int64_t to_stride) {
  // The rows of a block keep their lines in the first-level cache until all of a line is used.
  constexpr int64_t kBlockRows = 64;
  for (int64_t top = 0; top < rows; top += kBlockRows) {
    const int64_t block = std::min(kBlockRows, rows - top);
    const int64_t whole_rows = block / 4 * 4, whole_cols = cols / 4 * 4;
    const float* in = from + top * from_stride;
    float* out = to + top;
    for (int64_t j = 0; j < whole_cols; j += 4) {
      for (int64_t i = 0; i < whole_rows; i += 4) {
        transpose4x4(in + i * from_stride + j, from_stride, out + j * to_stride + i, to_stride);
      }
    }
    transpose_scalar(block, cols - whole_cols, in + whole_cols, from_stride,
                     out + whole_cols * to_stride, to_stride);
    transpose_scalar(block - whole_rows, whole_cols, in + whole_rows * from_stride, from_stride,
                     out + whole_rows, to_stride);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(transpose);

void transpose_f32(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
                   int64_t to_stride) {
  constexpr int64_t kElementsPerTask = int64_t{1} << 16;
  const int64_t grain = kElementsPerTask / std::max<int64_t>(1, cols) / 16 * 16 + 16;
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(transpose)
    (end - begin, cols, from + begin * from_stride, from_stride, to + begin, to_stride);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
