// Sums, means and extremes along dimensions.
#include "base/checked.h"
#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

// The dimensions of the program that a call reduces: all if it names none.
IntArray reduced_dims(const Call& call, const TensorDescription& x) {
  const auto rank = static_cast<int64_t>(x.sizes.size());
  if (rank == 0) decline("a tensor without dimensions");
  IntArray dims;
  if (call.has_argument("dim") && !call.is_none("dim")) dims = call.known_ints("dim");
  return ops::normalize_dims(dims, rank);
}

bool keeps_dims(const Call& call) {
  return call.has_argument("keepdim") && call.known_bool("keepdim");
}

// Reduces the operand at hand and leaves the dimensions as ones; what they become without them is a
// reshape if the rest has kept its order.
template <int32_t kCode>
void lower_reduction(ModelBuilder& model, const Call& call) {
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (!x.quantizer) require_float(x);
  if (x.dtype != y.dtype) decline("a result of another type");
  const IntArray dims = reduced_dims(call, x);
  const Held held = model.held(call, 0);
  std::vector<int32_t> axes;
  Operand output = model.info(held.id);
  for (const int64_t dim : dims) {
    axes.push_back(axis_in(held.layout, dim));
    output.sizes[static_cast<size_t>(axes.back())] = 1;
  }
  output.bytes.clear();
  output.tensor = Tensor();
  const OperandId along = model.ints(axes);
  const OperandId keep =
      kCode == ANEURALNETWORKS_MEAN ? model.scalar(int32_t{1}) : model.scalar(true);
  const OperandId made = model.add(kCode, {held.id, along, keep}, std::move(output));
  if (keeps_dims(call)) return model.define(call, {made, held.layout});
  const OperandId plain =
      held.layout == Layout::kNhwc ? model.transposed(made, {0, 3, 1, 2}) : made;
  model.define(call,
               {model.reshaped(plain, operand_sizes(y.sizes, Layout::kPlain)), Layout::kPlain});
}

// Of the whole image: NNAPI's pooling, which the first version has.
void lower_mean(ModelBuilder& model, const Call& call) {
  if (call.has_argument("dtype") && !call.is_none("dtype")) decline("a mean of another type");
  const TensorDescription x = model.describe(call, 0);
  const bool is_image =
      x.sizes.size() == 4 && model.layout_at_hand(call.argument(0)) == Layout::kNhwc;
  if (!is_image || !(reduced_dims(call, x) == IntArray{2, 3})) {
    return lower_reduction<ANEURALNETWORKS_MEAN>(model, call);
  }
  if (!x.quantizer) require_float(x);
  TensorDescription pixel = x;
  pixel.sizes[2] = pixel.sizes[3] = 1;
  std::vector<OperandId> inputs = {model.operand(call, 0, Layout::kNhwc)};
  for (const int64_t value :
       {int64_t{0}, int64_t{0}, int64_t{0}, int64_t{0}, int64_t{1}, int64_t{1}, x.sizes[3],
        x.sizes[2], int64_t{ANEURALNETWORKS_FUSED_NONE}}) {
    inputs.push_back(model.scalar(to_int32(value)));
  }
  const OperandId made = model.add(ANEURALNETWORKS_AVERAGE_POOL_2D, std::move(inputs),
                                   model.type(pixel, Layout::kNhwc));
  if (keeps_dims(call)) return model.define(call, {made, Layout::kNhwc});
  model.define(call, {model.reshaped(made, operand_sizes(model.result(call).sizes, Layout::kPlain)),
                      Layout::kPlain});
}

void lower_sum(ModelBuilder& model, const Call& call) {
  if (!call.is_none("dtype")) decline("a sum of another type");
  lower_reduction<ANEURALNETWORKS_REDUCE_SUM>(model, call);
}

// Of one tensor, giving one: max(dim) gives indices, too.
template <int32_t kCode>
void lower_extreme(ModelBuilder& model, const Call& call) {
  if (call.outputs.size() != 1) decline("an extreme with its place");
  if (call.arguments.size() > 1 && call.argument(1).is_tensor()) decline("two tensors");
  lower_reduction<kCode>(model, call);
}

// NNAPI's indices have 32 bits.
template <int32_t kCode>
void lower_arg(ModelBuilder& model, const Call& call) {
  if (call.is_none("dim")) decline("a place among all elements");
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (!x.quantizer) require_float(x);
  const IntArray dims = reduced_dims(call, x);
  Operand output;
  output.code = ANEURALNETWORKS_TENSOR_INT32;
  const OperandId plain = model.operand(call, 0, Layout::kPlain);
  for (size_t i = 0; i < x.sizes.size(); ++i) {
    if (static_cast<int64_t>(i) != dims[0]) output.sizes.push_back(model.info(plain).sizes[i]);
  }
  if (output.sizes.empty()) output.sizes.push_back(1);
  const OperandId axis = model.scalar(to_int32(dims[0]));
  const OperandId made = model.add(kCode, {plain, axis}, std::move(output));
  model.define(call,
               {model.reshaped(made, operand_sizes(y.sizes, Layout::kPlain)), Layout::kPlain});
}

}  // namespace

std::span<const Lowering> reduction_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::mean", lower_mean},
      {"aten::sum", lower_sum},
      {"aten::amax", lower_extreme<ANEURALNETWORKS_REDUCE_MAX>},
      {"aten::amin", lower_extreme<ANEURALNETWORKS_REDUCE_MIN>},
      {"aten::argmax", lower_arg<ANEURALNETWORKS_ARGMAX>},
      {"aten::argmin", lower_arg<ANEURALNETWORKS_ARGMIN>},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
