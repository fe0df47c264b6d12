#include "passes/pool_first.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::ramp;

Value object_of(Program& program) {
  return program.object(
      "M",
      {{"w", ramp({3, 4, 1, 1})}, {"three", ramp({3, 4, 3, 3})}, {"b", ops::make({1, -2, 0.5})}});
}

std::string program_of(const std::string& body) {
  return module_class("M", {"w : Tensor", "three : Tensor", "b : Tensor"},
                      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body);
}

const std::string kConv = "torch.conv2d(x, self.w, self.b, [1, 1], [0, 0], [1, 1], 1)";

TEST(PoolFirst, ChangesPlacesWithPointwiseConvolutions) {
  const Tensor x = ramp({2, 4, 7, 6});
  for (const char* arguments :
       {"[2, 2]", "[2, 2], [2, 2], [0, 0], True", "[3, 3], [2, 3], [0, 0], True, False",
        "[1, 1], [2, 2], [0, 0], False, True, None", "[2], [3], [0]"}) {
    SCOPED_TRACE(arguments);
    Program program(
        program_of("    y = " + kConv + "\n    return torch.avg_pool2d(y, " + arguments + ")\n"));
    const Value object = object_of(program);
    PassSet others = PassSet::of(kAtLoad);
    others.erase("pool-first");
    const Optimized before = optimize(Program::method(object), object, {}, {others}),
                    after = Program::optimized(object);
    EXPECT_EQ(outline(*before.graph), "conv2d avg_pool2d");
    EXPECT_EQ(outline(*after.graph), "avg_pool2d conv2d");
    const auto want = ops::elements_of(run_graph(*before.graph, x)),
               got = ops::elements_of(run_graph(*after.graph, x));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
  }
}

TEST(PoolFirst, OthersStay) {
  const std::string kBodies[] = {
      // All pixels stay, the picture gets an edge, or the mean is none.
      "    return torch.avg_pool2d(" + kConv + ", [3, 3], [1, 1])\n",
      "    return torch.avg_pool2d(" + kConv + ", [2, 2], [2, 1])\n",
      "    return torch.avg_pool2d(" + kConv + ", [2, 2], [2, 2], [1, 1])\n",
      "    return torch.avg_pool2d(" + kConv + ", [2, 2], [2, 2], [0, 0], False, True, 3)\n",
      "    return torch.avg_pool2d(torch.conv2d(x, self.three, self.b), [2, 2])\n",
      "    return torch.avg_pool2d(torch.conv2d(x, self.w, self.b, [2, 2], [0, 0]), [2, 2])\n",
      "    return torch.avg_pool2d(torch.conv2d(x, self.w, self.b, [1, 1], [1, 1]), [2, 2])\n",
      "    return torch.avg_pool2d(torch.relu(" + kConv + "), [2, 2])\n",
      "    y = " + kConv + "\n    return torch.add(torch.avg_pool2d(y, [2, 2]), torch.mean(y))\n",
  };
  for (const std::string& body : kBodies) {
    Program program(program_of(body));
    const Optimized made = Program::optimized(object_of(program));
    EXPECT_EQ(outline(*made.graph).substr(0, 6), "conv2d") << body;
  }
}

}  // namespace
}  // namespace torchlet::passes
