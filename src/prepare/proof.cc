#include "prepare/proof.h"

#include <torchlet/error.h>

#include <algorithm>

#include "api/arguments.h"
#include "api/deep_copy.h"
#include "api/loaded_model.h"
#include "base/error.h"
#include "prepare/agreement.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

constexpr int64_t kSeed = 1;

// What a call gives, and its arguments afterwards.
Value answer(const Module& module, const ProofCall& call, bool as_written) {
  const Value seed(kSeed);
  find_operator("aten::manual_seed", "")->call({const_cast<Value*>(&seed), 1}, {});
  const Module copy = module.deepcopy();
  std::vector<Value> arguments;
  for (const Value& input : call.inputs) arguments.push_back(api::deep_copy(input));
  std::vector<Value> all = arguments;
  if (as_written) {
    const LoadedProgram& program = *LoadedModel::of(copy).program;
    const LimitScope scope = program.limits->scope();
    const Value self = LoadedModel::object_of(copy);
    Function& function = *self.object_ref().type->find_method(call.method);
    std::vector<Value> bound;
    api::bind_arguments(function.schema(), self, arguments, {}, bound);
    all.push_back(program.interpreter.call(function, program.interpreter.code(function), bound));
  } else {
    all.push_back(copy.get_method(call.method)(std::move(arguments)));
  }
  return Value::tuple(std::move(all));
}

std::string devices_of(const Module& module) {
  std::string names;
  for (const std::string& device : LoadedModel::of(module).program->options.devices) {
    names += (names.empty() ? "" : ",") + device;
  }
  return names;
}

void refuse(const ProofCall& call, const std::string& device, const std::string& why,
            const std::string& advice) {
  fail(ErrorCode::kRuntime, call.method + "() gives other answers on " + device + ": " + why +
                                "; nothing was written (" + advice + ")");
}

}  // namespace

std::vector<OptimizeReport::Proof> prove(const Module& before, const Module& after,
                                         const std::vector<ProofCall>& calls, double tolerance,
                                         const std::string& advice) {
  std::vector<std::string> devices = {std::string(kReferenceDevice)};
  if (!LoadedModel::of(before).program->runs_as_written()) devices.push_back(devices_of(before));
  std::vector<OptimizeReport::Proof> proofs;
  std::vector<std::string> methods;
  for (const ProofCall& call : calls) {
    if (!before.find_method(call.method) || !after.find_method(call.method)) {
      fail(ErrorCode::kInvalidArgument, "the method '" + call.method + "' is not kept");
    }
    if (std::ranges::find(methods, call.method) == methods.end()) methods.push_back(call.method);
  }
  for (const std::string& method : methods) {
    for (const std::string& device : devices) {
      Agreement agreement;
      size_t count = 0;
      for (const ProofCall& call : calls) {
        if (call.method != method) continue;
        const bool as_written = device == kReferenceDevice;
        agreement.add(answer(before, call, as_written), answer(after, call, as_written));
        ++count;
        if (!agreement.mismatch().empty()) refuse(call, device, agreement.mismatch(), advice);
        if (!(agreement.error() <= tolerance)) {
          refuse(call, device,
                 format("they differ by %.2e of the largest number (tolerance %.2e, SQNR %.1f dB)",
                        agreement.error(), tolerance, agreement.sqnr()),
                 advice);
        }
      }
      proofs.push_back(
          {method, device, count, agreement.error(), agreement.max_abs(), agreement.sqnr()});
    }
  }
  return proofs;
}

}  // namespace torchlet::prepare
