#include "graph/clone.h"

namespace torchlet {
namespace {

void clone_into(const Block& from, Block* to, ValueMap& values) {
  for (const SsaValue* input : from.inputs()) {
    values[input] = to->add_input(input->type(), input->name());
  }
  for (const Node* node : from) to->append(clone_node(*node, *to->graph(), values));
  for (const SsaValue* output : from.outputs()) to->add_output(values.at(output));
  to->return_node()->set_range(from.return_node()->range());
}

}  // namespace

Node* clone_node(const Node& node, Graph& target, ValueMap& values) {
  Node* copy = target.create(node.kind());
  copy->set_op(node.op());
  copy->set_range(node.range());
  copy->set_inlined_call(node.inlined_call());
  for (const auto& [name, attribute] : node.attributes()) copy->set_attribute(name, attribute);
  for (const SsaValue* input : node.inputs()) copy->add_input(values.at(input));
  for (const Block* block : node.blocks()) clone_into(*block, copy->add_block(), values);
  for (const SsaValue* output : node.outputs()) {
    values[output] = copy->add_output(output->type(), output->name());
  }
  return copy;
}

std::unique_ptr<Graph> clone_graph(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  ValueMap values;
  clone_into(*graph.block(), copy->block(), values);
  return copy;
}

}  // namespace torchlet
