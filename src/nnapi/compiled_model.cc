#include "nnapi/compiled_model.h"

#include <sys/mman.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/limits.h"
#include "tensor/tensor_impl.h"

namespace torchlet::nnapi {
namespace {

constexpr size_t kAlignment = 64;

// Memory that the driver may map, too.
class SharedMemory {
 public:
  explicit SharedMemory(size_t nbytes) : charge_(nbytes), nbytes_(nbytes) {
    int fd = -1;
#ifdef __linux__  // elsewhere is no NNAPI
    // Not through the C library: Android's has the function since version 11, its kernels before.
    fd = static_cast<int>(syscall(SYS_memfd_create, "torchlet-nnapi", 1u /* CLOEXEC */));
#endif
    if (fd < 0) fail(ErrorCode::kRuntime, "there is no memory to share with NNAPI");
    void* mapped = MAP_FAILED;
    if (ftruncate(fd, static_cast<off_t>(nbytes)) == 0) {
      mapped = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    int result = ANEURALNETWORKS_OUT_OF_MEMORY;
    if (mapped != MAP_FAILED) {
      data_ = static_cast<std::byte*>(mapped);
      result = library().Memory_createFromFd(nbytes, PROT_READ | PROT_WRITE, fd, 0, &memory_);
    }
    close(fd);
    if (result == ANEURALNETWORKS_NO_ERROR) return;
    if (data_) munmap(data_, nbytes_);
    check(result, "share memory");
  }
  ~SharedMemory() {
    library().Memory_free(memory_);
    munmap(data_, nbytes_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  const ANeuralNetworksMemory* handle() const { return memory_; }

 private:
  Charge charge_;
  size_t nbytes_;
  std::byte* data_ = nullptr;
  ANeuralNetworksMemory* memory_ = nullptr;
};

void add_operand(ANeuralNetworksModel& model, int32_t index, const Operand& operand) {
  const Library& api = library();
  ANeuralNetworksOperandType type;
  type.type = operand.code;
  type.dimensionCount = static_cast<uint32_t>(operand.sizes.size());
  type.dimensions = operand.sizes.empty() ? nullptr : operand.sizes.data();
  type.scale = operand.scale;
  type.zeroPoint = operand.zero_point;
  check(api.Model_addOperand(&model, &type), "add an operand");
  if (!operand.channel_scales.empty()) {
    if (!api.Model_setOperandSymmPerChannelQuantParams) {
      fail(ErrorCode::kRuntime, "NNAPI has no scales per channel here");
    }
    ANeuralNetworksSymmPerChannelQuantParams params;
    params.channelDim = operand.channel_dim;
    params.scaleCount = static_cast<uint32_t>(operand.channel_scales.size());
    params.scales = operand.channel_scales.data();
    check(api.Model_setOperandSymmPerChannelQuantParams(&model, index, &params),
          "set scales per channel");
  }
  if (!operand.is_constant()) return;
  const void* value =
      operand.tensor.defined() ? operand.tensor.impl()->data() : operand.bytes.data();
  check(api.Model_setOperandValue(&model, index, value, byte_size(operand)),
        "set the value of an operand");
}

// Which operations of a finished model a device takes; none if NNAPI cannot tell.
std::vector<bool> taken_by(const NamedDevice& device, const ANeuralNetworksModel& model,
                           size_t num_operations) {
  const Library& api = library();
  const auto taken = std::make_unique<bool[]>(num_operations);
  if (!api.Model_getSupportedOperationsForDevices ||
      api.Model_getSupportedOperationsForDevices(&model, &device.device, 1, taken.get()) !=
          ANEURALNETWORKS_NO_ERROR) {
    return {};
  }
  return std::vector<bool>(taken.get(), taken.get() + num_operations);
}

// The only device but for Android's and our plain implementations, which nothing else leaves work
// to; null if there are several. Drivers tell durations of what one device computes.
const ANeuralNetworksDevice* sole_device() {
  if (!library().Compilation_createForDevices) return nullptr;
  const ANeuralNetworksDevice* found = nullptr;
  for (const NamedDevice& device : devices()) {
    if (device.name.ends_with("-reference")) continue;
    if (found) return nullptr;
    found = device.device;
  }
  return found;
}

void require_all(const NamedDevice& device, const ANeuralNetworksModel& model,
                 size_t num_operations) {
  const std::vector<bool> taken = taken_by(device, model, num_operations);
  RefusedOperations refused;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) refused.operations.push_back(i);
  }
  if (!refused.operations.empty()) throw refused;
}

}  // namespace

// The memory of runs that follow one another, and the execution that reads and writes it.
class CompiledModel::Lane {
 public:
  explicit Lane(const CompiledModel& model) : model_(model), memory_(model.nbytes_) {}

  std::byte* at(const Region& region) const { return memory_.data() + region.offset; }

  void compute(bool is_timed) {
    Handle<ANeuralNetworksExecution>& execution = is_timed ? timed_ : execution_;
    if (!execution) execution = prepared(is_timed);
    share_threads();
    const Library& api = library();
    if (api.Execution_compute) {
      check(api.Execution_compute(execution.get()), "run the model");
    } else {
      ANeuralNetworksEvent* event = nullptr;
      check(api.Execution_startCompute(execution.get(), &event), "start the model");
      const Handle<ANeuralNetworksEvent> waiting(event, api.Event_free);
      check(api.Event_wait(event), "run the model");
    }
    if (!api.Execution_setReusable && !is_timed) execution.reset();
  }
  // Of the last run that was timed.
  Durations durations() {
    const auto duration = [&](int32_t code) {
      uint64_t nanoseconds = UINT64_MAX;
      const int result = library().Execution_getDuration(timed_.get(), code, &nanoseconds);
      const bool is_told = result == ANEURALNETWORKS_NO_ERROR && nanoseconds != UINT64_MAX;
      return is_told ? static_cast<double>(nanoseconds) * 1e-9 : 0;
    };
    const Durations told{duration(ANEURALNETWORKS_DURATION_ON_HARDWARE),
                         duration(ANEURALNETWORKS_DURATION_IN_DRIVER)};
    if (!library().Execution_setReusable) timed_.reset();
    return told;
  }

 private:
  Handle<ANeuralNetworksExecution> prepared(bool is_timed) const {
    const Library& api = library();
    ANeuralNetworksExecution* made = nullptr;
    check(api.Execution_create(model_.compilation_.get(), &made), "make an execution");
    Handle<ANeuralNetworksExecution> execution(made, api.Execution_free);
    if (api.Execution_setReusable) {
      check(api.Execution_setReusable(made, true), "make an execution");
    }
    if (is_timed) check(api.Execution_setMeasureTiming(made, true), "measure a run");
    for (size_t i = 0; i < model_.inputs_.size(); ++i) {
      const auto& [offset, nbytes] = model_.inputs_[i];
      check(api.Execution_setInputFromMemory(made, static_cast<int32_t>(i), nullptr,
                                             memory_.handle(), offset, nbytes),
            "set an input");
    }
    for (size_t i = 0; i < model_.outputs_.size(); ++i) {
      const auto& [offset, nbytes] = model_.outputs_[i];
      check(api.Execution_setOutputFromMemory(made, static_cast<int32_t>(i), nullptr,
                                              memory_.handle(), offset, nbytes),
            "set an output");
    }
    return execution;
  }

  const CompiledModel& model_;
  SharedMemory memory_;
  // NNAPI measures all runs of an execution or none.
  Handle<ANeuralNetworksExecution> execution_{nullptr, nullptr}, timed_{nullptr, nullptr};
};

void CompiledModel::fill(ANeuralNetworksModel& to) const {
  const Library& api = library();
  const auto size = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  for (size_t i = 0; i < model_.operands.size(); ++i) {
    add_operand(to, static_cast<int32_t>(i), model_.operands[i]);
  }
  for (const Operation& operation : model_.operations) {
    check(
        api.Model_addOperation(&to, operation.code, size(operation.inputs), operation.inputs.data(),
                               size(operation.outputs), operation.outputs.data()),
        "add an operation");
  }
  check(api.Model_identifyInputsAndOutputs(&to, size(model_.inputs), model_.inputs.data(),
                                           size(model_.outputs), model_.outputs.data()),
        "take the model's inputs and outputs");
}

CompiledModel::CompiledModel(Model model, const CompileOptions& options)
    : model_(std::move(model)) {
  share_threads();
  const Library& api = library();
  ANeuralNetworksModel* made = nullptr;
  check(api.Model_create(&made), "make a model");
  handle_ = {made, api.Model_free};
  fill(*made);
  if (options.is_relaxed && api.Model_relaxComputationFloat32toFloat16) {
    check(api.Model_relaxComputationFloat32toFloat16(made, true), "relax the precision");
  }
  check(api.Model_finish(made), "finish the model");
  compile(options);
  const auto place = [&](const std::vector<OperandId>& ids, std::vector<Region>& regions) {
    for (const OperandId id : ids) {
      regions.push_back({nbytes_, byte_size(model_.operands[id])});
      nbytes_ += (regions.back().nbytes + kAlignment - 1) / kAlignment * kAlignment;
    }
  };
  place(model_.inputs, inputs_);
  place(model_.outputs, outputs_);
}

void CompiledModel::compile(const CompileOptions& options) {
  if (options.device) {
    require_all(*options.device, *handle_, model_.operations.size());
    return check(compile_for(options.device->device, options.preference), "compile the model");
  }
  // To be asked what it takes would cost as much as compiling.
  const ANeuralNetworksDevice* const device = sole_device();
  if (device && compile_for(device, options.preference) == ANEURALNETWORKS_NO_ERROR) return;
  check(compile_for(nullptr, options.preference), "compile the model");
}

int CompiledModel::compile_for(const ANeuralNetworksDevice* device, int32_t preference) {
  const Library& api = library();
  ANeuralNetworksCompilation* made = nullptr;
  const int created = device ? api.Compilation_createForDevices(handle_.get(), &device, 1, &made)
                             : api.Compilation_create(handle_.get(), &made);
  if (created != ANEURALNETWORKS_NO_ERROR) return created;
  compilation_ = {made, api.Compilation_free};
  is_for_one_device_ = device && api.Execution_setMeasureTiming && api.Execution_getDuration;
  const int set = api.Compilation_setPreference(made, preference);
  return set == ANEURALNETWORKS_NO_ERROR ? api.Compilation_finish(made) : set;
}

CompiledModel::~CompiledModel() = default;

CompiledModel::Run::Run(const CompiledModel& model) : model_(model) {
  {
    const std::lock_guard lock(model.mutex_);
    if (!model.idle_.empty()) {
      lane_ = std::move(model.idle_.back());
      model.idle_.pop_back();
    }
  }
  if (!lane_) lane_ = std::make_unique<Lane>(model);
}

CompiledModel::Run::~Run() {
  if (!lane_) return;
  const std::lock_guard lock(model_.mutex_);
  model_.idle_.push_back(std::move(lane_));
}

std::byte* CompiledModel::Run::input(size_t i) const { return lane_->at(model_.inputs_[i]); }
std::byte* CompiledModel::Run::output(size_t i) const { return lane_->at(model_.outputs_[i]); }

template <typename Compute>
auto CompiledModel::Run::guarded(const Compute& compute) {
  try {
    return compute();
  } catch (...) {
    lane_.reset();
    throw;
  }
}

void CompiledModel::Run::compute() {
  guarded([&] { lane_->compute(false); });
}

CompiledModel::Durations CompiledModel::Run::compute_timed() {
  return guarded([&] {
    lane_->compute(model_.is_for_one_device_);
    return model_.is_for_one_device_ ? lane_->durations() : Durations();
  });
}

}  // namespace torchlet::nnapi
