#include "quant/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/testing.h"
#include "quant/weights.h"

namespace torchlet::quant {
namespace {

using passes::module_class;
using passes::outline;
using passes::Program;

Tensor ramp(std::initializer_list<int64_t> sizes) {
  const Tensor tensor = empty(IntSpan(sizes.begin(), sizes.size()), DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>(i % 7 - 3) / 10;
  }
  return tensor;
}

// An optimised forward(x) of a module with a weight w [4, 4, 1, 1], a matrix m [3, 4] and a bias b.
class Rewritten {
 public:
  // `body` is the rest of "def forward(self: __torch__.M, x: Tensor) -> Tensor:".
  explicit Rewritten(const std::string& body, const std::vector<std::string>& float_ops = {})
      : program_(module_class("M", {"w : Tensor", "m : Tensor", "b : Tensor"},
                              "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body)) {
    const Value object = program_.object(
        "M",
        {{"w", Value(ramp({4, 4, 1, 1}))}, {"m", Value(ramp({3, 4}))}, {"b", Value(ramp({4}))}});
    passes::Request request;
    request.passes.erase("residuals");
    graph_ = passes::optimize(Program::method(object), object, {}, request).graph;
    layers_ = find_layers(*graph_);
    std::vector<bool> wanted;
    for (const Layer& layer : layers_) {
      wanted.push_back(std::ranges::find(float_ops, layer.op) == float_ops.end());
    }
    worth_ = worth_quantizing(*graph_, layers_, wanted);
    std::vector<LayerChoice> choices(layers_.size());
    for (size_t i = 0; i < layers_.size(); ++i) {
      choices[i].quantize = worth_[i];
      choices[i].output = {0.1, 3};
      choices[i].inputs.assign(layers_[i].inputs.size(), QParams{0.2, 5});
      const LayerKind kind = layers_[i].kind;
      if (kind != LayerKind::kConv && kind != LayerKind::kLinear) continue;
      choices[i].packed = pack(weights_of(layers_[i]), kind, {true, 0.2, {}});
    }
    rewrite(*graph_, layers_, choices);
    graph_->verify();
  }
  std::string outline_text() const { return outline(*graph_); }
  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<bool>& worth() const { return worth_; }

 private:
  Program program_;
  std::unique_ptr<Graph> graph_;
  std::vector<Layer> layers_;
  std::vector<bool> worth_;
};

const std::string kConv = "torch.conv2d(x, self.w, self.b)";

TEST(Rewrite, QuantizesAroundALayer) {
  EXPECT_EQ(Rewritten("    return torch.sigmoid(" + kConv + ")\n").outline_text(),
            "quantize_per_tensor conv2d dequantize sigmoid");
}

TEST(Rewrite, TakesReluAndClampsAlong) {
  EXPECT_EQ(Rewritten("    return torch.relu(" + kConv + ")\n").outline_text(),
            "quantize_per_tensor conv2d_relu dequantize");
  EXPECT_EQ(Rewritten("    return torch.hardtanh(" + kConv + ", 0., 6.)\n").outline_text(),
            "quantize_per_tensor conv2d_relu dequantize");
  EXPECT_EQ(Rewritten("    return torch.hardtanh(" + kConv + ", -1., 1.)\n").outline_text(),
            "quantize_per_tensor conv2d dequantize");
  // 0 would become 1.
  EXPECT_EQ(Rewritten("    return torch.hardtanh(" + kConv + ", 1., 6.)\n").outline_text(),
            "quantize_per_tensor conv2d dequantize hardtanh");
}

TEST(Rewrite, ReluOfAValueThatOthersReadStaysApart) {
  EXPECT_EQ(
      Rewritten("    y = " + kConv + "\n    return torch.sub(torch.relu(y), y)\n").outline_text(),
      "quantize_per_tensor conv2d dequantize relu dequantize sub");
}

TEST(Rewrite, FollowsViewsAndPooling) {
  EXPECT_EQ(Rewritten("    y = torch.max_pool2d(" + kConv +
                      ", [2, 2])\n"
                      "    z = torch.flatten(torch.mean(y, [2, 3]), 1)\n"
                      "    return torch.linear(z, self.m)\n")
                .outline_text(),
            "quantize_per_tensor conv2d max_pool2d mean flatten linear dequantize");
}

TEST(Rewrite, AsksTheQuantizedTensorForItsSizes) {
  EXPECT_EQ(Rewritten("    y = " + kConv +
                      "\n    n = torch.size(y, 0)\n"
                      "    z = torch.reshape(y, [n, 4])\n    return torch.linear(z, self.m)\n")
                .outline_text(),
            "quantize_per_tensor conv2d size ListConstruct reshape linear dequantize");
}

TEST(Rewrite, SumsBetweenLayersAreQuantized) {
  EXPECT_EQ(Rewritten("    y = " + kConv +
                      "\n    z = torch.relu(torch.add(x, y))\n"
                      "    return torch.conv2d(z, self.w)\n")
                .outline_text(),
            "quantize_per_tensor conv2d add_relu conv2d dequantize");
}

TEST(Rewrite, SumsBehindTheLastLayerStay) {
  const Rewritten program("    return torch.add(" + kConv + ", x)\n");
  EXPECT_EQ(program.outline_text(), "quantize_per_tensor conv2d dequantize add");
  EXPECT_EQ(program.worth(), (std::vector<bool>{true, false}));
}

TEST(Rewrite, JoinsAndTakesApart) {
  EXPECT_EQ(Rewritten("    y = torch.cat([" + kConv +
                      ", x], 1)\n"
                      "    a, b = torch.chunk(y, 2, 1)\n    return torch.conv2d(b, self.w)\n")
                .outline_text(),
            "quantize_per_tensor conv2d ListConstruct cat chunk ListUnpack conv2d dequantize");
}

TEST(Rewrite, ActivationsWithRangesOfTheirOwn) {
  EXPECT_EQ(Rewritten("    y = torch.hardswish(" + kConv +
                      ")\n"
                      "    z = torch.mul(y, torch.hardsigmoid(y))\n"
                      "    return torch.conv2d(z, self.w)\n")
                .outline_text(),
            "quantize_per_tensor conv2d hardswish hardsigmoid mul conv2d dequantize");
}

TEST(Rewrite, WhatStaysFloatIsBetweenConversions) {
  EXPECT_EQ(Rewritten("    y = torch.gelu(" + kConv + ")\n    return torch.conv2d(y, self.w)\n")
                .outline_text(),
            "quantize_per_tensor conv2d dequantize gelu quantize_per_tensor conv2d dequantize");
  EXPECT_EQ(
      Rewritten("    y = torch.hardswish(" + kConv + ")\n    return torch.conv2d(y, self.w)\n",
                {"hardswish"})
          .outline_text(),
      "quantize_per_tensor conv2d dequantize hardswish quantize_per_tensor conv2d "
      "dequantize");
}

TEST(Rewrite, BranchesReadWhatIsOutside) {
  EXPECT_EQ(Rewritten("    y = " + kConv +
                      "\n"
                      "    if bool(torch.gt(torch.sum(x), 0)):\n"
                      "      z = torch.conv2d(y, self.w)\n    else:\n      z = y\n    return z\n")
                .outline_text(),
            "quantize_per_tensor conv2d dequantize sum gt Bool If(conv2d dequantize|)");
}

TEST(Layers, WhatIsWrittenIsNone) {
  const Rewritten program("    y = " + kConv +
                          "\n    z = y[0]\n    torch.fill_(z, 1.)\n"
                          "    return torch.conv2d(y, self.w)\n");
  for (const Layer& layer : program.layers()) EXPECT_NE(layer.kind, LayerKind::kConv);
}

TEST(Layers, OldFormsOfLinearLayers) {
  const Rewritten program("    return torch.addmm(self.b, x, torch.t(self.m))\n");
  EXPECT_TRUE(program.layers().empty() || program.layers()[0].op == "linear");
}

}  // namespace
}  // namespace torchlet::quant
