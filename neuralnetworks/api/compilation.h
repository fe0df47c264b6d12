// ANeuralNetworksCompilation.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "neuralnetworks/api/device.h"
#include "neuralnetworks/model/model.h"
#include "neuralnetworks/runtime/compiled_model.h"

namespace torchlet::nn {

class CompilationObject {
 public:
  using Handle = ANeuralNetworksCompilation;
  static constexpr const char* kName = "compilation";

  // `devices_were_chosen` by the application, which then may set time limits if it is one.
  CompilationObject(std::shared_ptr<const Model> model, DeviceList devices,
                    bool devices_were_chosen);

  // Each BAD_STATE once the compilation is finished, or failed to.
  void set_preference(int32_t preference);
  void set_caching(std::string folder);
  void set_priority(int priority);
  void set_timeout(uint64_t nanoseconds);
  void finish();

  // No two compilations ever have the same.
  uint64_t id() const { return id_; }
  // BAD_DATA unless the application chose one device, which `what` needs.
  void require_one_device(const char* what) const;
  // Null before finish() and if that failed.
  std::shared_ptr<const Model> model_if_finished() const;
  // BAD_STATE if it is not finished, BAD_DATA if there is no such input or output.
  void require_argument(bool is_input, uint32_t index) const;
  // What executions run; BAD_STATE if it is not finished.
  std::shared_ptr<const CompiledModel> compiled() const;

  const Model& model() const { return *model_; }

 private:
  enum class State { kOpen, kFinished, kInvalid };
  void require_open() const;

  const uint64_t id_;
  const std::shared_ptr<const Model> model_;
  const DeviceList devices_;
  const bool devices_were_chosen_;

  mutable std::mutex mutex_;
  State state_ = State::kOpen;
  uint64_t timeout_ = 0;
  std::shared_ptr<const CompiledModel> compiled_;
};

}  // namespace torchlet::nn
