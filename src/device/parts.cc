#include "device/parts.h"

#include <algorithm>

#include "base/limits.h"
#include "device/moved_bytes.h"
#include "graph/event_sink.h"
#include "tensor/containers.h"

namespace torchlet::device {
namespace {

struct Part {
  std::shared_ptr<const CompiledSegment> compiled;
  const char* device = nullptr;
  std::vector<const Node*> operators;
  std::vector<ValueId> inputs, outputs;
};

// Parts one after the other, with the tensors that go from one to the next.
class PartedSegment : public CompiledSegment {
 public:
  PartedSegment(const SpecialisedSegment& whole, std::vector<Part> parts)
      : parts_(std::move(parts)), num_tensors_(whole.tensors.size()) {
    for (const CallArgument& input : whole.inputs) {
      inputs_.push_back(input.is_tensor() ? input.id() : -1);
    }
    for (const auto& output : whole.outputs) outputs_.push_back(output.value);
    last_use_.resize(num_tensors_);
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (const ValueId id : parts_[i].inputs) last_use_[static_cast<size_t>(id)] = i;
    }
    for (const CallArgument& output : outputs_) keep(output);
  }

  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    std::vector<Value> tensors(num_tensors_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs_[i] >= 0) tensors[static_cast<size_t>(inputs_[i])] = inputs[i];
    }
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      std::vector<Value> arguments, results(part.outputs.size());
      for (const ValueId id : part.inputs) {
        Value& tensor = tensors[static_cast<size_t>(id)];
        arguments.push_back(tensor);
        if (last_use_[static_cast<size_t>(id)] == i) tensor = Value();
      }
      run(part, arguments, results);
      for (size_t k = 0; k < results.size(); ++k) {
        tensors[static_cast<size_t>(part.outputs[k])] = std::move(results[k]);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = value_of(outputs_[i], tensors);
  }

 private:
  static void run(const Part& part, std::span<const Value> inputs, std::span<Value> outputs) {
    EventSink* const sink = event_sink();
    if (!sink) return part.compiled->run(inputs, outputs);
    const double begin = event_clock();
    part.compiled->run(inputs, outputs);
    sink->record({.kernel = kPartEvent,
                  .node = part.operators.back(),
                  .device = part.device,
                  .begin = begin,
                  .end = event_clock(),
                  .bytes = bytes_of(inputs) + bytes_of(outputs),
                  .operators = part.operators});
  }
  void keep(const CallArgument& output) {
    if (output.is_tensor()) last_use_[static_cast<size_t>(output.id())] = parts_.size();
    for (const CallArgument& item : output.items()) keep(item);
  }
  static Value value_of(const CallArgument& output, const std::vector<Value>& tensors) {
    if (output.is_known()) return output.known();
    return tensors[static_cast<size_t>(output.id())];
  }

  std::vector<Part> parts_;
  size_t num_tensors_;
  std::vector<ValueId> inputs_;  // -1 for what is no tensor
  std::vector<CallArgument> outputs_;
  std::vector<size_t> last_use_;  // by ValueId: a place in parts_, parts_.size() for outputs
};

// What a part gives has to be new, and one tensor.
bool can_leave_parts(const SpecialisedSegment& whole, const CallArgument& output) {
  if (output.is_known()) return !output.known().is_tensor() && !output.known().is_list();
  return output.is_tensor() && whole.tensors[static_cast<size_t>(output.id())].producer >= 0;
}

}  // namespace

void log_reference_calls(const SpecialisedSegment& segment, const Device& device,
                         const Compilation& made, PlacementLog& log) {
  for (const RefusedCall& call : made.by_reference) {
    log.refuse(*segment.calls[call.call].node, device.name(), call.why);
  }
}

namespace {

// Compiles the calls [begin, end) and says so in the log; null, and why, if the device does not.
Compilation compile_part(SpecialisedSegment& whole, size_t begin, size_t end, Device& device,
                         PlacementLog& log, Part& part) {
  const double started = event_clock();
  Compilation made;
  try {
    SpecialisedSegment cut = whole.part(begin, end);
    for (const CallArgument& input : cut.inputs) part.inputs.push_back(input.id());
    for (const auto& output : cut.outputs) part.outputs.push_back(output.value.id());
    made = device.compile(cut);
    log_reference_calls(cut, device, made, log);
  } catch (const Declined& declined) {
    made.refusal = declined.why;
  } catch (const Error& error) {
    if (is_limit(error.code())) throw;
    made.refusal = error.what();
  }
  part.compiled = made.compiled;
  part.device = device.name();
  for (size_t i = begin; i < end; ++i) part.operators.push_back(whole.calls[i].node);
  log.decide(part.operators, device.name(), made.refusal, event_clock() - started);
  return made;
}

}  // namespace

Compilation compile_in_parts(SpecialisedSegment& segment, Device& device,
                             std::span<const RefusedCall> refused,
                             std::span<const std::shared_ptr<Device>> next, PlacementLog& log) {
  for (const auto& output : segment.outputs) {
    if (!can_leave_parts(segment, output.value)) return {nullptr, refused[0].why};
  }
  std::vector<bool> is_refused(segment.calls.size());
  for (const RefusedCall& call : refused) is_refused[call.call] = true;
  std::vector<Part> parts;
  const auto others = [&](size_t begin, size_t end) {
    for (const auto& other : next) {
      Part part;
      if (compile_part(segment, begin, end, *other, log, part).compiled) {
        parts.push_back(std::move(part));
        return true;
      }
    }
    return false;
  };
  const std::string nobody = "no device takes what it refuses: " + refused[0].why;
  for (size_t begin = 0, end = 0; begin < segment.calls.size(); begin = end) {
    while (end < segment.calls.size() && is_refused[end] == is_refused[begin]) ++end;
    if (!is_refused[begin] && end - begin >= device.entry_cost().least_operators) {
      Part part;
      const Compilation made = compile_part(segment, begin, end, device, log, part);
      if (made.compiled) {
        parts.push_back(std::move(part));
        continue;
      }
    }
    if (!others(begin, end)) return {nullptr, nobody};
  }
  for (const RefusedCall& call : refused) {
    log.refuse(*segment.calls[call.call].node, device.name(), call.why);
  }
  return {std::make_shared<PartedSegment>(segment, std::move(parts)), ""};
}

}  // namespace torchlet::device
