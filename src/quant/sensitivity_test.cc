#include "quant/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>

namespace torchlet::quant {
namespace {

Tensor scores(std::initializer_list<float> values) {
  const Tensor tensor =
      empty(std::array<int64_t, 2>{1, static_cast<int64_t>(values.size())}, DType::kFloat32);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

// Each quantized layer adds its error; the answers are of power 1.
Evaluate with_errors(std::vector<double> errors) {
  return [errors = std::move(errors)](const std::vector<bool>& wanted) {
    double sum = 0;
    for (size_t i = 0; i < errors.size(); ++i) sum += wanted[i] ? errors[i] : 0;
    Fidelity fidelity;
    fidelity.add(Value(scores({1, 0})), Value(scores({static_cast<float>(1 - std::sqrt(sum)), 0})));
    return fidelity;
  };
}

const auto kNobody = [](double) {};

TEST(Sensitivity, LeavesTheWorstAlone) {
  const Sweep found = sweep({true, true, true, true}, {true, true, true, true}, {0, 20},
                            with_errors({0.001, 0.1, 0.002, 0.05}), kNobody);
  EXPECT_EQ(found.wanted, (std::vector<bool>{true, false, true, false}));
  EXPECT_NEAR(found.alone_db[1], 10, 0.01);
  EXPECT_NEAR(found.alone_db[0], 30, 0.01);
}

TEST(Sensitivity, ComparesNothingIfAllIsWell) {
  const Sweep found =
      sweep({true, false}, {true, true}, {0, 20}, with_errors({0.001, 0.1}), kNobody);
  EXPECT_EQ(found.wanted, (std::vector<bool>{true, false}));
  EXPECT_EQ(found.alone_db[0], 0);
}

TEST(Sensitivity, LeavesAllIfNoneWillDo) {
  const Sweep found = sweep({true, true}, {true, true}, {0, 90}, with_errors({0.1, 0.2}), kNobody);
  EXPECT_EQ(found.wanted, (std::vector<bool>{false, false}));
}

TEST(Fidelity, CountsRowsAndPowers) {
  Fidelity fidelity;
  fidelity.add(Value(scores({3, 4})), Value(scores({3, 4})));
  EXPECT_EQ(fidelity.sqnr_db(), 200);
  fidelity.add(Value(scores({3, 4})), Value(scores({4, 3})));
  EXPECT_EQ(fidelity.agreement(), 0.5);
  EXPECT_NEAR(fidelity.sqnr_db(), 10 * std::log10(50.0 / 2), 1e-9);
  EXPECT_EQ(Fidelity().agreement(), -1);
}

TEST(Sensitivity, ADropIsOfRightAnswers) {
  const std::vector<int64_t> labels = {1};
  Fidelity fidelity;
  fidelity.add(Value(scores({0, 1})), Value(scores({1, 0})), labels);
  fidelity.add(Value(scores({1, 0})), Value(scores({1, 0})), labels);  // both are wrong
  fidelity.add(Value(scores({1, 0})), Value(scores({1, 0})));          // no label
  Target target;
  target.top1_drop = 0.5;
  EXPECT_TRUE(target.holds(fidelity));
  target.top1_drop = 0.49;
  EXPECT_FALSE(target.holds(fidelity));
}

}  // namespace
}  // namespace torchlet::quant
