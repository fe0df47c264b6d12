// ANeuralNetworksMemoryDesc.
#pragma once

#include <mutex>
#include <optional>
#include <span>

#include "neuralnetworks/api/memory.h"

namespace torchlet::nn {

class CompilationObject;

class MemoryDescObject {
 public:
  using Handle = ANeuralNetworksMemoryDesc;
  static constexpr const char* kName = "desc";

  // BAD_DATA if the compilation is not finished, there is no such input or output, the role is
  // there already, or does not fit the others.
  void add_role(const CompilationObject& compilation, Access access, uint32_t index,
                float frequency);
  void set_dims(std::span<const uint32_t> dims);
  void finish();
  // BAD_STATE unless it is finished.
  MemoryUse finished() const;

 private:
  void require_open() const;

  mutable std::mutex mutex_;
  bool is_finished_ = false;
  MemoryUse use_;
};

}  // namespace torchlet::nn
