// For tests: places for files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace torchlet {

// A path of the running test's own: tests run side by side, and so may two copies of one.
inline std::string temp_path(const std::string& name) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "torchlet_" + std::to_string(::getpid()) + "_" + test->name() + "_" +
         name;
}

}  // namespace torchlet
