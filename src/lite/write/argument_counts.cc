#include "lite/write/argument_counts.h"

#include <algorithm>

#include "graph/prim_kinds.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

// Not Python's ==: 1 is not 1.0 for an operator.
bool is_same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (!a.is_list()) return values_equal(a, b);
  const List& left = a.list_ref();
  const List& right = b.list_ref();
  return equal(left.element_type, right.element_type) &&
         std::ranges::equal(left.items, right.items, is_same);
}

bool is_default(const SsaValue* value, const Argument& formal) {
  return formal.default_value && value->node()->kind() == prim::kConstant &&
         is_same(value->node()->value_attribute("value"), *formal.default_value);
}

}  // namespace

ArgumentCounts::ArgumentCounts(const Graph& graph, const CodeForm& form) : form_(form) {
  count(*graph.block());
}

void ArgumentCounts::count(const Block& block) {
  for (const Node* node : block) {
    if (node->op()) {
      const Given call = given(*node);
      Given& most = counts_[node->op()];
      most = {std::max(most.num_first, call.num_first), call.num_out};
    }
    for (const Block* inner : node->blocks()) count(*inner);
  }
}

ArgumentCounts::Given ArgumentCounts::given(const Node& call) const {
  const std::vector<Argument>& formal = call.op()->schema.arguments;
  const size_t all = call.inputs().size();
  if (!form_.counts_arguments || call.op()->schema.is_vararg || all != formal.size()) {
    return {all, 0};
  }
  Given result{all, 0};
  if (form_.counts_out_arguments) {
    while (result.num_first > 0 && formal[result.num_first - 1].keyword_only &&
           formal[result.num_first - 1].is_written) {
      --result.num_first;
      ++result.num_out;
    }
  }
  while (result.num_first > 0 &&
         is_default(call.input(result.num_first - 1), formal[result.num_first - 1])) {
    --result.num_first;
  }
  return result;
}

}  // namespace torchlet::lite
