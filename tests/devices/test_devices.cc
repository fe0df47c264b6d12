#include "test_devices.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "graph/event_sink.h"
#include "tensor/containers.h"

namespace torchlet::device {
namespace {

enum class Manner { kGood, kSlow, kCrashes, kHangs, kWrong };

// The calls of a segment, one after the other, by the operators' reference implementations.
class ReferenceCalls : public CompiledSegment {
 public:
  ReferenceCalls(const SpecialisedSegment& segment, int runs, Manner manner, const char* device)
      : device_(device),
        manner_(manner),
        inputs_(segment.inputs),
        calls_(segment.calls),
        outputs_(segment.outputs),
        num_tensors_(segment.tensors.size()),
        runs_left_(runs) {}

  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    if (runs_left_-- == 0) throw DeviceFailure{"its memory is used up"};
    const double begin = event_clock();
    if (manner_ == Manner::kCrashes) std::abort();
    if (manner_ == Manner::kHangs) {
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    if (manner_ == Manner::kSlow) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    tell_copy(inputs, begin);
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
    if (manner_ == Manner::kWrong) spoil(outputs);
  }

 private:
  // As a device that brings its inputs to its own memory.
  void tell_copy(std::span<const Value> inputs, double begin) const {
    EventSink* sink = event_sink();
    if (!sink || inputs.empty() || !inputs[0].is_tensor()) return;
    const TensorImpl& first = *inputs[0].tensor_impl();
    sink->record({.kernel = kCopyEvent,
                  .node = calls_.empty() ? nullptr : calls_[0].node,
                  .device = device_,
                  .begin = begin,
                  .end = event_clock(),
                  .bytes = static_cast<size_t>(first.numel) * element_size(first.dtype)});
  }
  static void spoil(std::span<Value> outputs) {
    for (Value& output : outputs) {
      if (!output.is_tensor() || output.tensor_impl()->dtype != DType::kFloat32) continue;
      const Tensor& tensor = output.to_tensor();
      const Tensor wrong = zeros(tensor.sizes(), DType::kFloat32);
      std::fill_n(wrong.data_ptr<float>(), wrong.numel(), 0.5f);
      output = Value(wrong);
    }
  }
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

  const char* device_;
  Manner manner_;
  std::vector<CallArgument> inputs_;
  std::vector<Call> calls_;
  std::vector<SpecialisedSegment::Output> outputs_;
  size_t num_tensors_;
  mutable std::atomic<int> runs_left_;
};

class TestDevice : public Device {
 public:
  TestDevice(const DeviceEntry& entry, bool takes_all, bool compiles, int runs,
             size_t least_operators = 1, Manner manner = Manner::kGood)
      : entry_(entry),
        takes_all_(takes_all),
        compiles_(compiles),
        runs_(runs),
        least_operators_(least_operators),
        manner_(manner) {}
  const char* name() const override { return entry_.name; }

  std::string refusal(const Node& node) const override {
    if (node.op()->schema.is_vararg) return "any number of arguments";
    if (takes_all_ || node.kind().name().find("conv") != std::string_view::npos) return "";
    return "no convolution";
  }

  std::string version() const override { return "1.0"; }
  EntryCost entry_cost() const override { return {least_operators_}; }

  Compilation compile(SpecialisedSegment& segment) override {
    if (&entry_ == &kTestDevices[9]) {
      if (std::vector<RefusedCall> refused = strided_windows(segment); !refused.empty()) {
        return {nullptr, "a stride", std::move(refused)};
      }
    }
    if (!compiles_) return {nullptr, "not for these sizes"};
    // What a device needs to know before it compiles: every tensor.
    for (size_t i = 0; i < segment.tensors.size(); ++i) segment.describe(static_cast<ValueId>(i));
    return {std::make_shared<ReferenceCalls>(segment, runs_, manner_, entry_.name), ""};
  }

 private:
  static std::vector<RefusedCall> strided_windows(const SpecialisedSegment& segment) {
    std::vector<RefusedCall> refused;
    for (size_t i = 0; i < segment.calls.size(); ++i) {
      const Call& call = segment.calls[i];
      if (call.has_argument("stride") && call.known_ints("stride", 2)[0] > 1) {
        refused.push_back({i, "a stride"});
      }
    }
    return refused;
  }

  const DeviceEntry& entry_;
  bool takes_all_, compiles_;
  int runs_;
  size_t least_operators_;
  Manner manner_;
};

// What a segment gave the first time: right as long as the inputs are the same ones, and faster
// than any computation.
class RememberedOutputs : public CompiledSegment {
 public:
  explicit RememberedOutputs(const SpecialisedSegment& segment)
      : first_(segment, -1, Manner::kGood, kTestDevices[8].name) {}
  void run(std::span<const Value> inputs, std::span<Value> outputs) const override {
    const std::lock_guard lock(mutex_);
    if (outputs_.empty()) {
      first_.run(inputs, outputs);
      for (const Value& output : outputs) outputs_.push_back(output);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = outputs_[i].is_tensor() ? Value(outputs_[i].to_tensor().clone()) : outputs_[i];
    }
  }

 private:
  ReferenceCalls first_;
  mutable std::mutex mutex_;
  mutable std::vector<Value> outputs_;
};

class FastDevice : public Device {
 public:
  const char* name() const override { return kTestDevices[8].name; }
  std::string version() const override { return "1.0"; }
  std::string refusal(const Node& node) const override {
    return node.op()->schema.is_vararg ? "any number of arguments" : "";
  }
  Compilation compile(SpecialisedSegment& segment) override {
    for (size_t i = 0; i < segment.tensors.size(); ++i) segment.describe(static_cast<ValueId>(i));
    return {std::make_shared<RememberedOutputs>(segment), ""};
  }
};

constexpr int kNeverFails = -1;

}  // namespace

const std::array<DeviceEntry, 10> kTestDevices = {{
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
    {"test-slow", "convolutions, each ten milliseconds late",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[4], false, true, kNeverFails, 1,
                                           Manner::kSlow);
     }},
    {"test-crashing", "convolutions, whose first run aborts",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[5], false, true, kNeverFails, 1,
                                           Manner::kCrashes);
     }},
    {"test-hanging", "convolutions, whose runs never end",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[6], false, true, kNeverFails, 1,
                                           Manner::kHangs);
     }},
    {"test-wrong", "convolutions, that all give halves",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[7], false, true, kNeverFails, 1,
                                           Manner::kWrong);
     }},
    {"test-fast", "takes everything and gives what it gave first, without computing",
     [](const DeviceConfig&) -> std::shared_ptr<Device> { return std::make_shared<FastDevice>(); }},
    {"test-strideless", "takes everything and refuses strides when it sees them",
     [](const DeviceConfig&) -> std::shared_ptr<Device> {
       return std::make_shared<TestDevice>(kTestDevices[9], true, true, kNeverFails);
     }},
}};

void add_test_devices() {
  for (const DeviceEntry& entry : kTestDevices) add_device(entry);
}

}  // namespace torchlet::device
