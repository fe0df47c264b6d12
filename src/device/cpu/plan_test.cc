// Plans against the reference: the same programs through both, and which kernels ran.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "device/cpu/builder.h"
#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "graph/prim_kinds.h"
#include "interp/interpreter.h"
#include "passes/testing.h"

namespace torchlet::cpu {
namespace {

using passes::module_class;
using passes::Program;

Tensor random_tensor(IntArray sizes, float low = -1, float high = 1) {
  static std::mt19937 random(7);
  const Tensor tensor = empty(sizes, DType::kFloat32);
  std::uniform_real_distribution<float> uniform(low, high);
  float* data = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = uniform(random);
  return tensor;
}

class PlannedFunction : public Function {
 public:
  PlannedFunction(Function& original, std::unique_ptr<Graph> graph)
      : original_(original), graph_(std::move(graph)) {}
  const std::string& qualified_name() const override { return original_.qualified_name(); }
  const Schema& schema() override { return original_.schema(); }
  const Graph& graph() override { return *graph_; }

 private:
  Function& original_;
  std::unique_ptr<Graph> graph_;
};

// One method through the plan and as it was written.
class Case {
 public:
  Case(std::vector<std::pair<std::string, Tensor>> weights, const std::string& body,
       const std::string& parameters = "x: Tensor", const std::string& result = "Tensor")
      : program_(source(weights, body, parameters, result)),
        device_(make_cpu_device()),
        self_(program_.object("M", values(weights))) {
    auto optimized = Program::optimized(self_);
    device::partition(*optimized.graph, *device_);
    optimized.graph->verify();
    planned_ =
        std::make_unique<PlannedFunction>(Program::method(self_), std::move(optimized.graph));
  }

  Value planned(std::vector<Value> inputs) {
    inputs.insert(inputs.begin(), self_);
    return interpreter_.run(*planned_, std::move(inputs));
  }
  Value reference(std::vector<Value> inputs) {
    inputs.insert(inputs.begin(), self_);
    return interpreter_.run(Program::method(self_), std::move(inputs));
  }

  // Twice, since the first run also compiles.
  void check(const std::vector<Value>& inputs, double tolerance = 1e-5) {
    const Tensor want = reference(inputs).to_tensor();
    for (int run = 0; run < 2; ++run) {
      expect_near(planned(inputs).to_tensor(), want, tolerance);
    }
  }

  static void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
    ASSERT_EQ(IntArray(got.sizes()), IntArray(want.sizes()));
    ASSERT_EQ(got.dtype(), want.dtype());
    const Tensor a = got.contiguous().to(DType::kFloat64);
    const Tensor b = want.contiguous().to(DType::kFloat64);
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < b.numel(); ++i) {
      const double x = a.data_ptr<double>()[i], y = b.data_ptr<double>()[i];
      if (std::isnan(x) && std::isnan(y)) continue;
      largest = std::max(largest, std::abs(y));
      worst = std::max(worst, std::abs(x - y));
    }
    EXPECT_LE(worst, tolerance * std::max(largest, 1e-3));
  }

  // The kernels of the only segment for these inputs: "conv_nhwc_f32 copy_strided".
  std::string kernels(const std::vector<Value>& inputs) {
    PackedWeights packed;
    std::string why, text;
    for (const Node* node : *planned_->graph().block()) {
      if (node->kind() != prim::kSegment) continue;
      const auto plan = PlanBuilder(*node, inputs, packed).build(why);
      if (!plan) return "declined: " + why;
      for (const auto& step : plan->steps) {
        text += (text.empty() ? "" : " ") + std::string(step->kernel());
      }
    }
    return text;
  }

 private:
  using Weights = std::vector<std::pair<std::string, Tensor>>;
  static std::string source(const Weights& weights, const std::string& body,
                            const std::string& parameters, const std::string& result) {
    std::vector<std::string> attributes;
    for (const auto& weight : weights) attributes.push_back(weight.first + " : Tensor");
    std::string method =
        "  def forward(self: __torch__.M, " + parameters + ") -> " + result + ":\n";
    return module_class("M", attributes, method + body);
  }
  static std::vector<std::pair<std::string, Value>> values(const Weights& weights) {
    std::vector<std::pair<std::string, Value>> all;
    for (const auto& [name, tensor] : weights) all.emplace_back(name, Value(tensor));
    return all;
  }

  Program program_;
  std::unique_ptr<device::Device> device_;
  Value self_;
  std::unique_ptr<PlannedFunction> planned_;
  interp::Interpreter interpreter_;
};

TEST(Plan, ConvolutionsTakeBiasActivationAndResidual) {
  Case c({{"w", random_tensor({8, 8, 3, 3})}, {"b", random_tensor({8})}},
         "    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.relu(torch.add(y, x))\n");
  const Tensor x = random_tensor({2, 8, 7, 9});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "copy_strided conv_nhwc_f32 copy_strided");
  // The caller's own layout needs no copies.
  const Tensor nhwc = x.contiguous(MemoryFormat::kChannelsLast);
  c.check({nhwc});
  EXPECT_EQ(c.kernels({nhwc}), "conv_nhwc_f32");
  EXPECT_TRUE(c.planned({nhwc}).to_tensor().is_contiguous(MemoryFormat::kChannelsLast));
}

TEST(Plan, TheResidualGoesToTheLaterOfTwoConvolutions) {
  Case c({{"a", random_tensor({4, 6, 1, 1})}, {"b", random_tensor({4, 6, 3, 3})}},
         "    u = torch.conv2d(x, self.a, None, [2, 2], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(x, self.b, None, [2, 2], [1, 1], [1, 1], 1)\n"
         "    return torch.sigmoid(torch.add(u, v))\n");
  const Tensor x = random_tensor({1, 6, 9, 9}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32");
}

TEST(Plan, AValueWithTwoReadersIsNotFused) {
  Case c({{"w", random_tensor({4, 4, 1, 1})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.mul(torch.relu(y), y)\n");
  const Tensor x = random_tensor({1, 4, 5, 5}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 activation_rows_f32 binary_rows_f32");
}

TEST(Plan, DepthwiseGroupedDilatedAndOneDimensional) {
  for (const IntArray& weight :
       {IntArray{6, 1, 3, 3}, IntArray{12, 1, 3, 3}, IntArray{6, 2, 3, 3}}) {
    const std::string groups = weight[1] == 1 ? "6" : "3";
    Case c({{"w", random_tensor(weight)}},
           "    return torch.conv2d(x, self.w, None, [1, 2], [2, 1], [2, 1], " + groups + ")\n");
    c.check({random_tensor({2, 6, 8, 7})});
  }
  Case line({{"w", random_tensor({5, 3, 4})}, {"b", random_tensor({5})}},
            "    return torch.relu(torch.conv1d(x, self.w, self.b, [2], [1], [1], 1))\n");
  line.check({random_tensor({2, 3, 11})});
}

TEST(Plan, InvertedResidualsRunInStrips) {
  // Large enough to pay: the wide image has 2.4 MB.
  Case c({{"a", random_tensor({96, 16, 1, 1})},
          {"b", random_tensor({96, 1, 3, 3})},
          {"c", random_tensor({16, 96, 1, 1})},
          {"d", random_tensor({16, 1, 3, 3})},
          {"e", random_tensor({24, 16, 1, 1})}},
         "    y = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    y = torch.hardtanh(y, 0., 6.)\n"
         "    y = torch.conv2d(y, self.b, None, [1, 1], [1, 1], [1, 1], 96)\n"
         "    y = torch.hardtanh(y, 0., 6.)\n"
         "    y = torch.conv2d(y, self.c, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    return torch.add(x, y)\n");
  const Tensor x = random_tensor({1, 16, 80, 80}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "inverted_residual_f32");
  const Tensor small = random_tensor({1, 16, 8, 8}).contiguous(MemoryFormat::kChannelsLast);
  c.check({small});
  EXPECT_EQ(c.kernels({small}), "conv_nhwc_f32 dwconv_nhwc_f32 conv_nhwc_f32");
}

TEST(Plan, TransposedConvolution) {
  for (const int64_t groups : {1, 2}) {
    Case c(
        {{"w", random_tensor({4, 3, 3, 2})}, {"b", random_tensor({3 * groups})}},
        "    return torch.relu(torch.conv_transpose2d(x, self.w, self.b, [2, 1], [1, 0], [1, 0], " +
            std::to_string(groups) + ", [1, 2]))\n");
    c.check({random_tensor({2, 4, 5, 6})});
  }
}

TEST(Plan, ConcatenationIsWrittenInPlace) {
  Case c({{"a", random_tensor({4, 4, 1, 1})}, {"b", random_tensor({3, 4, 3, 3})}},
         "    u = torch.conv2d(x, self.a, None, [1, 1], [0, 0], [1, 1], 1)\n"
         "    v = torch.conv2d(u, self.b, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.cat([v, u, v], 1)\n");
  const Tensor x = random_tensor({1, 4, 6, 6}).contiguous(MemoryFormat::kChannelsLast);
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "conv_nhwc_f32 conv_nhwc_f32 copy_strided");
}

TEST(Plan, PoolingMeansAndFlattening) {
  Case c({{"w", random_tensor({5, 6})}, {"b", random_tensor({5})}},
         "    y = torch.max_pool2d(x, [3, 3], [2, 2], [1, 1], [1, 1], True)\n"
         "    y = torch.avg_pool2d(y, [2, 2], [1, 1], [1, 1], False, False)\n"
         "    y = torch.adaptive_avg_pool2d(y, [1, 1])\n"
         "    return torch.linear(torch.flatten(y, 1), self.w, self.b)\n");
  c.check({random_tensor({3, 6, 10, 7})});
  Case mean({}, "    return torch.mean(x, [2, 3])\n");
  mean.check({random_tensor({2, 5, 3, 4})});
}

TEST(Plan, SqueezeAndExciteScalesChannels) {
  Case c({{"a", random_tensor({2, 6, 1, 1})}, {"b", random_tensor({6, 2, 1, 1})}},
         "    s = torch.adaptive_avg_pool2d(x, [1, 1])\n"
         "    s = torch.relu(torch.conv2d(s, self.a, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    s = torch.hardsigmoid(torch.conv2d(s, self.b, None, [1, 1], [0, 0], [1, 1], 1))\n"
         "    return torch.mul(s, x)\n");
  c.check({random_tensor({2, 6, 5, 4})});
}

TEST(Plan, ArithmeticBroadcasts) {
  for (const IntArray& other :
       {IntArray{2, 6, 4, 5}, IntArray{6, 1, 1}, IntArray{2, 6, 1, 1}, IntArray{2, 1, 4, 5},
        IntArray{5}, IntArray{1}, IntArray{}, IntArray{4, 1}}) {
    for (const char* op : {"add", "sub", "mul", "div"}) {
      Case c({}, "    return torch." + std::string(op) + "(x, y)\n", "x: Tensor, y: Tensor");
      const Tensor x = random_tensor({2, 6, 4, 5}), y = random_tensor(other, 1, 2);
      c.check({x, y});
      c.check({y, x});
      c.check({x.contiguous(MemoryFormat::kChannelsLast), y});
    }
  }
}

TEST(Plan, NumbersInArithmetic) {
  Case c({}, "    return torch.rsub(torch.mul(torch.sub(torch.add(x, 2, alpha=3), n), n), 1)\n",
         "x: Tensor, n: float");
  c.check({random_tensor({3, 4}), Value(2.5)});
  c.check({random_tensor({3, 4}), Value(-1.0)});
}

TEST(Plan, AttentionOverViews) {
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

TEST(Plan, ResizingAsPytorchDoes) {
  Case c({},
         "    y = torch.upsample_bilinear2d(x, [9, 5], False)\n"
         "    return torch.upsample_nearest2d(y, [4, 11])\n");
  c.check({random_tensor({1, 3, 4, 6})});
}

TEST(Plan, WhatHasNoKernelRunsItsReference) {
  Case c({}, "    return torch.relu(torch.softmax(torch.relu(x), 0))\n");
  const Tensor x = random_tensor({3, 4});
  c.check({x});
  EXPECT_EQ(c.kernels({x}), "activation_rows_f32 aten::softmax activation_rows_f32");
  Case other({}, "    return torch.mul(torch.add(x, x), 2)\n");
  other.check({random_tensor({3, 4}).to(DType::kFloat64)}, 0);
  other.check({random_tensor({3, 4}, -9, 9).to(DType::kInt32)}, 0);
}

TEST(Plan, ShapesBeyondTheCacheFallBackToTheInterpreter) {
  Case c({}, "    return torch.relu(torch.add(x, 1))\n");
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n < 40; ++n) c.check({random_tensor({n, 3})}, 0);
  }
}

TEST(Plan, ErrorsComeFromTheProgram) {
  Case c({{"w", random_tensor({5, 6})}}, "    return torch.relu(torch.linear(x, self.w))\n");
  for (int run = 0; run < 2; ++run) {
    EXPECT_THROW(c.planned({random_tensor({2, 7})}), Error);
    c.check({random_tensor({2, 6})});
  }
}

TEST(Plan, EmptyTensorsAndNan) {
  Case c({}, "    return torch.relu(torch.mul(x, x))\n");
  c.check({random_tensor({0, 3})});
  const Tensor x = random_tensor({4});
  x.data_ptr<float>()[2] = std::nanf("");
  c.check({x});
  EXPECT_TRUE(std::isnan(c.planned({x}).to_tensor().data_ptr<float>()[2]));
}

TEST(Plan, ThreadsShareOne) {
  Case c({{"w", random_tensor({8, 8, 3, 3})}},
         "    y = torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 1)\n"
         "    return torch.relu(torch.add(y, x))\n");
  std::vector<Tensor> inputs, wants;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(random_tensor({1, 8, 8 + i % 2, 8}));
    wants.push_back(c.reference({inputs.back()}).to_tensor());
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 50; ++run) {
        Case::expect_near(c.planned({inputs[i]}).to_tensor(), wants[i], 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace torchlet::cpu
