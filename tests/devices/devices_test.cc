// Models on devices that take little, refuse or fail: right answers, plans for the rest, reasons.
#include <gtest/gtest.h>
#include <torchlet/compare.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <cmath>

#include "graph/event_sink.h"
#include "profile/profiler.h"
#include "tensor/tensor_impl.h"
#include "test_devices.h"

namespace torchlet {
namespace {

using Devices = std::vector<std::string>;

Tensor picture() {
  const Tensor tensor = zeros(IntArray{1, 3, 96, 96}, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = std::sin(static_cast<float>(i) * 0.1f);
  }
  return tensor;
}

class TestDevices : public testing::Test {
 protected:
  static void SetUpTestSuite() { device::add_test_devices(); }

  static Module load_on(const Devices& devices) {
    Options options;
    options.devices = devices;
    return load("models/digits_mobilenet_v2.pt", options);
  }

  // Three times, since a device may fail later.
  static void expect_right(const Module& model) {
    const Tensor want = load_on({"reference"}).forward({picture()}).to_tensor();
    for (int run = 0; run < 3; ++run) {
      const Tensor got = model.forward({picture()}).to_tensor();
      for (int64_t i = 0; i < want.numel(); ++i) {
        EXPECT_NEAR(got.data_ptr<float>()[i], want.data_ptr<float>()[i], 1e-4f) << "run " << run;
      }
    }
  }

  // How many decisions on segments of that device ran it, or had that reason.
  static size_t decisions(const Module& model, const std::string& device,
                          const std::string& reason) {
    size_t count = 0;
    for (const Placement& placement : model.placement()) {
      count += placement.is_segment && placement.device == device && placement.reason == reason;
    }
    return count;
  }
};

TEST_F(TestDevices, WhatOneDoesNotTakeRunsOnTheNext) {
  const Module model = load_on({"test-convolutions", "cpu"});
  expect_right(model);
  EXPECT_GT(decisions(model, "test-convolutions", ""), 10u);
  EXPECT_GT(decisions(model, "cpu", ""), 10u);
  const profile::Profiler profiler;
  model.forward({picture()});
  size_t activations = 0, convolutions = 0;
  for (const profile::Line& line : profiler.lines()) {
    activations += line.kernel == "activation_rows_f32";
    convolutions += line.kernel.find("conv") != std::string::npos;
  }
  EXPECT_GT(activations, 10u);
  EXPECT_EQ(convolutions, 1u) << "but for the linear layer, which is one";
}

TEST_F(TestDevices, WhyAnOperatorWasLeftOutIsTold) {
  const Module model = load_on({"test-convolutions", "cpu"});
  model.forward({picture()});
  bool found = false;
  for (const Placement& placement : model.placement()) {
    found |= !placement.is_segment && placement.what == "aten::hardtanh" &&
             placement.device == "test-convolutions" && placement.reason == "no convolution" &&
             placement.place.find("features.0.2") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST_F(TestDevices, WhatDoesNotPayStaysWhereItIs) {
  const Module model = load_on({"test-costly", "cpu"});
  expect_right(model);
  size_t left = 0;
  for (const Placement& placement : model.placement()) {
    if (placement.device != "test-costly") continue;
    if (placement.is_segment) {
      EXPECT_EQ(placement.operators, 2u) << placement.place;
    } else if (placement.what == "aten::conv2d") {
      EXPECT_EQ(placement.reason, "too few operators to pay for entering the device");
      ++left;
    }
  }
  EXPECT_GT(left, 5u);
  EXPECT_EQ(decisions(model, "test-costly", ""), 5u);
}

TEST_F(TestDevices, ARefusedSegmentGoesToTheNextDevice) {
  const Module model = load_on({"test-refusing", "cpu"});
  expect_right(model);
  EXPECT_EQ(decisions(model, "test-refusing", ""), 0u);
  EXPECT_EQ(decisions(model, "test-refusing", "not for these sizes"), 1u);
  EXPECT_EQ(decisions(model, "cpu", ""), 1u);
  const profile::Profiler profiler;
  model.forward({picture()});
  for (const profile::Line& line : profiler.lines()) EXPECT_EQ(line.device, "cpu") << line.kernel;
}

TEST_F(TestDevices, RefusedCallsGoToTheNextDevice) {
  const Module model = load_on({"test-strideless", "cpu"});
  expect_right(model);
  size_t refused = 0;
  for (const Placement& placement : model.placement()) {
    refused += !placement.is_segment && placement.reason == "a stride";
    EXPECT_TRUE(!placement.is_segment || placement.reason.empty()) << placement.reason;
  }
  EXPECT_GT(refused, 2u);
  EXPECT_EQ(decisions(model, "cpu", ""), refused);
  EXPECT_GE(decisions(model, "test-strideless", ""), refused);
  // Nobody takes them, so the segment runs as it was written.
  expect_right(load_on({"test-strideless"}));
}

TEST_F(TestDevices, AFailedSegmentGoesToTheNextDeviceForGood) {
  const Module model = load_on({"test-failing", "cpu"});
  expect_right(model);
  EXPECT_EQ(decisions(model, "test-failing", ""), 1u);
  EXPECT_EQ(decisions(model, "test-failing", "it failed: its memory is used up"), 1u);
  EXPECT_EQ(decisions(model, "cpu", ""), 1u);
}

TEST_F(TestDevices, AfterTheLastComesTheReference) {
  expect_right(load_on({"test-refusing", "test-failing"}));
  expect_right(load_on({"test-failing", "test-convolutions", "test-refusing", "cpu"}));
  expect_right(load_on({"test-convolutions", "reference"}));
}

TEST_F(TestDevices, AreComparedByWhatTheyGive) {
  const auto compared_with = [](const Devices& devices) {
    const Comparison c = compare(load_on({"reference"}), load_on(devices), {Value(picture())});
    EXPECT_TRUE(c.within);
    EXPECT_FALSE(c.first_divergence);
    return c.nodes.size();
  };
  // Its segments tell nothing of their steps: only what leaves them is known.
  EXPECT_EQ(compared_with({"test-failing"}), 1u);
  // Refused segments run operator by operator; of the batch norms and convolutions one is left
  // each.
  EXPECT_GT(compared_with({"test-refusing"}), 40u);
  EXPECT_GT(compared_with({"test-convolutions", "cpu"}), 30u);
}

TEST_F(TestDevices, NamesThatThereAreNotAreRefused) {
  const auto error_of = [](const Devices& devices) -> std::string {
    try {
      load_on(devices);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string unknown = error_of({"cpu", "gpu"});
  EXPECT_NE(unknown.find("there is no device 'gpu'; there are: cpu, nnapi, test-convolutions"),
            std::string::npos)
      << unknown;
  EXPECT_NE(error_of({"reference", "cpu"}).find("no device can come after 'reference'"),
            std::string::npos);
}

// Devices of parts, with their operators, and the segment's around them.
class PartsHeard : public EventSink {
 public:
  void record(const Event& event) override {
    if (event.kernel == kSegmentEvent) segments.push_back(event.device);
    if (event.kernel != kPartEvent) return;
    parts.emplace_back(event.device);
    EXPECT_TRUE(segments.empty());
    ASSERT_FALSE(event.operators.empty());
    EXPECT_EQ(event.node, event.operators.back());
    EXPECT_GT(event.bytes, 0u);
    EXPECT_GE(event.begin, end_);
    end_ = event.end;
  }
  std::vector<std::string> parts, segments;

 private:
  double end_ = 0;
  EventScope scope_{this};
};

TEST_F(TestDevices, EachPartOfASegmentTellsOfItsOwnDevice) {
  const Module model = load_on({"test-strideless", "cpu"});
  model.forward({picture()});
  const PartsHeard heard;
  model.forward({picture()});
  EXPECT_EQ(heard.segments, std::vector<std::string>{"test-strideless"});
  ASSERT_GE(heard.parts.size(), 3u);
  for (size_t i = 1; i < heard.parts.size(); ++i) EXPECT_NE(heard.parts[i], heard.parts[i - 1]);
  EXPECT_EQ(
      std::ranges::count(heard.parts, "test-strideless") + std::ranges::count(heard.parts, "cpu"),
      std::ssize(heard.parts));
}

}  // namespace
}  // namespace torchlet
