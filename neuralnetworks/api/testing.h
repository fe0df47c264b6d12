// For tests of the C API: models that are quickly built, and objects that free themselves.
#pragma once

#include <android/NeuralNetworks.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace torchlet::nn::testing {

constexpr int kOk = ANEURALNETWORKS_NO_ERROR;
constexpr int kNull = ANEURALNETWORKS_UNEXPECTED_NULL;
constexpr int kBadData = ANEURALNETWORKS_BAD_DATA;
constexpr int kBadState = ANEURALNETWORKS_BAD_STATE;
constexpr int kOpFailed = ANEURALNETWORKS_OP_FAILED;
constexpr int kTooShort = ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;

using Dims = std::vector<uint32_t>;

// The type refers to `dims`.
inline ANeuralNetworksOperandType operand_type(int32_t code, const Dims& dims = {}, float scale = 0,
                                               int32_t zero_point = 0) {
  return {code, static_cast<uint32_t>(dims.size()), dims.empty() ? nullptr : dims.data(), scale,
          zero_point};
}

// A handle that its end frees.
template <typename Object, void (*Free)(Object*)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Free(handle_); }
  operator Object*() const { return handle_; }
  Object** put() { return &handle_; }
  void free() { Free(std::exchange(handle_, nullptr)); }

 private:
  Object* handle_ = nullptr;
};

using Model = Owned<ANeuralNetworksModel, ANeuralNetworksModel_free>;
using Compilation = Owned<ANeuralNetworksCompilation, ANeuralNetworksCompilation_free>;
using Execution = Owned<ANeuralNetworksExecution, ANeuralNetworksExecution_free>;
using Event = Owned<ANeuralNetworksEvent, ANeuralNetworksEvent_free>;
using Burst = Owned<ANeuralNetworksBurst, ANeuralNetworksBurst_free>;
using Memory = Owned<ANeuralNetworksMemory, ANeuralNetworksMemory_free>;
using MemoryDesc = Owned<ANeuralNetworksMemoryDesc, ANeuralNetworksMemoryDesc_free>;

inline Model new_model() {
  Model model;
  EXPECT_EQ(ANeuralNetworksModel_create(model.put()), kOk);
  return model;
}

inline int add_operand(ANeuralNetworksModel* model, int32_t code, const Dims& dims = {},
                       float scale = 0, int32_t zero_point = 0) {
  const auto type = operand_type(code, dims, scale, zero_point);
  return ANeuralNetworksModel_addOperand(model, &type);
}

inline int set_int(ANeuralNetworksModel* model, int32_t index, int32_t value) {
  return ANeuralNetworksModel_setOperandValue(model, index, &value, sizeof(value));
}

inline int add_operation(ANeuralNetworksModel* model, int32_t code, const Dims& inputs,
                         const Dims& outputs) {
  return ANeuralNetworksModel_addOperation(model, code, static_cast<uint32_t>(inputs.size()),
                                           inputs.data(), static_cast<uint32_t>(outputs.size()),
                                           outputs.data());
}

inline int identify(ANeuralNetworksModel* model, const Dims& inputs, const Dims& outputs) {
  return ANeuralNetworksModel_identifyInputsAndOutputs(
      model, static_cast<uint32_t>(inputs.size()), inputs.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data());
}

// Operands 0 and 1 are the inputs, 2 the activation, 3 = 0 + 1 the output. Not finished.
inline Model add_model(const Dims& dims = {2}, int32_t code = ANEURALNETWORKS_TENSOR_FLOAT32,
                       float scale = 0, int32_t zero_point = 0) {
  Model model = new_model();
  for (const int32_t type : {code, code, int32_t{ANEURALNETWORKS_INT32}, code}) {
    const bool is_scalar = type == ANEURALNETWORKS_INT32;
    EXPECT_EQ(add_operand(model, type, is_scalar ? Dims() : dims, is_scalar ? 0 : scale,
                          is_scalar ? 0 : zero_point),
              kOk);
  }
  EXPECT_EQ(set_int(model, 2, ANEURALNETWORKS_FUSED_NONE), kOk);
  EXPECT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  EXPECT_EQ(identify(model, {0, 1}, {3}), kOk);
  return model;
}

inline Model finished_add_model(const Dims& dims = {2}) {
  Model model = add_model(dims);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kOk);
  return model;
}

inline Compilation compiled(ANeuralNetworksModel* model) {
  Compilation compilation;
  EXPECT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()), kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation), kOk);
  return compilation;
}

inline Compilation compiled_add(const Dims& dims = {2}) {
  return compiled(finished_add_model(dims));
}

// For the first device alone, which is what time limits and measuring need.
inline Compilation compiled_for_device(ANeuralNetworksModel* model) {
  ANeuralNetworksDevice* device = nullptr;
  EXPECT_EQ(ANeuralNetworks_getDevice(0, &device), kOk);
  Compilation compilation;
  EXPECT_EQ(ANeuralNetworksCompilation_createForDevices(model, &device, 1, compilation.put()), kOk);
  EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation), kOk);
  return compilation;
}

inline Execution new_execution(ANeuralNetworksCompilation* compilation) {
  Execution execution;
  EXPECT_EQ(ANeuralNetworksExecution_create(compilation, execution.put()), kOk);
  return execution;
}

// The buffers of one execution of add_model() with sizes [2].
struct AddBuffers {
  float a[2] = {1, 2};
  float b[2] = {10, 20};
  float sum[2] = {-1, -1};

  void set(ANeuralNetworksExecution* execution) {
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, a, sizeof(a)), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, b, sizeof(b)), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum, sizeof(sum)), kOk);
  }
  void expect_sum() const {
    EXPECT_EQ(sum[0], a[0] + b[0]);
    EXPECT_EQ(sum[1], a[1] + b[1]);
  }
  void expect_untouched() const {
    EXPECT_EQ(sum[0], -1);
    EXPECT_EQ(sum[1], -1);
  }
};

// A file in memory, and memory of the API that is that file.
class SharedFile {
 public:
  explicit SharedFile(size_t size, int protect = PROT_READ | PROT_WRITE)
      : fd_(memfd_create("nnapi_test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size)), 0);
    EXPECT_EQ(ANeuralNetworksMemory_createFromFd(size, protect, fd_, 0, memory_.put()), kOk);
  }
  ~SharedFile() { close(fd_); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int fd() const { return fd_; }
  Memory& memory() { return memory_; }
  void write(const void* bytes, size_t count, size_t offset = 0) {
    EXPECT_EQ(pwrite(fd_, bytes, count, static_cast<off_t>(offset)), static_cast<ssize_t>(count));
  }
  template <typename T>
  std::vector<T> read(size_t count, size_t offset = 0) const {
    std::vector<T> values(count);
    const auto nbytes = static_cast<ssize_t>(count * sizeof(T));
    EXPECT_EQ(pread(fd_, values.data(), count * sizeof(T), static_cast<off_t>(offset)), nbytes);
    return values;
  }

 private:
  int fd_;
  Memory memory_;
};

}  // namespace torchlet::nn::testing
