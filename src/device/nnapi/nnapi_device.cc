#include "device/nnapi/nnapi_device.h"

#include <cstring>

#include "base/error.h"
#include "base/limits.h"
#include "base/without_pool.h"
#include "device/nnapi/lower/lowering.h"
#include "graph/event_sink.h"
#include "kernels/layout/transpose.h"
#include "nnapi/compiled_model.h"
#include "tensor/storage.h"

namespace torchlet::nnapi {
namespace {

// A tensor of the program over the memory of an operand.
Tensor over(const Binding& binding, std::byte* data) {
  size_t nbytes = element_size(binding.dtype);
  for (const int64_t size : binding.sizes) nbytes *= static_cast<size_t>(size);
  const Tensor tensor = make_tensor(make_ref<Storage>(data, nbytes, nullptr), binding.dtype,
                                    binding.sizes, binding.strides, 0);
  tensor.impl()->quantizer = binding.quantizer;
  return tensor;
}

// Between memory of the program and of an operand, of the same sizes. On this thread: ours would
// still wait for more work, and so take the processor, when the library's begin. False if it had to
// change the dtype or the order of elements.
bool copy(const Tensor& to, const Tensor& from) {
  const WithoutPool alone;
  const auto dims = static_cast<int>(to.dim());
  if (to.dtype() != from.dtype() || dims > kernels::kMaxCopyDims) {  // indices
    to.copy_(from);
    return false;
  }
  bool is_same = is_non_overlapping_and_dense(to.sizes(), to.strides());
  for (size_t i = 0; i < to.sizes().size(); ++i) {
    is_same &= to.sizes()[i] == 1 || to.strides()[i] == from.strides()[i];
  }
  std::byte* const target = to.impl()->data();
  const std::byte* const source = from.impl()->data();
  const size_t width = element_size(to.dtype());
  if (is_same) {
    std::memcpy(target, source, static_cast<size_t>(to.numel()) * width);
    return true;
  }
  kernels::copy_strided(static_cast<int64_t>(width), dims, to.sizes().data(), source,
                        from.strides().data(), target, to.strides().data());
  return false;
}

class NnapiSegment : public device::CompiledSegment {
 public:
  // The operators are those of the program, and the device's name is its, for profiles.
  NnapiSegment(LoweredSegment lowered, const CompileOptions& options, const char* device,
               std::vector<const Node*> operators)
      : device_(device),
        operators_(std::move(operators)),
        inputs_(std::move(lowered.inputs)),
        outputs_(std::move(lowered.outputs)),
        model_(std::move(lowered.model), options) {}

  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    poll();
    try {
      CompiledModel::Run run(model_);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        transfer(over(inputs_[i].binding, run.input(i)), inputs[inputs_[i].index].to_tensor(),
                 operators_.front());
      }
      compute(run);
      poll();
      for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = output(run, outputs_[i]);
    } catch (const Error& error) {
      // Everything that the program could do wrong was found when this was compiled.
      if (is_limit(error.code())) throw;
      throw device::DeviceFailure{error.what()};
    }
  }

 private:
  using Output = LoweredSegment::Output;

  // The same, and tells who listens.
  void transfer(const Tensor& to, const Tensor& from, const Node* node) const {
    EventSink* const sink = event_sink();
    const double begin = sink ? event_clock() : 0;
    const bool is_copy = copy(to, from);
    if (!sink) return;
    sink->record({.kernel = is_copy ? kCopyEvent : kConvertEvent,
                  .node = node,
                  .device = device_,
                  .sizes = from.sizes(),
                  .begin = begin,
                  .end = event_clock(),
                  .bytes = static_cast<size_t>(from.numel()) * element_size(from.dtype())});
  }

  void compute(CompiledModel::Run& run) const {
    EventSink* const sink = event_sink();
    if (!sink) return run.compute();
    const double begin = event_clock();
    const CompiledModel::Durations told = run.compute_timed();
    sink->record({.kernel = "nnapi model",
                  .node = operators_.back(),
                  .device = device_,
                  .begin = begin,
                  .end = event_clock(),
                  .operators = operators_,
                  .on_hardware = told.on_hardware,
                  .in_driver = told.in_driver});
  }

  Value output(const CompiledModel::Run& run, const Output& output) const {
    if (output.from == Output::From::kKnown) return output.known;
    const Tensor computed =
        over(output.binding, output.from == Output::From::kInput ? run.input(output.index)
                                                                 : run.output(output.index));
    const IntArray& strides = output.is_viewed ? output.result.strides : output.binding.strides;
    const Tensor result = empty_strided(output.result.sizes, strides, output.result.dtype);
    result.impl()->quantizer = output.result.quantizer;
    transfer(result, computed, operators_.back());
    return Value(result);
  }

  const char* device_;
  std::vector<const Node*> operators_;
  std::vector<LoweredSegment::Input> inputs_;
  std::vector<Output> outputs_;
  CompiledModel model_;
};

int32_t code_of(Preference preference) {
  switch (preference) {
    case Preference::kLowPower:
      return ANEURALNETWORKS_PREFER_LOW_POWER;
    case Preference::kFast:
      return ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER;
    case Preference::kSustained:
      break;
  }
  return ANEURALNETWORKS_PREFER_SUSTAINED_SPEED;
}

class NnapiDevice : public device::Device {
 public:
  // `part` is the one of NNAPI's devices that this is, if it is not all of them.
  NnapiDevice(const device::DeviceConfig& config, std::optional<NamedDevice> part)
      : part_(std::move(part)),
        level_(part_ ? std::min(feature_level(), part_->feature_level) : feature_level()) {
    options_.preference = code_of(config.preference);
    options_.is_relaxed = config.precision == Precision::kFloat16;
    if (!part_) return;
    options_.device = &*part_;
    // Names live as long as the process.
    name_ = Symbol(std::string(name_) + ":" + part_->name).c_str();
  }

  const char* name() const override { return name_; }

  std::string version() const override {
    if (part_) return part_->version;
    std::string text;
    for (const NamedDevice& device : devices()) {
      text += (text.empty() ? "" : ", ") + device.name + " " + device.version;
    }
    return text.empty() ? "feature level " + std::to_string(number_of_level(level_)) : text;
  }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "it takes any number of arguments";
    return find_lowering(node.kind()) ? "" : "NNAPI has no operation for it";
  }

  device::Compilation compile(device::SpecialisedSegment& segment) override {
    LoweredSegment lowered = ModelBuilder(segment, level_).build();
    if (!lowered.refused.empty()) return refused(std::move(lowered.refused));
    std::vector<const Node*> operators;
    for (const device::Call& call : segment.calls) operators.push_back(call.node);
    const std::vector<size_t> calls = lowered.calls;
    try {
      return {
          std::make_shared<NnapiSegment>(std::move(lowered), options_, name_, std::move(operators)),
          "",
          {}};
    } catch (const RefusedOperations& operations) {
      std::vector<device::RefusedCall> all;
      for (const size_t i : operations.operations) {
        // They are in the order of the calls.
        if (!all.empty() && all.back().call == calls[i]) continue;
        all.push_back({calls[i], "NNAPI's device " + part_->name + " does not take it"});
      }
      return refused(std::move(all));
    }
  }

 private:
  static device::Compilation refused(std::vector<device::RefusedCall> calls) {
    std::string why = calls[0].why;
    return {nullptr, std::move(why), std::move(calls)};
  }

  const char* name_ = kNnapiDevice.name;
  std::optional<NamedDevice> part_;
  int64_t level_;
  CompileOptions options_;
};

const char* name_of_type(int32_t type) {
  switch (type) {
    case ANEURALNETWORKS_DEVICE_CPU:
      return "processor";
    case ANEURALNETWORKS_DEVICE_GPU:
      return "GPU";
    case ANEURALNETWORKS_DEVICE_ACCELERATOR:
      return "accelerator";
    default:
      return "other hardware";
  }
}

}  // namespace

std::shared_ptr<device::Device> make_nnapi_device(const device::DeviceConfig& config) {
  if (config.part.empty()) return std::make_shared<NnapiDevice>(config, std::nullopt);
  std::string known;
  for (NamedDevice& device : devices()) {
    if (device.name == config.part) return std::make_shared<NnapiDevice>(config, std::move(device));
    known += (known.empty() ? "" : ", ") + device.name;
  }
  if (known.empty()) {
    fail(ErrorCode::kUnsupported,
         "this NNAPI is too old to choose one of its devices: choose nnapi, which is all of them");
  }
  fail(ErrorCode::kInvalidArgument, "NNAPI has no device '%s'; there are: %s", config.part.c_str(),
       known.c_str());
}

std::vector<device::DevicePart> nnapi_parts() {
  std::vector<device::DevicePart> parts;
  for (const NamedDevice& device : devices()) {
    parts.push_back({device.name, "of NNAPI: " + std::string(name_of_type(device.type)) +
                                      ", feature level " +
                                      std::to_string(number_of_level(device.feature_level))});
  }
  return parts;
}

}  // namespace torchlet::nnapi
