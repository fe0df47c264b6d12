#include "test_devices.h"

#include <algorithm>
#include <atomic>

#include "tensor/containers.h"

namespace torchlet::device {
namespace {

// The calls of a segment, one after the other, by the operators' reference implementations.
class ReferenceCalls : public CompiledSegment {
 public:
  ReferenceCalls(const SpecialisedSegment& segment, int runs)
      : inputs_(segment.inputs),
        calls_(segment.calls),
        outputs_(segment.outputs),
        num_tensors_(segment.tensors.size()),
        runs_left_(runs) {}

  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    if (runs_left_-- == 0) throw DeviceFailure{"its memory is used up"};
    std::vector<Value> tensors(num_tensors_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs_[i].is_tensor()) set(tensors, inputs_[i], inputs[i]);
    }
    for (const Call& call : calls_) {
      std::vector<Value> arguments, results(call.outputs.size());
      for (const CallArgument& argument : call.arguments) {
        arguments.push_back(get(tensors, argument));
      }
      call.op->call(arguments, results);
      for (size_t i = 0; i < results.size(); ++i) set(tensors, call.outputs[i], results[i]);
    }
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = get(tensors, outputs_[i].value);
  }

 private:
  static Value get(const std::vector<Value>& tensors, const CallArgument& argument) {
    if (argument.is_known()) return argument.known();
    if (argument.is_tensor()) return tensors[static_cast<size_t>(argument.id())];
    std::vector<Value> items;
    for (const CallArgument& item : argument.items()) items.push_back(get(tensors, item));
    return Value::list(std::move(items));
  }
  static void set(std::vector<Value>& tensors, const CallArgument& output, const Value& value) {
    if (output.is_tensor()) tensors[static_cast<size_t>(output.id())] = value;
    for (size_t i = 0; i < output.items().size(); ++i) {
      set(tensors, output.items()[i], value.list_ref().items[i]);
    }
  }

  std::vector<CallArgument> inputs_;
  std::vector<Call> calls_;
  std::vector<SpecialisedSegment::Output> outputs_;
  size_t num_tensors_;
  mutable std::atomic<int> runs_left_;
};

class TestDevice : public Device {
 public:
  TestDevice(const DeviceEntry& entry, bool takes_all, bool compiles, int runs,
             size_t least_operators = 1)
      : entry_(entry),
        takes_all_(takes_all),
        compiles_(compiles),
        runs_(runs),
        least_operators_(least_operators) {}
  const char* name() const override { return entry_.name; }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "any number of arguments";
    if (takes_all_ || node.kind().name().find("conv") != std::string_view::npos) return "";
    return "no convolution";
  }

  EntryCost entry_cost() const override { return {least_operators_}; }

  Compilation compile(SpecialisedSegment& segment) override {
    if (!compiles_) return {nullptr, "not for these sizes"};
    // What a device needs to know before it compiles: every tensor.
    for (size_t i = 0; i < segment.tensors.size(); ++i) segment.describe(static_cast<ValueId>(i));
    return {std::make_shared<ReferenceCalls>(segment, runs_), ""};
  }

 private:
  const DeviceEntry& entry_;
  bool takes_all_, compiles_;
  int runs_;
  size_t least_operators_;
};

constexpr int kNeverFails = -1;

}  // namespace

const std::array<DeviceEntry, 4> kTestDevices = {{
    {"test-convolutions", "convolutions by their reference implementations",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[0], false, true, kNeverFails);
     }},
    {"test-refusing", "takes everything and compiles nothing",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[1], true, false, kNeverFails);
     }},
    {"test-failing", "fails in the second run of each segment",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[2], true, true, 1);
     }},
    {"test-costly", "convolutions, if there are two in a row",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[3], false, true, kNeverFails, 2);
     }},
}};

void add_test_devices() {
  for (const DeviceEntry& entry : kTestDevices) add_device(entry);
}

}  // namespace torchlet::device
