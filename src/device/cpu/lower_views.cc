// Operators that only look at shapes: views, which cost nothing, and questions.
#include "device/cpu/lowering.h"
#include "tensor/containers.h"

namespace torchlet::cpu {
namespace {

using Entry = PlanBuilder::Entry;

// The arguments with tensors replaced by shapes; `tensor` is the first. Of another one an operator
// wants no more if that is named "other".
std::vector<Value> shape_arguments(PlanBuilder& plan, const Node& node, TensorId& tensor) {
  const auto& parameters = node.op()->schema.arguments;
  tensor = plan.tensor(node, 0);
  std::vector<Value> arguments = {Value(plan.shape_of(tensor))};
  for (size_t i = 1; i < parameters.size(); ++i) {
    if (i < node.inputs().size() && parameters[i].name == "other") {
      arguments.push_back(Value(plan.shape_of(plan.tensor(node, i))));
    } else {
      arguments.push_back(plan.known(node, i));
    }
  }
  return arguments;
}

Value call_on_shapes(PlanBuilder& plan, const Node& node, TensorId& tensor) {
  std::vector<Value> arguments = shape_arguments(plan, node, tensor);
  Value result;
  node.op()->call(arguments, std::span(&result, 1));
  return result;
}

// transpose, slice, chunk, ...: the reference implementation computes strides and touches no data.
void lower_view(PlanBuilder& plan, const Node& node) {
  TensorId base;
  const Value result = call_on_shapes(plan, node, base);
  if (result.is_tensor()) return plan.define(node, plan.viewed(base, result.to_tensor()));
  Entry list{Entry::Kind::kList, {}, kNoTensor, {}};
  for (const Tensor& part : result.to_tensor_list()) {
    list.list.push_back({Entry::Kind::kTensor, {}, plan.viewed(base, part), {}});
  }
  plan.define(node.output(), std::move(list));
}

// What PyTorch gives without a copy may need one here, since images lie channels last.
void lower_reshape(PlanBuilder& plan, const Node& node) {
  if (!node.op()->schema.arguments[1].type->is(TypeKind::kList)) decline("another dtype");
  const TensorId id = plan.tensor(node, 0);
  plan.define(node, plan.reshaped(id, plan.known_ints(node, 1)));
}

void lower_flatten(PlanBuilder& plan, const Node& node) {
  const TensorId id = plan.tensor(node, 0);
  const PlanTensor& t = plan.info(id);
  if (t.dim() == 0) return plan.define(node, plan.reshaped(id, IntArray{1}));
  const int64_t first = wrap_dim(plan.known_int(node, "start_dim"), t.dim());
  const int64_t last = wrap_dim(plan.known_int(node, "end_dim"), t.dim());
  if (first > last) decline("flatten() from a later to an earlier dimension");
  IntArray sizes;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t size = t.sizes[static_cast<size_t>(d)];
    if (d > first && d <= last) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
    }
  }
  plan.define(node, plan.reshaped(id, sizes));
}

// The order in memory is the plan's business.
void lower_same(PlanBuilder& plan, const Node& node) { plan.define(node, plan.tensor(node, 0)); }

// Where it changes nothing.
void lower_to(PlanBuilder& plan, const Node& node) {
  if (plan.has_argument(node, "other")) decline("the dtype of another tensor");
  if (plan.has_argument(node, "dtype") && !plan.is_none(node, "dtype")) {
    const DType dtype = plan.program_dtype(plan.tensor(node, 0));
    if (plan.known_int(node, "dtype") != static_cast<int64_t>(dtype)) decline("another dtype");
  }
  lower_same(plan, node);
}

void lower_question(PlanBuilder& plan, const Node& node) {
  TensorId tensor;
  Value answer = call_on_shapes(plan, node, tensor);
  plan.define(node.output(), {Entry::Kind::kKnown, std::move(answer), kNoTensor, {}});
}

// Known unless a size is not: operators of known values are run before they are lowered.
void lower_constant(PlanBuilder&, const Node&) { decline("unknown sizes"); }

}  // namespace

std::span<const Lowering> view_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::view", lower_reshape},
      {"aten::reshape", lower_reshape},
      {"aten::_unsafe_view", lower_reshape},
      {"aten::flatten", lower_flatten},
      {"aten::contiguous", lower_same},
      {"aten::detach", lower_same},
      {"aten::alias", lower_same},
      {"aten::to", lower_to},
      {"aten::permute", lower_view},
      {"aten::transpose", lower_view},
      {"aten::t", lower_view},
      {"aten::squeeze", lower_view},
      {"aten::unsqueeze", lower_view},
      {"aten::expand", lower_view},
      {"aten::expand_as", lower_view},
      {"aten::select", lower_view},
      {"aten::slice", lower_view},
      {"aten::narrow", lower_view},
      {"aten::chunk", lower_view},
      {"aten::split", lower_view},
      {"aten::split_with_sizes", lower_view},
      {"aten::unbind", lower_view},
      {"aten::size", lower_question},
      {"aten::dim", lower_question},
      {"aten::numel", lower_question},
      {"prim::shape", lower_question},
      {"aten::zeros", lower_constant},
  };
  return kTable;
}

}  // namespace torchlet::cpu
