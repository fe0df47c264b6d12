// A model that runs: translated into a graph, optimised, placed on devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

// One value that an execution is given.
struct Input {
  // All sizes known; empty for a scalar.
  std::vector<uint32_t> dims;
  // Dense, in the operand's own type; read until run() returns. Null: omitted.
  const std::byte* data = nullptr;
  size_t nbytes = 0;
};

// One value that an execution gives. Where its bytes go is the caller's to say, once the sizes are
// known.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // Called once for each output, in order, when everything has been computed. Gives where `nbytes`
  // bytes in the operand's own type go, or null if they are not wanted.
  virtual std::byte* receive(size_t index, const std::vector<uint32_t>& dims, size_t nbytes) = 0;
};

struct CompileOptions {
  // Devices of Torchlet ("cpu", "reference"), in order.
  std::vector<std::string> devices;
};

struct RunOptions {
  // For all of the run, and for each WHILE; 0: no limit.
  uint64_t timeout_nanoseconds = 0;
  uint64_t loop_timeout_nanoseconds = 0;
};

// Any number of threads may run it at once. It holds what it needs of the model.
class CompiledModel {
 public:
  virtual ~CompiledModel() = default;
  // Error (base/error.h): kInvalidArgument if the inputs do not fit the model or each other,
  // kTimeLimit past a limit.
  virtual void run(const std::vector<Input>& inputs, OutputSink& outputs,
                   const RunOptions& options) const = 0;
};

// `model` is finished, and it and the values in it stay as they are as long as the result lives.
// Error kInvalidArgument or kUnsupported if an operation cannot be computed as it stands.
std::shared_ptr<const CompiledModel> compile(std::shared_ptr<const Model> model,
                                             const CompileOptions& options);

}  // namespace torchlet::nn
