// libneuralnetworks.so as this process finds it: Android's, or ours for Linux
// (neuralnetworks/). Loaded when it is first asked for, and never before.
#pragma once

#include <android/NeuralNetworks.h>

#include <string>
#include <vector>

namespace torchlet::nnapi {

// The functions that are used here, without "ANeuralNetworks". Those of the first list every
// library has (Android 8.1); of the second, those of later ones, null where it is older.
// clang-format off
#define TORCHLET_NNAPI_REQUIRED(X)                                              \
  X(Memory_createFromFd) X(Memory_free)                                         \
  X(Model_create) X(Model_free) X(Model_finish) X(Model_addOperand)             \
  X(Model_setOperandValue) X(Model_addOperation)                                \
  X(Model_identifyInputsAndOutputs)                                             \
  X(Compilation_create) X(Compilation_free) X(Compilation_setPreference)        \
  X(Compilation_finish)                                                         \
  X(Execution_create) X(Execution_free) X(Execution_setInput)                   \
  X(Execution_setOutput) X(Execution_setInputFromMemory)                        \
  X(Execution_setOutputFromMemory) X(Execution_startCompute)                    \
  X(Event_wait) X(Event_free)
#define TORCHLET_NNAPI_OPTIONAL(X)                                              \
  X(_getRuntimeFeatureLevel)                                                    \
  X(Model_relaxComputationFloat32toFloat16)                                     \
  X(Model_setOperandSymmPerChannelQuantParams)                                  \
  X(_getDeviceCount) X(_getDevice) X(Device_getName) X(Device_getVersion)       \
  X(Device_getType) X(Device_getFeatureLevel)                                   \
  X(Model_getSupportedOperationsForDevices) X(Compilation_createForDevices)     \
  X(Execution_compute) X(Execution_setReusable)                                 \
  X(Execution_setMeasureTiming) X(Execution_getDuration)                        \
  X(Execution_getOutputOperandRank) X(Execution_getOutputOperandDimensions)     \
  X(Event_createFromSyncFenceFd)
// clang-format on

struct Library {
#define TORCHLET_NNAPI_MEMBER(name) decltype(&ANeuralNetworks##name) name = nullptr;
  TORCHLET_NNAPI_REQUIRED(TORCHLET_NNAPI_MEMBER)
  TORCHLET_NNAPI_OPTIONAL(TORCHLET_NNAPI_MEMBER)
#undef TORCHLET_NNAPI_MEMBER
  // Ours alone has it (neuralnetworks/include/torchlet_nnapi.h).
  void (*set_num_threads)(uint32_t count) = nullptr;
};

// The one of this process: what the system's loader finds under the name libneuralnetworks.so, else
// the file of that name beside Torchlet's own. Error kUnsupported, saying where it was looked for,
// if there is none. Thread-safe.
const Library& library();

// What it understands: an ANEURALNETWORKS_FEATURE_LEVEL_..., told by its functions where it is too
// old to say. Throws as library().
int64_t feature_level();

// ANEURALNETWORKS_FEATURE_LEVEL_4 as the 4 that people say.
int64_t number_of_level(int64_t feature_level);

// Lets what is computed from now on use as many threads as operators do here (num_threads()): our
// library has a pool of its own. Android's has no such switch.
void share_threads();

struct NamedDevice {
  ANeuralNetworksDevice* device;
  std::string name, version;
  int32_t type;           // ANEURALNETWORKS_DEVICE_...
  int64_t feature_level;  // that its driver understands
};
// Those behind the library; none where it is too old to tell (level 3). Throws as library().
std::vector<NamedDevice> devices();

// Error kRuntime "what: ANEURALNETWORKS_BAD_DATA" unless the code is that of success.
void check(int result_code, const char* what);

}  // namespace torchlet::nnapi
