#include "profile/profiler.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace torchlet::profile {
namespace {

void record(double begin, double end, const char* kernel = "conv_nhwc_f32") {
  const std::array<int64_t, 4> sizes = {1, 8, 4, 4};
  event_sink()->record({.kernel = kernel,
                        .device = "cpu",
                        .sizes = sizes,
                        .begin = begin,
                        .end = end,
                        .flops = 2e6});
}

TEST(Profiler, GathersTheCallsOfEachOperator) {
  const Profiler profiler;
  record(1, 1.5);
  record(2, 2.25);
  record(3, 3.75);
  record(4, 5, "copy_strided");
  const std::vector<Line> lines = profiler.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].kernel, "conv_nhwc_f32");
  EXPECT_EQ(lines[0].shape, "1x8x4x4");
  EXPECT_EQ(lines[0].seconds, (std::vector<double>{0.25, 0.5, 0.75}));
  EXPECT_EQ(lines[0].median(), 0.5);
  EXPECT_EQ(lines[1].seconds.size(), 1U);
}

TEST(Profiler, ListensOnlyWhileItLives) {
  { const Profiler profiler; }
  EXPECT_EQ(event_sink(), nullptr);
}

TEST(Profiler, HearsItsOwnThreadAlone) {
  const Profiler profiler;
  std::thread([] { EXPECT_EQ(event_sink(), nullptr); }).join();
  {
    const Profiler inner;
    record(1, 2);
    EXPECT_EQ(inner.lines().size(), 1U);
  }
  EXPECT_EQ(profiler.lines().size(), 0U);
  EXPECT_EQ(event_sink(), &profiler);
}

// The complete events of the timeline of these, and the names of lanes by number.
struct Trace {
  explicit Trace(std::span<const Profiler* const> profilers) {
    const auto all = nlohmann::json::parse(chrome_trace(profilers));
    for (const auto& event : all["traceEvents"]) {
      if (event["ph"] == "X") events.push_back(event);
      if (event["name"] == "thread_name") lanes[event["tid"]] = event["args"]["name"];
    }
  }
  std::vector<nlohmann::json> events;
  std::map<int, std::string> lanes;
};

TEST(Profiler, TheTimelineIsATrace) {
  Profiler first;
  record(10, 10.5);
  first.record_call(9, 10.75);
  Profiler second;
  record(11, 11.25);
  const Trace trace(std::array<const Profiler*, 2>{&first, &second});
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_EQ(trace.events[0]["name"], "call");
  EXPECT_EQ(trace.events[0]["ts"], 0);
  EXPECT_EQ(trace.events[0]["dur"], 1.75e6);
  const auto& last = trace.events[2];
  EXPECT_EQ(last["name"], "conv_nhwc_f32");
  EXPECT_EQ(last["cat"], "kernel");
  EXPECT_EQ(last["args"]["device"], "cpu");
  EXPECT_EQ(last["args"]["shape"], "1x8x4x4");
  EXPECT_EQ(last["ts"], 2e6);
  EXPECT_EQ(last["dur"], 0.25e6);
  EXPECT_EQ(trace.lanes, (std::map<int, std::string>{{0, "program"}, {1, "cpu"}}));
}

TEST(Profiler, EachDeviceHasALaneAndItsHardwareAnother) {
  const Profiler profiler;
  event_sink()->record({.kernel = kCopyEvent, .device = "npu", .begin = 1, .end = 2, .bytes = 12});
  event_sink()->record({.kernel = "npu model",
                        .device = "npu",
                        .begin = 2,
                        .end = 4,
                        .on_hardware = 1.5,
                        .in_driver = 1.75});
  record(4, 5);
  const Trace trace(std::array{&profiler});
  ASSERT_EQ(trace.events.size(), 4U);
  EXPECT_EQ(trace.events[0]["cat"], "copy");
  EXPECT_EQ(trace.events[0]["args"]["bytes"], 12);
  EXPECT_EQ(trace.events[1]["args"]["in_driver_us"], 1.75e6);
  const auto& hardware = trace.events[2];
  EXPECT_EQ(trace.lanes.at(hardware["tid"]), "npu hardware");
  EXPECT_EQ(hardware["ts"], 1.5e6);
  EXPECT_EQ(hardware["dur"], 1.5e6);
  EXPECT_EQ(trace.lanes.at(trace.events[1]["tid"]), "npu");
  EXPECT_EQ(trace.lanes.at(trace.events[3]["tid"]), "cpu");
}

TEST(Profiler, TheTableComparesWithThePeakOfTheKind) {
  const Line line{"conv_nhwc_f32", "cpu", "features.0", "1x8", 5e6, false, {0.001}};
  const Line bytes{"conv_nhwc_q8", "cpu", "features.1", "1x8", 5e6, true, {0.001}};
  const std::string text = table({line, bytes}, 1, {10e9, 50e9});
  EXPECT_NE(text.find("   1000.0  50.0%      5.0   50%  cpu       conv_nhwc_f32"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("   1000.0  50.0%      5.0   10%  cpu       conv_nhwc_q8"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace torchlet::profile
