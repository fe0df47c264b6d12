#pragma once

#include <cstdint>

namespace torchlet::kernels {

// Matrices [outer, inner, rows, columns] of floats: one for each head of each sequence. Strides
// count elements; columns lie together unless it is said otherwise.
template <typename T>
struct HeadMatrices {
  T* data;
  int64_t outer_stride, inner_stride, row_stride;
};

// result = softmax(scale q k^T + mask) v for each of outer x inner heads, with the softmax along
// the keys.
struct AttentionF32 {
  int64_t outer, inner;
  int64_t queries, keys, depth, value_depth;
  HeadMatrices<const float> q;     // [queries, depth]
  HeadMatrices<const float> k;     // [keys, depth]
  int64_t k_column_stride;         // 1, or the row stride is
  HeadMatrices<const float> v;     // [keys, value_depth]
  HeadMatrices<const float> mask;  // [queries, keys], or null data
  HeadMatrices<float> result;      // [queries, value_depth]
  float scale;                     // > 0
};

// Bytes of working memory of one thread.
int64_t attention_work_bytes(int64_t keys, int64_t depth, int64_t value_depth);

// Runs on the threads of base/thread_pool. NaN goes through, as in PyTorch.
void attention_f32(const AttentionF32& attention);

}  // namespace torchlet::kernels
