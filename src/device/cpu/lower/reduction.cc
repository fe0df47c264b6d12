// Sums, means, extremes and norms along dimensions.
#include <algorithm>
#include <vector>

#include "base/sort.h"
#include "device/cpu/lower/lowering.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/engines/fold.h"

namespace torchlet::cpu {
namespace {

using kernels::Fold;

// The engine on a view of the input, which it reads in the order of memory.
class FoldStep : public Step {
 public:
  FoldStep(Fold fold, FoldEnd end, TensorId input, const IntArray& dims, TensorId output,
           int64_t count)
      : fold_(fold),
        end_(end),
        dims_(dims),
        count_(static_cast<float>(count)),
        input_(reading(Operand::fixed(input))),
        output_(writing(Operand::fixed(output))) {}
  const char* kernel() const override { return "fold_f32"; }
  void run(const Memory& m) const override {
    const Tensor output = m.handle(output_);
    ops::fold_into(fold_, m.handle(input_), dims_, output);
    const int64_t size = output.numel();
    float* y = output.data_ptr<float>();
    if (end_ == FoldEnd::kMean) {
      kernels::binary_rows_f32(kernels::MatrixBinaryOp::kDiv, 1, size, y, size,
                               {&count_, kernels::Spread::kScalar}, {}, y, size);
    } else if (end_ == FoldEnd::kRoot) {
      kernels::unary_rows_f32(kernels::MatrixUnaryOp::kSqrt, 1, size, y, size, y, size);
    }
  }

 private:
  Fold fold_;
  FoldEnd end_;
  IntArray dims_;
  float count_;
  Operand input_, output_;
};

}  // namespace

TensorId add_fold(PlanBuilder& plan, Fold fold, FoldEnd end, TensorId id, IntSpan dims,
                  bool keepdim) {
  const PlanTensor input = plan.info(id);
  if (input.numel() == 0) decline("an empty tensor");
  const IntArray reduced = ops::normalize_dims(dims, input.dim());
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(reduced, d) != reduced.end(); };
  // The result lies as the input does: its dimensions in the order of memory.
  std::vector<int64_t> order(static_cast<size_t>(input.dim())), places(order.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  const auto stride = [&](int64_t d) { return input.strides[static_cast<size_t>(d)]; };
  stable_sort(order, [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  IntArray sizes, order_dims;
  int64_t count = 1;
  for (size_t place = 0; place < order.size(); ++place) {
    const int64_t d = order[place], size = input.sizes[static_cast<size_t>(d)];
    places[static_cast<size_t>(d)] = static_cast<int64_t>(place);
    sizes.push_back(is_reduced(d) ? 1 : size);
    if (!is_reduced(d)) continue;
    order_dims.push_back(static_cast<int64_t>(place));
    count *= size;
  }
  const TensorId ordered = plan.viewed(id, ops::permute(plan.shape_of(id), order));
  const TensorId folded = plan.new_contiguous(DType::kFloat32, sizes);
  plan.add_step<FoldStep>(fold, end, ordered, order_dims, folded, count);
  Tensor shape = ops::permute(plan.shape_of(folded), places);
  if (!keepdim) {
    for (int64_t d = input.dim(); d-- > 0;) {
      if (is_reduced(d)) shape = ops::squeeze(shape, d);
    }
  }
  return plan.viewed(folded, shape);
}

namespace {

void define_fold(PlanBuilder& plan, const Call& call, Fold fold, FoldEnd end) {
  if (call.has_argument("dtype") && !call.is_none("dtype") &&
      call.known("dtype").to_int() != static_cast<int64_t>(DType::kFloat32)) {
    decline("another dtype");
  }
  const TensorId input = plan.in_float32(plan.real_tensor(call, 0));
  const bool has_dims = call.has_argument("dim") && !call.is_none("dim");
  const IntArray dims = has_dims ? call.known_ints("dim") : IntArray{};
  const bool keepdim = call.has_argument("keepdim") && call.known_bool("keepdim");
  plan.define(call, add_fold(plan, fold, end, input, dims, keepdim));
}

template <Fold kFold>
void lower_fold(PlanBuilder& plan, const Call& call) {
  define_fold(plan, call, kFold, FoldEnd::kNone);
}

// Of the second order.
void lower_norm(PlanBuilder& plan, const Call& call) {
  const char* order = call.has_argument("ord") ? "ord" : "p";
  if (!call.is_none(order) && call.known_double(order) != 2) decline("another order");
  define_fold(plan, call, Fold::kSumOfSquares, FoldEnd::kRoot);
}

}  // namespace

std::span<const Lowering> reduction_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::sum", lower_fold<Fold::kSum>},    {"aten::amax", lower_fold<Fold::kMax>},
      {"aten::amin", lower_fold<Fold::kMin>},   {"aten::norm", lower_norm},
      {"aten::linalg_vector_norm", lower_norm},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
