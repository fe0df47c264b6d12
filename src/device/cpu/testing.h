// For tests: a program through the plan and as it was written, and which kernels ran.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "device/cpu/builder.h"
#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "device/specialise/rewrites.h"
#include "graph/prim_kinds.h"
#include "interp/interpreter.h"
#include "passes/testing.h"

namespace torchlet::cpu {

using passes::module_class;
using passes::Program;

inline Tensor random_tensor(IntArray sizes, float low = -1, float high = 1) {
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

// The sizes of what a plan's convolutions and linear layers give, in order: "2x3x8 1x6x8".
inline std::string layer_sizes(const Plan& plan) {
  std::string layers;
  for (const auto& step : plan.steps) {
    if (std::string(step->kernel()) != "conv_nhwc_f32") continue;
    std::string sizes;
    for (const int64_t size : plan.tensors[static_cast<size_t>(step->writes().id())].sizes) {
      sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
    }
    layers += (layers.empty() ? "" : " ") + sizes;
  }
  return layers;
}

// One method through the plan and as it was written.
class Case {
 public:
  Case(std::vector<std::pair<std::string, Tensor>> weights, const std::string& body,
       const std::string& parameters = "x: Tensor", const std::string& result = "Tensor",
       Precision precision = Precision::kFloat32)
      : precision_(precision),
        program_(source(weights, body, parameters, result)),
        device_(make_cpu_device(precision)),
        self_(program_.object("M", values(weights))) {
    auto optimized = Program::optimized(self_);
    device::partition(*optimized.graph, {&device_, 1}, log_);
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
    int64_t worst_at = 0;
    for (int64_t i = 0; i < b.numel(); ++i) {
      const double x = a.data_ptr<double>()[i], y = b.data_ptr<double>()[i];
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      ASSERT_TRUE(std::isfinite(x) && std::isfinite(y)) << x << " for " << y << " at " << i;
      if (std::abs(x - y) <= worst) continue;
      worst = std::abs(x - y);
      worst_at = i;
    }
    EXPECT_LE(worst, tolerance * std::max(largest, 1e-3))
        << a.data_ptr<double>()[worst_at] << " for " << b.data_ptr<double>()[worst_at] << " at "
        << worst_at << " of " << want.describe();
  }

  // The plan of the only segment for these inputs; null, and why, if there is none.
  std::unique_ptr<Plan> plan(const std::vector<Value>& inputs, PackedWeights& packed,
                             std::string& why) {
    for (const Node* node : *planned_->graph().block()) {
      if (node->kind() != prim::kSegment) continue;
      try {
        auto segment = device::specialise(*node, inputs);
        device::rewrite(segment);
        return PlanBuilder(segment, packed, precision_).build();
      } catch (const Declined& declined) {
        why = declined.why;
      } catch (const Error& error) {
        why = error.what();
      }
      return nullptr;
    }
    why = "no segment";
    return nullptr;
  }

  // What the reference runs, of all runs until now: "aten::_convolution: not an image; ".
  std::string by_reference() const {
    std::string text;
    for (const Placement& placement : log_->all()) {
      if (!placement.is_segment) text += placement.what + ": " + placement.reason + "; ";
    }
    return text;
  }

  // Did the device take a segment in any run until now?
  bool ran_as_plan() const {
    return std::ranges::any_of(log_->all(), [](const Placement& placement) {
      return placement.is_segment && placement.reason.empty();
    });
  }

  // The kernels of that plan: "conv_nhwc_f32 copy_strided".
  std::string kernels(const std::vector<Value>& inputs) {
    PackedWeights packed;
    std::string why, text;
    const auto made = plan(inputs, packed, why);
    if (!made) return "declined: " + why;
    for (const auto& step : made->steps) {
      text += (text.empty() ? "" : " ") + std::string(step->kernel());
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

  std::shared_ptr<device::PlacementLog> log_ = std::make_shared<device::PlacementLog>();
  Precision precision_;
  Program program_;
  std::shared_ptr<device::Device> device_;
  Value self_;
  std::unique_ptr<PlannedFunction> planned_;
  interp::Interpreter interpreter_;
};

}  // namespace torchlet::cpu
