#include "lite/add_casts.h"

#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "lite/infer_schema.h"

namespace torchlet::lite {
namespace {

bool is_open(const Type& type) {
  return type.is(TypeKind::kOptional) || type.is(TypeKind::kUnion) || type.is(TypeKind::kAny) ||
         type.is(TypeKind::kNone);
}

bool takes_anything(const Type& type) {
  return type.is(TypeKind::kVar) || type.is(TypeKind::kOptional) || type.is(TypeKind::kUnknown);
}

// What a value of type `given` is where `taken` is; `given` itself if it needs no cast.
TypePtr narrowed(const TypePtr& given, const TypePtr& taken) {
  if (!is_open(*given) || takes_anything(*taken) || is_subtype(given, taken)) return given;
  const bool is_item = given->is(TypeKind::kOptional) &&
                       (has_free_variables(*taken) || is_subtype(given->element(0), taken));
  if (is_item) return given->element(0);
  return has_free_variables(*taken) ? given : taken;
}

const Schema* schema_of(const Node& node) {
  if (node.op()) return &node.op()->schema;
  const bool is_call = node.kind() == prim::kCallFunction || node.kind() == prim::kCallMethod;
  if (is_call && node.has_attribute("function")) {
    return &node.function_attribute("function")->schema();
  }
  return nullptr;
}

// Kinds that take something out of their first input, which thus is there.
bool opens_first(Symbol kind) {
  return kind == prim::kGetAttr || kind == prim::kSetAttr || kind == prim::kCallMethod ||
         kind == prim::kTupleUnpack || kind == prim::kListUnpack || kind == prim::kTupleIndex;
}

// Of a list that is never there (None) nobody but the users of its items tells what it holds.
TypePtr list_of_items(const Node& node) {
  const bool gives_item =
      node.outputs().size() == 1 && node.op()->schema.returns[0].type->is(TypeKind::kVar);
  const TypePtr item = gives_item ? type_of_uses(*node.output()) : types::integer();
  return types::list(item->is(TypeKind::kNumber) ? types::floating() : item);
}

TypePtr taken(const Node& node, size_t input, const Schema* schema) {
  const TypePtr& given = node.input(input)->type();
  if (input == 0 && opens_first(node.kind())) {
    return given->is(TypeKind::kOptional) ? given->element(0) : given;
  }
  if (node.kind() == prim::kListConstruct) return node.output()->type()->element(0);
  if (!schema || input >= schema->arguments.size()) return given;
  const TypePtr& type = schema->arguments[input].type;
  const bool is_no_list = given->is(TypeKind::kNone) && type->is(TypeKind::kList) && node.op();
  return is_no_list && has_free_variables(*type) ? list_of_items(node) : type;
}

// What the input has to be cast to; the type that it has if to nothing.
TypePtr needed(const Node& node, size_t input, const Schema* schema) {
  const TypePtr& given = node.input(input)->type();
  if (!node.op()) {  // what was found out of the type since the node was made may not fit it
    const std::vector<Argument>& formal = prim::schema_of(node.kind()).arguments;
    if (input < formal.size() && !prim::fits(*given, *formal[input].type)) {
      return formal[input].type;
    }
  }
  return narrowed(given, taken(node, input, schema));
}

SsaValue* cast(SsaValue* value, const TypePtr& type, Node* before) {
  Node* node = value->node()->graph()->create(prim::kUncheckedCast, {value});
  node->set_range(before->range());
  node->insert_before(before);
  return node->add_output(type);
}

// What a branch gives has the type of what the node gives.
void cast_results(const Node& branch) {
  for (Block* block : branch.blocks()) {
    for (size_t i = 0; i < branch.outputs().size(); ++i) {
      SsaValue* value = block->outputs().at(i);
      const TypePtr type = narrowed(value->type(), branch.output(i)->type());
      if (type == value->type()) continue;
      Node* node = block->graph()->create(prim::kUncheckedCast, {value});
      node->set_range(branch.range());
      block->append(node);
      block->replace_output(i, node->add_output(type));
    }
  }
}

void add_casts_in(Block& block) {
  for (Node* node : block) {
    for (Block* inner : node->blocks()) add_casts_in(*inner);
    if (node->kind() == prim::kIf) cast_results(*node);
    const Schema* schema = schema_of(*node);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      SsaValue* value = node->input(i);
      const TypePtr type = needed(*node, i, schema);
      if (type != value->type()) node->replace_input(i, cast(value, type, node));
    }
  }
}

}  // namespace

void add_casts(Graph& graph, const Schema& schema) {
  add_casts_in(*graph.block());
  SsaValue* result = graph.outputs().at(0);
  const TypePtr type = narrowed(result->type(), schema.returns.at(0).type);
  if (type == result->type()) return;
  Node* node = graph.create(prim::kUncheckedCast, {result});
  graph.block()->append(node);
  graph.block()->replace_output(0, node->add_output(type));
}

}  // namespace torchlet::lite
