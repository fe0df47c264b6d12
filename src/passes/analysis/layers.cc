#include "passes/analysis/layers.h"

#include "passes/analysis/constants.h"

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

}  // namespace torchlet::passes
