#include "passes/effects.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "graph/prim_kinds.h"
#include "graph/varying.h"
#include "passes/constants.h"

namespace torchlet::passes {
namespace {

// Operators whose schema does not say that they change running statistics, and the argument that
// says whether they do.
struct StatisticsOp {
  std::string_view name;
  size_t mean, variance, training;
};
constexpr StatisticsOp kStatisticsOps[] = {{"aten::batch_norm", 3, 4, 5},
                                           {"aten::native_batch_norm", 3, 4, 5},
                                           {"aten::cudnn_batch_norm", 3, 4, 5},
                                           {"aten::_batch_norm_impl_index", 3, 4, 5},
                                           {"aten::instance_norm", 3, 4, 5}};

bool is_false(const SsaValue* value) {
  const Value* constant = constant_of(value);
  return constant && constant->is_bool() && !constant->to_bool();
}

bool writes_statistics(const Node& node, size_t i) {
  for (const StatisticsOp& op : kStatisticsOps) {
    if (node.kind().str() != op.name) continue;
    return (i == op.mean || i == op.variance) &&
           (op.training >= node.inputs().size() || !is_false(node.input(op.training)));
  }
  return false;
}

bool is_off(const Value* value) {
  if (!value) return false;
  if (value->is_bool()) return !value->to_bool();
  return (value->is_int() || value->is_float()) && value->to_double() == 0;
}

// The value of an argument, if it is known.
const Value* argument_of(const Node& node, size_t i) {
  if (i < node.inputs().size()) return constant_of(node.input(i));
  const auto& value = node.op()->schema.arguments[i].default_value;
  return value ? &*value : nullptr;
}

// Random numbers, memory as it is found, the clock, and what depends on the state of the thread.
bool varies(const Node& node) {
  const char* unless = varies_unless(*node.op());
  if (!unless) return false;
  for (std::string_view names = unless; !names.empty();) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto i = node.op()->schema.find_argument(name);
    if (i && is_off(argument_of(node, *i))) return false;
  }
  return true;
}

}  // namespace

std::string_view functional_name(const Node& node) {
  std::string_view name = node.kind().str();
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool writes_input(const Node& node, size_t i) {
  if (!node.op()) return node.kind() == prim::kSetAttr && i == 0;
  const auto& arguments = node.op()->schema.arguments;
  return (i < arguments.size() && arguments[i].is_written) || writes_statistics(node, i);
}

bool writes_inputs(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (writes_input(node, i)) return true;
  }
  return false;
}

bool returns_alias(const Node& node) {
  if (!node.op()) {
    for (const Symbol fresh : {prim::kConstant, prim::kUninitialized, prim::kCreateObject,
                               prim::kIsInstance, prim::kToList, prim::kEnumName}) {
      if (node.kind() == fresh) return false;
    }
    return true;
  }
  if (std::ranges::any_of(node.op()->schema.returns, &Argument::is_aliased)) return true;
  // Schemas that do not say that the operator may give an input, or a view of one, back.
  static const std::unordered_set<std::string_view> unannotated = {"aten::dropout",
                                                                   "aten::feature_dropout",
                                                                   "aten::alpha_dropout",
                                                                   "aten::type_as",
                                                                   "aten::meshgrid",
                                                                   "aten::broadcast_tensors",
                                                                   "aten::atleast_1d",
                                                                   "aten::atleast_2d",
                                                                   "aten::atleast_3d",
                                                                   "aten::einsum",
                                                                   "aten::pad",
                                                                   "aten::feature_alpha_dropout",
                                                                   "aten::to_dense",
                                                                   "aten::dequantize",
                                                                   "aten::requires_grad_",
                                                                   "aten::roll",
                                                                   "aten::constant_pad_nd",
                                                                   "aten::reshape_as",
                                                                   "aten::cartesian_prod",
                                                                   "aten::combinations",
                                                                   "aten::block_diag",
                                                                   "aten::to_mkldnn",
                                                                   "aten::coalesce",
                                                                   "aten::values",
                                                                   "aten::indices",
                                                                   "aten::rot90",
                                                                   "aten::native_channel_shuffle",
                                                                   "aten::channel_shuffle",
                                                                   "aten::nan_to_num",
                                                                   "aten::lift",
                                                                   "aten::lift_fresh",
                                                                   "aten::tensor",
                                                                   "aten::as_tensor",
                                                                   "aten::sum_to_size",
                                                                   "aten::sparse_coo_tensor",
                                                                   "aten::Size",
                                                                   "aten::_reshape_from_tensor"};
  return unannotated.contains(node.kind().str());
}

bool is_pure(const Node& node) {
  if (!node.blocks().empty()) return false;
  if (!node.op()) {
    for (const Symbol kind :
         {prim::kConstant, prim::kUninitialized, prim::kGetAttr, prim::kListConstruct,
          prim::kTupleConstruct, prim::kDictConstruct, prim::kListUnpack, prim::kTupleUnpack,
          prim::kTupleIndex, prim::kModuleContainerIndex, prim::kIsInstance, prim::kUncheckedCast,
          prim::kToList, prim::kEnumName, prim::kEnumValue}) {
      if (node.kind() == kind) return true;
    }
    return false;
  }
  return !node.op()->schema.returns.empty() && !writes_inputs(node) && !varies(node);
}

namespace {

bool is_plain(const SsaValue* value) {
  switch (value->type()->kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kNone:
    case TypeKind::kString:
      return true;
    default:
      return false;
  }
}

// "{}, {}".format(...) with enough arguments.
bool has_all_arguments(const Node& format) {
  const Value* pattern = format.inputs().empty() ? nullptr : constant_of(format.input(0));
  if (!pattern || !pattern->is_string()) return false;
  const std::string& text = pattern->to_string();
  size_t holes = 0;
  for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) ++holes;
  return holes < format.inputs().size();
}

bool cannot_raise(const Node& node) {
  if (!node.op()) {
    return node.kind() != prim::kListUnpack && node.kind() != prim::kToList &&
           node.kind() != prim::kTupleIndex && node.kind() != prim::kModuleContainerIndex;
  }
  if (node.kind().name_space() == "prim") {
    const std::string_view name = node.kind().name();
    return name == "dtype" || name == "device" || name == "layout" || name == "requires_grad" ||
           name.starts_with("is_") || name == "NumToTensor";
  }
  static const std::unordered_set<std::string_view> never = {
      "aten::dim",        "aten::len",       "aten::dict",   "aten::__is__",
      "aten::__isnot__",  "aten::numel",     "aten::detach", "aten::is_floating_point",
      "aten::is_complex", "aten::get_device"};
  if (never.contains(node.kind().str())) return true;
  if (node.kind().str() == "aten::format") return has_all_arguments(node);
  if (node.kind().str() == "aten::size") return node.inputs().size() == 1;
  static const std::unordered_set<std::string_view> on_numbers = {
      "aten::eq",      "aten::ne",     "aten::lt",  "aten::le",   "aten::gt",
      "aten::ge",      "aten::add",    "aten::sub", "aten::mul",  "aten::__not__",
      "aten::__and__", "aten::__or__", "aten::neg", "aten::Bool", "aten::Float"};
  if (!on_numbers.contains(node.kind().str())) return false;
  return std::ranges::all_of(node.inputs(), is_plain);
}

bool block_is_removable(const Block& block) {
  for (const Node* node : block) {
    if (!is_removable(*node)) return false;
  }
  return true;
}

}  // namespace

bool is_removable(const Node& node) {
  if (node.blocks().empty()) return is_pure(node) && cannot_raise(node);
  if (node.kind() == prim::kLoop) {
    // A loop without a condition of its own ends.
    const Value* again = constant_of(node.block(0)->outputs()[0]);
    if (!again || !again->is_bool()) return false;
  } else if (node.kind() != prim::kIf) {
    return false;
  }
  return std::ranges::all_of(node.blocks(), [](const Block* b) { return block_is_removable(*b); });
}

bool always_raises(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == prim::kRaiseException) return true;
  }
  return false;
}

}  // namespace torchlet::passes
