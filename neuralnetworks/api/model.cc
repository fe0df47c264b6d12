#include "neuralnetworks/api/model.h"

#include <algorithm>

#include "base/error.h"
#include "neuralnetworks/api/device.h"
#include "neuralnetworks/api/memory.h"
#include "neuralnetworks/api/threads.h"
#include "neuralnetworks/runtime/compiled_model.h"

using namespace torchlet::nn;

namespace torchlet::nn {

void ModelObject::require_open() const {
  if (state_ == State::kOpen) return;
  refuse(ANEURALNETWORKS_BAD_STATE, "the model %s",
         state_ == State::kFinished ? "is finished" : "failed to finish");
}

void ModelObject::finish() {
  const std::lock_guard lock(mutex_);
  require_open();
  state_ = State::kInvalid;
  finished_ = builder_.finish();
  state_ = State::kFinished;
}

FinishedModel ModelObject::finished() const {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kFinished) {
    refuse(ANEURALNETWORKS_BAD_STATE, "the model %s",
           state_ == State::kOpen ? "is not finished" : "failed to finish");
  }
  return finished_;
}

namespace {

// A list of the application's, which has to have members.
std::span<const uint32_t> list_of(const char* name, const uint32_t* indices, uint32_t count) {
  if (count == 0) refuse(ANEURALNETWORKS_BAD_DATA, "no %s", name);
  return {indices, count};
}

// Whether the operations can be translated; the reference is the quickest to ask, and all devices
// compute what it does.
bool compiles(std::shared_ptr<const Model> model) {
  CompileOptions options;
  options.devices = {"reference"};
  try {
    compile(std::move(model), options);
    return true;
  } catch (const Error& error) {
    log("not supported: %s", error.what());
    return false;
  }
}

}  // namespace
}  // namespace torchlet::nn

int ANeuralNetworksModel_create(ANeuralNetworksModel** model) {
  return answer(__func__, [&] {
    require(model, "model");
    *model = nullptr;
    use_threads_of_environment();
    *model = make_handle(std::make_shared<ModelObject>());
  });
}

void ANeuralNetworksModel_free(ANeuralNetworksModel* model) {
  free_handle<ModelObject>(__func__, model);
}

int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type) {
  return answer(__func__, [&] {
    require(type, "type");
    find<ModelObject>(model)->change([&](ModelBuilder& builder) { builder.add_operand(*type); });
  });
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model, int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant) {
  return answer(__func__, [&] {
    require(channelQuant, "channelQuant");
    find<ModelObject>(model)->change([&](ModelBuilder& builder) {
      const auto& [dim, count, scales] = *channelQuant;
      if ((scales == nullptr) != (count == 0)) {
        refuse(ANEURALNETWORKS_BAD_DATA, "%u scales at %s", count, scales ? "an address" : "null");
      }
      builder.set_channel_scales(static_cast<uint32_t>(index), dim, {scales, count});
    });
  });
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length) {
  return answer(__func__, [&] {
    if (length) require(buffer, "buffer");
    find<ModelObject>(model)->change([&](ModelBuilder& builder) {
      const auto operand = static_cast<uint32_t>(index);
      if (!buffer) return builder.omit_value(operand);
      builder.set_value(operand, {static_cast<const std::byte*>(buffer), length}, nullptr);
    });
  });
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length) {
  return answer(__func__, [&] {
    require(memory, "memory");
    const auto object = find<ModelObject>(model);
    const auto source = find<MemoryObject>(memory);
    object->change([&](ModelBuilder& builder) {
      if (!source->file) refuse(ANEURALNETWORKS_BAD_DATA, "memory of a device as a constant");
      builder.set_value(static_cast<uint32_t>(index),
                        source->file->range(Access::kRead, offset, length), source);
    });
  });
}

int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value) {
  return answer(__func__, [&] {
    require(value, "value");
    const auto object = find<ModelObject>(model);
    const FinishedModel finished = find<ModelObject>(value)->finished();
    object->change(
        [&](ModelBuilder& builder) { builder.set_value(static_cast<uint32_t>(index), finished); });
  });
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs) {
  return answer(__func__, [&] {
    require(inputs, "inputs");
    require(outputs, "outputs");
    find<ModelObject>(model)->change([&](ModelBuilder& builder) {
      builder.add_operation(type, list_of("inputs", inputs, inputCount),
                            list_of("outputs", outputs, outputCount));
    });
  });
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs) {
  return answer(__func__, [&] {
    require(inputs, "inputs");
    require(outputs, "outputs");
    find<ModelObject>(model)->change([&](ModelBuilder& builder) {
      builder.identify_inputs_and_outputs(list_of("inputs", inputs, inputCount),
                                          list_of("outputs", outputs, outputCount));
    });
  });
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow) {
  return answer(__func__, [&] {
    find<ModelObject>(model)->change([&](ModelBuilder& builder) { builder.relax_float32(allow); });
  });
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel* model) {
  return answer(__func__, [&] { find<ModelObject>(model)->finish(); });
}

int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices, bool* supportedOps) {
  return answer(__func__, [&] {
    require(devices, "devices");
    require(supportedOps, "supportedOps");
    const auto object = find<ModelObject>(model);
    find_devices(devices, numDevices);
    const FinishedModel finished = object->finished();
    const bool all = compiles(finished.model);
    for (size_t i = 0; i < finished.added_as.size(); ++i) {
      supportedOps[finished.added_as[i]] = all || compiles(single_operation(*finished.model, i));
    }
  });
}
