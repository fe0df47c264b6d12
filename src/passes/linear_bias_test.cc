#include "passes/linear_bias.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

Optimized optimized(const std::string& body) {
  Program program(module_class("M", {"w : Tensor", "b : Tensor", "one : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor):\n" + body));
  return Program::optimized(program.object(
      "M", {{"w", ops::ramp({3, 3})}, {"b", ops::make({1, 2, 4})}, {"one", ops::make({5})}}));
}

TEST(FoldLinearBiases, ProductsAndLayersWithoutOne) {
  const std::vector<double> rows = ops::elements_of(ops::ramp({3, 3}));
  const struct {
    const char* product;
    bool is_transposed;
  } kProducts[] = {{"torch.matmul(x, self.w)", true}, {"torch.linear(x, self.w, None)", false}};
  for (const auto& [product, is_transposed] : kProducts) {
    for (const bool bias_first : {false, true}) {
      const std::string p = product;
      const Optimized made = optimized("    return torch.add(" +
                                       (bias_first ? "self.b, " + p : p + ", self.b") + ")\n");
      EXPECT_EQ(outline(*made.graph), "linear");
      const Node* linear = made.graph->outputs()[0]->node();
      EXPECT_EQ(linear->input(0), made.graph->inputs()[1]);
      const std::vector<double> weight =
          ops::elements_of(constant_of(linear->input(1))->to_tensor());
      EXPECT_EQ(weight[1], is_transposed ? rows[3] : rows[1]);
      EXPECT_EQ(ops::elements_of(constant_of(linear->input(2))->to_tensor()),
                (std::vector<double>{1, 2, 4}));
    }
  }
}

TEST(FoldLinearBiases, OthersStay) {
  const char* const kOthers[] = {
      // Somebody else reads the product.
      "    y = torch.matmul(x, self.w)\n    return torch.mul(torch.add(y, self.b), y)\n",
      // Not one number for each column.
      "    return torch.add(torch.matmul(x, self.w), self.one)\n",
      "    return torch.add(torch.matmul(x, self.w), self.b, alpha=2)\n",
      "    return torch.add(torch.matmul(x, self.w), self.w)\n",
      // Something is written in between.
      "    y = torch.matmul(x, self.w)\n    z = torch.relu_(x)\n    return torch.add(y, self.b)\n",
      // Something is not known.
      "    return torch.add(torch.matmul(self.w, x), self.b)\n",
      "    return torch.add(torch.matmul(x, self.w), torch.select(x, 0, 0))\n",
  };
  for (const char* body : kOthers) {
    EXPECT_NE(outline(*optimized(body).graph).find("add"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace torchlet::passes
