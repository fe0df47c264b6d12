// What the handles of a loaded model share.
#pragma once

#include <torchlet/module.h>

#include <atomic>
#include <memory>

#include "api/optimized_methods.h"
#include "api/survey.h"
#include "base/limits.h"
#include "device/placement_choice.h"
#include "device/registry.h"
#include "graph/event_sink.h"
#include "interp/interpreter.h"
#include "lite/program.h"
#include "script/compilation_unit.h"

namespace torchlet {

// What all that runs of one file may take.
class RunLimits {
 public:
  // Error kInvalidArgument for a negative time.
  explicit RunLimits(const Options& options);
  // For one call, which begins now.
  LimitScope scope() const { return LimitScope(memory_.get(), time_limit_, cancel_.get()); }

 private:
  std::unique_ptr<const MemoryBudget> memory_;
  double time_limit_;
  std::shared_ptr<const std::atomic<bool>> cancel_;
};

inline device::DeviceConfig device_config(const Options& options) {
  return {options.precision, options.preference, options.footprint};
}

// Of one file: also shared by deep copies.
struct LoadedProgram {
  LoadedProgram(script::Program program, Options load_options,
                std::shared_ptr<const RunLimits> run_limits)
      : options(std::move(load_options)),
        limits(std::move(run_limits)),
        unit(std::move(program)),
        interpreter(options.print) {}

  const Options options;

  ModelInfo info;
  std::shared_ptr<const RunLimits> limits;
  script::CompilationUnit unit;
  std::unique_ptr<lite::BytecodeProgram> bytecode;  // of an archive without source, else null
  interp::Interpreter interpreter;                  // its code points into the unit's graphs
  api::Survey survey;
  std::function<std::map<std::string, std::string>()> read_extra_files;
  // Of Options::cache_dir; null: there is none.
  std::shared_ptr<device::WeightCache> weight_cache;
  // With Options::devices = {"auto"}: those that fit this machine.
  std::vector<device::PlacementChoice> kept_placements;

  device::DeviceConfig device_config() const {
    device::DeviceConfig config = torchlet::device_config(options);
    config.weight_cache = weight_cache;
    return config;
  }
  bool runs_as_written() const {
    return options.devices.size() == 1 && options.devices[0] == kReferenceDevice;
  }
};

// Of one tree of modules.
struct LoadedModel {
  // As the program's options say.
  explicit LoadedModel(std::shared_ptr<LoadedProgram> p);
  // On these devices in place of them.
  LoadedModel(std::shared_ptr<LoadedProgram> p,
              std::vector<std::shared_ptr<device::Device>> devices, device::SegmentKeys left);

  // Which placement of `methods` was kept for such a call; `bound` begins with self.
  size_t placement_for(const Function& method, std::span<const Value> bound) const;

  std::shared_ptr<LoadedProgram> program;
  api::OptimizedMethods methods;
  // Of the program's kept placements, in their order: the number in `methods`.
  std::vector<size_t> kept_placements;

  static Module root(std::shared_ptr<LoadedModel> model, Value object) {
    return Module(std::move(model), std::move(object));
  }
  static const LoadedModel& of(const Module& module) { return *module.model_; }
  static const std::shared_ptr<LoadedModel>& handle_of(const Module& module) {
    return module.model_;
  }
  static const Value& object_of(const Module& module) { return module.object_; }
};

}  // namespace torchlet
