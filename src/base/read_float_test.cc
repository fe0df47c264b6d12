#include "base/read_float.h"

#include <gtest/gtest.h>

#include <cmath>

namespace torchlet {
namespace {

TEST(ReadFloat, ReadsTheWholeText) {
  EXPECT_EQ(read_float("0.1"), 0.1);
  EXPECT_EQ(read_float("-12.5e3"), -12500.0);
  EXPECT_EQ(read_float("7"), 7.0);
  EXPECT_EQ(read_float("-1e400"), -HUGE_VAL);
  EXPECT_EQ(read_float("1e-400"), 0.0);
  for (const char* text : {"", "1.5x", "1.2.3", ".", "1,5"}) {
    EXPECT_EQ(read_float(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_float(std::string("1\0", 2)), std::nullopt);
}

}  // namespace
}  // namespace torchlet
