#include "profile/profiler.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

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

TEST(Profiler, WritesATraceThatIsJson) {
  const Profiler profiler;
  record(10, 10.5);
  record(11, 11.25);
  const auto trace = nlohmann::json::parse(profiler.chrome_trace());
  ASSERT_EQ(trace["traceEvents"].size(), 2U);
  const auto& second = trace["traceEvents"][1];
  EXPECT_EQ(second["name"], "conv_nhwc_f32");
  EXPECT_EQ(second["ph"], "X");
  EXPECT_EQ(second["args"]["device"], "cpu");
  EXPECT_EQ(second["ts"], 1e6);
  EXPECT_EQ(second["dur"], 0.25e6);
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
