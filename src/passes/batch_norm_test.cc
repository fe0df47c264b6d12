#include "passes/batch_norm.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::call_op;
using ops::make;
using ops::ramp;

constexpr const char* kNorm =
    "torch.batch_norm(y, self.gamma, self.beta, self.mean, self.var, False, 0.10000000000000001, "
    "0.001, True)\n";

// forward(x): y = <layer>; batch_norm(y).
Optimized optimized(const std::string& layer, const Value& weight, const Value& bias,
                    const std::string& between = {}) {
  Program program(module_class("M",
                               {"w : Tensor", "b : Optional[Tensor]", "gamma : Tensor",
                                "beta : Tensor", "mean : Tensor", "var : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    y = " +
                                   layer + "\n" + between + "    return " + kNorm));
  return Program::optimized(program.object("M", {{"w", weight},
                                                 {"b", bias},
                                                 {"gamma", make({1, 2, -0.5, 3})},
                                                 {"beta", make({0, 1, -1, 0.25})},
                                                 {"mean", make({0.5, -0.5, 0, 1})},
                                                 {"var", make({1, 4, 0.25, 2})}}));
}

// The layer alone, by its only node, against the layer and the norm.
void expect_same(const Optimized& made, const Tensor& x, const Tensor& unfolded) {
  const Node* conv = made.graph->outputs()[0]->node();
  std::vector<Value> args = {x};
  for (size_t i = 1; i < conv->inputs().size(); ++i) args.push_back(*constant_of(conv->input(i)));
  Value result;
  conv->op()->call(args, {&result, 1});
  const Tensor want =
      ops::result_of("aten::batch_norm", "",
                     {unfolded, make({1, 2, -0.5, 3}), make({0, 1, -1, 0.25}),
                      make({0.5, -0.5, 0, 1}), make({1, 4, 0.25, 2}), false, 0.1, 0.001, true});
  const auto sizes = want.sizes();
  ops::expect_tensor(result.to_tensor(), ops::elements_of(want), DType::kFloat32,
                     IntArray(sizes.begin(), sizes.end()));
}

// As in a trace of a layer that ran twice.
TEST(FoldBatchNorms, LayersThatShareWeightsStillDo) {
  const Tensor w = ramp({4, 4, 3, 3}, 1), b = ramp({4}, 2);
  const std::string rest = ", self.w, self.b, [1, 1], [1, 1], [1, 1], 1)";
  const Optimized made =
      optimized("torch.conv2d(x" + rest, w, b,
                "    first = " + std::string(kNorm) + "    y = torch.conv2d(first" + rest + "\n");
  EXPECT_EQ(outline(*made.graph), "conv2d conv2d");
  const Node* second = made.graph->outputs()[0]->node();
  const Node* first = second->input(0)->node();
  const auto storage = [](const Node* conv) {
    return constant_of(conv->input(1))->to_tensor().impl()->storage;
  };
  EXPECT_FALSE(storage(first)->has_memory());
  EXPECT_EQ(storage(first).get(), storage(second).get());
}

TEST(FoldBatchNorms, IntoAConvolution) {
  const Tensor x = ramp({2, 3, 5, 4}), w = ramp({4, 3, 3, 3}, 1), b = ramp({4}, 2);
  const auto list = [] { return Value::list({1, 1}); };
  const std::string layer = "torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)";
  const Optimized with_bias = optimized(layer, w, b);
  EXPECT_EQ(outline(*with_bias.graph), "conv2d");
  const Node& conv = *with_bias.graph->outputs()[0]->node();
  EXPECT_FALSE(constant_of(conv.input(1))->to_tensor().impl()->storage->has_memory());
  expect_same(with_bias, x,
              ops::result_of("aten::conv2d", "", {x, w, b, list(), list(), list(), 1}));
  const Optimized without = optimized(layer, w, Value());
  EXPECT_EQ(outline(*without.graph), "conv2d");
  expect_same(without, x,
              ops::result_of("aten::conv2d", "", {x, w, Value(), list(), list(), list(), 1}));
}

TEST(FoldBatchNorms, IntoATransposedConvolutionWithGroups) {
  const Tensor x = ramp({1, 6, 3, 3}), w = ramp({6, 2, 2, 2}, 1), b = ramp({4}, 2);
  const Optimized made = optimized(
      "torch.conv_transpose2d(x, self.w, self.b, [2, 2], [0, 0], [0, 0], 2, [1, 1])", w, b);
  EXPECT_EQ(outline(*made.graph), "conv_transpose2d");
  expect_same(made, x,
              ops::result_of("aten::conv_transpose2d", "input",
                             {x, w, b, Value::list({2, 2}), Value::list({0, 0}),
                              Value::list({0, 0}), 2, Value::list({1, 1})}));
}

TEST(FoldBatchNorms, IntoAConvolutionWithPaddingByName) {
  const Tensor x = ramp({2, 3, 5, 4}), w = ramp({4, 3, 3, 3}, 1);
  const auto list = [] { return Value::list({1, 1}); };
  for (const char* padding : {"valid", "same"}) {
    const Optimized made = optimized(
        "torch.conv2d(x, self.w, self.b, [1, 1], \"" + std::string(padding) + "\", [1, 1], 1)", w,
        Value());
    EXPECT_EQ(outline(*made.graph), "conv2d");
    expect_same(
        made, x,
        ops::result_of("aten::conv2d", "padding", {x, w, Value(), list(), padding, list(), 1}));
  }
}

TEST(FoldBatchNorms, IntoALinearLayerOfAMatrixAlone) {
  const Tensor x = ramp({3, 5}), w = ramp({4, 5}, 1), b = ramp({4}, 2);
  const Optimized made = optimized("torch.linear(torch.view(x, [3, 5]), self.w, self.b)", w, b);
  EXPECT_EQ(outline(*made.graph), "view linear");
  expect_same(made, x, ops::result_of("aten::linear", "", {x, w, b}));
  // With another dimension the norm would be of that one.
  EXPECT_EQ(outline(*optimized("torch.linear(x, self.w, self.b)", w, b).graph),
            "linear batch_norm");
  EXPECT_EQ(
      outline(*optimized("torch.linear(torch.view(x, [1, 4, 5]), self.w, self.b)", w, b).graph),
      "view linear batch_norm");
}

TEST(FoldBatchNorms, LayersThatShareAWeightGetTheirOwn) {
  const Tensor w = ramp({4, 4, 1}), b = ramp({4});
  const Optimized made =
      optimized("torch.conv1d(x, self.w, self.b, [1], [0], [1], 1)", w, b,
                "    x = " + std::string(kNorm) +
                    "    y = torch.conv1d(x, self.w, self.b, [1], [0], [1], 1)\n");
  EXPECT_EQ(outline(*made.graph), "conv1d conv1d");
  const auto list = [](int64_t n) { return Value::list({n}); };
  const auto layer = [&](const Tensor& x) {
    return ops::result_of("aten::conv1d", "", {x, w, b, list(1), list(0), list(1), 1});
  };
  expect_same(made, ramp({1, 4, 3}), layer(ramp({1, 4, 3})));
  EXPECT_EQ(ops::elements_of(w), ops::elements_of(ramp({4, 4, 1})));
}

TEST(FoldBatchNorms, NotIfTheConvolutionIsSeenOrWritten) {
  const Tensor w = ramp({4, 3, 3}), b = ramp({4});
  const std::string layer = "torch.conv1d(x, self.w, self.b, [1], [1], [1], 1)";
  EXPECT_EQ(outline(*optimized(layer, w, b).graph), "conv1d");
  EXPECT_EQ(outline(*optimized(layer, w, b, "    print(y)\n").graph), "conv1d Print batch_norm");
  EXPECT_EQ(outline(*optimized(layer, w, b, "    _0 = torch.neg_(self.w)\n").graph),
            "GetAttr.w conv1d GetAttr.w neg_ batch_norm");
  EXPECT_EQ(outline(*optimized(layer, w.to(DType::kFloat64), Value()).graph),
            "conv1d batch_norm");  // the statistics are float
}

}  // namespace
}  // namespace torchlet::passes
