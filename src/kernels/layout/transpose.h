#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Copies that change the order of dimensions. They run on the threads of base/thread_pool; source
// and result do not overlap. `element_size` is 1, 2, 4 or 8; strides are in elements.

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols.
void transpose(int64_t element_size, int64_t rows, int64_t cols, const void* from,
               int64_t from_stride, void* to, int64_t to_stride);
void transpose_f32(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
                   int64_t to_stride);

// Between pictures [channels, pixels] and pictures of `pixels` pixels that are `stride` >= channels
// elements apart.
void nchw_to_nhwc(int64_t element_size, int64_t batch, int64_t channels, int64_t pixels,
                  const void* from, void* to, int64_t to_stride);
void nhwc_to_nchw(int64_t element_size, int64_t batch, int64_t channels, int64_t pixels,
                  const void* from, int64_t from_stride, void* to);

// to[sum i[k] to_strides[k]] = from[sum i[k] from_strides[k]] for all 0 <= i[k] < sizes[k], k <
// `dims` <= kMaxCopyDims. No two indices share a place of `to`; strides of `from` may be 0.
constexpr int kMaxCopyDims = 8;
void copy_strided(int64_t element_size, int dims, const int64_t* sizes, const void* from,
                  const int64_t* from_strides, void* to, const int64_t* to_strides);

}  // namespace torchlet::kernels
