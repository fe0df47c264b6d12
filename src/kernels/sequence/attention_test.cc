#include "kernels/sequence/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

struct Shape {
  int64_t outer, inner, queries, keys, depth, value_depth;
  bool has_mask = false, k_is_transposed = false;
};

std::vector<float> random_floats(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(engine);
  return values;
}

// Heads lie side by side in the rows of one sequence, as they come from a linear layer.
template <typename T>
HeadMatrices<T> side_by_side(std::vector<float>& data, const Shape& s, int64_t rows,
                             int64_t width) {
  return {data.data(), rows * s.inner * width, width, s.inner * width};
}

void check(const Shape& s) {
  SCOPED_TRACE(testing::Message() << s.outer << " x " << s.inner << " heads, " << s.queries
                                  << " queries, " << s.keys << " keys, " << s.depth << ", "
                                  << s.value_depth);
  const int64_t heads = s.outer * s.inner;
  std::vector<float> q = random_floats(heads * s.queries * s.depth, 1);
  std::vector<float> k = random_floats(heads * s.keys * s.depth, 2);
  std::vector<float> v = random_floats(heads * s.keys * s.value_depth, 3);
  std::vector<float> mask = random_floats(s.outer * s.keys, 4);
  mask[0] = -std::numeric_limits<float>::infinity();
  std::vector<float> got(static_cast<size_t>(heads * s.queries * s.value_depth), 9.0f);
  AttentionF32 a{s.outer,
                 s.inner,
                 s.queries,
                 s.keys,
                 s.depth,
                 s.value_depth,
                 side_by_side<const float>(q, s, s.queries, s.depth),
                 side_by_side<const float>(k, s, s.keys, s.depth),
                 1,
                 side_by_side<const float>(v, s, s.keys, s.value_depth),
                 {s.has_mask ? mask.data() : nullptr, s.keys, 0, 0},
                 side_by_side<float>(got, s, s.queries, s.value_depth),
                 0.3f};
  if (s.k_is_transposed) {
    a.k = {k.data(), s.inner * s.depth * s.keys, s.depth * s.keys, 1};
    a.k_column_stride = s.keys;
  }
  attention_f32(a);
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t h = 0; h < s.inner; ++h) {
      for (int64_t row = 0; row < s.queries; ++row) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t key = 0; key < s.keys; ++key) {
          double score = 0;
          for (int64_t i = 0; i < s.depth; ++i) {
            const float* at = a.k.data + o * a.k.outer_stride + h * a.k.inner_stride +
                              key * a.k.row_stride + i * a.k_column_stride;
            score += static_cast<double>(a.q.data[o * a.q.outer_stride + h * a.q.inner_stride +
                                                  row * a.q.row_stride + i]) *
                     static_cast<double>(*at);
          }
          score *= 0.3;
          if (s.has_mask) score += static_cast<double>(mask[static_cast<size_t>(o * s.keys + key)]);
          weights.push_back(std::exp(score));
          sum += weights.back();
        }
        for (int64_t c = 0; c < s.value_depth; ++c) {
          double want = 0;
          for (int64_t key = 0; key < s.keys; ++key) {
            want += weights[static_cast<size_t>(key)] / sum *
                    static_cast<double>(a.v.data[o * a.v.outer_stride + h * a.v.inner_stride +
                                                 key * a.v.row_stride + c]);
          }
          const float* at = a.result.data + o * a.result.outer_stride + h * a.result.inner_stride +
                            row * a.result.row_stride + c;
          ASSERT_NEAR(static_cast<double>(*at), want, 1e-5) << row << ", " << c;
        }
      }
    }
  }
}

TEST(Attention, EveryTail) {
  for_each_target([] {
    for (const int64_t keys : {2, 15, 16, 17, 33, 100}) {
      for (const int64_t depth : {1, 8, 17, 64}) {
        check({1, 2, 5, keys, depth, depth});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    for (const int64_t queries : {1, 14, 15, 57, 130}) {
      check({2, 3, queries, 20, 8, 33, true});
      check({2, 3, queries, 20, 8, 16, queries % 2 == 0, true});
      if (testing::Test::HasFatalFailure()) return;
    }
    check({1, 1, 197, 197, 64, 64});
  });
}

TEST(Attention, SeveralThreads) {
  set_num_threads(3);
  check({1, 1, 300, 90, 16, 16});
  check({2, 5, 60, 90, 16, 16, true});
  set_num_threads(1);
}

TEST(Attention, NanStays) {
  const float q[] = {1, 1}, k[] = {1, std::numeric_limits<float>::quiet_NaN()}, v[] = {1, 2};
  float result[] = {0, 0};
  attention_f32(
      {1, 1, 2, 2, 1, 1, {q, 2, 2, 1}, {k, 2, 2, 1}, 1, {v, 2, 2, 1}, {}, {result, 2, 2, 1}, 1});
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
}

}  // namespace
}  // namespace torchlet::kernels
