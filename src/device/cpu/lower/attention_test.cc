// Attention in plans, against the reference, and which kernels ran.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "device/cpu/testing.h"

namespace torchlet::cpu {
namespace {

TEST(LowerAttention, Attention) {
  // As torch.nn.MultiheadAttention computes it, and as BERT does.
  Case vit({{"w", random_tensor({96, 32})}},
           "    y = torch.linear(x, self.w, None)\n"
           "    q, k, v = torch.chunk(y, 3, -1)\n"
           "    q = torch.transpose(torch.view(torch.contiguous(q), [19, 4, 8]), 0, 1)\n"
           "    k = torch.transpose(torch.view(torch.contiguous(k), [19, 4, 8]), 0, 1)\n"
           "    v = torch.transpose(torch.view(torch.contiguous(v), [19, 4, 8]), 0, 1)\n"
           "    a = torch.bmm(torch.div(q, 3.), torch.transpose(k, -2, -1))\n"
           "    y = torch.bmm(torch.softmax(a, -1), v)\n"
           "    y = torch.view(torch.contiguous(torch.transpose(y, 0, 1)), [19, 32])\n"
           "    return torch.relu(y)\n");
  const Tensor x = random_tensor({19, 1, 32});
  vit.check({x});
  EXPECT_EQ(vit.kernels({x}), "conv_nhwc_f32 attention_f32 activation_rows_f32");

  const std::string heads = ", [2, 7, 3, 5]), [0, 2, 1, 3])\n";
  Case bert({{"w", random_tensor({15, 9})}, {"u", random_tensor({15, 9})}},
            "    q = torch.permute(torch.view(torch.linear(x, self.w, None)" + heads +
                "    k = torch.permute(torch.view(torch.linear(x, self.u, None)" + heads +
                "    a = torch.div(torch.matmul(q, torch.transpose(k, -1, -2)), 2.5)\n"
                "    p = torch.softmax(torch.add(a, mask), -1)\n"
                "    y = torch.permute(torch.matmul(p, k), [0, 2, 1, 3])\n"
                "    return torch.reshape(y, [2, 7, 15])\n",
            "x: Tensor, mask: Tensor");
  const Tensor tokens = random_tensor({2, 7, 9}), mask = random_tensor({2, 1, 1, 7});
  bert.check({tokens, mask});
  EXPECT_NE(bert.kernels({tokens, mask}).find("attention_f32"), std::string::npos);

  // The weights are wanted, too.
  Case read({},
            "    p = torch.softmax(torch.matmul(x, torch.transpose(x, 0, 1)), -1)\n"
            "    return torch.add(torch.matmul(p, x), torch.sum(p))\n");
  read.check({random_tensor({6, 4})});
  Case alone({},
             "    p = torch.softmax(torch.matmul(x, torch.transpose(x, 0, 1)), -1)\n"
             "    return torch.matmul(p, x)\n");
  alone.check({random_tensor({6, 4})});
  EXPECT_EQ(alone.kernels({random_tensor({6, 4})}), "attention_f32");
}

TEST(LowerAttention, AttentionByEinsum) {
  const auto attention = [](const char* scores, const std::string& rest) {
    return "    a = torch.softmax(torch.einsum(\"" + std::string(scores) +
           "\", [torch.mul(q, 0.5), k]), -1)\n    return torch.einsum(" + rest + ")\n";
  };
  const char* arguments = "q: Tensor, k: Tensor, v: Tensor";
  // As rearranged heads are written, and as XLNet does it; then what is no attention: scores that
  // are turned, weights that are turned or come second.
  Case heads({},
             attention("b h i d, b h j d -> b h i j", "\"b h i j, b h j d -> b h i d\", [a, v]"),
             arguments);
  const Tensor q = random_tensor({2, 3, 5, 8}), k = random_tensor({2, 3, 7, 8});
  heads.check({q, k, random_tensor({2, 3, 7, 6})});
  // What leaves is copied, since heads are joined in it.
  EXPECT_EQ(heads.kernels({q, k, random_tensor({2, 3, 7, 6})}), "attention_f32 copy_strided");
  Case words_first({}, attention("ibnd,jbnd->bnij", "\"bnij,jbnd->ibnd\", [a, v]"), arguments);
  const Tensor x = random_tensor({5, 2, 5, 8});
  words_first.check({x, x, x});
  EXPECT_EQ(words_first.kernels({x, x, x}), "attention_f32 copy_strided");
  for (const char* rest : {"\"bnij,ibnd->jbnd\", [a, v]", "\"jbnd,bnij->ibnd\", [v, a]"}) {
    Case other({}, attention("ibnd,jbnd->bnij", rest), arguments);
    other.check({x, x, x});
    EXPECT_EQ(other.kernels({x, x, x}).find("attention_f32"), std::string::npos) << rest;
  }
  Case turned({}, attention("ibnd,jbnd->bnji", "\"bnij,jbnd->ibnd\", [a, v]"), arguments);
  turned.check({x, x, x});
  EXPECT_EQ(turned.kernels({x, x, x}).find("attention_f32"), std::string::npos);
}

TEST(LowerAttention, ChangedScores) {
  const Tensor q = random_tensor({6, 5, 8}), mask = random_tensor({2, 1, 5, 5});
  mask.data_ptr<float>()[3] = std::numeric_limits<float>::lowest();
  const Tensor truths = empty(IntArray{2, 1, 5, 5}, DType::kBool);
  for (int64_t i = 0; i < 50; ++i) truths.data_ptr<bool>()[i] = i % 3 == 0;
  const Tensor least = empty(IntArray{}, DType::kFloat32);
  *least.data_ptr<float>() = std::numeric_limits<float>::lowest();
  const auto kernels = [&](const std::string& scores, const Tensor& operand) {
    Case c({{"least", least}},
           "    a = torch.bmm(q, torch.transpose(q, 1, 2))\n" + scores +
               "    return torch.bmm(torch.softmax(torch.view(a, [6, 5, 5]), -1, 6), q)\n",
           "q: Tensor, mask: Tensor");
    c.check({q, operand});
    return c.kernels({q, operand});
  };
  const std::string split = "    a = torch.view(a, [2, 3, 5, 5])\n",
                    one = "attention_f32 copy_strided";
  // Heads are split for the mask alone: as BART and CLIP have it, OPT, BLOOM, GPT-J, and shifted
  // windows, which have two masks.
  EXPECT_EQ(kernels(split + "    a = torch.add(mask, a)\n", mask), one);
  EXPECT_EQ(
      kernels(split + "    a = torch.max(torch.add(a, mask), torch.detach(self.least))\n", mask),
      one);
  EXPECT_EQ(kernels("    a = torch.add(torch.mul(a, 0.3), torch.slice(q, 2, 0, 5))\n" + split +
                        "    a = torch.masked_fill(a, mask, -1000.)\n",
                    truths),
            one);
  EXPECT_EQ(kernels(split + "    a = torch.div(torch.where(mask, a, self.least), 2.5)\n", truths),
            one);
  EXPECT_EQ(kernels("    a = torch.add(a, torch.slice(q, 2, 0, 5))\n"
                    "    a = torch.add(torch.view(a, [1, 2, 3, 5, 5]), torch.unsqueeze(mask, 0))\n",
                    mask),
            one);
  // A factor for each head, as Swin v2 has it, and for each query.
  EXPECT_EQ(
      kernels(split + "    a = torch.mul(a, torch.slice(torch.slice(mask, 2, 0, 1), 3, 0, 1))\n"
                      "    a = torch.add(a, mask)\n",
              mask),
      one);
  EXPECT_EQ(
      kernels(split + "    a = torch.mul(torch.add(a, mask), torch.slice(mask, 3, 0, 1))\n", mask),
      one);
  // What the kernel cannot do: an activation, terms that are scaled, a factor for each of them, a
  // mask of its own for each row, fillings that differ.
  for (const char* scores :
       {"    a = torch.relu(torch.div(torch.view(a, [6, 5, 5]), 3.))\n",
        "    a = torch.mul(torch.add(a, mask), 0.5)\n", "    a = torch.mul(a, mask)\n",
        "    a = torch.add(a, torch.slice(mask, 3, 0, 1))\n",
        "    a = torch.where(torch.gt(a, 0.1), a, mask)\n"}) {
    EXPECT_EQ(kernels(split + scores, mask).find("attention"), std::string::npos) << scores;
  }
}

TEST(LowerAttention, FusedTransformerLayers) {
  const std::vector<std::pair<std::string, Tensor>> weights = {
      {"a", random_tensor({48, 16})}, {"b", random_tensor({48})},
      {"c", random_tensor({16, 16})}, {"d", random_tensor({16})},
      {"e", random_tensor({16})},     {"f", random_tensor({16})},
      {"g", random_tensor({16})},     {"h", random_tensor({16})},
      {"i", random_tensor({33, 16})}, {"j", random_tensor({33})},
      {"k", random_tensor({16, 33})}, {"l", random_tensor({16})}};
  const Tensor x = random_tensor({2, 7, 16});
  for (const char* flags : {"False, False", "False, True", "True, False", "True, True"}) {
    Case layer(weights,
               "    return torch._transformer_encoder_layer_fwd(x, 16, 4, self.a, self.b, "
               "self.c, self.d, " +
                   std::string(flags) +
                   ", 1e-5, self.e, self.f, self.g, self.h, self.i, self.j, self.k, "
                   "self.l, None, None)\n");
    layer.check({x}, 2e-5);
    EXPECT_NE(layer.kernels({x}).find("attention_f32 conv_nhwc_f32"), std::string::npos);
  }
  Case attention(weights,
                 "    y, p = torch._native_multi_head_attention(x, x, x, 16, 4, self.a, self.b, "
                 "self.c, self.d, None, False, True, None)\n"
                 "    return torch.relu(y)\n");
  attention.check({x}, 2e-5);
  EXPECT_EQ(attention.kernels({x}), "conv_nhwc_f32 attention_f32 conv_nhwc_f32");
}

TEST(LowerAttention, AttentionOverViews) {
  Case c({{"w", random_tensor({24, 8})},
          {"o", random_tensor({8, 8})},
          {"g", random_tensor({8})},
          {"h", random_tensor({8})}},
         "    n = torch.size(x, 0)\n"
         "    t = torch.size(x, 1)\n"
         "    y = torch.layer_norm(x, [8], self.g, self.h)\n"
         "    y = torch.reshape(torch.linear(y, self.w), [n, t, 3, 2, 4])\n"
         "    y = torch.permute(y, [2, 0, 3, 1, 4])\n"
         "    q, k, v = torch.unbind(y)\n"
         "    a = torch.softmax(torch.matmul(q, torch.transpose(k, -2, -1)), -1)\n"
         "    y = torch.reshape(torch.transpose(torch.matmul(a, v), 1, 2), [n, t, 8])\n"
         "    return torch.add(x, torch.linear(y, self.o))\n");
  c.check({random_tensor({2, 5, 8})});
  c.check({random_tensor({1, 9, 8})});
}

}  // namespace
}  // namespace torchlet::cpu
