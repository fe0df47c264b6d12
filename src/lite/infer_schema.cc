#include "lite/infer_schema.h"

#include "graph/function.h"
#include "graph/prim_kinds.h"

namespace torchlet::lite {
namespace {

bool is_known(const TypePtr& type) { return !type->is(TypeKind::kUnknown); }

// The type that `user` wants for its input `index`; null if it takes several.
TypePtr wanted(const Node& user, size_t index) {
  const Schema* schema = nullptr;
  if (user.op()) {
    schema = &user.op()->schema;
  } else if (user.kind() == prim::kCallFunction) {
    schema = &user.function_attribute("function")->schema();
  }
  if (!schema || index >= schema->arguments.size()) return nullptr;
  const TypePtr& type = schema->arguments[index].type;
  const bool tells = is_known(type) && !type->is(TypeKind::kAny) && !has_free_variables(*type);
  return tells ? type : nullptr;
}

}  // namespace

TypePtr type_of_uses(const SsaValue& value) {
  TypePtr found;
  for (const Node* user : value.users()) {
    for (size_t i = 0; i < user->inputs().size(); ++i) {
      if (user->input(i) != &value) continue;
      const TypePtr type = wanted(*user, i);
      // What takes less tells more: a Tensor may be given for an Optional[Tensor].
      if (type && (!found || is_subtype(type, found))) found = type;
    }
  }
  return found ? found : types::tensor();
}

bool infer_schema(Schema& schema, const Graph& graph) {
  bool changed = false;
  for (size_t i = 0; i < schema.arguments.size() && i < graph.inputs().size(); ++i) {
    TypePtr& type = schema.arguments[i].type;
    if (is_known(type)) continue;
    type = type_of_uses(*graph.inputs()[i]);
    changed = true;
  }
  TypePtr& result = schema.returns.at(0).type;
  if (!is_known(result)) result = graph.outputs().at(0)->type();
  return changed;
}

}  // namespace torchlet::lite
