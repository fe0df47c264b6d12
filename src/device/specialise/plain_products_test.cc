#include "device/specialise/plain_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/cpu/testing.h"
#include "ops/core/common.h"

namespace torchlet::device {
namespace {

using cpu::Case;
using cpu::random_tensor;

// Of a [2, 5, 7] and b [2, 7, 6].
void expect_kernels(const std::string& body, const std::string& kernels) {
  SCOPED_TRACE(body);
  Case c({{"term", random_tensor({6})},
          {"nan", ops::full({{6}}, Scalar(std::nan("")), DType::kFloat32)}},
         body, "a: Tensor, b: Tensor");
  const std::vector<Value> inputs = {random_tensor({2, 5, 7}), random_tensor({2, 7, 6})};
  c.check(inputs);
  EXPECT_EQ(c.kernels(inputs), kernels);
}

TEST(PlainProducts, WithFactorsAndTerms) {
  const auto product = [](const std::string& self, const std::string& factors) {
    return "    return torch.baddbmm(" + self + ", a, b" + factors + ")\n";
  };
  expect_kernels(product("self.term", ""), "gemm_f32 binary_rows_f32");
  expect_kernels(product("self.term", ", beta=0.5, alpha=3"),
                 "gemm_f32 affine_rows_f32 affine_rows_f32 binary_rows_f32");
  expect_kernels(product("self.nan", ", beta=0, alpha=0.25"), "gemm_f32 affine_rows_f32");
  expect_kernels("    n = torch.empty([2, 5, 6])\n" + product("n", ", beta=0"), "gemm_f32");
  for (const char* sizes : {"[2, 5, 6]", "[torch.size(a, 0), 5, 6]"}) {
    const std::string zeros = "    n = torch.zeros(" + std::string(sizes) + ")\n";
    expect_kernels(zeros + product("n", ", beta=1., alpha=0.5"), "gemm_f32 affine_rows_f32");
  }
}

// Which a run of the plan would fill.
TEST(PlainProducts, WithLargeZeros) {
  const std::vector<Value> inputs = {random_tensor({2, 513, 3}), random_tensor({2, 3, 513})};
  const auto expect_large = [&](const std::string& last, const std::string& kernels) {
    Case c({},
           "    n = torch.zeros([torch.size(a, 0), 513, 513])\n    m = torch.baddbmm(n, a, b)\n" +
               last,
           "a: Tensor, b: Tensor");
    c.check(inputs);
    EXPECT_EQ(c.kernels(inputs), kernels);
  };
  expect_large("    return m\n", "gemm_f32");
  expect_large("    return torch.sub(m, n)\n", "aten::zeros gemm_f32 binary_rows_f32");
}

TEST(PlainProducts, ArePartOfAnAttention) {
  const std::vector<Value> inputs = {random_tensor({6, 9, 16})};
  for (const char* scores :
       {"torch.baddbmm(torch.empty([6, 9, 9]), x, torch.transpose(x, -1, -2), beta=0, alpha=0.25)",
        "torch.baddbmm(self.mask, x, torch.transpose(x, -1, -2), beta=1, alpha=0.25)"}) {
    Case c({{"mask", random_tensor({6, 1, 9})}},
           "    scores = " + std::string(scores) +
               "\n    weights = torch.to(torch.softmax(scores, -1), 6)\n" +
               "    return torch.bmm(weights, x)\n");
    c.check(inputs);
    EXPECT_EQ(c.kernels(inputs), "attention_f32 copy_strided");
  }
}

}  // namespace
}  // namespace torchlet::device
