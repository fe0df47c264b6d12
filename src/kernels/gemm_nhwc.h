#pragma once

// Inside of the NHWC convolutions: what the micro-kernel of gemm_nhwc-inl.h is asked to do.

#include <cstdint>

namespace torchlet::kernels {

// Columns [b_row, b_row + k) of A, where they lie: row r begins at a + r * a_row_stride.
struct TileSegment {
  const float* a;
  int64_t a_row_stride;
  int64_t k;
  int64_t b_row;
};

// C = clamp(sum over the segments of A B + bias + residual), for some rows and one panel of B. The
// sum starts from `partial` instead of the bias if that is given.
struct TileJob {
  const TileSegment* segments = nullptr;
  int64_t segment_count = 0;
  const float* b = nullptr;  // the panel, 64-byte aligned
  int64_t columns = 0;       // of the panel that exist
  const float* bias = nullptr;
  const float* partial = nullptr;
  int64_t partial_stride = 0;
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  float low = 0, high = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
};

}  // namespace torchlet::kernels
