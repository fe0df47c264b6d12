#define HWY_WANT_AVX3_DL  // for its integer dot product
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_u8i8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/simd/foreach_arm_dot.h"  // IWYU pragma: keep
// After the line above.
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_u8i8.h"
#include "kernels/simd/dot-inl.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As in gemm-inl.h: the accumulators have to fit the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 2;
constexpr int64_t kWidth = kVectors * kDotLanes;

// Packed B is [panels of kWidth columns, groups of kDotDepth rows, kWidth, kDotDepth].
int64_t group_count(int64_t k) { return (k + kDotDepth - 1) / kDotDepth; }
int64_t panel_count(int64_t n) { return (n + kWidth - 1) / kWidth; }

int64_t packed_b_size(int64_t k, int64_t n) {
  return panel_count(n) * group_count(k) * kWidth * kDotDepth;
}

void pack_b(int64_t k, int64_t n, const ConstMatrix<int8_t>& b, int8_t* to) {
  for (int64_t panel = 0; panel < panel_count(n); ++panel) {
    for (int64_t group = 0; group < group_count(k); ++group) {
      for (int64_t j = panel * kWidth; j < (panel + 1) * kWidth; ++j) {
        for (int64_t i = group * kDotDepth; i < (group + 1) * kDotDepth; ++i) {
          *to++ = i < k && j < n ? b.data[i * b.row_stride + j * b.col_stride] : int8_t{0};
        }
      }
    }
  }
}

// Rows [row, row + kRows) of A as [groups, kRows] dot operands; rows beyond m are zero.
void pack_a(const ConstMatrix<uint8_t>& a, int64_t m, int64_t k, int64_t row, int32_t* to) {
  const int64_t rows = std::min<int64_t>(kRows, m - row);
  for (int64_t r = 0; r < kRows; ++r) {
    const uint8_t* from = a.data + (row + r) * a.row_stride;
    for (int64_t group = 0; group < group_count(k); ++group) {
      uint8_t values[kDotDepth] = {};
      const int64_t depth = r < rows ? std::min<int64_t>(kDotDepth, k - group * kDotDepth) : 0;
      for (int64_t i = 0; i < depth; ++i) values[i] = from[(group * kDotDepth + i) * a.col_stride];
      to[group * kRows + r] = dot_operand(values);
    }
  }
}

// `rows` by `columns` of C, from kRows packed rows of A and one panel of B.
HWY_NOINLINE void multiply_tile(int64_t groups, const int32_t* HWY_RESTRICT a,
                                const int8_t* HWY_RESTRICT b, int32_t* HWY_RESTRICT c,
                                int64_t c_stride, int64_t rows, int64_t columns) {
  const DotTag d;
  DotVec acc[kRows][kVectors];
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  // Where dot() takes x - kDotOffset, what it makes of zeros is too much.
  const uint8_t zeros[kDotDepth] = {};
  const DotVec zero = hn::Set(d, dot_operand(zeros));
  DotVec excess[kVectors] = {hn::Zero(d), hn::Zero(d)};
  for (int64_t group = 0; group < groups; ++group) {
    DotVec bv[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) bv[v] = load_dot_operand(b + v * kDotLanes * kDotDepth);
    HWY_UNROLL(2)
    for (int v = 0; kDotOffset != 0 && v < kVectors; ++v) excess[v] = dot(excess[v], zero, bv[v]);
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const DotVec av = hn::Set(d, a[r]);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) acc[r][v] = dot(acc[r][v], av, bv[v]);
    }
    a += kRows;
    b += kWidth * kDotDepth;
  }
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) break;
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = columns - v * kDotLanes;
      if (left <= 0) break;
      const DotVec sum = kDotOffset == 0 ? acc[r][v] : hn::Sub(acc[r][v], excess[v]);
      store_first(sum, d, c + r * c_stride + v * kDotLanes, left);
    }
  }
}

// Blocks of kRows rows, numbers [begin, end). A block of A stays in the first-level cache while B
// streams by.
void multiply_rows(int64_t m, int64_t n, int64_t k, const ConstMatrix<uint8_t>& a,
                   const int8_t* packed_b, int32_t* c, int64_t c_stride, int64_t begin,
                   int64_t end) {
  const int64_t groups = group_count(k);
  const Scratch<int32_t> packed_a(groups * kRows);
  for (int64_t row = begin * kRows; row < std::min(m, end * kRows); row += kRows) {
    pack_a(a, m, k, row, packed_a.data());
    for (int64_t panel = 0; panel < panel_count(n); ++panel) {
      const int64_t column = panel * kWidth;
      multiply_tile(groups, packed_a.data(), packed_b + panel * groups * kWidth * kDotDepth,
                    c + row * c_stride + column, c_stride, m - row, n - column);
    }
  }
}

int64_t row_blocks(int64_t m) { return (m + kRows - 1) / kRows; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(packed_b_size);
HWY_EXPORT(pack_b);
HWY_EXPORT(multiply_rows);
HWY_EXPORT(row_blocks);

int64_t gemm_u8i8_packed_b_size(int64_t k, int64_t n) {
  return TORCHLET_DOT_DISPATCH(packed_b_size)(k, n);
}

void gemm_u8i8_pack_b(int64_t k, int64_t n, ConstMatrix<int8_t> b, int8_t* packed) {
  TORCHLET_DOT_DISPATCH(pack_b)(k, n, b, packed);
}

void gemm_u8i8_packed(int64_t m, int64_t n, int64_t k, ConstMatrix<uint8_t> a,
                      const int8_t* packed_b, int32_t* c, int64_t c_stride) {
  constexpr int64_t kOpsPerTask = int64_t{1} << 20;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, n * k * 8));
  parallel_for(TORCHLET_DOT_DISPATCH(row_blocks)(m), grain, [&](int64_t begin, int64_t end) {
    TORCHLET_DOT_DISPATCH(multiply_rows)(m, n, k, a, packed_b, c, c_stride, begin, end);
  });
}

void gemm_u8i8(int64_t m, int64_t n, int64_t k, ConstMatrix<uint8_t> a, ConstMatrix<int8_t> b,
               int32_t* c, int64_t c_stride) {
  const Scratch<int8_t> packed(gemm_u8i8_packed_b_size(k, n));
  gemm_u8i8_pack_b(k, n, b, packed.data());
  gemm_u8i8_packed(m, n, k, a, packed.data(), c, c_stride);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
