#include "neuralnetworks/api/execution.h"

#include <algorithm>
#include <utility>

#include "neuralnetworks/model/operand_type.h"

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

constexpr uint64_t kDefaultLoopTimeout = 2'000'000'000;
constexpr uint64_t kMaximumLoopTimeout = 15'000'000'000;

// The sizes that `type` gives an operand, or its own if that is null.
std::vector<uint32_t> dims_for(const Operand& operand, const ANeuralNetworksOperandType* type,
                               bool all_needed) {
  std::vector<uint32_t> dims = operand.dims;
  if (type) {
    Operand given = make_operand(*type);
    if (given.type != operand.type || given.scale != operand.scale ||
        given.zero_point != operand.zero_point) {
      refuse(ANEURALNETWORKS_BAD_DATA,
             "type %d, scale %g, zero point %d; the model says %d, %g, %d", given.type, given.scale,
             given.zero_point, operand.type, operand.scale, operand.zero_point);
    }
    const auto is_refined = [](uint32_t declared, uint32_t size) {
      return declared == 0 || declared == size;
    };
    if (!dims.empty() && !std::ranges::equal(dims, given.dims, is_refined)) {
      refuse(ANEURALNETWORKS_BAD_DATA, "sizes %s; the model says %s", dims_text(given.dims).c_str(),
             dims_text(dims).c_str());
    }
    dims = std::move(given.dims);
  }
  if (all_needed && !value_size(operand.type, dims)) {
    refuse(ANEURALNETWORKS_BAD_DATA, "sizes %s are not all known", dims_text(dims).c_str());
  }
  return dims;
}

void check_length(const Operand& operand, std::span<const uint32_t> dims, size_t length,
                  bool allows_padding) {
  const std::optional<size_t> needed = value_size(operand.type, dims);
  if (length <= UINT32_MAX &&
      (!needed || length == *needed || (allows_padding && length > *needed)))
    return;
  refuse(ANEURALNETWORKS_BAD_DATA, "%zu bytes for a value of %zu%s", length, needed.value_or(0),
         needed && length > *needed ? "; padding is not enabled" : "");
}

const char* name_of(Access access) { return access == Access::kRead ? "input" : "output"; }

}  // namespace

ExecutionObject::ExecutionObject(std::shared_ptr<const CompilationObject> compilation)
    : compilation_(std::move(compilation)),
      compiled_(compilation_->compiled()),
      inputs_(compilation_->model().inputs.size()),
      outputs_(compilation_->model().outputs.size()),
      loop_timeout_(kDefaultLoopTimeout) {}

void ExecutionObject::require_preparing() const {
  if (state_ == State::kPreparing) return;
  refuse(ANEURALNETWORKS_BAD_STATE, "the execution %s",
         state_ == State::kComputing ? "is being computed" : "has been computed");
}

const Operand& ExecutionObject::operand_of(Access access, uint32_t index) const {
  const Model& model = compilation_->model();
  const std::vector<uint32_t>& operands = access == Access::kRead ? model.inputs : model.outputs;
  if (index >= operands.size()) {
    refuse(ANEURALNETWORKS_BAD_DATA, "there is no %s %d, only %zu", name_of(access),
           static_cast<int>(index), operands.size());
  }
  return model.operands[operands[index]];
}

void ExecutionObject::keep(Access access, uint32_t index, ExecutionArgument argument) {
  ExecutionArgument& kept = (access == Access::kRead ? inputs_ : outputs_)[index];
  if (kept.state != ExecutionArgument::State::kUnset) {
    refuse(ANEURALNETWORKS_BAD_STATE, "%s %u is set already", name_of(access), index);
  }
  kept = std::move(argument);
}

void ExecutionObject::set(Access access, uint32_t index, const ANeuralNetworksOperandType* type,
                          std::byte* buffer, size_t length) {
  const std::lock_guard lock(mutex_);
  require_preparing();
  const Operand& operand = operand_of(access, index);
  ExecutionArgument argument;
  argument.dims = dims_for(operand, type, buffer && access == Access::kRead);
  if (!buffer) {
    argument.state = ExecutionArgument::State::kOmitted;
  } else {
    if (length == 0) refuse(ANEURALNETWORKS_BAD_DATA, "a buffer of no bytes");
    check_length(operand, argument.dims, length, allows_padding_);
    argument.state = ExecutionArgument::State::kBytes;
    argument.bytes = {buffer, length};
  }
  keep(access, index, std::move(argument));
}

void ExecutionObject::set_from_memory(Access access, uint32_t index,
                                      const ANeuralNetworksOperandType* type,
                                      std::shared_ptr<MemoryObject> memory, size_t offset,
                                      size_t length) {
  const std::lock_guard lock(mutex_);
  require_preparing();
  const Operand& operand = operand_of(access, index);
  ExecutionArgument argument;
  argument.dims = dims_for(operand, type, access == Access::kRead);
  if (memory->file) {
    argument.state = ExecutionArgument::State::kBytes;
    argument.bytes = memory->file->range(access, offset, length);
    check_length(operand, argument.dims, length, allows_padding_);
  } else {
    const MemoryUse& use = memory->device->use();
    if (!use.roles.contains({compilation_->id(), access, index})) {
      refuse(ANEURALNETWORKS_BAD_DATA, "the memory was not made to be %s %u", name_of(access),
             index);
    }
    if (offset != 0 || length != 0) {
      refuse(ANEURALNETWORKS_BAD_DATA, "a part of memory that is used whole");
    }
    if (!combine_dims(argument.dims, use.operand.dims)) {
      refuse(ANEURALNETWORKS_BAD_DATA, "sizes %s; the memory has %s",
             dims_text(argument.dims).c_str(), dims_text(use.operand.dims).c_str());
    }
    argument.state = ExecutionArgument::State::kDeviceMemory;
  }
  argument.memory = std::move(memory);
  keep(access, index, std::move(argument));
}

void ExecutionObject::set_measure_timing(bool measure) {
  compilation_->require_one_device("measuring");
  const std::lock_guard lock(mutex_);
  require_preparing();
  measures_ = measure;
}

void ExecutionObject::set_timeout(uint64_t nanoseconds) {
  compilation_->require_one_device("a time limit");
  const std::lock_guard lock(mutex_);
  require_preparing();
  timeout_ = nanoseconds;
}

void ExecutionObject::set_loop_timeout(uint64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  require_preparing();
  // 0 is no time at all.
  loop_timeout_ = std::clamp<uint64_t>(nanoseconds, 1, kMaximumLoopTimeout);
}

void ExecutionObject::set_padding(bool enable) {
  const std::lock_guard lock(mutex_);
  require_preparing();
  const auto is_set = [](const ExecutionArgument& argument) {
    return argument.state != ExecutionArgument::State::kUnset;
  };
  if (std::ranges::any_of(inputs_, is_set) || std::ranges::any_of(outputs_, is_set)) {
    refuse(ANEURALNETWORKS_BAD_STATE, "inputs or outputs are set already");
  }
  allows_padding_ = enable;
}

void ExecutionObject::set_reusable(bool reusable) {
  const std::lock_guard lock(mutex_);
  require_preparing();
  is_reusable_ = reusable;
}

OutputResult ExecutionObject::output(uint32_t index) const {
  const std::lock_guard lock(mutex_);
  const bool is_known =
      state_ == State::kComputed &&
      (code_ == ANEURALNETWORKS_NO_ERROR || code_ == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
  if (!is_known) {
    refuse(ANEURALNETWORKS_BAD_STATE, "the execution %s",
           state_ == State::kComputed ? "failed" : "has not been computed");
  }
  operand_of(Access::kWrite, index);
  return results_[index];
}

uint64_t ExecutionObject::duration(int32_t code) const {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kComputed || code_ != ANEURALNETWORKS_NO_ERROR || !measures_) {
    refuse(ANEURALNETWORKS_BAD_STATE, "the execution %s",
           state_ != State::kComputed ? "has not been computed"
           : measures_                ? "failed"
                                      : "was not measured");
  }
  switch (code) {
    case ANEURALNETWORKS_DURATION_ON_HARDWARE:
    case ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE:
      return durations_.computing;
    case ANEURALNETWORKS_DURATION_IN_DRIVER:
      return durations_.from_start;
    default:
      return durations_.from_dependencies;
  }
}

}  // namespace torchlet::nn

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution) {
  return answer(__func__, [&] {
    require(execution, "execution");
    *execution = nullptr;
    *execution =
        make_handle(std::make_shared<ExecutionObject>(find<CompilationObject>(compilation)));
  });
}

void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution) {
  free_handle<ExecutionObject>(__func__, execution);
}

int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length) {
  return answer(__func__, [&] {
    if (length) require(buffer, "buffer");
    // Inputs are only read.
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(buffer));
    find<ExecutionObject>(execution)->set(Access::kRead, static_cast<uint32_t>(index), type, bytes,
                                          length);
  });
}

int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length) {
  return answer(__func__, [&] {
    require(memory, "memory");
    const auto object = find<ExecutionObject>(execution);
    object->set_from_memory(Access::kRead, static_cast<uint32_t>(index), type,
                            find<MemoryObject>(memory), offset, length);
  });
}

int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length) {
  return answer(__func__, [&] {
    if (length) require(buffer, "buffer");
    find<ExecutionObject>(execution)->set(Access::kWrite, static_cast<uint32_t>(index), type,
                                          static_cast<std::byte*>(buffer), length);
  });
}

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length) {
  return answer(__func__, [&] {
    require(memory, "memory");
    const auto object = find<ExecutionObject>(execution);
    object->set_from_memory(Access::kWrite, static_cast<uint32_t>(index), type,
                            find<MemoryObject>(memory), offset, length);
  });
}

int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable) {
  return answer(__func__, [&] { find<ExecutionObject>(execution)->set_padding(enable); });
}

int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable) {
  return answer(__func__, [&] { find<ExecutionObject>(execution)->set_reusable(reusable); });
}

int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure) {
  return answer(__func__, [&] { find<ExecutionObject>(execution)->set_measure_timing(measure); });
}

int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration) {
  return answer(__func__, [&] { find<ExecutionObject>(execution)->set_timeout(duration); });
}

int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution,
                                            uint64_t duration) {
  return answer(__func__, [&] { find<ExecutionObject>(execution)->set_loop_timeout(duration); });
}

uint64_t ANeuralNetworks_getDefaultLoopTimeout() { return kDefaultLoopTimeout; }

uint64_t ANeuralNetworks_getMaximumLoopTimeout() { return kMaximumLoopTimeout; }

int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank) {
  return answer(__func__, [&] {
    require(rank, "rank");
    const OutputResult result =
        find<ExecutionObject>(execution)->output(static_cast<uint32_t>(index));
    *rank = static_cast<uint32_t>(result.dims.size());
    return result.fits ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
  });
}

int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions) {
  return answer(__func__, [&] {
    require(dimensions, "dimensions");
    const OutputResult result =
        find<ExecutionObject>(execution)->output(static_cast<uint32_t>(index));
    if (result.dims.empty()) refuse(ANEURALNETWORKS_BAD_DATA, "output %d is a scalar", index);
    std::ranges::copy(result.dims, dimensions);
    return result.fits ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
  });
}

int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration) {
  return answer(__func__, [&] {
    require(duration, "duration");
    *duration = UINT64_MAX;
    const auto object = find<ExecutionObject>(execution);
    if (durationCode < ANEURALNETWORKS_DURATION_ON_HARDWARE ||
        durationCode > ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER) {
      refuse(ANEURALNETWORKS_BAD_DATA, "there is no duration %d", durationCode);
    }
    *duration = object->duration(durationCode);
  });
}
