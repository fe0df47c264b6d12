#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

constexpr uint8_t kToken[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};

std::vector<ANeuralNetworksDevice*> all_devices() {
  std::vector<ANeuralNetworksDevice*> devices(2);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(ANeuralNetworks_getDevice(i, &devices[i]), kOk);
  return devices;
}

Compilation open_compilation() {
  Compilation compilation;
  EXPECT_EQ(ANeuralNetworksCompilation_create(finished_add_model(), compilation.put()), kOk);
  return compilation;
}

TEST(Compilation, OfAFinishedModel) {
  Compilation compilation;
  const Model model = add_model();
  EXPECT_EQ(ANeuralNetworksCompilation_create(nullptr, compilation.put()), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_create(model, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()), kBadState);
  EXPECT_EQ(compilation, nullptr);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()), kOk);
  EXPECT_NE(compilation, nullptr);
}

TEST(Compilation, ForDevices) {
  const auto devices = all_devices();
  const Model model = finished_add_model();
  Compilation compilation;
  const auto create = ANeuralNetworksCompilation_createForDevices;
  EXPECT_EQ(create(nullptr, devices.data(), 1, compilation.put()), kNull);
  EXPECT_EQ(create(model, nullptr, 1, compilation.put()), kNull);
  EXPECT_EQ(create(model, devices.data(), 1, nullptr), kNull);
  EXPECT_EQ(create(model, devices.data(), 0, compilation.put()), kBadData);
  const ANeuralNetworksDevice* list[2] = {devices[0], devices[0]};
  EXPECT_EQ(create(model, list, 2, compilation.put()), kBadData) << "twice";
  list[1] = nullptr;
  EXPECT_EQ(create(model, list, 2, compilation.put()), kNull);
  list[1] = reinterpret_cast<const ANeuralNetworksDevice*>(list);
  EXPECT_EQ(create(model, list, 2, compilation.put()), kBadData) << "no device";
  EXPECT_EQ(create(add_model(), devices.data(), 1, compilation.put()), kBadState);
  EXPECT_EQ(compilation, nullptr);
}

TEST(Compilation, ForEachDeviceAndAllInAnyOrder) {
  const auto devices = all_devices();
  const Model model = finished_add_model();
  const std::vector<std::vector<ANeuralNetworksDevice*>> lists = {
      {devices[0]}, {devices[1]}, {devices[0], devices[1]}, {devices[1], devices[0]}};
  for (const auto& list : lists) {
    Compilation compilation;
    ASSERT_EQ(ANeuralNetworksCompilation_createForDevices(
                  model, list.data(), static_cast<uint32_t>(list.size()), compilation.put()),
              kOk);
    ASSERT_EQ(ANeuralNetworksCompilation_finish(compilation), kOk);
    const Execution execution = new_execution(compilation);
    AddBuffers buffers;
    buffers.set(execution);
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
    buffers.expect_sum();
  }
}

TEST(Compilation, Preference) {
  EXPECT_EQ(ANeuralNetworksCompilation_setPreference(nullptr, 0), kNull);
  const Compilation compilation = open_compilation();
  for (const int32_t wrong : {-1, 3, 40}) {
    EXPECT_EQ(ANeuralNetworksCompilation_setPreference(compilation, wrong), kBadData) << wrong;
  }
  for (const int32_t preference : {0, 1, 2}) {
    EXPECT_EQ(ANeuralNetworksCompilation_setPreference(compilation, preference), kOk);
  }
}

TEST(Compilation, Caching) {
  const Compilation compilation = open_compilation();
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(nullptr, "/tmp", kToken), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(compilation, nullptr, kToken), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", kToken), kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(compilation, "/no/such/folder", kToken), kOk)
      << "a cache only saves time";
}

TEST(Compilation, Priority) {
  EXPECT_EQ(ANeuralNetworksCompilation_setPriority(nullptr, ANEURALNETWORKS_PRIORITY_DEFAULT),
            kNull);
  const Compilation compilation = open_compilation();
  for (const int wrong : {0, 89, 91, 99, 101, 109, 111, -1}) {
    EXPECT_EQ(ANeuralNetworksCompilation_setPriority(compilation, wrong), kBadData) << wrong;
  }
  for (const int priority : {ANEURALNETWORKS_PRIORITY_LOW, ANEURALNETWORKS_PRIORITY_MEDIUM,
                             ANEURALNETWORKS_PRIORITY_HIGH, ANEURALNETWORKS_PRIORITY_DEFAULT}) {
    EXPECT_EQ(ANeuralNetworksCompilation_setPriority(compilation, priority), kOk);
  }
}

TEST(Compilation, TimeoutsAreForOneDevice) {
  EXPECT_EQ(ANeuralNetworksCompilation_setTimeout(nullptr, 1), kNull);
  EXPECT_EQ(ANeuralNetworksCompilation_setTimeout(open_compilation(), 1), kBadData);
  const auto devices = all_devices();
  const Model model = finished_add_model();
  Compilation compilation;
  ASSERT_EQ(
      ANeuralNetworksCompilation_createForDevices(model, devices.data(), 2, compilation.put()),
      kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_setTimeout(compilation, 1), kBadData);
  for (const uint64_t nanoseconds : {uint64_t{1}, uint64_t{0}, UINT64_MAX}) {
    Compilation one;
    ASSERT_EQ(ANeuralNetworksCompilation_createForDevices(model, devices.data(), 1, one.put()),
              kOk);
    EXPECT_EQ(ANeuralNetworksCompilation_setTimeout(one, nanoseconds), kOk);
    const int code = ANeuralNetworksCompilation_finish(one);
    if (nanoseconds == 1) {
      EXPECT_TRUE(code == kOk || code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT) << code;
    } else {
      EXPECT_EQ(code, kOk);
    }
  }
}

TEST(Compilation, NothingChangesAfterFinish) {
  EXPECT_EQ(ANeuralNetworksCompilation_finish(nullptr), kNull);
  const Compilation compilation = compiled_add();
  EXPECT_EQ(ANeuralNetworksCompilation_setPreference(compilation, 1), kBadState);
  EXPECT_EQ(ANeuralNetworksCompilation_setCaching(compilation, "/tmp", kToken), kBadState);
  EXPECT_EQ(ANeuralNetworksCompilation_setPriority(compilation, ANEURALNETWORKS_PRIORITY_LOW),
            kBadState);
  EXPECT_EQ(ANeuralNetworksCompilation_setTimeout(compilation, 1), kBadState);
  EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation), kBadState);
}

TEST(Compilation, IsOfNoUseBeforeFinish) {
  const Compilation compilation = open_compilation();
  Execution execution;
  EXPECT_EQ(ANeuralNetworksExecution_create(compilation, execution.put()), kBadState);
  EXPECT_EQ(execution, nullptr);
  Burst burst;
  EXPECT_EQ(ANeuralNetworksBurst_create(compilation, burst.put()), kBadState);
  uint32_t number = 0;
  EXPECT_EQ(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 0, &number),
            kBadState);
}

// An activation that there is not.
TEST(Compilation, OfAnOperationThatCannotBeComputed) {
  const Model model = add_model();
  ASSERT_EQ(set_int(model, 2, 999), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  Compilation compilation;
  ASSERT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()), kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation), kBadData);
  EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation), kBadState);
  EXPECT_EQ(ANeuralNetworksCompilation_setPreference(compilation, 1), kBadState);
  Execution execution;
  EXPECT_EQ(ANeuralNetworksExecution_create(compilation, execution.put()), kBadState);
  Burst burst;
  EXPECT_EQ(ANeuralNetworksBurst_create(compilation, burst.put()), kBadState);
  MemoryDesc desc;
  ASSERT_EQ(ANeuralNetworksMemoryDesc_create(desc.put()), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), kBadData);
  uint32_t number = 0;
  EXPECT_EQ(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, 0, &number),
            kBadState);
}

TEST(Compilation, PreferredMemory) {
  const Compilation compilation = compiled_add();
  const auto functions = {
      ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput,
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput,
      ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput,
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput,
  };
  for (const auto function : functions) {
    uint32_t number = 0;
    EXPECT_EQ(function(nullptr, 0, &number), kNull);
    EXPECT_EQ(function(compilation, 0, nullptr), kNull);
    EXPECT_EQ(function(compilation, 2, &number), kBadData);
    EXPECT_EQ(function(compilation, 1000, &number), kBadData);
    EXPECT_EQ(function(compilation, 0, &number), kOk);
    EXPECT_TRUE(number > 0 && (number & (number - 1)) == 0) << number;
  }
}

TEST(Execution, OfAFinishedCompilation) {
  Execution execution;
  EXPECT_EQ(ANeuralNetworksExecution_create(nullptr, execution.put()), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_create(compiled_add(), nullptr), kNull);
}

TEST(Burst, OfAFinishedCompilation) {
  Burst burst;
  EXPECT_EQ(ANeuralNetworksBurst_create(nullptr, burst.put()), kNull);
  EXPECT_EQ(ANeuralNetworksBurst_create(compiled_add(), nullptr), kNull);
}

}  // namespace
}  // namespace torchlet::nn
