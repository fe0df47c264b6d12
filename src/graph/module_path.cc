#include "graph/module_path.h"

#include "graph/prim_kinds.h"

namespace torchlet {

std::string inlined_module_path(const Node& node) {
  std::string path;
  for (const InlinedCall* at = node.inlined_call().get(); at; at = at->caller.get()) {
    if (at->module_path.empty()) continue;
    path = path.empty() ? at->module_path : at->module_path + "." + path;
  }
  return path;
}

std::string module_path(const Node& call) {
  std::string path;
  const SsaValue* value = call.input(0);
  for (; value->node()->kind() == prim::kGetAttr; value = value->node()->input(0)) {
    const std::string& name = value->node()->string_attribute("name");
    path = path.empty() ? name : name + "." + path;
  }
  const auto& inputs = call.graph()->inputs();
  if (inputs.empty() || value != inputs[0]) return {};

  // Where the function was inlined, the way leads through the self of its callers: cut that off.
  const std::string above = inlined_module_path(call);
  if (above.empty()) return path;
  if (path.size() > above.size() && path.starts_with(above) && path[above.size()] == '.') {
    return path.substr(above.size() + 1);
  }
  return {};
}

}  // namespace torchlet
