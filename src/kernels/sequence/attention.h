#pragma once

#include <cstdint>
#include <span>

namespace torchlet::kernels {

// Matrices [outer, inner, rows, columns] of floats: one for each head of each sequence. Strides
// count elements; columns lie together unless it is said otherwise.
template <typename T>
struct HeadMatrices {
  T* data;
  int64_t outer_stride, inner_stride, row_stride;

  T* at(int64_t outer, int64_t inner, int64_t row = 0) const {
    return data + outer * outer_stride + inner * inner_stride + row * row_stride;
  }
};

// What is done to the scores before the softmax. Matrices are [queries, keys].
struct ScoreChange {
  enum class Kind : uint8_t {
    kAdd,         // of terms
    kScale,       // by the first term of each row
    kFillWhere,   // `number` where `chosen` is not 0
    kFillUnless,  // and where it is
    kAtLeast,     // the larger one of the score and `number`
  };
  Kind kind;
  float number = 0;
  HeadMatrices<const float> terms = {};
  HeadMatrices<const uint8_t> chosen = {};
};

// result = softmax(changes(scale q k^T)) v for each of outer x inner heads, with the softmax along
// the keys.
struct AttentionF32 {
  int64_t outer, inner;
  int64_t queries, keys, depth, value_depth;
  HeadMatrices<const float> q;  // [queries, depth]
  HeadMatrices<const float> k;  // [keys, depth]
  int64_t k_column_stride;      // 1, or the row stride is
  HeadMatrices<const float> v;  // [keys, value_depth]
  HeadMatrices<float> result;   // [queries, value_depth]
  float scale;
  std::span<const ScoreChange> changes = {};  // in this order
};

// Bytes of working memory of one thread.
int64_t attention_work_bytes(int64_t keys, int64_t depth, int64_t value_depth);

// Runs on the threads of base/thread_pool. NaN goes through, as in PyTorch.
void attention_f32(const AttentionF32& attention);

}  // namespace torchlet::kernels
