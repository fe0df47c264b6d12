// How an execution is computed: at once, in the background, or after others.
#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "neuralnetworks/api/execution.h"
#include "neuralnetworks/model/operand_type.h"

using namespace torchlet::nn;

namespace torchlet::nn {
namespace {

// What is left of `limit` nanoseconds since `begin`; MISSED_DEADLINE_TRANSIENT if that is nothing.
uint64_t time_left(uint64_t limit, std::chrono::steady_clock::time_point begin) {
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
  const auto spent = static_cast<uint64_t>(std::max<int64_t>(passed.count(), 0));
  if (spent >= limit) refuse(ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT, "no time is left");
  return limit - spent;
}

uint64_t nanoseconds_since(std::chrono::steady_clock::time_point begin) {
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
  return static_cast<uint64_t>(passed.count());
}

// The inputs as the compiled model takes them, and what they need to live.
class Inputs {
 public:
  Inputs(const Model& model, std::span<const ExecutionArgument> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      add(i, model.operands[model.inputs[i]], arguments[i]);
    }
  }

  const std::vector<Input>& list() const { return list_; }

 private:
  void add(size_t index, const Operand& operand, const ExecutionArgument& argument) {
    Input input;
    input.dims = argument.dims;
    if (argument.state == ExecutionArgument::State::kDeviceMemory) {
      DeviceMemory::Contents contents = argument.memory->device->contents();
      if (!contents.bytes || contents.dims != argument.dims) {
        refuse(ANEURALNETWORKS_OP_FAILED, "the memory of input %zu %s", index,
               contents.bytes ? "has other sizes" : "was never written, or writing it failed");
      }
      input.data = contents.bytes->data.get();
      input.nbytes = contents.bytes->size;
      kept_.push_back(std::move(contents.bytes));
    } else if (argument.state == ExecutionArgument::State::kBytes) {
      input.nbytes = *value_size(operand.type, argument.dims);
      input.data = aligned(argument.bytes.first(input.nbytes), element_size(operand.type));
    }
    list_.push_back(std::move(input));
  }

  const std::byte* aligned(std::span<const std::byte> bytes, size_t alignment) {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0) return bytes.data();
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::byte* data = copy->data();
    kept_.push_back(std::move(copy));
    return data;
  }

  std::vector<Input> list_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace

// Where the results go, and what was wrong with them.
class ExecutionObject::Outputs final : public OutputSink {
 public:
  explicit Outputs(ExecutionObject& execution) : execution_(execution) {
    const std::vector<ExecutionArgument>& arguments = execution_.outputs_;
    execution_.results_.assign(arguments.size(), {});
    written_.resize(arguments.size());
    // Of several outputs a later one may be too large; then the others are not written either.
    const Model& model = execution_.compilation_->model();
    can_write_ = arguments.size() == 1 || std::ranges::all_of(model.outputs, [&](uint32_t index) {
                   const Operand& operand = model.operands[index];
                   return value_size(operand.type, operand.dims).has_value();
                 });
  }

  std::byte* receive(size_t index, const std::vector<uint32_t>& dims, size_t nbytes) override {
    const ExecutionArgument& argument = execution_.outputs_[index];
    OutputResult& result = execution_.results_[index];
    result.dims = dims;
    check(index, argument, dims, nbytes);
    if (argument.state == ExecutionArgument::State::kOmitted) return nullptr;
    if (argument.state == ExecutionArgument::State::kBytes) {
      result.fits = nbytes <= argument.bytes.size();
      if (!result.fits) {
        refusal_ = {ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                    "output " + std::to_string(index) + " takes " + std::to_string(nbytes) +
                        " bytes, and its buffer has " + std::to_string(argument.bytes.size())};
        return nullptr;
      }
      if (can_write_) return argument.bytes.data();
    }
    written_[index] = std::make_shared<DeviceMemory::Bytes>(nbytes);
    return written_[index]->data.get();
  }

  // After all of them.
  void finish() {
    if (refusal_) throw Refusal(*refusal_);
    for (size_t i = 0; i < written_.size(); ++i) {
      if (!written_[i]) continue;
      const ExecutionArgument& argument = execution_.outputs_[i];
      if (argument.state == ExecutionArgument::State::kBytes) {
        std::copy_n(written_[i]->data.get(), written_[i]->size, argument.bytes.data());
      } else {
        argument.memory->device->set_contents(std::move(written_[i]), execution_.results_[i].dims);
      }
    }
  }

 private:
  static void check(size_t index, const ExecutionArgument& argument,
                    const std::vector<uint32_t>& dims, size_t nbytes) {
    std::vector<uint32_t> expected = argument.dims;
    if (argument.state == ExecutionArgument::State::kDeviceMemory) {
      expected = *combine_dims(expected, argument.memory->device->use().operand.dims);
    }
    const auto is_refined = [](uint32_t declared, uint32_t size) {
      return declared == 0 || declared == size;
    };
    const bool fits = expected.empty() || std::ranges::equal(expected, dims, is_refined);
    if (!fits || nbytes > UINT32_MAX) {
      refuse(ANEURALNETWORKS_OP_FAILED, "output %zu has sizes %s and %zu bytes; it was set as %s",
             index, dims_text(dims).c_str(), nbytes, dims_text(expected).c_str());
    }
  }

  ExecutionObject& execution_;
  bool can_write_ = false;                                     // into buffers, at once
  std::vector<std::shared_ptr<DeviceMemory::Bytes>> written_;  // what is not in a buffer yet
  std::optional<Refusal> refusal_;
};

void ExecutionObject::begin(bool all_sizes_needed) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kComputing || (state_ == State::kComputed && !is_reusable_)) {
      refuse(ANEURALNETWORKS_BAD_STATE, "the execution %s",
             state_ == State::kComputing ? "is being computed"
                                         : "has been computed and is not reusable");
    }
    state_ = State::kComputing;
    started_ = Clock::now();
  }
  try {
    check_arguments(all_sizes_needed);
  } catch (const Refusal& refusal) {
    end(refusal.code);
    throw;
  }
}

void ExecutionObject::check_arguments(bool all_sizes_needed) const {
  const auto check_set = [](const char* kind, const std::vector<ExecutionArgument>& arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].state != ExecutionArgument::State::kUnset) continue;
      refuse(ANEURALNETWORKS_BAD_DATA, "%s %zu is not set", kind, i);
    }
  };
  check_set("input", inputs_);
  check_set("output", outputs_);
  for (size_t i = 0; all_sizes_needed && i < outputs_.size(); ++i) {
    if (outputs_[i].state == ExecutionArgument::State::kOmitted) continue;
    const Operand& operand = operand_of(Access::kWrite, static_cast<uint32_t>(i));
    if (value_size(operand.type, outputs_[i].dims)) continue;
    refuse(ANEURALNETWORKS_BAD_DATA, "output %zu has sizes %s, which are not all known", i,
           dims_text(outputs_[i].dims).c_str());
  }
}

void ExecutionObject::end(int code) noexcept {
  const std::lock_guard lock(mutex_);
  code_ = code;
  state_ = State::kComputed;
}

int ExecutionObject::compute(const char* function) {
  begin(false);
  return perform(function, 0);
}

std::shared_ptr<EventObject> ExecutionObject::start(const char* function) {
  return launch(function, {}, 0, false);
}

std::shared_ptr<EventObject> ExecutionObject::start_after(const char* function, Events dependencies,
                                                          uint64_t timeout_after) {
  if (timeout_after) compilation_->require_one_device("a time limit");
  return launch(function, std::move(dependencies), timeout_after, true);
}

std::shared_ptr<EventObject> ExecutionObject::launch(const char* function, Events dependencies,
                                                     uint64_t timeout_after, bool is_fenced) {
  auto event = EventObject::of_execution(is_fenced);
  const auto work = [self = shared_from_this(), event, function,
                     waited_for = std::move(dependencies), timeout_after] {
    int code = ANEURALNETWORKS_NO_ERROR;
    for (const auto& dependency : waited_for) {
      if (dependency->wait() != ANEURALNETWORKS_NO_ERROR) code = ANEURALNETWORKS_OP_FAILED;
    }
    if (code == ANEURALNETWORKS_NO_ERROR) {
      code = self->perform(function, timeout_after);
    } else {
      log("%s: OP_FAILED: an event that it depends on failed", function);
      self->clear_device_outputs();
      self->end(code);
    }
    event->signal(code);
  };
  begin(is_fenced);
  try {
    std::thread(work).detach();
  } catch (...) {
    end(ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT);
    throw;
  }
  return event;
}

int ExecutionObject::perform(const char* function, uint64_t timeout_after) noexcept {
  int code = ANEURALNETWORKS_NO_ERROR;
  try {
    run(Clock::now(), timeout_after);
  } catch (...) {
    code = code_of_exception(function, Phase::kRun);
    clear_device_outputs();
  }
  end(code);
  return code;
}

void ExecutionObject::run(Clock::time_point ready, uint64_t timeout_after) {
  const Inputs inputs(compilation_->model(), inputs_);
  clear_device_outputs();
  Outputs outputs(*this);
  const Clock::time_point computing = Clock::now();
  compiled_->run(inputs.list(), outputs, run_options(ready, timeout_after));
  durations_.computing = nanoseconds_since(computing);
  outputs.finish();
  durations_.from_start = nanoseconds_since(started_);
  durations_.from_dependencies = nanoseconds_since(ready);
}

RunOptions ExecutionObject::run_options(Clock::time_point ready, uint64_t timeout_after) const {
  RunOptions options;
  options.loop_timeout_nanoseconds = loop_timeout_;
  uint64_t left = UINT64_MAX;
  if (timeout_) left = std::min(left, time_left(timeout_, started_));
  if (timeout_after) left = std::min(left, time_left(timeout_after, ready));
  if (timeout_ || timeout_after) options.timeout_nanoseconds = left;
  return options;
}

void ExecutionObject::clear_device_outputs() noexcept {
  for (const ExecutionArgument& output : outputs_) {
    if (output.state == ExecutionArgument::State::kDeviceMemory) {
      output.memory->device->clear_contents();
    }
  }
}

}  // namespace torchlet::nn

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution) {
  const char* const function = __func__;
  return answer(__func__, [&] { return find<ExecutionObject>(execution)->compute(function); });
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event) {
  const char* const function = __func__;
  return answer(function, [&] {
    require(event, "event");
    *event = nullptr;
    *event = make_handle(find<ExecutionObject>(execution)->start(function));
  });
}

int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event) {
  const char* const function = __func__;
  return answer(function, [&] {
    require(event, "event");
    *event = nullptr;
    if (num_dependencies) require(dependencies, "dependencies");
    const auto object = find<ExecutionObject>(execution);
    Events events;
    for (uint32_t i = 0; i < num_dependencies; ++i) {
      events.push_back(find<EventObject>(dependencies[i]));
    }
    *event = make_handle(object->start_after(function, std::move(events), duration));
  });
}
