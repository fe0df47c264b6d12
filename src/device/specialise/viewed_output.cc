#include "device/specialise/viewed_output.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/limits.h"
#include "graph/prim_kinds.h"

namespace torchlet::device {
namespace {

bool holds_tensors(const Type& type) {
  return type.is(TypeKind::kTensor) || type.is(TypeKind::kAny) || type.is(TypeKind::kUnknown) ||
         std::ranges::any_of(type.elements(), [](const TypePtr& t) { return holds_tensors(*t); });
}

// Does what the operator gives depend on how its arguments lie?
bool sees_strides(const Operator& op) {
  return op.facts->looks_at == LooksAt::kStrides ||
         std::ranges::any_of(op.schema.arguments, [](const Argument& argument) {
           return argument.is_aliased && !argument.is_written;
         });
}

}  // namespace

// Whether reshape(), flatten() or view() outside of the segment gives a view, a copy or an error
// depends on the strides; who writes to the result sees the difference. What other operators
// compute lies as their inputs do, so what is made of the output counts as well. What leaves a
// branch or a loop, or goes to a method or an attribute, may be viewed there.
bool is_viewed(const SsaValue& output) {
  std::unordered_set<const Node*> seen;
  std::vector<const SsaValue*> open = {&output};
  while (!open.empty()) {
    poll();
    const SsaValue* value = open.back();
    open.pop_back();
    for (const Node* user : value->users()) {
      const Block& block = *user->owner();
      if (user == block.return_node()) {
        if (!block.owner()) continue;
        if (block.owner()->kind() != prim::kSegment) return true;
        for (size_t i = 0; i < user->inputs().size(); ++i) {
          if (user->input(i) == value) open.push_back(block.owner()->output(i));
        }
        continue;
      }
      if (!seen.insert(user).second) continue;
      const Symbol kind = user->kind();
      if (user->op() ? sees_strides(*user->op())
                     : !prim::is_packing(kind) && kind != prim::kSegment) {
        return true;
      }
      for (const SsaValue* made : user->outputs()) {
        if (holds_tensors(*made->type())) open.push_back(made);
      }
    }
  }
  return false;
}

}  // namespace torchlet::device
