#include "quant/accuracy.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

#include <limits>
#include <vector>

#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

Tensor scores(int64_t rows, std::vector<float> values) {
  const int64_t classes = static_cast<int64_t>(values.size()) / rows;
  const Tensor tensor = empty(std::array<int64_t, 2>{rows, classes}, DType::kFloat32);
  std::ranges::copy(values, tensor.data_ptr<float>());
  return tensor;
}

void add(Accuracy& accuracy, const Value& output, std::vector<int64_t> labels) {
  accuracy.add(output, labels);
}

TEST(Accuracy, CountsTheRightAndTheNearlyRight) {
  Accuracy accuracy;
  add(accuracy, scores(2, {6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5}), {0, 0});
  EXPECT_EQ(accuracy.rows(), 2u);
  EXPECT_EQ(accuracy.classes(), 6u);
  EXPECT_EQ(accuracy.top1(), 0.5);
  EXPECT_EQ(accuracy.top5(), 0.5);  // five are larger in the second row
  add(accuracy, scores(1, {6, 5, 4, 3, 2, 1}), {4});
  EXPECT_EQ(accuracy.top1(), 1.0 / 3);
  EXPECT_EQ(accuracy.top5(), 2.0 / 3);
}

TEST(Accuracy, OfEqualScoresTheFirstIsLarger) {
  Accuracy accuracy;
  add(accuracy, scores(2, {1, 1, 1, 1}), {0, 1});
  EXPECT_EQ(accuracy.top1(), 0.5);
}

TEST(Accuracy, WhatIsNoNumberIsNeverRight) {
  Accuracy accuracy;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  add(accuracy, scores(1, {nan, nan}), {0});
  EXPECT_EQ(accuracy.top1(), 0);
  EXPECT_EQ(accuracy.top5(), 0);
}

TEST(Accuracy, ScoresAreTheFirstTensorThatLooksLikeThem) {
  const Tensor map = empty(std::array<int64_t, 3>{1, 2, 2}, DType::kFloat32);
  const Tensor indices = empty(std::array<int64_t, 2>{1, 2}, DType::kInt64);
  const Tensor wanted = scores(1, {1, 2}), other = scores(1, {1, 2, 3});
  const Value nested =
      Value::tuple({Value(map), Value(indices), Value::list({Value(wanted)}), Value(other)});
  EXPECT_EQ(scores_of(nested).size(-1), 2);
  EXPECT_FALSE(scores_of(Value(map)).defined());
}

TEST(Accuracy, RefusesWhatDoesNotFit) {
  Accuracy accuracy;
  EXPECT_THROW(add(accuracy, scores(1, {1, 2}), {2}), Error);
  EXPECT_THROW(add(accuracy, scores(1, {1, 2}), {-1}), Error);
  EXPECT_THROW(add(accuracy, scores(1, {1, 2}), {0, 0}), Error);
  EXPECT_THROW(add(accuracy, Value(1.0), {0}), Error);
}

}  // namespace
}  // namespace torchlet::quant
