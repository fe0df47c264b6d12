#include "passes/analysis/rewrite.h"

#include "passes/analysis/constants.h"
#include "tensor/containers.h"

namespace torchlet::passes {

Node* insert_call(Node* before, const Operator& op, std::vector<SsaValue*> inputs) {
  Node* node = before->graph()->create(op.name, std::move(inputs));
  node->set_op(&op);
  node->set_range(before->range());
  node->set_inlined_call(before->inlined_call());
  node->insert_before(before);
  for (const Argument& result : op.schema.returns) node->add_output(result.type);
  return node;
}

void replace_by(Node& node, Node& made) {
  made.output()->set_name(node.output()->name());
  node.output()->replace_all_uses_with(made.output());
  node.destroy();
}

Node* sole_maker(const SsaValue* value, const Node& user) {
  Node* maker = value->node();
  return value->users().size() == 1 && maker->owner() == user.owner() ? maker : nullptr;
}

std::optional<std::vector<int64_t>> constant_ints(const SsaValue* value) {
  const Value* constant = constant_of(value);
  if (!constant || !constant->is_list()) return std::nullopt;
  std::vector<int64_t> items;
  for (const Value& item : constant->list_ref().items) {
    if (!item.is_int()) return std::nullopt;
    items.push_back(item.to_int());
  }
  return items;
}

}  // namespace torchlet::passes
