#include "neuralnetworks/translate/translate.h"

#include "graph/prim_kinds.h"
#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {

std::unique_ptr<Graph> translate(const Model& model) {
  auto graph = std::make_unique<Graph>();
  Block* block = graph->block();
  std::vector<SsaValue*> inputs;
  for (const uint32_t index : model.inputs) {
    const bool is_read = model.operands[index].lifetime == Lifetime::kInput;
    inputs.push_back(block->add_input(is_read ? types::tensor() : types::none()));
  }
  SsaValue* loop_timeout = block->add_input(types::integer(), "loop_timeout");
  Emitter emitter(*graph, block, model, inputs, loop_timeout);
  const std::vector<SsaValue*> outputs = emitter.translate();

  std::vector<TypePtr> types;
  for (const SsaValue* output : outputs) types.push_back(output->type());
  Node* tuple = graph->create(prim::kTupleConstruct, outputs);
  block->append(tuple);
  block->add_output(tuple->add_output(types::tuple(std::move(types))));
  graph->verify();
  return graph;
}

}  // namespace torchlet::nn
