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
  std::vector<ScoreChange::Kind> changes = {};
  bool k_is_transposed = false;
};
using Kind = ScoreChange::Kind;

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
  std::vector<float> terms = random_floats(s.outer * s.keys, 4);
  terms[0] = -std::numeric_limits<float>::infinity();
  std::vector<float> factors = random_floats(s.outer * s.queries, 5);
  std::vector<uint8_t> chosen(static_cast<size_t>(s.inner * s.queries * s.keys));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<uint8_t>(i * i % 7 / 3);
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
                 side_by_side<float>(got, s, s.queries, s.value_depth),
                 0.3f};
  std::vector<ScoreChange> changes;
  for (const Kind kind : s.changes) {
    changes.push_back({kind,
                       kind == Kind::kAtLeast ? -0.2f : -1.5f,
                       kind == Kind::kScale
                           ? HeadMatrices<const float>{factors.data(), s.queries, 0, 1}
                           : HeadMatrices<const float>{terms.data(), s.keys, 0, 0},
                       {chosen.data(), 0, s.queries * s.keys, s.keys}});
  }
  a.changes = changes;
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
          const bool is_chosen =
              chosen[static_cast<size_t>((h * s.queries + row) * s.keys + key)] != 0;
          for (const Kind kind : s.changes) {
            if (kind == Kind::kScale) {
              score *= static_cast<double>(factors[static_cast<size_t>(o * s.queries + row)]);
            } else if (kind == Kind::kAdd) {
              score += static_cast<double>(terms[static_cast<size_t>(o * s.keys + key)]);
            } else if (kind == Kind::kAtLeast) {
              score = std::max(score, static_cast<double>(-0.2f));
            } else if (is_chosen == (kind == Kind::kFillWhere)) {
              score = -1.5;
            }
          }
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
    for (const int64_t keys : {2, 15, 16, 17, 25, 32, 33, 49, 64, 100}) {
      for (const int64_t depth : {1, 8, 17, 64}) {
        check({1, 2, 5, keys, depth, depth});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    for (const int64_t queries : {1, 14, 15, 57, 130}) {
      check({2, 3, queries, 20, 8, 33, {Kind::kAdd}});
      check({2, 3, queries, 49, 8, 33, {Kind::kScale, Kind::kAdd}});
      check({2, 3, queries, 20, 8, 16, {}, true});
      if (testing::Test::HasFatalFailure()) return;
    }
    check({1, 1, 197, 197, 64, 64});
  });
}

TEST(Attention, ChangesOfScores) {
  const std::vector<std::vector<Kind>> all = {
      {Kind::kFillWhere},
      {Kind::kFillUnless},
      {Kind::kAtLeast},
      {Kind::kAdd, Kind::kAtLeast},
      {Kind::kFillUnless, Kind::kAdd},
      {Kind::kScale, Kind::kAdd},
      {Kind::kFillWhere, Kind::kScale},
      {Kind::kAdd, Kind::kFillWhere, Kind::kAdd, Kind::kAtLeast},
  };
  for_each_target([&] {
    for (const auto& changes : all) {
      for (const int64_t keys : {2, 15, 16, 33, 68}) {
        check({2, 3, 17, keys, 8, 5, changes});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(Attention, SeveralThreads) {
  set_num_threads(3);
  check({1, 1, 300, 90, 16, 16});
  check({2, 5, 60, 90, 16, 16, {Kind::kAdd, Kind::kFillUnless}});
  set_num_threads(1);
}

TEST(Attention, NanStays) {
  const float q[] = {1, 1}, k[] = {1, std::numeric_limits<float>::quiet_NaN()}, v[] = {1, 2};
  float result[] = {0, 0};
  attention_f32(
      {1, 1, 2, 2, 1, 1, {q, 2, 2, 1}, {k, 2, 2, 1}, 1, {v, 2, 2, 1}, {result, 2, 2, 1}, 1});
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
}

}  // namespace
}  // namespace torchlet::kernels
