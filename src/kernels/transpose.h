#pragma once

#include <cstdint>

namespace torchlet::kernels {

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols. NCHW to NHWC is one of
// [channels, pixels] per image. Runs on the threads of base/thread_pool.
void transpose_f32(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
                   int64_t to_stride);

}  // namespace torchlet::kernels
