#include "passes/scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::make;
using ops::ramp;
using ops::result_of;

const char* const kConv = "torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)";
const char* const kLinear = "torch.linear(x, self.w, self.b)";

// forward(x) of a weight, a bias and a constant.
Optimized optimized(const std::string& body, const Value& weight, const Value& bias,
                    const Value& constant = ramp({4})) {
  Program program(module_class("M", {"w : Tensor", "b : Optional[Tensor]", "c : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body));
  return Program::optimized(program.object("M", {{"w", weight}, {"b", bias}, {"c", constant}}));
}

std::string outline_of(const std::string& body, const Value& weight, const Value& bias,
                       const Value& constant = ramp({4})) {
  return outline(*optimized(body, weight, bias, constant).graph);
}

// The last node of the graph, on x.
Tensor by_the_layer(const Optimized& made, const Tensor& x) {
  const Node* layer = made.graph->outputs()[0]->node();
  std::vector<Value> args = {x};
  for (size_t i = 1; i < layer->inputs().size(); ++i) args.push_back(*constant_of(layer->input(i)));
  Value result;
  layer->op()->call(args, {&result, 1});
  return result.to_tensor();
}

void expect_near(const Tensor& actual, const Tensor& expected) {
  const auto want = ops::elements_of(expected), got = ops::elements_of(actual);
  ASSERT_EQ(got.size(), want.size());
  EXPECT_EQ(actual.dtype(), expected.dtype());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + std::abs(want[i])));
}

Tensor conv2d(const Tensor& x, const Tensor& w, const Value& b) {
  const auto ones = [] { return Value::list({1, 1}); };
  return result_of("aten::conv2d", "", {x, w, b, ones(), ones(), ones(), 1});
}

TEST(FoldScales, OneNumberAfterAConvolution) {
  const Tensor x = ramp({2, 3, 5, 4}), w = ramp({4, 3, 3, 3}, 1), b = ramp({4}, 2);
  const Tensor y = conv2d(x, w, b);
  const auto check = [&](const std::string& call, const Tensor& expected) {
    SCOPED_TRACE(call);
    const Optimized made = optimized(
        "    y = " + std::string(kConv) + "\n    return " + call + "\n", w, b, make({0.25}));
    ASSERT_EQ(outline(*made.graph), "conv2d");
    expect_near(by_the_layer(made, x), expected);
  };
  const Tensor scaled = result_of("aten::mul", "Scalar", {y, 0.25});
  check("torch.mul(y, 0.25)", scaled);
  check("torch.mul_(y, 0.25)", scaled);
  check("torch.mul(y, self.c)", scaled);
  check("torch.div(y, 4)", scaled);
  check("torch.div_(y, 4)", scaled);
  check("torch.add(y, 3, alpha=2)", result_of("aten::add", "Scalar", {y, 6, 1}));
  check("torch.sub_(y, self.c, alpha=-2)", result_of("aten::add", "Scalar", {y, 0.5, 1}));
  check("torch.mul(torch.add(torch.mul(y, 3.), self.c), 0.5)",
        result_of("aten::add", "Scalar", {result_of("aten::mul", "Scalar", {y, 1.5}), 0.125, 1}));
}

TEST(FoldScales, ANumberForEachChannel) {
  const Tensor x = ramp({2, 3, 5, 4}), w = ramp({4, 3, 3, 3}, 1), c = make({1, -2, 0, 0.5});
  const Tensor column = ops::reshape(c, IntArray{4, 1, 1});
  const std::string conv = "    y = " + std::string(kConv) + "\n";
  const Optimized product =
      optimized(conv + "    return torch.mul(y, self.c)\n", w, Value(), column);
  EXPECT_EQ(outline(*product.graph), "conv2d");
  EXPECT_TRUE(constant_of(product.graph->outputs()[0]->node()->input(2))->is_none());
  const Tensor y = conv2d(x, w, Value());
  expect_near(by_the_layer(product, x), result_of("aten::mul", "Tensor", {y, column}));
  const Optimized sum = optimized(conv + "    return torch.add(y, self.c)\n", w, Value(), column);
  expect_near(by_the_layer(sum, x), result_of("aten::add", "Tensor", {y, column, 1}));

  const Tensor rows = ramp({2, 3, 5}), v = ramp({4, 5}, 1), b = ramp({4}, 2);
  const Optimized linear =
      optimized("    return torch.mul(" + std::string(kLinear) + ", self.c)\n", v, b, c);
  EXPECT_EQ(outline(*linear.graph), "linear");
  expect_near(by_the_layer(linear, rows),
              result_of("aten::mul", "Tensor", {result_of("aten::linear", "", {rows, v, b}), c}));
}

TEST(FoldScales, OneNumberBeforeALayer) {
  const Tensor x = ramp({2, 3, 5, 4}), w = ramp({4, 3, 3, 3}, 1), v = ramp({3, 3, 1, 1}),
               b = ramp({4}, 2);
  // The dtype of what the first layer gives is known.
  const std::string first =
      "    x = torch.relu(torch.conv2d(x, self.c, None, [1, 1], [0, 0], [1, 1], 1))\n";
  const Optimized made =
      optimized(first + "    x = torch.mul(x, 0.5)\n    return " + kConv + "\n", w, b, v);
  EXPECT_EQ(outline(*made.graph), "conv2d relu conv2d");
  expect_near(by_the_layer(made, x), conv2d(result_of("aten::mul", "Scalar", {x, 0.5}), w, b));
  // Of the input it is not: it may be an integer.
  EXPECT_EQ(outline_of("    x = torch.mul(x, 0.5)\n    return " + std::string(kConv) + "\n", w, b),
            "mul conv2d");
  // Zeros around the picture would be shifted as well.
  EXPECT_EQ(outline_of(first + "    x = torch.add(x, 0.5)\n    return " + kConv + "\n", w, b, v),
            "conv2d relu add conv2d");
  EXPECT_EQ(outline_of(first + "    x = torch.mul(x, 0.5)\n    y = " + kConv +
                           "\n    return torch.matmul(y, x)\n",
                       w, b, v),
            "conv2d relu mul conv2d matmul");
  // What is multiplied is written before the layer reads it.
  EXPECT_EQ(outline_of(first + "    y = torch.mul(x, 0.5)\n    z = torch.relu_(x)\n    x = y\n" +
                           "    return torch.matmul(" + kConv + ", z)\n",
                       w, b, v),
            "conv2d relu mul relu conv2d matmul");
}

TEST(FoldScales, OthersStay) {
  const Tensor w = ramp({4, 3, 3, 3}, 1), b = ramp({4}, 2);
  const std::string conv = "    y = " + std::string(kConv) + "\n";
  const auto stays = [&](const std::string& call, const Value& constant) {
    EXPECT_NE(outline_of(conv + "    return " + call + "\n", w, b, constant), "conv2d") << call;
  };
  stays("torch.mul(torch.mul(y, self.c), y)", make({2.}));  // others read it
  stays("torch.mul(y, self.c)", ramp({4}));                 // columns of pictures
  stays("torch.mul(y, self.c)",
        ops::reshape(ramp({4}), IntArray{1, 4, 1, 1}));  // may add a dimension
  stays("torch.mul(y, self.c)", ops::reshape(ramp({4}), IntArray{4, 1, 1}).to(DType::kFloat64));
  stays("torch.mul(y, self.c)", ramp({3, 1, 1}));
  stays("torch.mul(y, 1e-30)", Value(b));
  stays("torch.div(y, 0)", Value(b));
  stays("torch.div(y, 2, rounding_mode=\"floor\")", Value(b));
  stays("torch.mul(y, x)", Value(b));
}

TEST(FoldScales, LayersThatShareAWeightGetTheirOwn) {
  const Tensor w = ramp({3, 3, 1, 1}), b = ramp({3});
  const std::string conv = "torch.conv2d(x, self.w, self.b, [1, 1], [0, 0], [1, 1], 1)";
  EXPECT_EQ(
      outline_of("    x = torch.mul(" + conv + ", 2)\n    return torch.relu(" + conv + ")\n", w, b),
      "conv2d conv2d relu");
  EXPECT_EQ(ops::elements_of(w), ops::elements_of(ramp({3, 3, 1, 1})));
}

}  // namespace
}  // namespace torchlet::passes
