// Objects that were freed, are of another kind, or never were: each function that takes one refuses
// it, in whatever order objects are freed.
#include <functional>
#include <utility>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

// A call of each function with a handle of one kind, everything else being right.
template <typename Object>
using Calls = std::vector<std::pair<const char*, std::function<int(Object*)>>>;

#define CALL(...)                                               \
  {                                                             \
#__VA_ARGS__, [=](auto* o) { return (void)o, __VA_ARGS__; } \
  }

// A live object of each kind, and what calls need.
struct Live {
  Model open = add_model();
  Model model = finished_add_model();
  Compilation compilation = compiled(model);
  Compilation open_compilation = [this] {
    Compilation made;
    EXPECT_EQ(ANeuralNetworksCompilation_create(model, made.put()), kOk);
    return made;
  }();
  Execution execution = new_execution(compilation);
  Burst burst;
  Event event;
  MemoryDesc desc;
  SharedFile file{64};
  ANeuralNetworksDevice* device = nullptr;

  Live() {
    EXPECT_EQ(ANeuralNetworks_getDevice(0, &device), kOk);
    EXPECT_EQ(ANeuralNetworksBurst_create(compilation, burst.put()), kOk);
    EXPECT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(file.fd(), event.put()), kOk);
    EXPECT_EQ(ANeuralNetworksMemoryDesc_create(desc.put()), kOk);
  }
};

template <typename Object>
void expect_refused(const Calls<Object>& calls, Object* freed, void* of_another_kind) {
  static int no_object;
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_EQ(call(nullptr), kNull);
    EXPECT_EQ(call(freed), kBadData) << "freed";
    EXPECT_EQ(call(static_cast<Object*>(of_another_kind)), kBadData) << "of another kind";
    EXPECT_EQ(call(reinterpret_cast<Object*>(&no_object)), kBadData) << "an address";
    EXPECT_EQ(call(reinterpret_cast<Object*>(uintptr_t{1})), kBadData) << "1";
    EXPECT_EQ(call(reinterpret_cast<Object*>(UINTPTR_MAX)), kBadData) << "-1";
  }
}

template <typename Owned>
auto freed(Owned owned) {
  auto* const handle = +owned;
  owned.free();
  return handle;
}

class Handles : public ::testing::Test {
 protected:
  Live live;
  Dims two = {2};
  ANeuralNetworksOperandType type = operand_type(ANEURALNETWORKS_TENSOR_FLOAT32, two);
  float buffer[2] = {};
  uint32_t number = 0;
  int fd = -1;
  uint64_t nanoseconds = 0;
  bool flags[4] = {};
};

TEST_F(Handles, Models) {
  static const uint32_t zero = 0, three = 3;
  ANeuralNetworksCompilation* made = nullptr;
  auto** const put = &made;
  const auto self = this;
  const Calls<ANeuralNetworksModel> calls = {
      CALL(ANeuralNetworksModel_addOperand(o, &self->type)),
      CALL(ANeuralNetworksModel_setOperandValue(o, 2, &self->number, 4)),
      CALL(ANeuralNetworksModel_setOperandValueFromMemory(o, 0, self->live.file.memory(), 0, 8)),
      CALL(ANeuralNetworksModel_setOperandValueFromModel(o, 0, self->live.model)),
      CALL(ANeuralNetworksModel_setOperandValueFromModel(self->live.open, 0, o)),
      CALL(ANeuralNetworksModel_addOperation(o, ANEURALNETWORKS_FLOOR, 1, &zero, 1, &three)),
      CALL(ANeuralNetworksModel_identifyInputsAndOutputs(o, 1, &zero, 1, &three)),
      CALL(ANeuralNetworksModel_relaxComputationFloat32toFloat16(o, true)),
      CALL(ANeuralNetworksModel_finish(o)),
      CALL(ANeuralNetworksModel_getSupportedOperationsForDevices(o, &self->live.device, 1,
                                                                 self->flags)),
      CALL(ANeuralNetworksCompilation_create(o, put)),
      CALL(ANeuralNetworksCompilation_createForDevices(o, &self->live.device, 1, put)),
  };
  expect_refused(calls, freed(new_model()), static_cast<ANeuralNetworksBurst*>(live.burst));
  EXPECT_EQ(made, nullptr);
}

TEST_F(Handles, Compilations) {
  const auto self = this;
  static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};
  ANeuralNetworksExecution* execution = nullptr;
  ANeuralNetworksBurst* burst = nullptr;
  auto** const put = &execution;
  auto** const put_burst = &burst;
  const Calls<ANeuralNetworksCompilation> calls = {
      CALL(ANeuralNetworksCompilation_setPreference(o, ANEURALNETWORKS_PREFER_LOW_POWER)),
      CALL(ANeuralNetworksCompilation_setCaching(o, "/", token)),
      CALL(ANeuralNetworksCompilation_setPriority(o, ANEURALNETWORKS_PRIORITY_LOW)),
      CALL(ANeuralNetworksCompilation_setTimeout(o, 1)),
      CALL(ANeuralNetworksCompilation_finish(o)),
      CALL(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(o, 0, &self->number)),
      CALL(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(o, 0, &self->number)),
      CALL(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(o, 0, &self->number)),
      CALL(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(o, 0, &self->number)),
      CALL(ANeuralNetworksExecution_create(o, put)),
      CALL(ANeuralNetworksBurst_create(o, put_burst)),
      CALL(ANeuralNetworksMemoryDesc_addInputRole(self->live.desc, o, 0, 1)),
      CALL(ANeuralNetworksMemoryDesc_addOutputRole(self->live.desc, o, 0, 1)),
  };
  expect_refused(calls, freed(compiled_add()), static_cast<ANeuralNetworksModel*>(live.model));
  EXPECT_EQ(execution, nullptr);
  EXPECT_EQ(burst, nullptr);
}

TEST_F(Handles, Executions) {
  const auto self = this;
  ANeuralNetworksEvent* event = nullptr;
  auto** const put = &event;
  const Calls<ANeuralNetworksExecution> calls = {
      CALL(ANeuralNetworksExecution_setInput(o, 0, nullptr, self->buffer, 8)),
      CALL(ANeuralNetworksExecution_setInputFromMemory(o, 0, nullptr, self->live.file.memory(), 0,
                                                       8)),
      CALL(ANeuralNetworksExecution_setOutput(o, 0, nullptr, self->buffer, 8)),
      CALL(ANeuralNetworksExecution_setOutputFromMemory(o, 0, nullptr, self->live.file.memory(), 0,
                                                        8)),
      CALL(ANeuralNetworksExecution_enableInputAndOutputPadding(o, true)),
      CALL(ANeuralNetworksExecution_setReusable(o, true)),
      CALL(ANeuralNetworksExecution_setMeasureTiming(o, true)),
      CALL(ANeuralNetworksExecution_setTimeout(o, 1)),
      CALL(ANeuralNetworksExecution_setLoopTimeout(o, 1)),
      CALL(ANeuralNetworksExecution_compute(o)),
      CALL(ANeuralNetworksExecution_startCompute(o, put)),
      CALL(ANeuralNetworksExecution_startComputeWithDependencies(o, nullptr, 0, 0, put)),
      CALL(ANeuralNetworksExecution_burstCompute(o, self->live.burst)),
      CALL(ANeuralNetworksExecution_getOutputOperandRank(o, 0, &self->number)),
      CALL(ANeuralNetworksExecution_getOutputOperandDimensions(o, 0, &self->number)),
      CALL(ANeuralNetworksExecution_getDuration(o, 0, &self->nanoseconds)),
  };
  expect_refused(calls, freed(new_execution(live.compilation)),
                 static_cast<ANeuralNetworksCompilation*>(live.compilation));
  EXPECT_EQ(event, nullptr);
}

TEST_F(Handles, Memories) {
  const auto self = this;
  const Calls<ANeuralNetworksMemory> calls = {
      CALL(ANeuralNetworksMemory_copy(o, self->live.file.memory())),
      CALL(ANeuralNetworksMemory_copy(self->live.file.memory(), o)),
      CALL(ANeuralNetworksModel_setOperandValueFromMemory(self->live.open, 0, o, 0, 8)),
      CALL(ANeuralNetworksExecution_setInputFromMemory(self->live.execution, 0, nullptr, o, 0, 8)),
      CALL(ANeuralNetworksExecution_setOutputFromMemory(self->live.execution, 0, nullptr, o, 0, 8)),
  };
  ANeuralNetworksMemory* memory = nullptr;
  ASSERT_EQ(ANeuralNetworksMemory_createFromFd(8, PROT_READ, live.file.fd(), 0, &memory), kOk);
  ANeuralNetworksMemory_free(memory);
  expect_refused(calls, memory, static_cast<ANeuralNetworksModel*>(live.model));
}

TEST_F(Handles, Descriptions) {
  const auto self = this;
  ANeuralNetworksMemory* memory = nullptr;
  auto** const put = &memory;
  const Calls<ANeuralNetworksMemoryDesc> calls = {
      CALL(ANeuralNetworksMemoryDesc_addInputRole(o, self->live.compilation, 0, 1)),
      CALL(ANeuralNetworksMemoryDesc_addOutputRole(o, self->live.compilation, 0, 1)),
      CALL(ANeuralNetworksMemoryDesc_setDimensions(o, 1, self->two.data())),
      CALL(ANeuralNetworksMemoryDesc_finish(o)),
      CALL(ANeuralNetworksMemory_createFromDesc(o, put)),
  };
  MemoryDesc desc;
  ASSERT_EQ(ANeuralNetworksMemoryDesc_create(desc.put()), kOk);
  expect_refused(calls, freed(std::move(desc)), static_cast<ANeuralNetworksModel*>(live.model));
  EXPECT_EQ(memory, nullptr);
}

TEST_F(Handles, Events) {
  const auto self = this;
  ANeuralNetworksEvent* event = nullptr;
  auto** const put = &event;
  AddBuffers buffers;
  buffers.set(live.execution);
  const Calls<ANeuralNetworksEvent> calls = {
      CALL(ANeuralNetworksEvent_wait(o)),
      CALL(ANeuralNetworksEvent_getSyncFenceFd(o, &self->fd)),
      {"startComputeWithDependencies",
       [=](ANeuralNetworksEvent* o) {
         return ANeuralNetworksExecution_startComputeWithDependencies(self->live.execution, &o, 1,
                                                                      0, put);
       }},
  };
  Event other;
  ASSERT_EQ(ANeuralNetworksEvent_createFromSyncFenceFd(live.file.fd(), other.put()), kOk);
  expect_refused(calls, freed(std::move(other)), static_cast<ANeuralNetworksModel*>(live.model));
  EXPECT_EQ(event, nullptr);
}

TEST_F(Handles, Bursts) {
  const auto self = this;
  AddBuffers buffers;
  buffers.set(live.execution);
  const Calls<ANeuralNetworksBurst> calls = {
      CALL(ANeuralNetworksExecution_burstCompute(self->live.execution, o)),
  };
  Burst other;
  ASSERT_EQ(ANeuralNetworksBurst_create(live.compilation, other.put()), kOk);
  expect_refused(calls, freed(std::move(other)), static_cast<ANeuralNetworksModel*>(live.model));
}

TEST_F(Handles, FreeingNullOrTwiceOrSomethingElseDoesNothing) {
  ANeuralNetworksModel_free(nullptr);
  ANeuralNetworksCompilation_free(nullptr);
  ANeuralNetworksExecution_free(nullptr);
  ANeuralNetworksEvent_free(nullptr);
  ANeuralNetworksBurst_free(nullptr);
  ANeuralNetworksMemory_free(nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);

  ANeuralNetworksModel_free(freed(new_model()));
  auto* const model = static_cast<ANeuralNetworksModel*>(live.model);
  ANeuralNetworksCompilation_free(reinterpret_cast<ANeuralNetworksCompilation*>(model));
  ANeuralNetworksMemory_free(reinterpret_cast<ANeuralNetworksMemory*>(&number));
  compiled(live.model);
}

TEST_F(Handles, AreNeverGivenTwice) {
  auto* const first = freed(new_model());
  for (int i = 0; i < 100; ++i) EXPECT_NE(new_model(), first);
}

TEST(FreeingOrder, WhatAnExecutionNeedsMayGoBeforeIt) {
  Model model = finished_add_model();
  Compilation compilation = compiled(model);
  model.free();
  Execution execution = new_execution(compilation);
  Burst burst;
  ASSERT_EQ(ANeuralNetworksBurst_create(compilation, burst.put()), kOk);
  compilation.free();
  AddBuffers buffers;
  buffers.set(execution);
  EXPECT_EQ(ANeuralNetworksExecution_burstCompute(execution, burst), kOk);
  buffers.expect_sum();
}

TEST(FreeingOrder, AnExecutionMayGoWhileItRuns) {
  const Compilation compilation = compiled_add();
  for (int i = 0; i < 20; ++i) {
    AddBuffers buffers;
    Execution execution = new_execution(compilation);
    buffers.set(execution);
    Event event;
    ASSERT_EQ(ANeuralNetworksExecution_startCompute(execution, event.put()), kOk);
    execution.free();
    EXPECT_EQ(ANeuralNetworksEvent_wait(event), kOk);
    buffers.expect_sum();
  }
}

TEST(FreeingOrder, MemoriesMayGoBeforeTheExecutionsThatUseThem) {
  const Compilation compilation = compiled_add();
  Execution execution = new_execution(compilation);
  SharedFile file(24);
  const float values[4] = {1, 2, 10, 20};
  file.write(values, sizeof(values));
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, file.memory(), 0, 8),
            kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 1, nullptr, file.memory(), 8, 8),
            kOk);
  ASSERT_EQ(
      ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, file.memory(), 16, 8),
      kOk);
  file.memory().free();
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(file.read<float>(2, 16), (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace torchlet::nn
