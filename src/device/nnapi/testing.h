// For tests: a program whose segments run by NNAPI, and as it was written.
#pragma once

#include "device/cpu/testing.h"
#include "device/nnapi/model_builder.h"
#include "device/nnapi/nnapi_device.h"

namespace torchlet::nnapi {

using cpu::random_tensor;
using Weights = std::vector<std::pair<std::string, Tensor>>;

// Tests of this class skip where there is no libneuralnetworks.so; that there is one wherever we
// build it is a test of its own.
class NnapiDevice : public testing::Test {
 protected:
  void SetUp() override {
    try {
      make_nnapi_device();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

class Case {
 public:
  // `with_cpu`: what NNAPI refuses has the processor to go to.
  Case(const Weights& weights, const std::string& body, bool with_cpu = false,
       const device::DeviceConfig& config = {})
      : program_(source(weights, body)), self_(program_.object("M", values(weights))) {
    auto optimized = passes::Program::optimized(self_);
    std::vector<std::shared_ptr<device::Device>> devices = {make_nnapi_device(config)};
    if (with_cpu) devices.push_back(cpu::make_cpu_device());
    device::partition(*optimized.graph, devices, log_);
    optimized.graph->verify();
    placed_ = std::make_unique<cpu::PlannedFunction>(passes::Program::method(self_),
                                                     std::move(optimized.graph));
  }

  Tensor placed(const Tensor& x) {
    interp::Interpreter interpreter;
    return interpreter.run(*placed_, {self_, Value(x)}).to_tensor();
  }
  Tensor reference(const Tensor& x) {
    interp::Interpreter interpreter;
    return interpreter.run(passes::Program::method(self_), {self_, Value(x)}).to_tensor();
  }

  // All of it runs by NNAPI and gives what the program does, now and again.
  void check(const Tensor& x, double tolerance = 1e-5) {
    const Tensor want = reference(x);
    for (int run = 0; run < 2; ++run) {
      const Tensor got = placed(x);
      cpu::Case::expect_near(got, want, tolerance);
    }
    EXPECT_EQ(refusals(), "");
  }
  // The same of quantized results, of that scale.
  void check_quantized(const Tensor& x, double scale) {
    const Tensor want = reference(x).contiguous();
    const Tensor got = placed(x).contiguous();
    ASSERT_EQ(IntArray(got.sizes()), IntArray(want.sizes()));
    for (int64_t i = 0; i < want.numel(); ++i) {
      ASSERT_NEAR(got.data_ptr<float>()[i], want.data_ptr<float>()[i], scale * 1.01) << i;
    }
    EXPECT_EQ(refusals(), "");
  }

  // What did not run by NNAPI, and why; "nothing ran" if it ran nothing.
  std::string refusals(const std::string& device = "nnapi") const {
    std::string all;
    bool ran = false;
    for (const Placement& placement : log_->all()) {
      if (placement.device != device) continue;
      if (placement.reason.empty()) {
        ran = true;
      } else {
        all += placement.what + ": " + placement.reason + "\n";
      }
    }
    return ran ? all : all + "nothing ran";
  }

  // The model of the first segment for these inputs.
  Model model(const Tensor& x, int64_t feature_level = ANEURALNETWORKS_FEATURE_LEVEL_7) {
    for (const Node* node : *placed_->graph().block()) {
      if (node->kind() != prim::kSegment) continue;
      const Value input(x);
      auto segment = device::specialise(*node, {&input, 1});
      LoweredSegment lowered = ModelBuilder(segment, feature_level).build();
      if (!lowered.refused.empty()) decline(lowered.refused[0].why);
      return std::move(lowered.model);
    }
    decline("no segment");
  }
  // Its operations: codes in order.
  std::vector<int32_t> operations(const Tensor& x,
                                  int64_t level = ANEURALNETWORKS_FEATURE_LEVEL_7) {
    std::vector<int32_t> codes;
    for (const Operation& operation : model(x, level).operations) codes.push_back(operation.code);
    return codes;
  }
  std::string refusal(const Tensor& x, int64_t level = ANEURALNETWORKS_FEATURE_LEVEL_7) {
    try {
      model(x, level);
    } catch (const Declined& declined) {
      return declined.why;
    }
    return "";
  }

 private:
  static std::string source(const Weights& weights, const std::string& body) {
    std::vector<std::string> attributes;
    for (const auto& weight : weights) attributes.push_back(weight.first + " : Tensor");
    return passes::module_class("M", attributes,
                                "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + body);
  }
  static std::vector<std::pair<std::string, Value>> values(const Weights& weights) {
    std::vector<std::pair<std::string, Value>> all;
    for (const auto& [name, tensor] : weights) all.emplace_back(name, Value(tensor));
    return all;
  }

  passes::Program program_;
  std::shared_ptr<device::PlacementLog> log_ = std::make_shared<device::PlacementLog>();
  Value self_;
  std::unique_ptr<cpu::PlannedFunction> placed_;
};

}  // namespace torchlet::nnapi
