#include "passes/properties.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/prim_kinds.h"
#include "passes/constants.h"
#include "passes/effects.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

struct Properties {
  std::optional<DType> dtype;
  bool is_plain = false;  // neither nested, sparse nor quantized
};

// The result is of the first argument's kind and dtype.
bool keeps_properties(const Node& node) {
  static const std::unordered_set<std::string_view> names = {"aten::relu",
                                                             "aten::relu6",
                                                             "aten::hardtanh",
                                                             "aten::clamp",
                                                             "aten::sigmoid",
                                                             "aten::tanh",
                                                             "aten::silu",
                                                             "aten::hardswish",
                                                             "aten::hardsigmoid",
                                                             "aten::gelu",
                                                             "aten::elu",
                                                             "aten::leaky_relu",
                                                             "aten::mish",
                                                             "aten::dropout",
                                                             "aten::feature_dropout",
                                                             "aten::neg",
                                                             "aten::batch_norm",
                                                             "aten::layer_norm",
                                                             "aten::group_norm",
                                                             "aten::max_pool2d",
                                                             "aten::avg_pool2d",
                                                             "aten::adaptive_avg_pool2d",
                                                             "aten::view",
                                                             "aten::reshape",
                                                             "aten::permute",
                                                             "aten::transpose",
                                                             "aten::t",
                                                             "aten::expand",
                                                             "aten::flatten",
                                                             "aten::squeeze",
                                                             "aten::unsqueeze",
                                                             "aten::select",
                                                             "aten::slice",
                                                             "aten::narrow",
                                                             "aten::contiguous",
                                                             "aten::clone",
                                                             "aten::detach",
                                                             "aten::constant_pad_nd",
                                                             "aten::roll"};
  return names.contains(functional_name(node));
}

// A layer whose result has the dtype of its weight, or it raises.
bool has_dtype_of_weight(const Node& node) {
  const std::string_view name = node.kind().str();
  return name.starts_with("aten::conv") || name == "aten::_convolution" || name == "aten::linear";
}

bool is_arithmetic(const Node& node) {
  const std::string_view name = functional_name(node);
  return name == "aten::add" || name == "aten::sub" || name == "aten::mul" || name == "aten::div";
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {}

  bool run() {
    for_each_node(*graph_.block(), [&](Node& node) {
      const std::string_view name = node.kind().name();
      changes_tensors_ = changes_tensors_ || name == "set_" || name == "set_data";
      changes_grad_mode_ = changes_grad_mode_ || name == "set_grad_enabled" ||
                           name == "CallFunction" || name == "CallMethod" || name == "Enter";
    });
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(Block& block) {
    for (Node* node = block.first(); node;) {
      Node* next = node->next();
      for (Block* inner : node->blocks()) this->block(*inner);
      if (const auto answer = answer_of(*node)) {
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

  void infer(const Node& node) {
    if (node.kind() == kAttention) known_[node.output(0)] = of(node.input(0));
    if (node.outputs().size() != 1 || !node.output()->type()->is(TypeKind::kTensor)) return;
    Properties result;
    if (keeps_properties(node)) {
      result = of(node.input(0));
    } else if (has_dtype_of_weight(node)) {
      const Properties weight = of(node.input(1));
      if (!weight.is_plain || !weight.dtype || !is_floating_point(*weight.dtype)) return;
      // Only linear takes nested tensors, and gives one then.
      result = {weight.dtype, node.kind() != kLinear || of(node.input(0)).is_plain};
    } else if (is_arithmetic(node)) {
      result = of(node.input(0));
      if (!result.dtype || !is_floating_point(*result.dtype)) return;
      const Type& other_type = *node.input(1)->type();
      if (other_type.is(TypeKind::kTensor)) {
        const Properties other = of(node.input(1));
        if (other.dtype != result.dtype) return;
        result.is_plain = result.is_plain && other.is_plain;
      } else if (!other_type.is(TypeKind::kInt) && !other_type.is(TypeKind::kFloat)) {
        return;
      }
    } else if (node.kind() == kCat && node.input(0)->node()->kind() == prim::kListConstruct) {
      const auto& items = node.input(0)->node()->inputs();
      if (items.empty()) return;
      result = of(items[0]);
      for (const SsaValue* item : items) {
        const Properties other = of(item);
        if (other.dtype != result.dtype || !other.is_plain) return;
      }
    }
    known_[node.output()] = result;
  }

  std::optional<Value> answer_of(const Node& node) const {
    if (node.outputs().size() != 1) return std::nullopt;
    const std::string_view name = node.kind().str();
    if (name == "aten::is_grad_enabled" && !changes_grad_mode_) return Value(false);
    if (node.inputs().size() != 1 || !node.input(0)->type()->is(TypeKind::kTensor)) {
      return std::nullopt;
    }
    if (name == "prim::device") return Value::device("cpu");
    if (name == "prim::is_cpu") return Value(true);
    for (const std::string_view other : {"prim::is_cuda", "prim::is_xpu", "prim::is_mps",
                                         "prim::is_vulkan", "prim::is_mkldnn", "prim::is_meta"}) {
      if (name == other) return Value(false);
    }
    const Properties input = of(node.input(0));
    if (input.dtype && name == "prim::dtype") return Value(static_cast<int64_t>(*input.dtype));
    if (input.dtype && name == "aten::is_floating_point") {
      return Value(is_floating_point(*input.dtype));
    }
    if (input.is_plain &&
        (name == "prim::is_nested" || name == "prim::is_sparse" || name == "prim::is_quantized")) {
      return Value(false);
    }
    return std::nullopt;
  }

  inline static const Symbol kLinear{"aten::linear"}, kCat{"aten::cat"},
      kAttention{"aten::_native_multi_head_attention"};

  Graph& graph_;
  std::unordered_map<const SsaValue*, Properties> known_;
  bool changes_tensors_ = false, changes_grad_mode_ = false;
  bool changed_ = false;
};

}  // namespace

bool fold_properties(Graph& graph) { return Folder(graph).run(); }

}  // namespace torchlet::passes
