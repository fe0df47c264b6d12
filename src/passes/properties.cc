#include "passes/properties.h"

#include <optional>
#include <unordered_map>

#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

struct Properties {
  std::optional<DType> dtype;
  bool is_plain = false;  // neither nested, sparse nor quantized
};

// A number that leaves the dtype of floating-point tensors as it is.
bool is_real_number(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kNone:
      return true;
    case TypeKind::kOptional:
      return is_real_number(*type.element(0));
    default:
      return false;
  }
}

class Folder {
 public:
  Folder(Graph& graph, bool here, bool folds) : graph_(graph), here_(here), folds_(folds) {}

  bool run() {
    for_each_node(*graph_.block(), [&](Node& node) {
      const Symbol kind = node.kind();
      changes_tensors_ = changes_tensors_ || (node.op() && node.op()->facts->changes_dtype);
      changes_grad_mode_ = changes_grad_mode_ || kind == kSetGradEnabled ||
                           kind == prim::kCallFunction || kind == prim::kCallMethod ||
                           kind == prim::kEnter;
    });
    block(*graph_.block());
    return changed_;
  }

  std::unordered_map<const SsaValue*, DType> dtypes() const {
    std::unordered_map<const SsaValue*, DType> dtypes;
    for (const auto& [value, properties] : known_) {
      if (properties.dtype) dtypes[value] = *properties.dtype;
    }
    return dtypes;
  }

 private:
  void block(Block& block) {
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      for (Block* inner : node->blocks()) this->block(*inner);
      if (const auto answer = folds_ ? answer_of(*node) : std::nullopt) {
        replace(*node, *answer);
      } else if (node->op() && !changes_tensors_) {
        infer(*node);
      }
      node = next;
    }
  }

  void replace(Node& node, const Value& answer) {
    SsaValue* output = node.output();
    output->replace_all_uses_with(insert_constant(&node, answer, output->type()));
    node.destroy();
    changed_ = true;
  }

  Properties of(const SsaValue* value) const {
    if (const Value* constant = constant_of(value)) {
      if (!constant->is_tensor() || changes_tensors_) return {};
      const TensorImpl& tensor = *constant->tensor_impl();
      return {tensor.dtype, !tensor.sparse && !tensor.nested && !tensor.quantizer};
    }
    const auto found = known_.find(value);
    return found == known_.end() ? Properties() : found->second;
  }

  // Of the first result, if it is a tensor.
  void infer(const Node& node) {
    if (node.outputs().empty() || !node.output(0)->type()->is(TypeKind::kTensor)) return;
    known_[node.output(0)] = result_of(node);
  }

  Properties result_of(const Node& node) const {
    const Schema& schema = node.op()->schema;
    if (!schema.returns.empty() && schema.returns[0].is_written) return of_written(node);
    const auto floating = [](const Properties& like) {
      return like.dtype && is_floating_point(*like.dtype) ? like : Properties();
    };
    switch (node.op()->facts->dtype) {
      case DTypeRule::kFirst:
        return floating(of(node.input(0)));
      case DTypeRule::kPromoted:
        return floating(of_all(node.inputs()));
      case DTypeRule::kWeight: {
        const Properties weight = floating(of(node.input(*schema.find_argument("weight"))));
        // The layer may take nested tensors, and give one then.
        return {weight.dtype, weight.is_plain && of(node.input(0)).is_plain};
      }
      case DTypeRule::kUnknown:
        break;
    }
    return {};
  }

  // An in-place or out= operator gives what it writes, as it was.
  Properties of_written(const Node& node) const {
    const auto& arguments = node.op()->schema.arguments;
    for (size_t i = 0; i < node.inputs().size() && i < arguments.size(); ++i) {
      if (arguments[i].is_written) return of(node.input(i));
    }
    return {};
  }

  // What the tensors have in common, and only if all others are numbers.
  Properties of_all(const std::vector<SsaValue*>& values) const {
    std::optional<Properties> common;
    const auto add = [&](const Properties& one) {
      const bool is_same = !common || common->dtype == one.dtype;
      common = {is_same ? one.dtype : std::nullopt,
                is_same && one.is_plain && (!common || common->is_plain)};
    };
    for (const SsaValue* value : values) {
      if (value->type()->is(TypeKind::kTensor)) {
        add(of(value));
      } else if (const auto* items = lasting_items(value)) {
        add(of_all(*items));
      } else if (!is_real_number(*value->type())) {
        return {};
      }
    }
    return common.value_or(Properties());
  }

  // An operator that looks at what is known of its only argument gives the same for any tensor like
  // it.
  std::optional<Value> answer_of(const Node& node) const {
    if (!node.op() || node.outputs().size() != 1) return std::nullopt;
    if (node.kind() == kIsGradEnabled && here_ && !changes_grad_mode_) return Value(false);
    if (node.inputs().size() != 1 || !node.input(0)->type()->is(TypeKind::kTensor)) {
      return std::nullopt;
    }
    const LooksAt looks_at = node.op()->facts->looks_at;
    const Properties input = of(node.input(0));
    const bool is_known = (looks_at == LooksAt::kNothing && here_) ||
                          (looks_at == LooksAt::kDType && input.dtype) ||
                          (looks_at == LooksAt::kPlainness && input.is_plain);
    if (!is_known) return std::nullopt;
    Value like(empty(IntArray{0}, input.dtype.value_or(DType::kFloat32))), answer;
    node.op()->call({&like, 1}, {&answer, 1});
    return answer;
  }

  inline static const Symbol kIsGradEnabled{"aten::is_grad_enabled"},
      kSetGradEnabled{"aten::set_grad_enabled"};

  Graph& graph_;
  const bool here_, folds_;
  std::unordered_map<const SsaValue*, Properties> known_;
  bool changes_tensors_ = false, changes_grad_mode_ = false;
  bool changed_ = false;
};

}  // namespace

bool fold_properties(Graph& graph, bool here) { return Folder(graph, here, true).run(); }

std::unordered_map<const SsaValue*, DType> known_dtypes(Graph& graph) {
  Folder folder(graph, false, false);
  folder.run();
  return folder.dtypes();
}

}  // namespace torchlet::passes
