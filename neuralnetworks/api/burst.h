// ANeuralNetworksBurst.
#pragma once

#include <atomic>
#include <memory>

#include "neuralnetworks/api/compilation.h"

namespace torchlet::nn {

// What is kept from one execution to the next belongs to the compilation; a burst only makes sure
// that it is used by one execution at a time.
struct BurstObject {
  using Handle = ANeuralNetworksBurst;
  static constexpr const char* kName = "burst";

  explicit BurstObject(uint64_t compilation_id) : compilation(compilation_id) {}

  const uint64_t compilation;  // CompilationObject::id()
  std::atomic_flag is_busy;
};

}  // namespace torchlet::nn
