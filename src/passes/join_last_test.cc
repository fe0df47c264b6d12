#include "passes/join_last.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::make;
using ops::ramp;

Value object_of(Program& program) {
  return program.object("M", {{"w", ramp({2, 3, 1, 1})},
                              {"v", ramp({3, 3, 3, 3}, 1)},
                              {"b", make({1, -2})},
                              {"gamma", make({1, 2, -0.5, 3, 0.25})},
                              {"beta", make({0, 1, -1, 0.25, 2})},
                              {"mean", make({0.5, -0.5, 0, 1, 3})},
                              {"var", make({1, 4, 0.25, 2, 1})}});
}

std::string program_of(const std::string& body) {
  return module_class("M",
                      {"w : Tensor", "v : Tensor", "b : Tensor", "gamma : Tensor", "beta : Tensor",
                       "mean : Tensor", "var : Tensor"},
                      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                      "    p = torch.conv2d(x, self.w, self.b, [1, 1], [0, 0], [1, 1], 1)\n"
                      "    q = torch.conv2d(x, self.v, None, [1, 1], [1, 1], [1, 1], 1)\n" +
                          body);
}

const std::string kNorm =
    "    y = torch.batch_norm(y, self.gamma, self.beta, self.mean, self.var, False, 0.1, 0.001, "
    "True)\n";

TEST(JoinLast, NormsAndFunctionsGoToTheLayers) {
  const Tensor x = ramp({2, 3, 5, 4});
  for (const char* function :
       {"torch.silu_(y)", "torch.relu(y)", "torch.hardtanh(y, -0.5, 2.)", "torch.pow(y, 2)"}) {
    SCOPED_TRACE(function);
    Program program(
        program_of("    y = torch.cat([p, q], 1)\n" + kNorm + "    return " + function + "\n"));
    const Value object = object_of(program);
    PassSet others = PassSet::of(kAtLoad);
    others.erase("join-last");
    others.erase("batch-norm");
    const Optimized before = optimize(Program::method(object), object, {}, {others}),
                    after = Program::optimized(object);
    const std::string name = std::string(function).substr(6, std::string(function).find('(') - 6);
    const std::string twin = name == "silu_" ? "silu" : name;
    EXPECT_EQ(outline(*before.graph), "conv2d conv2d ListConstruct cat batch_norm " + twin);
    EXPECT_EQ(outline(*after.graph), "conv2d conv2d " + twin + " " + twin + " ListConstruct cat");
    const auto want = ops::elements_of(run_graph(*before.graph, x)),
               got = ops::elements_of(run_graph(*after.graph, x));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-5 * std::max(1.0, std::abs(want[i]))) << i;
    }
  }
}

TEST(JoinLast, OthersStay) {
  const std::string kBodies[] = {
      // Pictures are joined, what is no layer, one twice, or a result that others read.
      "    y = torch.cat([q, q.mul(2)], 0)\n    return torch.relu(y)\n",
      "    y = torch.cat([p, x], 1)\n    return torch.relu(y)\n",
      "    y = torch.cat([q, q], 1)\n    return torch.relu(y)\n",
      "    y = torch.cat([p, q], 1)\n    return torch.add(torch.relu(y), torch.sum(y))\n",
      "    y = torch.cat([p, q], 1)\n    return torch.add(torch.relu(y), torch.sum(p))\n",
      // Of two tensors.
      "    y = torch.cat([p, q], 1)\n    return torch.mul(y, torch.sum(x))\n",
  };
  for (const std::string& body : kBodies) {
    Program program(program_of(body));
    const Value object = object_of(program);
    const std::string made = outline(*Program::optimized(object).graph);
    PassSet others = PassSet::of(kAtLoad);
    others.erase("join-last");
    EXPECT_EQ(made, outline(*optimize(Program::method(object), object, {}, {others}).graph));
  }
}

}  // namespace
}  // namespace torchlet::passes
