#include "passes/ignored_terms.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

std::string optimized(const std::string& body) {
  Program program(
      module_class("M", {"w : Tensor"}, "  def forward(self: __torch__.M, x: Tensor):\n" + body));
  return outline(*Program::optimized(program.object("M", {{"w", ops::ramp({3, 3})}})).graph);
}

TEST(FillIgnoredTerms, EmptyTensorsBecomeZeros) {
  const std::string sizes = "    n = torch.empty([torch.size(x, 0), 3, 3], dtype=6)\n";
  EXPECT_EQ(optimized(sizes + "    return torch.baddbmm(n, x, x, beta=0, alpha=0.5)\n"),
            "size ListConstruct zeros baddbmm");
  EXPECT_EQ(optimized(sizes + "    return torch.baddbmm(n, x, x, beta=1)\n"),
            "size ListConstruct empty baddbmm");
  EXPECT_EQ(optimized(sizes + "    return torch.add(torch.baddbmm(n, x, x, beta=0), n)\n"),
            "size ListConstruct empty baddbmm add");
}

}  // namespace
}  // namespace torchlet::passes
