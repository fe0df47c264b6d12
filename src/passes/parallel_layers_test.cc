#include "passes/parallel_layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::make;
using ops::ramp;

using Weights = std::vector<std::pair<std::string, Value>>;

struct Made {
  Optimized before, after;
  std::string nodes() const { return outline(*after.graph); }
};

// forward(x) with these attributes, without the pass and with all.
Made made_of(const std::string& body, const Weights& weights) {
  std::vector<std::string> attributes;
  for (const auto& [name, value] : weights) attributes.push_back(name + " : Tensor");
  Program program(module_class("M", attributes,
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body));
  const Value object = program.object("M", weights);
  PassSet others = PassSet::of(kAtLoad);
  others.erase("parallel-layers");
  Made made = {optimize(Program::method(object), object, {}, {others}), Program::optimized(object)};
  made.after.graph->verify();
  return made;
}

void expect_merged(const std::string& body, const Weights& weights, const Tensor& x,
                   const std::string& nodes) {
  SCOPED_TRACE(body);
  const Made made = made_of(body, weights);
  EXPECT_EQ(made.nodes(), nodes);
  const auto want = ops::elements_of(run_graph(*made.before.graph, x)),
             got = ops::elements_of(run_graph(*made.after.graph, x));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << i;
}

// A convolution of x by a weight of the name: stride 1 or as told.
std::string conv(const std::string& weight, int padding, int groups = 1, int stride = 1,
                 int dilation = 1) {
  const auto pair = [](int n) { return "[" + std::to_string(n) + ", " + std::to_string(n) + "]"; };
  return "torch.conv2d(x, self." + weight + ", self.b, " + pair(stride) + ", " + pair(padding) +
         ", " + pair(dilation) + ", " + std::to_string(groups) + ")";
}
const std::string kNorm =
    "torch.batch_norm(x, self.gamma, self.b, self.mean, self.var, False, 0.10000000000000001, "
    "0.001, True)";

Weights weights_of(int64_t inputs = 4, DType dtype = DType::kFloat32) {
  return {{"three", ramp({4, inputs, 3, 3}, 0, dtype)}, {"five", ramp({4, inputs, 5, 5}, 1, dtype)},
          {"one", ramp({4, inputs, 1, 1}, 2, dtype)},   {"wide", ramp({4, inputs, 1, 3}, 3, dtype)},
          {"tall", ramp({4, inputs, 3, 1}, 4, dtype)},  {"even", ramp({4, inputs, 2, 2}, 5, dtype)},
          {"b", make({1, -2, 0.5, 0.25}).to(dtype)},    {"gamma", make({1, 2, -0.5, 3}).to(dtype)},
          {"mean", make({0.5, -1, 0.25, 2}).to(dtype)}, {"var", make({1, 0.5, 2, 0.25}).to(dtype)}};
}

std::string returned(const std::string& expression) { return "    return " + expression + "\n"; }

TEST(ParallelLayers, WindowsInTheMiddleOfTheLargest) {
  const Tensor x = ramp({2, 4, 7, 6});
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Weights weights = weights_of(4, dtype);
    const Tensor input = x.to(dtype);
    for (const std::string& other :
         {conv("one", 0), conv("five", 2), conv("three", 1), kNorm, std::string("x")}) {
      for (const char* op : {"add", "sub", "add_"}) {
        expect_merged(
            returned("torch." + std::string(op) + "(" + conv("three", 1) + ", " + other + ")"),
            weights, input, "conv2d");
        if (other == "x" && std::string(op) == "add_") continue;
        expect_merged(
            returned("torch." + std::string(op) + "(" + other + ", " + conv("three", 1) + ")"),
            weights, input, "conv2d");
      }
    }
  }
}

TEST(ParallelLayers, ChainsOfThemAndWhatIsFoldedBefore) {
  const Tensor x = ramp({2, 4, 7, 6});
  const std::string sum =
      "    y = torch.add(torch.add(" + conv("three", 1) + ", " + conv("one", 0) + "), x)\n";
  expect_merged(sum + "    return torch.add_(y, " + kNorm + ")\n", weights_of(), x, "conv2d");
  // What follows the sum is folded in the next round.
  std::string norm_of_sum = kNorm;
  norm_of_sum.replace(norm_of_sum.find("(x") + 1, 1, "y");
  expect_merged(sum + returned(norm_of_sum), weights_of(), x, "conv2d");
}

TEST(ParallelLayers, GroupsStridesDilationAndOtherDimensions) {
  const Tensor x = ramp({2, 4, 9, 8});
  for (const int groups : {2, 4}) {
    const Weights weights = weights_of(4 / groups);
    expect_merged(
        returned("torch.add(" + conv("three", 1, groups) + ", " + conv("one", 0, groups) + ")"),
        weights, x, "conv2d");
    expect_merged(returned("torch.sub(" + kNorm + ", " + conv("five", 2, groups) + ")"), weights, x,
                  "conv2d");
  }
  expect_merged(returned("torch.add(" + conv("five", 2, 1, 2) + ", " + conv("one", 0, 1, 2) + ")"),
                weights_of(), x, "conv2d");
  expect_merged(returned("torch.add(" + conv("three", 2, 1, 1, 2) + ", " + conv("one", 0) + ")"),
                weights_of(), x, "conv2d");
  const Weights others = {{"line", ramp({4, 4, 3})},
                          {"cube", ramp({4, 4, 3, 1, 3}, 1)},
                          {"pixel", ramp({4, 4, 1, 1, 1}, 2)},
                          {"matrix", ramp({4, 4}, 3)},
                          {"b", make({1, -2, 0.5, 0.25})}};
  expect_merged(returned("torch.add(torch.conv1d(x, self.line, self.b, [1], [1], [1], 1), x)"),
                others, ramp({2, 4, 5}), "conv1d");
  expect_merged(returned("torch.add(torch.conv3d(x, self.pixel), torch.conv3d(x, self.cube, "
                         "self.b, [1, 1, 1], [1, 0, 1], [1, 1, 1], 1))"),
                others, ramp({2, 4, 3, 4, 5}), "conv3d");
  expect_merged(returned("torch.sub(torch.linear(x, self.matrix, self.b), x)"), others,
                ramp({3, 4}), "linear");
}

TEST(ParallelLayers, OthersStay) {
  const std::string three = conv("three", 1), add = "torch.add(" + three + ", ";
  const std::string kBodies[] = {
      returned(add + conv("one", 0) + ", alpha=2)"),
      returned(add + conv("three", 1, 1, 1, 2) + ")"),  // its pixels lie elsewhere, smaller
      returned("torch.add(" + conv("three", 2, 1, 1, 2) + ", " + three + ")"),
      returned("torch.add(" + conv("even", 1) + ", " + conv("one", 0) + ")"),
      returned(add + "torch.neg(x))"),
      returned("torch.add_(x, " + three + ")"),
      // Neither window is inside the other.
      returned("torch.add(torch.conv2d(x, self.wide, None, [1, 1], [0, 1], [1, 1], 1), "
               "torch.conv2d(x, self.tall, None, [1, 1], [1, 0], [1, 1], 1))"),
      // Of something else.
      returned(add + "torch.conv2d(torch.neg(x), self.one))"),
      // Somebody else reads it.
      "    y = " + conv("one", 0) + "\n    return torch.mul(" + add + "y), y)\n",
      // The value changes in between.
      "    y = " + three + "\n    z = torch.relu_(x)\n" +
          returned("torch.add(y, " + conv("one", 0) + ")"),
      "    y = " + three + "\n    z = torch.relu_(x)\n" + returned("torch.add(y, x)"),
      // Of the statistics of the input, and by steps.
      returned(add + "torch.batch_norm(x, self.gamma, self.b, None, None, True, 0.1, 0.001, "
                     "True))"),
      returned("torch.add(" + conv("three", 1, 1, 2) + ", x)"),
      returned("torch.add(torch.conv2d(x, self.three, self.b, [1, 1], \"same\", [1, 1], 1), x)"),
      returned("torch.add(torch.conv_transpose2d(x, self.one), x)"),
  };
  for (const std::string& body : kBodies) {
    SCOPED_TRACE(body);
    const std::string nodes = made_of(body, weights_of()).nodes();
    EXPECT_NE(nodes.find("add"), std::string::npos) << nodes;
  }
  // As many inputs as outputs are needed for the value itself.
  EXPECT_EQ(made_of(returned(add + "x)"), weights_of(1)).nodes(), "conv2d add");
}

}  // namespace
}  // namespace torchlet::passes
