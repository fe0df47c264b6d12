#include <torchlet/compare.h>

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <cmath>
#include <limits>

#include "archive/test_util.h"
#include "ops/core/testing.h"
#include "prepare/compare/align.h"
#include "prepare/compare/difference.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

using ops::make;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Options reference() {
  Options options;
  options.devices = {"reference"};
  return options;
}

std::string fixture(const std::string& name) { return "tests/fixtures/" + name; }

// A module with an int attribute `state` and these methods.
Module module_of(const std::string& methods, const Options& options = reference()) {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  state : int\n" + methods;
  namespace op = archive::op;
  const std::string zip = archive::ZipBuilder()
                              .add("m/data.pkl", op::pickle("c__torch__\nM\n)\x81}" +
                                                            op::str("state") + op::byte(5) + "sb"))
                              .add("m/code/__torch__.py", code)
                              .add("m/constants.pkl", op::pickle(")"))
                              .add("m/version", "3\n")
                              .finish();
  return load(std::as_bytes(std::span(zip)), options);
}

std::string forward(const std::string& body) {
  return "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body;
}

TEST(Difference, IsAPowerRatioAndAMaximum) {
  const Difference d = prepare::measure(make({3.0, 4.0, 0.0}), make({3.0, 4.0, 0.5}));
  EXPECT_NEAR(d.sqnr, 10 * std::log10(25 / 0.25), 1e-9);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.largest, 4);
  EXPECT_EQ(prepare::measure(make({1.0, -2.0}), make({1.0, -2.0})).sqnr, kInfinity);
}

TEST(Difference, KnowsWhatIsNoNumber) {
  EXPECT_EQ(prepare::measure(make({kNan, kInfinity, 1.0}), make({kNan, kInfinity, 1.0})).sqnr,
            kInfinity);
  for (const double lost : {kNan, kInfinity, -kInfinity}) {
    const Difference d = prepare::measure(make({1.0, 2.0}), make({1.0, lost}));
    EXPECT_EQ(d.sqnr, -kInfinity);
    EXPECT_EQ(d.max_abs, kInfinity);
  }
  EXPECT_EQ(prepare::measure(make({1.0, 2.0}), make({1.0})).sqnr, -kInfinity);
  EXPECT_EQ(prepare::measure(make({0.0}), make({1.0})).sqnr, -kInfinity);
  EXPECT_EQ(prepare::measure(make({0.0}), make({1.0})).max_abs, 1);
}

TEST(Difference, IsJudgedByTheTensorsLargestOrByDecibels) {
  CompareOptions options;
  options.rtol = 0.01;
  options.atol = 0;
  EXPECT_TRUE(prepare::is_within({20, 0.99, 99}, options));
  EXPECT_FALSE(prepare::is_within({20, 1.0, 99}, options));
  options.min_sqnr = 20;
  EXPECT_TRUE(prepare::is_within({20, 1e9, 1}, options));
  EXPECT_FALSE(prepare::is_within({19.9, 0, 1}, options));
}

TEST(Difference, OfOutputsFollowsTheirStructure) {
  const auto parts = prepare::compare_outputs(
      Value::tuple({Value(make({1.0})), Value::dict({{"n", 3}, {"gone", 1}}), Value("a")}),
      Value::tuple({Value(make({1.0})), Value::dict({{"n", 4}}), Value("b")}), {});
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].name, "output[0]");
  EXPECT_TRUE(parts[0].within);
  EXPECT_EQ(parts[1].name, "output[1]['n']");
  EXPECT_EQ(parts[1].difference.max_abs, 1);
  EXPECT_FALSE(parts[1].within);
  EXPECT_EQ(parts[2].name, "output[1]['gone']");
  EXPECT_FALSE(parts[2].within);
  EXPECT_EQ(parts[3].name, "output[2]");
  EXPECT_FALSE(parts[3].within);
}

prepare::ObservedNode node(std::string op, std::string path, std::vector<int64_t> sizes,
                           std::vector<size_t> inputs) {
  prepare::ObservedNode node;
  node.op = std::move(op);
  node.module_path = std::move(path);
  node.sizes = std::move(sizes);
  node.times = 1;
  node.inputs = std::move(inputs);
  return node;
}

TEST(Align, StepsThatAreMergedStandForTheirFirst) {
  const std::vector<prepare::ObservedNode> a = {
      node("aten::conv2d", "f.0", {1, 8}, {}), node("aten::batch_norm", "f.1", {1, 8}, {0}),
      node("aten::relu_", "f.2", {1, 8}, {1}), node("aten::conv2d", "g", {1, 4}, {2})};
  const std::vector<prepare::ObservedNode> b = {
      node("quantized::conv2d_relu.new", "f.0", {1, 8}, {}),
      node("quantized::conv2d.new", "g", {1, 4}, {0})};
  const auto matches = prepare::align(a, b);
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].a, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(matches[0].b, (std::vector<size_t>{0}));
  EXPECT_EQ(matches[1].a, (std::vector<size_t>{3}));
  EXPECT_EQ(matches[1].b, (std::vector<size_t>{1}));
}

TEST(Align, FollowsWhatNodesReadWhereTheOrderIsAnother) {
  // Two branches, low and high, which b computes the other way round.
  const std::vector<prepare::ObservedNode> a = {
      node("aten::relu", "", {4}, {}), node("aten::sigmoid", "", {4}, {0}),
      node("aten::conv2d", "high", {2}, {1}), node("aten::conv2d", "low", {2}, {0}),
      node("aten::add.Tensor", "", {2}, {2, 3})};
  const std::vector<prepare::ObservedNode> b = {
      node("aten::relu", "", {4}, {}), node("aten::conv2d", "", {2}, {0}),
      node("aten::sigmoid", "", {4}, {0}), node("aten::conv2d", "", {2}, {2}),
      node("aten::add.Tensor", "", {2}, {1, 3})};
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const prepare::Match& match : prepare::align(a, b)) {
    ASSERT_EQ(match.a.size() + match.b.size(), 2u);
    pairs.emplace_back(match.a[0], match.b[0]);
  }
  EXPECT_EQ(pairs,
            (std::vector<std::pair<size_t, size_t>>{{0, 0}, {1, 2}, {2, 3}, {3, 1}, {4, 4}}));
}

TEST(Align, NeedsEqualSizesAndSomethingInCommon) {
  const std::vector<prepare::ObservedNode> a = {node("aten::mul.Tensor", "", {2}, {}),
                                                node("aten::add.Tensor", "", {2}, {0})};
  const std::vector<prepare::ObservedNode> b = {node("aten::add.Tensor", "", {3}, {}),
                                                node("aten::sigmoid", "", {2}, {0}),
                                                node("aten::add.Scalar", "", {2}, {1})};
  const auto matches = prepare::align(a, b);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].a, (std::vector<size_t>{1}));
  EXPECT_EQ(matches[0].b, (std::vector<size_t>{2}));
}

TEST(Compare, PlansAgreeWithTheProgram) {
  const std::vector<Value> inputs = {Value(load_npy(fixture("scripted_convnet.in0.npy")))};
  const std::string file = fixture("scripted_convnet.pt");
  for (const bool every_operator : {false, true}) {
    CompareOptions options;
    options.every_operator = every_operator;
    const Comparison c = compare(load(file, reference()), load(file), inputs, options);
    EXPECT_TRUE(c.within);
    EXPECT_FALSE(c.first_divergence);
    ASSERT_FALSE(c.nodes.empty());
    EXPECT_EQ(c.nodes.back().operator_a, "aten::linear");
    EXPECT_EQ(c.nodes.back().module_path, "classifier");
    EXPECT_EQ(c.nodes.back().place_a, "linear.py:114");
    for (const ComparedNode& node : c.nodes) {
      EXPECT_GT(node.difference.sqnr, 100) << node.operator_a << " " << node.place_a;
      EXPECT_EQ(node.times, 1u);
    }
    EXPECT_TRUE(c.only_b.empty());
    // The batch norm is part of the convolution before it; the plan's steps hold the activations.
    std::vector<std::string> alone;
    for (const UnmatchedNode& node : c.only_a) alone.push_back(node.op);
    const std::vector<std::string> merged = {"aten::conv2d", "aten::batch_norm", "aten::conv2d"};
    const std::vector<std::string> folded = {"aten::conv2d"};
    EXPECT_EQ(alone, every_operator ? folded : merged);
  }
}

TEST(Compare, FindsTheNodeWhoseWeightDiffers) {
  const std::vector<Value> inputs = {Value(load_npy(fixture("scripted_convnet.in0.npy")))};
  const Module a = load(fixture("scripted_convnet.pt"), reference());
  const Module b = a.deepcopy();
  const Tensor weight = b.submodule("features.3").attr("weight").to_tensor();
  weight.data_ptr<float>()[0] += 10;
  const Comparison c = compare(a, b, inputs);
  EXPECT_FALSE(c.within);
  ASSERT_TRUE(c.first_divergence);
  const ComparedNode& first = c.nodes[*c.first_divergence];
  EXPECT_EQ(first.operator_a, "aten::conv2d");
  EXPECT_EQ(first.module_path, "features.3");
  ASSERT_EQ(first.inputs.size(), 1u);
  EXPECT_EQ(c.nodes[first.inputs[0]].operator_a, "aten::relu_");
  for (size_t i = 0; i < *c.first_divergence; ++i) {
    EXPECT_EQ(c.nodes[i].difference.sqnr, kInfinity);
  }
}

TEST(Compare, GoesInPiecesWhereThereIsLittleMemory) {
  const std::vector<Value> inputs = {Value(load_npy(fixture("scripted_convnet.in0.npy")))};
  const Module a = load(fixture("scripted_convnet.pt"), reference());
  const Module b = load(fixture("scripted_convnet.pt"));
  std::vector<double> steps;
  CompareOptions options;
  const Comparison whole = compare(a, b, inputs, options);
  options.memory = 1;
  options.progress = [&](double done) { steps.push_back(done); };
  const Comparison pieces = compare(a, b, inputs, options);
  ASSERT_EQ(pieces.nodes.size(), whole.nodes.size());
  for (size_t i = 0; i < whole.nodes.size(); ++i) {
    EXPECT_EQ(pieces.nodes[i].difference.sqnr, whole.nodes[i].difference.sqnr);
  }
  EXPECT_EQ(steps.size(), 2 + whole.nodes.size());
  EXPECT_EQ(steps.back(), 1);
}

TEST(Compare, FollowsLoopsAndBranches) {
  const auto body = [](const char* last) {
    return forward(
        "    y = torch.mul(x, 2)\n"
        "    for i in range(4):\n"
        "      if i > 2:\n"
        "        y = torch.add(y, " +
        std::string(last) +
        ")\n"
        "      else:\n"
        "        y = torch.sub(y, 1)\n"
        "    return torch.relu(y)\n");
  };
  const std::vector<Value> inputs = {Value(make({1.0, 5.0}))};
  const Comparison c = compare(module_of(body("1")), module_of(body("2")), inputs);
  std::vector<std::pair<std::string, size_t>> nodes;
  for (const ComparedNode& node : c.nodes) nodes.emplace_back(node.operator_a, node.times);
  EXPECT_EQ(nodes, (std::vector<std::pair<std::string, size_t>>{{"aten::mul.Scalar", 1},
                                                                {"aten::add.Scalar", 1},
                                                                {"aten::sub.Scalar", 3},
                                                                {"aten::relu", 1}}));
  ASSERT_TRUE(c.first_divergence);
  EXPECT_EQ(c.nodes[*c.first_divergence].operator_a, "aten::add.Scalar");
  EXPECT_EQ(c.nodes[*c.first_divergence].difference.max_abs, 1);
  // It reads what the loop carries: of the branch, of itself a turn before, and of before the loop.
  EXPECT_EQ(c.nodes[1].inputs, (std::vector<size_t>{0, 1, 2}));
}

TEST(Compare, SeesAValueBeforeItIsWritten) {
  const std::string body =
      "    y = torch.mul(x, 2)\n"
      "    z = torch.add_(y, 1)\n"
      "    return torch.mul(y, z)\n";
  const std::vector<Value> inputs = {Value(make({1.0, 5.0}))};
  for (const Options& options : {reference(), Options()}) {
    CompareOptions all;
    all.every_operator = true;
    const Comparison c =
        compare(module_of(forward(body)), module_of(forward(body), options), inputs, all);
    ASSERT_EQ(c.nodes.size(), 3u);
    for (const ComparedNode& node : c.nodes) EXPECT_EQ(node.difference.sqnr, kInfinity);
  }
}

TEST(Compare, LeavesMemoryOutThatIsFilledLater) {
  const Module a =
      module_of(forward("    y = torch.empty_like(x)\n"
                        "    z = torch.fill_(y, 3)\n"
                        "    return torch.mul(y, x)\n"));
  const Comparison c = compare(a, a, {Value(make({1.0, 5.0}))});
  ASSERT_EQ(c.nodes.size(), 2u);
  EXPECT_EQ(c.nodes[0].operator_a, "aten::fill_.Scalar");
}

TEST(Compare, LeavesModelsAndInputsAsTheyWere) {
  const std::string method = forward(
      "    self.state = torch.add(self.state, 1)\n"
      "    y = torch.add_(x, self.state)\n"
      "    return torch.mul(y, 2)\n");
  const Tensor x = make({1.0, 5.0});
  for (const Options& options : {reference(), Options()}) {
    const Module a = module_of(method), b = module_of(method, options);
    EXPECT_TRUE(compare(a, b, {Value(x)}).within);
    EXPECT_EQ(a.attr("state").to_int(), 5);
    EXPECT_EQ(b.attr("state").to_int(), 5);
    EXPECT_EQ(x.data_ptr<float>()[0], 1);
  }
}

TEST(Compare, DrawsTheSameRandomNumbersOnBothSides) {
  const Module a = module_of(forward("    return torch.mul(torch.rand_like(x), 2)\n"));
  const Comparison c = compare(a, a, {Value(make({1.0, 5.0}))});
  EXPECT_TRUE(c.within);
  EXPECT_EQ(c.nodes.size(), 2u);
  EXPECT_EQ(c.nodes[0].difference.sqnr, kInfinity);
}

TEST(Compare, ErrorsTellOfWhichModelTheyAre) {
  const Module fine = module_of(forward("    return torch.relu(x)\n"));
  const Module raises = module_of(forward("    return torch.mm(x, x)\n"));
  const std::vector<Value> inputs = {Value(make({1.0, 5.0}))};
  for (const auto& [a, b, which] : {std::tuple(raises, fine, "in the first model"),
                                    std::tuple(fine, raises, "in the second model")}) {
    try {
      compare(a, b, inputs);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.context().back(), which);
    }
  }
  CompareOptions options;
  options.method = "none";
  EXPECT_THROW(compare(fine, fine, inputs, options), Error);
}

}  // namespace
}  // namespace torchlet
