#include "prepare/needed_operators.h"

#include "api/loaded_model.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

void count(const Block& block, std::map<std::string, size_t>& counts) {
  for (const Node* node : block) {
    if (node->op()) ++counts[node->op()->schema.full_name()];
    for (const Block* inner : node->blocks()) count(*inner, counts);
  }
}

}  // namespace

std::map<std::string, size_t> optimized_operators(const Module& module) {
  LoadedModel& model = *LoadedModel::handle_of(module);
  const LimitScope scope = model.program->limits->scope();
  const Value& self = LoadedModel::object_of(module);
  std::map<std::string, size_t> counts;
  for (const auto& [name, method] : self.object_ref().type->methods()) {
    count(*model.methods.get(*method, self)->graph().block(), counts);
  }
  return counts;
}

}  // namespace torchlet::prepare
