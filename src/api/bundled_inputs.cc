#include <torchlet/bundled_inputs.h>

#include "base/error.h"

namespace torchlet {

std::vector<std::vector<Value>> bundled_inputs(const Module& module, std::string_view method) {
  const std::string name(method);
  // Before PyTorch 1.9 only forward() had inputs, under the short name.
  std::optional<Method> getter = module.find_method("get_all_bundled_inputs_for_" + name);
  if (!getter && name == "forward") getter = module.find_method("get_all_bundled_inputs");
  if (!getter) {
    fail(ErrorCode::kNotFound,
         "the model has no bundled inputs for " + name.substr(0, 200) +
             "(); add them with torch.utils.bundled_inputs before it is saved, or name inputs");
  }
  std::vector<std::vector<Value>> calls;
  for (const Value& call : (*getter)({}).to_list()) calls.push_back(call.to_tuple());
  return calls;
}

}  // namespace torchlet
