#include <torchlet/threads.h>
#include <torchlet_nnapi.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

int thread_count() {
  using Tasks = std::filesystem::directory_iterator;
  return static_cast<int>(std::distance(Tasks("/proc/self/task"), Tasks()));
}

// An addition that is worth all threads, which stay when it is done.
void compute() {
  const Dims dims = {1, 1024, 1024};
  const Compilation compilation = compiled_add(dims);
  const std::vector<float> ones(1 << 20, 1.f);
  std::vector<float> sum(ones.size());
  const size_t nbytes = ones.size() * sizeof(float);
  const Execution execution = new_execution(compilation);
  ANeuralNetworksExecution_setInput(execution, 0, nullptr, ones.data(), nbytes);
  ANeuralNetworksExecution_setInput(execution, 1, nullptr, ones.data(), nbytes);
  ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum.data(), nbytes);
  if (ANeuralNetworksExecution_compute(execution) != kOk || sum.back() != 2) abort();
}

// Each in a process of its own, since the environment is read once.
class Threads : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // How many threads join the caller.
  static int helpers(const char* environment, int set = -1) {
    std::thread([] {}).join();  // a sanitizer starts one of its own with the first
    const int before = thread_count();
    setenv("TORCHLET_NNAPI_THREADS", environment, 1);
    if (set >= 0) torchlet_nnapi_set_num_threads(static_cast<uint32_t>(set));
    compute();
    return thread_count() - before;
  }
};

TEST_F(Threads, AreAsManyAsTheEnvironmentSays) {
  EXPECT_EXIT(exit(helpers("3")), ::testing::ExitedWithCode(2), "");
  EXPECT_EXIT(exit(helpers("1")), ::testing::ExitedWithCode(0), "");
}

TEST_F(Threads, AreAsManyAsTheProgramSays) {
  EXPECT_EXIT(exit(helpers("", 5)), ::testing::ExitedWithCode(4), "");
  EXPECT_EXIT(exit(helpers("3", 1)), ::testing::ExitedWithCode(0), "");
}

TEST_F(Threads, AreThoseOfTheMachineAgain) {
  const int all = num_threads();
  EXPECT_EXIT(exit(helpers("3", 0)), ::testing::ExitedWithCode(all - 1), "");
  EXPECT_EXIT(exit(helpers("0")), ::testing::ExitedWithCode(all - 1), "");
  EXPECT_EXIT(exit(helpers("")), ::testing::ExitedWithCode(all - 1), "");
}

TEST_F(Threads, WhatIsNoNumberIsLeftOutAndLogged) {
  for (const char* text : {"x", "2x", "-1", "257", "99999999999"}) {
    setenv("TORCHLET_NNAPI_LOG", "1", 1);
    EXPECT_EXIT(exit(helpers(text)), ::testing::ExitedWithCode(num_threads() - 1),
                "is no number of threads from 0 to 256");
  }
}

}  // namespace
}  // namespace torchlet::nn
