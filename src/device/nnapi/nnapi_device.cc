#include "device/nnapi/nnapi_device.h"

#include "base/limits.h"
#include "device/nnapi/lower/lowering.h"
#include "graph/event_sink.h"
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

class NnapiSegment : public device::CompiledSegment {
 public:
  // `last` is the last operator, for profiles.
  NnapiSegment(LoweredSegment lowered, const Node* last)
      : last_(last),
        inputs_(std::move(lowered.inputs)),
        outputs_(std::move(lowered.outputs)),
        model_(std::move(lowered.model)) {}

  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    poll();
    try {
      CompiledModel::Run run(model_);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        over(inputs_[i].binding, run.input(i)).copy_(inputs[inputs_[i].index].to_tensor());
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

  void compute(CompiledModel::Run& run) const {
    EventSink* const sink = event_sink();
    const double begin = sink ? event_clock() : 0;
    run.compute();
    if (!sink) return;
    sink->record({.kernel = "nnapi model",
                  .node = last_,
                  .device = kNnapiDevice.name,
                  .begin = begin,
                  .end = event_clock()});
  }

  static Value output(const CompiledModel::Run& run, const Output& output) {
    if (output.from == Output::From::kKnown) return output.known;
    const Tensor computed =
        over(output.binding, output.from == Output::From::kInput ? run.input(output.index)
                                                                 : run.output(output.index));
    const IntArray& strides = output.is_viewed ? output.result.strides : output.binding.strides;
    const Tensor result = empty_strided(output.result.sizes, strides, output.result.dtype);
    result.impl()->quantizer = output.result.quantizer;
    result.copy_(computed);
    return Value(result);
  }

  const Node* last_;
  std::vector<LoweredSegment::Input> inputs_;
  std::vector<Output> outputs_;
  CompiledModel model_;
};

class NnapiDevice : public device::Device {
 public:
  const char* name() const override { return kNnapiDevice.name; }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "it takes any number of arguments";
    return find_lowering(node.kind()) ? "" : "NNAPI has no operation for it";
  }

  device::Compilation compile(device::SpecialisedSegment& segment) override {
    LoweredSegment lowered = ModelBuilder(segment, level_).build();
    if (!lowered.refused.empty()) {
      std::string why = lowered.refused[0].why;
      return {nullptr, std::move(why), std::move(lowered.refused)};
    }
    return {std::make_shared<NnapiSegment>(std::move(lowered), segment.calls.back().node), "", {}};
  }

 private:
  const int64_t level_ = feature_level();
};

}  // namespace

std::shared_ptr<device::Device> make_nnapi_device() { return std::make_shared<NnapiDevice>(); }

}  // namespace torchlet::nnapi
