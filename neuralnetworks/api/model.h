// ANeuralNetworksModel.
#pragma once

#include <mutex>

#include "neuralnetworks/api/handles.h"
#include "neuralnetworks/model/model_builder.h"

namespace torchlet::nn {

// Thread-safe, as all objects of the API.
class ModelObject {
 public:
  using Handle = ANeuralNetworksModel;
  static constexpr const char* kName = "model";

  // Calls `change` with the builder. BAD_STATE once the model is finished, or failed to.
  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    require_open();
    change(builder_);
  }
  void finish();

  // BAD_STATE unless it is finished.
  FinishedModel finished() const;

 private:
  enum class State { kOpen, kFinished, kInvalid };
  void require_open() const;

  mutable std::mutex mutex_;
  State state_ = State::kOpen;
  ModelBuilder builder_;
  FinishedModel finished_;
};

}  // namespace torchlet::nn
