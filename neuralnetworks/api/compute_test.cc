// The ways to compute: at once, in the background, after events, in bursts; states and time.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <functional>
#include <future>
#include <thread>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

int compute(ANeuralNetworksExecution* execution, ANeuralNetworksCompilation*) {
  return ANeuralNetworksExecution_compute(execution);
}

int start(ANeuralNetworksExecution* execution, ANeuralNetworksCompilation*) {
  Event event;
  const int code = ANeuralNetworksExecution_startCompute(execution, event.put());
  EXPECT_EQ(code == kOk, event != nullptr);
  return code == kOk ? ANeuralNetworksEvent_wait(event) : code;
}

int start_fenced(ANeuralNetworksExecution* execution, ANeuralNetworksCompilation*) {
  Event event;
  const int code =
      ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0, 0, event.put());
  EXPECT_EQ(code == kOk, event != nullptr);
  return code == kOk ? ANeuralNetworksEvent_wait(event) : code;
}

int burst(ANeuralNetworksExecution* execution, ANeuralNetworksCompilation* compilation) {
  Burst made;
  EXPECT_EQ(ANeuralNetworksBurst_create(compilation, made.put()), kOk);
  return ANeuralNetworksExecution_burstCompute(execution, made);
}

class ComputeInEachWay : public ::testing::TestWithParam<int (*)(ANeuralNetworksExecution*,
                                                                 ANeuralNetworksCompilation*)> {
 protected:
  int run() { return GetParam()(execution, compilation); }

  // What has to be done before.
  void expect_too_late() {
    SharedFile file(64);
    float buffer[2] = {};
    EXPECT_EQ(ANeuralNetworksExecution_setLoopTimeout(execution, 1), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_setReusable(execution, true), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_setMeasureTiming(execution, true), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_setTimeout(execution, 1), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 8), kBadState);
    EXPECT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffer, 8), kBadState);
    EXPECT_EQ(
        ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, file.memory(), 0, 8),
        kBadState);
    EXPECT_EQ(
        ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, file.memory(), 0, 8),
        kBadState);
  }

  const Compilation compilation = compiled_for_device(finished_add_model());
  const Execution execution = new_execution(compilation);
  AddBuffers buffers;
};

INSTANTIATE_TEST_SUITE_P(, ComputeInEachWay,
                         ::testing::Values(compute, start, start_fenced, burst));

TEST_P(ComputeInEachWay, GivesTheSum) {
  buffers.set(execution);
  EXPECT_EQ(run(), kOk);
  buffers.expect_sum();
}

TEST_P(ComputeInEachWay, IsOnceUnlessReusable) {
  ASSERT_EQ(ANeuralNetworksExecution_setReusable(execution, false), kOk);
  buffers.set(execution);
  ASSERT_EQ(run(), kOk);
  expect_too_late();
  for (const auto again : {compute, start, start_fenced, burst}) {
    EXPECT_EQ(again(execution, compilation), kBadState);
  }
}

TEST_P(ComputeInEachWay, IsAsOftenAsWantedIfReusable) {
  EXPECT_EQ(ANeuralNetworksExecution_setReusable(nullptr, true), kNull);
  ASSERT_EQ(ANeuralNetworksExecution_setReusable(execution, true), kOk);
  buffers.set(execution);
  for (int i = 0; i < 3; ++i) {
    buffers.a[0] = static_cast<float>(i);
    EXPECT_EQ(run(), kOk);
    buffers.expect_sum();
    expect_too_late();
  }
  for (const auto again : {compute, start, start_fenced, burst}) {
    EXPECT_EQ(again(execution, compilation), kOk);
  }
}

TEST_P(ComputeInEachWay, NeedsItsArguments) {
  EXPECT_EQ(run(), kBadData);
  EXPECT_EQ(run(), kBadState);
}

TEST_P(ComputeInEachWay, IsMeasured) {
  uint64_t nanoseconds = 0;
  const auto get = [&](int32_t code) {
    return ANeuralNetworksExecution_getDuration(execution, code, &nanoseconds);
  };
  ASSERT_EQ(ANeuralNetworksExecution_setMeasureTiming(nullptr, true), kNull);
  ASSERT_EQ(ANeuralNetworksExecution_setMeasureTiming(execution, true), kOk);
  EXPECT_EQ(get(ANEURALNETWORKS_DURATION_IN_DRIVER), kBadState);
  EXPECT_EQ(nanoseconds, UINT64_MAX);
  buffers.set(execution);
  ASSERT_EQ(run(), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_getDuration(nullptr, 0, &nanoseconds), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_getDuration(execution, 0, nullptr), kNull);
  EXPECT_EQ(get(-1), kBadData);
  EXPECT_EQ(get(4), kBadData);
  ASSERT_EQ(get(ANEURALNETWORKS_DURATION_ON_HARDWARE), kOk);
  const uint64_t on_hardware = nanoseconds;
  EXPECT_LT(on_hardware, UINT64_C(60'000'000'000));
  for (const int32_t code :
       {ANEURALNETWORKS_DURATION_IN_DRIVER, ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER}) {
    EXPECT_EQ(get(code), kOk);
    EXPECT_GE(nanoseconds, on_hardware);
  }
  EXPECT_EQ(get(ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE), kOk);
  EXPECT_EQ(nanoseconds, on_hardware);
}

TEST_P(ComputeInEachWay, EndsInTime) {
  ASSERT_EQ(ANeuralNetworksExecution_setTimeout(nullptr, 1), kNull);
  ASSERT_EQ(ANeuralNetworksExecution_setTimeout(execution, 1), kOk);
  buffers.set(execution);
  EXPECT_EQ(run(), ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
  buffers.expect_untouched();
}

TEST_P(ComputeInEachWay, HasTime) {
  ASSERT_EQ(ANeuralNetworksExecution_setTimeout(execution, UINT64_MAX), kOk);
  buffers.set(execution);
  EXPECT_EQ(run(), kOk);
  buffers.expect_sum();
}

TEST(Compute, Null) {
  const Compilation compilation = compiled_add();
  const Execution execution = new_execution(compilation);
  Burst made;
  ASSERT_EQ(ANeuralNetworksBurst_create(compilation, made.put()), kOk);
  Event event;
  EXPECT_EQ(ANeuralNetworksExecution_compute(nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_startCompute(nullptr, event.put()), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_startCompute(execution, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_burstCompute(nullptr, made), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_burstCompute(execution, nullptr), kNull);
  const auto fenced = ANeuralNetworksExecution_startComputeWithDependencies;
  EXPECT_EQ(fenced(nullptr, nullptr, 0, 0, event.put()), kNull);
  EXPECT_EQ(fenced(execution, nullptr, 1, 0, event.put()), kNull);
  EXPECT_EQ(fenced(execution, nullptr, 0, 0, nullptr), kNull);
  const ANeuralNetworksEvent* none[1] = {nullptr};
  EXPECT_EQ(fenced(execution, none, 1, 0, event.put()), kNull);
  EXPECT_EQ(event, nullptr);
}

TEST(Compute, TimeIsLimitedAndMeasuredOnOneDeviceOnly) {
  const Compilation compilation = compiled_add();
  const Execution execution = new_execution(compilation);
  EXPECT_EQ(ANeuralNetworksExecution_setTimeout(execution, 1), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setMeasureTiming(execution, true), kBadData);
  Event event;
  EXPECT_EQ(
      ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0, 1, event.put()),
      kBadData);
  uint64_t nanoseconds = 0;
  AddBuffers buffers;
  buffers.set(execution);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_getDuration(execution, 0, &nanoseconds), kBadState);
  EXPECT_EQ(nanoseconds, UINT64_MAX);
}

TEST(Compute, LoopTimeouts) {
  EXPECT_EQ(ANeuralNetworks_getDefaultLoopTimeout(), UINT64_C(2'000'000'000));
  EXPECT_EQ(ANeuralNetworks_getMaximumLoopTimeout(), UINT64_C(15'000'000'000));
  EXPECT_EQ(ANeuralNetworksExecution_setLoopTimeout(nullptr, 1), kNull);
  const Compilation compilation = compiled_add();
  for (const uint64_t nanoseconds : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    EXPECT_EQ(ANeuralNetworksExecution_setLoopTimeout(new_execution(compilation), nanoseconds),
              kOk);
  }
}

TEST(Burst, IsOfTheSameCompilation) {
  const Model model = finished_add_model();
  const Compilation first = compiled(model), second = compiled(model);
  Burst made;
  ASSERT_EQ(ANeuralNetworksBurst_create(first, made.put()), kOk);
  const Execution execution = new_execution(second);
  AddBuffers buffers;
  buffers.set(execution);
  EXPECT_EQ(ANeuralNetworksExecution_burstCompute(execution, made), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOk) << "it was not begun";
}

// ---- events ----

// Something to wait for that the test decides about.
class Fence {
 public:
  ~Fence() { close(fd_); }
  int fd() const { return fd_; }
  void signal() const { EXPECT_EQ(eventfd_write(fd_, 1), 0); }
  Event event() const {
    Event made;
    EXPECT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(fd_, made.put()), kOk);
    return made;
  }

 private:
  int fd_ = eventfd(0, EFD_CLOEXEC);
};

bool is_signalled(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1 && (waiting.revents & POLLIN);
}

TEST(Event, OfFences) {
  Event event;
  EXPECT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(1, nullptr), kNull);
  for (const int fd : {-1, 0, INT32_MIN, 1'000'000}) {
    EXPECT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(fd, event.put()), kBadData) << fd;
    EXPECT_EQ(event, nullptr);
  }
  EXPECT_EQ(ANeuralNetworksEvent_wait(nullptr), kNull);
}

TEST(Event, FencesAreDuplicated) {
  Event event;
  {
    const Fence fence;
    event = fence.event();
    fence.signal();
  }
  EXPECT_EQ(ANeuralNetworksEvent_wait(event), kOk);
  int fd = -1;
  ASSERT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, &fd), kOk);
  EXPECT_TRUE(is_signalled(fd));
  EXPECT_EQ(close(fd), 0);
}

TEST(Event, OfAFenceThatIsNeverSignalledCanBeFreed) {
  const Fence fence;
  Event event = fence.event();
  int fd = -1;
  ASSERT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, &fd), kOk);
  EXPECT_FALSE(is_signalled(fd));
  EXPECT_EQ(close(fd), 0);
}

TEST(Event, OfAFenceThatFails) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Event event;
  ASSERT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(ends[1], event.put()), kOk);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(ANeuralNetworksEvent_wait(event), kOpFailed) << "a pipe that nobody reads";
}

TEST(Event, DescriptorsOfEvents) {
  int fd = -100;
  EXPECT_EQ(ANeuralNetworksEvent_getSyncFenceFd(nullptr, &fd), kNull);
  EXPECT_EQ(fd, -1);
  const Compilation compilation = compiled_add();
  AddBuffers buffers;
  const Execution execution = new_execution(compilation);
  buffers.set(execution);
  Event event;
  ASSERT_EQ(ANeuralNetworksExecution_startCompute(execution, event.put()), kOk);
  EXPECT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, nullptr), kNull);
  fd = -100;
  EXPECT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, &fd), kBadData) << "not fenced";
  EXPECT_EQ(fd, -1);
}

TEST(Event, OfFencedExecutionsStaySignalled) {
  const Compilation compilation = compiled_add();
  AddBuffers buffers;
  const Execution execution = new_execution(compilation);
  buffers.set(execution);
  Event event;
  ASSERT_EQ(
      ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0, 0, event.put()),
      kOk);
  int fd = -1;
  ASSERT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, &fd), kOk);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  pollfd waiting{fd, POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 60'000), 1);
  eventfd_t value = 0;
  EXPECT_EQ(eventfd_read(fd, &value), 0);
  EXPECT_TRUE(is_signalled(fd)) << "whoever reads from it";
  close(fd);
  EXPECT_EQ(ANeuralNetworksEvent_wait(event), kOk);
  EXPECT_EQ(ANeuralNetworksEvent_wait(event), kOk) << "again";
  buffers.expect_sum();
}

TEST(Fenced, WaitsForItsDependencies) {
  const Compilation compilation = compiled_add();
  const Fence fence;
  const Event first = fence.event();
  AddBuffers buffers, then;
  const Execution execution = new_execution(compilation), next = new_execution(compilation);
  buffers.set(execution);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(next, 0, nullptr, buffers.sum, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(next, 1, nullptr, then.b, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(next, 0, nullptr, then.sum, 8), kOk);
  Event second, last;
  const ANeuralNetworksEvent* list[] = {first};
  ASSERT_EQ(
      ANeuralNetworksExecution_startComputeWithDependencies(execution, list, 1, 0, second.put()),
      kOk);
  const ANeuralNetworksEvent* both[] = {second, first};
  ASSERT_EQ(ANeuralNetworksExecution_startComputeWithDependencies(next, both, 2, 0, last.put()),
            kOk);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  int fd = -1;
  ASSERT_EQ(ANeuralNetworksEvent_getSyncFenceFd(second, &fd), kOk);
  EXPECT_FALSE(is_signalled(fd));
  close(fd);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kBadState);
  uint32_t rank = 0;
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), kBadState);
  fence.signal();
  EXPECT_EQ(ANeuralNetworksEvent_wait(last), kOk);
  EXPECT_EQ(then.sum[0], 21);
  EXPECT_EQ(then.sum[1], 42);
}

TEST(Fenced, EventsMayBeFreedAtOnce) {
  const Compilation compilation = compiled_add();
  const Fence fence;
  AddBuffers buffers;
  const Execution execution = new_execution(compilation);
  buffers.set(execution);
  Event first = fence.event(), last;
  const ANeuralNetworksEvent* list[] = {first};
  ASSERT_EQ(
      ANeuralNetworksExecution_startComputeWithDependencies(execution, list, 1, 0, last.put()),
      kOk);
  first.free();
  fence.signal();
  last.free();  // waits
  buffers.expect_sum();
}

TEST(Fenced, AFailedDependencyFailsIt) {
  const Compilation compilation = compiled_add({0});
  const Dims two = {2}, three = {3};
  const auto type = operand_type(ANEURALNETWORKS_TENSOR_FLOAT32, two);
  const auto other = operand_type(ANEURALNETWORKS_TENSOR_FLOAT32, three);
  AddBuffers buffers;
  float b[3] = {};
  const Execution failing = new_execution(compilation);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(failing, 0, &type, buffers.a, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(failing, 1, &other, b, 12), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(failing, 0, &type, buffers.sum, 8), kOk);
  Event failed;
  ASSERT_EQ(
      ANeuralNetworksExecution_startComputeWithDependencies(failing, nullptr, 0, 0, failed.put()),
      kOk);
  const Compilation next_compilation = compiled_add();
  const Execution next = new_execution(next_compilation);
  AddBuffers next_buffers;
  next_buffers.set(next);
  Event last;
  const ANeuralNetworksEvent* list[] = {failed};
  ASSERT_EQ(ANeuralNetworksExecution_startComputeWithDependencies(next, list, 1, 0, last.put()),
            kOk);
  EXPECT_EQ(ANeuralNetworksEvent_wait(last), kOpFailed);
  EXPECT_EQ(ANeuralNetworksEvent_wait(failed), kOpFailed);
  next_buffers.expect_untouched();
  EXPECT_EQ(ANeuralNetworksExecution_compute(next), kBadState);
}

TEST(Fenced, NeedsKnownSizes) {
  const Compilation compilation = compiled_add({0});
  const Dims two = {2};
  const auto type = operand_type(ANEURALNETWORKS_TENSOR_FLOAT32, two);
  for (const bool is_known : {false, true}) {
    AddBuffers buffers;
    const Execution execution = new_execution(compilation);
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, buffers.a, 8), kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, &type, buffers.b, 8), kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, is_known ? &type : nullptr,
                                                 buffers.sum, 8),
              kOk);
    EXPECT_EQ(start_fenced(execution, compilation), is_known ? kOk : kBadData);
  }
}

TEST(Fenced, ItsTimeBeginsAfterTheDependencies) {
  const Compilation compilation = compiled_for_device(finished_add_model());
  const struct {
    uint64_t nanoseconds;
    int code;
  } cases[] = {{1, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT}, {60'000'000'000, kOk}};
  for (const auto& [nanoseconds, code] : cases) {
    const Execution execution = new_execution(compilation);
    AddBuffers buffers;
    buffers.set(execution);
    Event event;
    ASSERT_EQ(ANeuralNetworksExecution_startComputeWithDependencies(execution, nullptr, 0,
                                                                    nanoseconds, event.put()),
              kOk);
    EXPECT_EQ(ANeuralNetworksEvent_wait(event), code);
  }
}

// ---- several threads ----

TEST(Concurrency, OneExecutionAtOnceByTwoThreads) {
  const Compilation compilation = compiled_add();
  for (const bool reusable : {false, true}) {
    for (const auto first : {compute, start, start_fenced, burst}) {
      for (const auto second : {compute, start, start_fenced, burst}) {
        const Execution execution = new_execution(compilation);
        ASSERT_EQ(ANeuralNetworksExecution_setReusable(execution, reusable), kOk);
        AddBuffers buffers;
        buffers.set(execution);
        auto other = std::async(std::launch::async, [&] { return first(execution, compilation); });
        const int a = second(execution, compilation), b = other.get();
        EXPECT_TRUE(a == kOk || b == kOk) << a << " " << b;
        EXPECT_TRUE(a == kOk || a == kBadState) << a;
        EXPECT_TRUE(b == kOk || b == kBadState) << b;
        if (!reusable) {
          EXPECT_NE(a, b);
        }
        buffers.expect_sum();
      }
    }
  }
}

TEST(Concurrency, OneBurstAtOnceByTwoThreads) {
  const Compilation compilation = compiled_add();
  Burst made;
  ASSERT_EQ(ANeuralNetworksBurst_create(compilation, made.put()), kOk);
  for (int i = 0; i < 20; ++i) {
    const Execution one = new_execution(compilation), two = new_execution(compilation);
    AddBuffers buffers_one, buffers_two;
    buffers_one.set(one);
    buffers_two.set(two);
    auto other = std::async(std::launch::async,
                            [&] { return ANeuralNetworksExecution_burstCompute(one, made); });
    const int a = ANeuralNetworksExecution_burstCompute(two, made), b = other.get();
    EXPECT_TRUE(a == kOk || b == kOk) << a << " " << b;
    EXPECT_TRUE(a == kOk || a == kBadState) << a;
    EXPECT_TRUE(b == kOk || b == kBadState) << b;
  }
}

TEST(Concurrency, EightThreadsBuildCompileAndCompute) {
  const Compilation shared = compiled_add();
  const auto work = [&](int thread) {
    for (int turn = 0; turn < 10; ++turn) {
      const Dims dims = {static_cast<uint32_t>(100 + thread * 10 + turn)};
      Model model = finished_add_model(dims);
      Compilation compilation = compiled(model);
      model.free();
      const size_t count = dims[0];
      const std::vector<float> a(count, static_cast<float>(thread)), b(count, 100);
      std::vector<float> sum(count);
      Execution execution = new_execution(compilation);
      compilation.free();
      ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, a.data(), count * 4), kOk);
      ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, b.data(), count * 4), kOk);
      ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum.data(), count * 4),
                kOk);
      ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
      EXPECT_EQ(sum, std::vector<float>(count, 100.0F + static_cast<float>(thread)));

      for (const auto way : {compute, start, start_fenced, burst}) {
        AddBuffers buffers;
        buffers.a[0] = static_cast<float>(thread * 100 + turn);
        const Execution other = new_execution(shared);
        buffers.set(other);
        EXPECT_EQ(way(other, shared), kOk);
        buffers.expect_sum();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, ObjectsMayBeFreedWhileOthersUseThem) {
  for (int turn = 0; turn < 20; ++turn) {
    Model model = finished_add_model();
    Compilation compilation = compiled(model);
    Execution execution = new_execution(compilation);
    ASSERT_EQ(ANeuralNetworksExecution_setReusable(execution, true), kOk);
    AddBuffers buffers;
    buffers.set(execution);
    auto* const handle = +execution;
    std::thread user([handle] {
      for (int i = 0; i < 50; ++i) {
        const int code = ANeuralNetworksExecution_compute(handle);
        EXPECT_TRUE(code == kOk || code == kBadData) << code;
      }
    });
    model.free();
    compilation.free();
    execution.free();
    user.join();
  }
}

TEST(Concurrency, OneModelIsBuiltByEightThreads) {
  const Model model = new_model();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(add_operand(model, ANEURALNETWORKS_TENSOR_FLOAT32, {2}), kOk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 399, nullptr, 0), kOk);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 400, nullptr, 0), kBadData);
}

}  // namespace
}  // namespace torchlet::nn
