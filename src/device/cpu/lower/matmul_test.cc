// Matrix products in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

// Few outputs of many inputs are sums along rows; others, and a single row, fill panels.
TEST(LowerMatmul, LinearLayersOfFewOutputs) {
  for (const int64_t in : {7, 8, 63, 64, 100}) {
    for (const int64_t out : {1, 2, 4, 5}) {
      for (const int64_t rows : {1, 2, 37}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << in << " to " << out);
        Case c({{"w", random_tensor({out, in})}, {"b", random_tensor({out})}},
               "    return torch.sigmoid(torch.linear(x, self.w, self.b))\n");
        const Tensor x = random_tensor({rows, in});
        c.check({x}, 1e-5);
        const bool is_sum = out <= 4 && in >= (out == 1 ? 8 : 64) && rows > 1;
        EXPECT_EQ(c.kernels({x}), is_sum ? "sum_pixels_f32" : "conv_nhwc_f32");
      }
    }
  }
}

// Of XLNet, of MONAI's transformers, and with every order of dimensions.
TEST(LowerMatmul, EinsumIsAMatrixProduct) {
  struct Product {
    const char *equation, *kernels;
    IntArray a, b;
  };
  for (const Product& p : {
           Product{"ibnd,jbnd->bnij", "gemm_f32 unary_rows_f32", {5, 2, 3, 4}, {7, 2, 3, 4}},
           Product{"bnij,jbnd->ibnd", "gemm_f32 unary_rows_f32", {2, 3, 5, 7}, {7, 2, 3, 4}},
           Product{"blxd,blyd->blxy", "gemm_f32 unary_rows_f32", {2, 3, 5, 4}, {2, 3, 6, 4}},
           Product{"bhxy,bhyd->bhxd", "gemm_f32 unary_rows_f32", {2, 3, 5, 6}, {2, 3, 6, 4}},
           Product{"bhxy , bhyd -> dxhb",
                   "copy_strided copy_strided gemm_f32 unary_rows_f32",
                   {2, 3, 5, 6},
                   {2, 3, 6, 4}},
           Product{"nkctv,kvw->nctw",
                   "copy_strided gemm_f32 unary_rows_f32",
                   {2, 3, 4, 5, 6},
                   {3, 6, 7}},
           Product{"bi,bj->bij", "gemm_f32 unary_rows_f32", {2, 5}, {2, 3}},
           Product{"ab,ab->", "gemm_f32 unary_rows_f32", {4, 6}, {4, 6}},
           Product{"ijk,jk->i", "gemm_f32 unary_rows_f32", {4, 5, 6}, {5, 6}},
           Product{"i,j->ji", "gemm_f32 unary_rows_f32", {5}, {3}},
           Product{"bxd,byd->bxy", "gemm_f32 unary_rows_f32", {1, 1, 4}, {1, 3, 4}},
           Product{"...xy,...yd->...xd", "gemm_f32 unary_rows_f32", {2, 3, 5, 6}, {2, 3, 6, 4}},
           Product{"x...y,...yd->x...d", "gemm_f32 unary_rows_f32", {5, 2, 3, 6}, {3, 6, 4}},
           Product{"...nd,...d->...n", "gemm_f32 unary_rows_f32", {2, 3, 5, 6}, {2, 3, 6}},
           Product{"...xd,yd->xy...",
                   "copy_strided gemm_f32 unary_rows_f32 copy_strided",
                   {2, 5, 6},
                   {4, 6}},
       }) {
    SCOPED_TRACE(p.equation);
    Case c({}, "    return torch.neg(torch.einsum(\"" + std::string(p.equation) + "\", [x, y]))\n",
           "x: Tensor, y: Tensor");
    c.check({random_tensor(p.a), random_tensor(p.b)});
    EXPECT_EQ(c.kernels({random_tensor(p.a), random_tensor(p.b)}), p.kernels);
  }
  // Weights are packed once, on whichever side.
  const Tensor x = random_tensor({5, 2, 6}), y = random_tensor({5, 2, 3, 4});
  for (const char* product : {"\"ibh,hnd->ibnd\", [x, self.w]", "\"hnd,ibh->dibn\", [self.w, x]"}) {
    Case layer({{"w", random_tensor({6, 3, 4})}},
               "    return torch.einsum(" + std::string(product) + ")\n");
    layer.check({x});
    EXPECT_EQ(layer.kernels({x}).substr(0, 13), "conv_nhwc_f32");
  }
  Case back({{"w", random_tensor({6, 3, 4})}},
            "    return torch.einsum(\"ibnd,hnd->ibh\", [x, self.w])\n");
  back.check({y});
  EXPECT_EQ(back.kernels({y}), "conv_nhwc_f32");
  // Weights for each of several, as gMLP has them.
  Case several({{"w", random_tensor({2, 3, 4})}},
               "    return torch.relu(torch.einsum(\"bhnd,hmn->bhmd\", [x, self.w]))\n");
  several.check({random_tensor({1, 2, 4, 5})});
  EXPECT_EQ(several.kernels({random_tensor({1, 2, 4, 5})}), "gemm_f32 activation_rows_f32");
  several.check({random_tensor({3, 2, 4, 5})});
  for (const char* other : {"ii,ij->j", "ij,jk", "ij,kj->i"}) {
    Case c({}, "    return torch.neg(torch.einsum(\"" + std::string(other) + "\", [x, y]))\n",
           "x: Tensor, y: Tensor");
    const Tensor a = random_tensor({4, 4});
    c.check({a, random_tensor({4, 4})});
    EXPECT_EQ(c.kernels({a, random_tensor({4, 4})}), "aten::einsum unary_rows_f32") << other;
  }
}

// Rotations of points, in whichever order a matrix lies; not with gaps, nor where there are few.
TEST(LowerMatmul, ManyTinyMatrices) {
  const auto kernels_of = [](const std::string& expression, const std::vector<Value>& inputs) {
    Case c({}, "    return " + expression + "\n", "x: Tensor, y: Tensor");
    c.check(inputs, 1e-5);
    return c.kernels(inputs);
  };
  const Tensor turns = random_tensor({70, 3, 3}), points = random_tensor({70, 3}),
               columns = random_tensor({70, 3, 1});
  EXPECT_EQ(kernels_of("torch.bmm(x, y)", {turns, turns}), "gemm_tiny_f32");
  EXPECT_EQ(kernels_of("torch.bmm(x.transpose(1, 2), y)", {turns, turns}), "gemm_tiny_f32");
  EXPECT_EQ(kernels_of("torch.matmul(x, y)", {turns, columns}), "gemm_tiny_f32");
  EXPECT_EQ(kernels_of("torch.einsum(\"nij,nj->ni\", [x, y])", {turns, points}), "gemm_tiny_f32");
  EXPECT_EQ(kernels_of("torch.bmm(x[:, :, :2], y[:, :2])", {turns, turns}), "gemm_f32");
  EXPECT_EQ(kernels_of("torch.bmm(x[:20], y[:20])", {turns, turns}), "gemm_f32");
  EXPECT_EQ(kernels_of("torch.einsum(\"nij,njk->ink\", [x, y])", {turns, turns}), "gemm_f32");
}

TEST(LowerMatmul, RowsBetweenLinearLayersMayHaveGaps) {
  Case c({{"w", random_tensor({1024, 6})},
          {"b", random_tensor({1024})},
          {"u", random_tensor({5, 1024})}},
         "    y = torch.gelu(torch.linear(x, self.w, self.b))\n"
         "    return torch.linear(y, self.u, None)\n");
  const Tensor x = random_tensor({2, 9, 6});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(LowerMatmul, ProductsStayContiguousNextToImages) {
  Case c({{"w", random_tensor({3, 8})}}, "    return torch.linear(x, self.w, None)\n");
  const Tensor x = random_tensor({2, 4, 5, 8}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "copy_strided conv_nhwc_f32");
  EXPECT_TRUE(c.planned({x}).to_tensor().is_contiguous());
}

TEST(LowerMatmul, ProductsOfOtherRanksAreErrors) {
  Case mm({}, "    return torch.mm(torch.relu(x), x)\n");
  EXPECT_THROW(mm.planned({random_tensor({2, 3, 3})}), Error);
  Case bmm({}, "    return torch.bmm(torch.relu(x), y)\n", "x: Tensor, y: Tensor");
  EXPECT_THROW(bmm.planned({random_tensor({2, 3, 3}), random_tensor({1, 3, 3})}), Error);
}

}  // namespace
}  // namespace torchlet::cpu
