// ANeuralNetworksExecution.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "neuralnetworks/api/compilation.h"
#include "neuralnetworks/api/event.h"
#include "neuralnetworks/api/memory.h"

namespace torchlet::nn {

// What an execution reads an input from, or writes an output to.
struct ExecutionArgument {
  enum class State { kUnset, kOmitted, kBytes, kDeviceMemory };
  State state = State::kUnset;
  std::vector<uint32_t> dims;  // as far as they were known when it was set
  std::span<std::byte> bytes;  // all of the buffer; inputs are not written
  // Of kDeviceMemory; for bytes of a file, what keeps them.
  std::shared_ptr<MemoryObject> memory;
};

struct OutputResult {
  std::vector<uint32_t> dims;
  bool fits = true;  // into its buffer
};

using Events = std::vector<std::shared_ptr<EventObject>>;

class ExecutionObject : public std::enable_shared_from_this<ExecutionObject> {
 public:
  using Handle = ANeuralNetworksExecution;
  static constexpr const char* kName = "execution";

  // BAD_STATE if the compilation is not finished.
  explicit ExecutionObject(std::shared_ptr<const CompilationObject> compilation);

  // ---- before it is computed; each BAD_STATE afterwards ----

  // kRead sets an input, kWrite an output. Null and 0: omitted.
  void set(Access access, uint32_t index, const ANeuralNetworksOperandType* type, std::byte* buffer,
           size_t length);
  void set_from_memory(Access access, uint32_t index, const ANeuralNetworksOperandType* type,
                       std::shared_ptr<MemoryObject> memory, size_t offset, size_t length);
  void set_measure_timing(bool measure);
  void set_timeout(uint64_t nanoseconds);
  void set_loop_timeout(uint64_t nanoseconds);
  void set_padding(bool enable);
  void set_reusable(bool reusable);

  // ---- computing: BAD_STATE if it is computed now, or was and is not reusable ----

  int compute(const char* function);
  std::shared_ptr<EventObject> start(const char* function);
  // Once all dependencies are signalled; with so many nanoseconds from then, 0 for no limit.
  std::shared_ptr<EventObject> start_after(const char* function, Events dependencies,
                                           uint64_t timeout_after);

  // ---- afterwards; each BAD_STATE before ----

  OutputResult output(uint32_t index) const;
  uint64_t duration(int32_t code) const;

  const CompilationObject& compilation() const { return *compilation_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kPreparing, kComputing, kComputed };
  class Outputs;
  struct Durations {
    uint64_t computing = UINT64_MAX, from_start = UINT64_MAX, from_dependencies = UINT64_MAX;
  };

  void require_preparing() const;
  // BAD_DATA if there is none.
  const Operand& operand_of(Access access, uint32_t index) const;
  void keep(Access access, uint32_t index, ExecutionArgument argument);

  // From kPreparing or kComputed to kComputing.
  void begin(bool all_sizes_needed);
  void check_arguments(bool all_sizes_needed) const;
  std::shared_ptr<EventObject> launch(const char* function, Events dependencies,
                                      uint64_t timeout_after, bool is_fenced);
  // Computes, and ends what begin() began; the ResultCode.
  int perform(const char* function, uint64_t timeout_after) noexcept;
  void run(Clock::time_point ready, uint64_t timeout_after);
  RunOptions run_options(Clock::time_point ready, uint64_t timeout_after) const;
  // Nobody may take what is left of them for a result.
  void clear_device_outputs() noexcept;
  void end(int code) noexcept;

  const std::shared_ptr<const CompilationObject> compilation_;
  const std::shared_ptr<const CompiledModel> compiled_;

  mutable std::mutex mutex_;  // of state_; while it is kComputing, who computes has all the rest
  State state_ = State::kPreparing;
  std::vector<ExecutionArgument> inputs_, outputs_;
  bool measures_ = false, is_reusable_ = false, allows_padding_ = false;
  uint64_t timeout_ = 0, loop_timeout_;
  Clock::time_point started_;
  int code_ = ANEURALNETWORKS_NO_ERROR;  // of the last computation
  std::vector<OutputResult> results_;
  Durations durations_;
};

}  // namespace torchlet::nn
