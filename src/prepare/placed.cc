#include "prepare/placed.h"

#include <algorithm>

#include "api/arguments.h"
#include "api/loaded_model.h"
#include "base/error.h"
#include "device/registry.h"
#include "prepare/agreement.h"

namespace torchlet::prepare {
namespace {

// Takes what another device takes, and refuses to compile any of it.
class SwitchedOff : public device::Device {
 public:
  explicit SwitchedOff(std::shared_ptr<device::Device> device) : device_(std::move(device)) {}
  const char* name() const override { return device_->name(); }
  std::string version() const override { return device_->version(); }
  std::string refusal(const Node& node) const override { return device_->refusal(node); }
  device::EntryCost entry_cost() const override { return device_->entry_cost(); }
  device::Compilation compile(device::SpecialisedSegment&) override {
    return {nullptr, "it is switched off"};
  }

 private:
  std::shared_ptr<device::Device> device_;
};

}  // namespace

Module placed(const Module& module, const std::vector<std::string>& names,
              const device::SegmentKeys& left, size_t num_off) {
  const auto& program = LoadedModel::of(module).program;
  auto devices = device::make_devices(names, device_config(program->options));
  for (size_t i = 0; i < num_off; ++i) {
    devices[i] = std::make_shared<SwitchedOff>(std::move(devices[i]));
  }
  const Module copy = module.deepcopy();
  return LoadedModel::root(std::make_shared<LoadedModel>(program, std::move(devices), left),
                           LoadedModel::object_of(copy));
}

KnownCall known_call(const Module& module, const std::string& method,
                     const std::vector<Value>& inputs) {
  const Value self = LoadedModel::object_of(module);
  Function& function = *self.object_ref().type->find_method(method);
  std::vector<Value> bound;
  api::bind_arguments(function.schema(), self, inputs, {}, bound);
  return {function.qualified_name(), device::CallSignature(std::span(bound).subspan(1))};
}

device::RunTimes times_of(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {seconds.front(), seconds[seconds.size() / 2]};
}

AnswerDifference difference(const Value& exact, const Value& result, double min_sqnr) {
  Agreement agreement;
  agreement.add(exact, result);
  AnswerDifference found{agreement.max_abs(), agreement.sqnr(), agreement.mismatch()};
  if (found.problem.empty() && !(found.sqnr >= min_sqnr)) {
    found.problem = kWrongAnswers + format(
                                        " by up to %.3g from the processor's, %.1f dB where "
                                        "%.1f are asked for",
                                        found.max_abs, found.sqnr, min_sqnr);
  }
  return found;
}

}  // namespace torchlet::prepare
