#include "passes/analysis/layers.h"

#include "passes/analysis/constants.h"
#include "tensor/containers.h"

namespace torchlet::passes {

std::optional<bool> is_transposed_convolution(const Node& node) {
  if (!node.op() || node.op()->facts->dtype != DTypeRule::kWeight) return std::nullopt;
  const Schema& schema = node.op()->schema;
  if (!schema.find_argument("groups")) return std::nullopt;
  // Only those that may be transposed have an output padding.
  if (!schema.find_argument("transposed"))
    return schema.find_argument("output_padding").has_value();
  const Value* transposed = constant_argument(node, "transposed");
  return transposed && transposed->is_bool() ? std::optional(transposed->to_bool()) : std::nullopt;
}

const CustomObject* packed_context(const Node& layer) {
  const Value* context =
      layer.op() && layer.inputs().size() == 2 ? constant_of(layer.input(1)) : nullptr;
  if (!context || !context->is_custom()) return nullptr;
  const CustomObject& object = context->custom_ref();
  const bool fits = object.class_name() == layer.op()->schema.arguments[1].type->name();
  return fits ? &object : nullptr;
}

}  // namespace torchlet::passes
