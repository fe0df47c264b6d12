#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

Ints drawn(const Floats& logarithms, Ints seeds, int32_t count) {
  TestModel model;
  const uint32_t input = model.input(ANEURALNETWORKS_TENSOR_FLOAT32, {0, 0});
  model.operation(ANEURALNETWORKS_RANDOM_MULTINOMIAL,
                  {input, model.integer(count),
                   model.constant<int32_t>(ANEURALNETWORKS_TENSOR_INT32, {2}, std::move(seeds))},
                  {model.output(ANEURALNETWORKS_TENSOR_INT32, {})});
  const auto size = static_cast<uint32_t>(logarithms.size());
  return run(*model.compiled({"cpu"}), {{1, size}}, logarithms)[0].as<int32_t>();
}

TEST(Random, MultinomialDrawsAsOftenAsItShould) {
  const Floats logarithms = {-INFINITY, std::log(1.0f), std::log(3.0f), NAN};
  const Ints samples = drawn(logarithms, {1, 2}, 4000);
  const auto count = [&](int32_t c) { return std::ranges::count(samples, c); };
  EXPECT_EQ(count(0) + count(3), 0);
  EXPECT_NEAR(count(1), 1000, 120);
  EXPECT_EQ(drawn(logarithms, {1, 2}, 4000), samples);
  EXPECT_NE(drawn(logarithms, {2, 1}, 4000), samples);
  // Seeds of 0 are no seeds.
  EXPECT_NE(drawn(logarithms, {0, 0}, 4000), drawn(logarithms, {0, 0}, 4000));
}

TEST(Random, MultinomialNeedsAClass) {
  EXPECT_THROW(drawn({-INFINITY, NAN}, {1, 2}, 3), Error);
  EXPECT_THROW(drawn({0, 0}, {1, 2}, -1), Error);
}

Ints projected(int32_t kind, uint32_t functions, uint32_t bits) {
  TestModel model;
  Floats seeds(functions * bits);
  for (size_t i = 0; i < seeds.size(); ++i) seeds[i] = static_cast<float>(i) * 0.25f + 1;
  const uint32_t input = model.input(ANEURALNETWORKS_TENSOR_INT32, {0, 0});
  const uint32_t weights = model.constant<float>(ANEURALNETWORKS_TENSOR_FLOAT32, {}, {});
  model.operand(weights).lifetime = Lifetime::kOmitted;
  model.operation(ANEURALNETWORKS_LSH_PROJECTION,
                  {model.constant<float>(ANEURALNETWORKS_TENSOR_FLOAT32, {functions, bits}, seeds),
                   input, weights, model.integer(kind)},
                  {model.output(ANEURALNETWORKS_TENSOR_INT32, {})});
  return run(*model.compiled({"cpu"}), {{3, 2}}, Ints{1, 2, 3, 4, 5, 6})[0].as<int32_t>();
}

// Without weights; the bits of a sparse projection stand behind the number of their function.
TEST(Random, ProjectionsHoldTheSameBits) {
  const Ints dense = projected(2, 4, 5), deprecated = projected(1, 4, 5),
             sparse = projected(3, 4, 5);
  ASSERT_EQ(dense.size(), 20u);
  for (int32_t i = 0; i < 4; ++i) {
    int32_t signature = 0;
    for (int32_t j = 0; j < 5; ++j) signature = 2 * signature + dense[5 * i + j];
    EXPECT_EQ(deprecated[i], signature);
    EXPECT_EQ(sparse[i], signature + 32 * i);
  }
  EXPECT_NO_THROW(projected(3, 4, 30));
  EXPECT_THROW(projected(3, 5, 30), Error);
  EXPECT_NO_THROW(projected(1, 5, 32));
  EXPECT_THROW(projected(1, 5, 33), Error);
  EXPECT_THROW(projected(4, 1, 1), Error);
}

}  // namespace
}  // namespace torchlet::nn
