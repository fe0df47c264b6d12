#include "prepare/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/core/testing.h"

namespace torchlet::prepare {
namespace {

using ops::make;

Agreement of(const Value& exact, const Value& result) {
  Agreement agreement;
  agreement.add(exact, result);
  return agreement;
}

TEST(Agreement, OfNumbers) {
  const Agreement agreement = of(make({3, -4, 0}), make({3, -4.5, 0}));
  EXPECT_EQ(agreement.max_abs(), 0.5);
  EXPECT_EQ(agreement.error(), 0.125);
  EXPECT_DOUBLE_EQ(agreement.sqnr(), 20);
  EXPECT_EQ(agreement.mismatch(), "");
  EXPECT_TRUE(std::isinf(of(make({1}), make({1})).sqnr()));
}

TEST(Agreement, LostNumbersAreInfinitelyFar) {
  EXPECT_TRUE(std::isinf(of(make({1, 2}), make({1, NAN})).error()));
  EXPECT_TRUE(std::isinf(of(make({1, NAN}), make({1, 2})).error()));
  EXPECT_EQ(of(make({1, NAN, INFINITY}), make({1, NAN, INFINITY})).error(), 0);
  EXPECT_TRUE(std::isinf(of(make({0, 0}), make({0, 1})).error()));
}

TEST(Agreement, WhatIsExactMustBeEqual) {
  EXPECT_EQ(of(make({1, 2}, DType::kInt64), make({1, 3}, DType::kInt64)).mismatch(),
            "1 of the 2 integers of a tensor are others");
  EXPECT_EQ(of(Value("a"), Value("b")).mismatch(), "a str 'a' became a str 'b'");
  EXPECT_NE(of(make({1}), make({1}, DType::kFloat64)).mismatch(), "");
  EXPECT_NE(of(make({1}), make({1, 2})).mismatch(), "");
  EXPECT_NE(of(Value::list({1}), Value::list({1, 2})).mismatch(), "");
  EXPECT_NE(of(Value(), Value(1)).mismatch(), "");
}

TEST(Agreement, LooksIntoContainers) {
  const auto nested = [](double x) {
    return Value::tuple({Value::list({make({x})}), Value::dict({{"key", Value(x)}})});
  };
  EXPECT_EQ(of(nested(2), nested(2)).max_abs(), 0);
  EXPECT_EQ(of(nested(2), nested(3)).max_abs(), 1);
  EXPECT_EQ(of(nested(2), nested(3)).error(), 0.5);
}

}  // namespace
}  // namespace torchlet::prepare
