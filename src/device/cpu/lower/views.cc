// Views, which cost nothing.
#include "device/cpu/lower/lowering.h"
#include "tensor/containers.h"

namespace torchlet::cpu {
namespace {

// transpose, slice, chunk, ...: the reference implementation computes strides and touches no data.
// Of another tensor than the first an operator wants no more than the shape.
void lower_view(PlanBuilder& plan, const Call& call) {
  const TensorId base = plan.tensor(call, 0);
  std::vector<Value> arguments = {Value(plan.shape_of(base))};
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    const CallArgument& argument = call.arguments[i];
    arguments.push_back(argument.is_tensor() ? Value(plan.shape_of(plan.tensor(argument)))
                                             : call.known(i));
  }
  Value result;
  call.op->call(arguments, std::span(&result, 1));
  if (result.is_tensor()) return plan.define(call, plan.viewed(base, result.to_tensor()));
  const std::vector<Tensor> parts = result.to_tensor_list();
  for (size_t i = 0; i < parts.size(); ++i) {
    plan.define(call.outputs[0].items()[i], plan.viewed(base, parts[i]));
  }
}

// What PyTorch gives without a copy may need one here, since images lie channels last.
void lower_reshape(PlanBuilder& plan, const Call& call) {
  if (!call.op->schema.arguments[1].type->is(TypeKind::kList)) decline("another dtype");
  const TensorId id = plan.tensor(call, 0);
  plan.define(call, plan.reshaped(id, call.known_ints(1)));
}

void lower_flatten(PlanBuilder& plan, const Call& call) {
  const TensorId id = plan.tensor(call, 0);
  const PlanTensor& t = plan.info(id);
  if (t.dim() == 0) return plan.define(call, plan.reshaped(id, IntArray{1}));
  const int64_t first = wrap_dim(call.known_int("start_dim"), t.dim());
  const int64_t last = wrap_dim(call.known_int("end_dim"), t.dim());
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
  plan.define(call, plan.reshaped(id, sizes));
}

// The order in memory is the plan's business.
void lower_same(PlanBuilder& plan, const Call& call) { plan.define(call, plan.tensor(call, 0)); }

// Between float32 and float16, and where it changes nothing.
void lower_to(PlanBuilder& plan, const Call& call) {
  if (call.has_argument("other")) decline("the dtype of another tensor");
  const TensorId id = plan.tensor(call, 0);
  const bool has_dtype = call.has_argument("dtype") && !call.is_none("dtype");
  const DType dtype =
      has_dtype ? static_cast<DType>(call.known_int("dtype")) : plan.program_dtype(id);
  plan.define(call, dtype == plan.program_dtype(id) ? id : plan.in_dtype(id, dtype));
}

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
      {"aten::as_tensor", lower_to},
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
      {"aten::unfold", lower_view},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
