#include "passes/prepack.h"

#include <gtest/gtest.h>

#include "ops/core/testing.h"
#include "passes/analysis/constants.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

using ops::make;
using ops::ramp;

// forward(x), with weights of several layers, after the passes for PyTorch Mobile.
struct Made {
  Optimized optimized;
  ChangeLog log;
  std::string nodes() const { return outline(*optimized.graph); }
};

Made for_mobile(const std::string& body, const PassSet& passes = PassSet::of(kForMobile)) {
  Program program(module_class(
      "M", {"conv : Tensor", "narrow : Tensor", "linear : Tensor", "b : Tensor", "double : Tensor"},
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body));
  const Value object = program.object("M", {{"conv", ramp({4, 4, 3, 3})},
                                            {"narrow", ramp({4, 4, 3})},
                                            {"linear", ramp({4, 4})},
                                            {"b", make({1, -2, 3, -4})},
                                            {"double", ramp({4, 4}).to(DType::kFloat64)}});
  Made made;
  made.optimized = optimize(Program::method(object), object, {}, {passes, true, &made.log});
  made.optimized.graph->verify();
  return made;
}

const std::string kConv = "torch.conv2d(x, self.conv, self.b, [1, 1], [1, 1], [1, 1], 1)";

void expect_same_answers(const std::string& body, const Tensor& x) {
  const Made plain = for_mobile(body, PassSet::of(kForFiles)), packed = for_mobile(body);
  EXPECT_EQ(ops::elements_of(run_graph(*plain.optimized.graph, x)),
            ops::elements_of(run_graph(*packed.optimized.graph, x)))
      << body;
}

TEST(Prepack, LayersTakeTheActivationsAfterThem) {
  for (const std::string& layer :
       {kConv,
        std::string(
            "torch.conv_transpose2d(x, self.conv, self.b, [2, 2], [1, 1], [1, 1], 1, [1, 1])"),
        std::string("torch.linear(x, self.linear, self.b)")}) {
    for (const char* activation :
         {"torch.relu(y)", "torch.relu_(y)", "torch.relu6(y)", "torch.hardtanh(y, -1., 2.)",
          "torch.hardtanh_(y, 0., 6.)", "torch.clamp(y, -3.)", "torch.clamp(y, None, 2)"}) {
      const std::string body = "    y = " + layer + "\n    return " + activation + "\n";
      const Made made = for_mobile(body);
      EXPECT_EQ(made.nodes().find(' '), std::string::npos) << made.nodes();
      EXPECT_EQ(made.log.changes().at("activations").notes.size(), 1u);
      expect_same_answers(body, ramp({2, 4, 4, 4}));
    }
  }
}

TEST(Prepack, PaddingByName) {
  const std::string layer = "    return torch.conv2d(x, self.conv, None, [1, 1], ";
  for (const char* padding : {"\"valid\"", "\"same\""}) {
    const std::string body = layer + padding + ", [2, 2], 1)\n";
    EXPECT_EQ(for_mobile(body).nodes(), "conv2d_clamp_run");
    expect_same_answers(body, ramp({1, 4, 7, 7}));
  }
}

TEST(Prepack, Conv1dBecomesAConv2d) {
  const std::string body =
      "    return torch.relu(torch.conv1d(x, self.narrow, self.b, [2], [1], [1], 1))\n";
  EXPECT_EQ(for_mobile(body).nodes(), "unsqueeze conv2d_clamp_run squeeze relu");
  expect_same_answers(body, ramp({2, 4, 6}));
}

TEST(Prepack, WhatStays) {
  // Read twice; the bounds are no interval; another dtype; a weight that is no constant.
  EXPECT_EQ(for_mobile("    y = " + kConv + "\n    return torch.add(torch.relu(y), y)\n").nodes(),
            "conv2d_clamp_run relu add");
  EXPECT_EQ(for_mobile("    return torch.clamp(" + kConv + ", 2, 1)\n").nodes(),
            "conv2d_clamp_run clamp");
  EXPECT_EQ(for_mobile("    return torch.linear(x, self.double)\n").nodes(), "linear");
  EXPECT_EQ(for_mobile("    return torch.linear(x, torch.relu(x))\n").nodes(), "relu linear");
}

TEST(Prepack, SumsTakeTheirRelu) {
  EXPECT_EQ(for_mobile("    return torch.relu(torch.add(" + kConv + ", torch.neg(x)))\n").nodes(),
            "conv2d_clamp_run neg _add_relu");
  // Of unknown dtype.
  EXPECT_EQ(for_mobile("    return torch.relu(torch.add(x, x))\n").nodes(), "add relu");
  // What is added is written before the relu.
  EXPECT_EQ(for_mobile("    z = x\n    x = torch.neg(x)\n    y = torch.add(" + kConv +
                       ", z)\n    z = torch.neg_(z)\n    return torch.relu(y)\n")
                .nodes(),
            "neg conv2d_clamp_run add neg_ relu");
}

TEST(Prepack, DevicesSeePlainLayers) {
  const std::string context =
      "    c = ops.prepacked.conv2d_clamp_prepack(self.conv, self.b, [1, 1], [1, 1], [1, 1], 1, ";
  const PassSet at_load = PassSet::of(kAtLoad);
  const std::string run_it = ")\n    return ops.prepacked.conv2d_clamp_run(x, c)\n";
  EXPECT_EQ(for_mobile(context + "None, None" + run_it, at_load).nodes(), "conv2d");
  EXPECT_EQ(for_mobile(context + "0, None" + run_it, at_load).nodes(), "conv2d relu");
  EXPECT_EQ(for_mobile(context + "0, 6" + run_it, at_load).nodes(), "conv2d clamp");
  EXPECT_EQ(for_mobile("    return ops.aten._add_relu(x, x)\n", at_load).nodes(), "add relu");
}

TEST(Prepack, WeightsArePackedOnce) {
  const std::string body =
      "    c = ops.prepacked.linear_clamp_prepack(self.linear, self.b)\n"
      "    return ops.prepacked.linear_clamp_run(x, c)\n";
  PassSet passes{};
  passes.insert("freeze");
  EXPECT_EQ(for_mobile(body, passes).nodes(), "linear_clamp_prepack linear_clamp_run");
  passes.insert("packed-weights");
  EXPECT_EQ(for_mobile(body, passes).nodes(), "linear_clamp_run");
}

TEST(QuantizedRelus, BecomePartOfTheLayer) {
  const std::string layer =
      "    q = torch.quantize_per_tensor(x, 0.5, 3, 13)\n    y = ops.quantized.add(q, q, 0.5, 7)\n";
  EXPECT_EQ(for_mobile(layer + "    return torch.relu(y)\n").nodes(),
            "quantize_per_tensor add_relu");
  EXPECT_EQ(
      for_mobile(layer + "    return torch.add(torch.relu(y), torch.dequantize(y))\n").nodes(),
      "quantize_per_tensor add relu dequantize add");
}

TEST(PassSets, AreNamed) {
  PassSet set = PassSet::of(kForFiles);
  EXPECT_TRUE(set.contains("batch-norm"));
  EXPECT_FALSE(set.contains("prepack"));
  set.erase("batch-norm");
  EXPECT_FALSE(set.contains("batch-norm"));
  EXPECT_THROW(set.insert("nothing"), Error);
}

}  // namespace
}  // namespace torchlet::passes
