#include <torchlet/bundled_inputs.h>

#include <algorithm>

#include "base/error.h"

namespace torchlet {
namespace {

// Before PyTorch 1.9 only forward() had inputs, under this name; forward() still has it, too.
constexpr char kShortGetter[] = "get_all_bundled_inputs";
constexpr std::string_view kGetter = "get_all_bundled_inputs_for_";

std::optional<Method> getter_of(const Module& module, const std::string& method) {
  auto getter = module.find_method(std::string(kGetter) + method);
  if (!getter && method == "forward") getter = module.find_method(kShortGetter);
  return getter;
}

// What get_bundled_inputs_functions_and_info() says of the method under "info".
std::vector<std::string> info_of(const Value& all, const std::string& method) {
  std::vector<std::string> lines;
  for (const auto& [name, about] : all.to_dict()) {
    if (!name.is_string() || name.to_string() != method) continue;
    for (const auto& [key, value] : about.to_dict()) {
      if (!key.is_string() || key.to_string() != "info") continue;
      for (const Value& line : value.to_list()) lines.push_back(line.to_string());
    }
  }
  return lines;
}

}  // namespace

std::vector<std::vector<Value>> bundled_inputs(const Module& module, std::string_view method) {
  const std::string name(method);
  const std::optional<Method> getter = getter_of(module, name);
  if (!getter) {
    fail(ErrorCode::kNotFound, "the model has no bundled inputs for " + name.substr(0, 200) +
                                   "(); add them with `torchlet bundle` or name inputs");
  }
  std::vector<std::vector<Value>> calls;
  for (const Value& call : (*getter)({}).to_list()) calls.push_back(call.to_tuple());
  return calls;
}

std::vector<std::pair<std::string, std::vector<std::string>>> bundled_methods(
    const Module& module) {
  Value about = Value::dict({});
  if (const auto getter = module.find_method("get_bundled_inputs_functions_and_info")) {
    about = (*getter)({});
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> result;
  const auto add = [&](const std::string& name) {
    const auto is_there = [&](const auto& method) { return method.first == name; };
    if (std::ranges::none_of(result, is_there)) result.emplace_back(name, info_of(about, name));
  };
  for (const Method& method : module.methods()) {
    if (method.name() == kShortGetter) add("forward");
    if (method.name().starts_with(kGetter)) add(method.name().substr(kGetter.size()));
  }
  return result;
}

}  // namespace torchlet
