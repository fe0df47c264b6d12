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

// The engine on a view of the input, which it reads in the order of memory. The result is divided
// by `divisor`, if that is not 1.
class FoldStep : public Step {
 public:
  FoldStep(Fold fold, float divisor, bool is_root, TensorId input, const IntArray& dims,
           TensorId center, TensorId output)
      : fold_(fold),
        divisor_(divisor),
        is_root_(is_root),
        dims_(dims),
        input_(reading(Operand::fixed(input))),
        output_(writing(Operand::fixed(output))) {
    if (center != kNoTensor) center_ = reading(Operand::fixed(center));
  }
  const char* kernel() const override { return "fold_f32"; }
  void run(const Memory& m) const override {
    const Tensor output = m.handle(output_);
    ops::fold_into(fold_, m.handle(input_), dims_, output, center_ ? m.handle(*center_) : Tensor());
    const int64_t size = output.numel();
    float* y = output.data_ptr<float>();
    if (divisor_ != 1) {
      kernels::binary_rows_f32(kernels::MatrixBinaryOp::kDiv, 1, size, y, size,
                               {&divisor_, kernels::Spread::kScalar}, {}, y, size);
    }
    if (is_root_) {
      kernels::unary_rows_f32(kernels::MatrixUnaryOp::kSqrt, 1, size, y, size, y, size);
    }
  }

 private:
  Fold fold_;
  float divisor_;
  bool is_root_;
  IntArray dims_;
  Operand input_;
  std::optional<Operand> center_;
  Operand output_;
};

// A fold of a tensor along dimensions. The result lies as the input does: both have their
// dimensions in the order of memory.
class FoldAlong {
 public:
  FoldAlong(PlanBuilder& plan, TensorId id, IntSpan dims) : plan_(plan) {
    const PlanTensor input = plan.info(id);
    if (input.numel() == 0) decline("an empty tensor");
    const IntArray reduced = ops::normalize_dims(dims, input.dim());
    std::vector<int64_t> order(static_cast<size_t>(input.dim()));
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    const auto stride = [&](int64_t d) { return input.strides[static_cast<size_t>(d)]; };
    stable_sort(order, [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
    places_.resize(order.size());
    is_reduced_.resize(order.size());
    for (size_t place = 0; place < order.size(); ++place) {
      const auto d = static_cast<size_t>(order[place]);
      places_[d] = static_cast<int64_t>(place);
      is_reduced_[d] = std::ranges::find(reduced, order[place]) != reduced.end();
      sizes_.push_back(is_reduced_[d] ? 1 : input.sizes[d]);
      if (!is_reduced_[d]) continue;
      dims_.push_back(static_cast<int64_t>(place));
      count_ *= input.sizes[d];
    }
    ordered_ = plan.viewed(id, ops::permute(plan.shape_of(id), order));
  }

  // Of how many numbers a result is made.
  int64_t count() const { return count_; }

  // `center`: such a result, for kSumOfDistances.
  TensorId add(Fold fold, float divisor = 1, bool is_root = false, TensorId center = kNoTensor) {
    const TensorId folded = plan_.new_contiguous(DType::kFloat32, sizes_);
    plan_.add_step<FoldStep>(fold, divisor, is_root, ordered_, dims_, center, folded);
    return folded;
  }

  // A result with the dimensions that the program sees.
  TensorId seen(TensorId folded, bool keepdim) const {
    Tensor shape = ops::permute(plan_.shape_of(folded), places_);
    if (!keepdim) {
      for (size_t d = places_.size(); d-- > 0;) {
        if (is_reduced_[d]) shape = ops::squeeze(shape, static_cast<int64_t>(d));
      }
    }
    return plan_.viewed(folded, shape);
  }

 private:
  PlanBuilder& plan_;
  TensorId ordered_ = kNoTensor;
  std::vector<int64_t> places_;  // of each dimension of the input, in the order of memory
  std::vector<bool> is_reduced_;
  IntArray sizes_, dims_;
  int64_t count_ = 1;
};

}  // namespace

TensorId add_mean(PlanBuilder& plan, TensorId id, IntSpan dims, bool keepdim) {
  FoldAlong fold(plan, id, dims);
  return fold.seen(fold.add(Fold::kSum, static_cast<float>(fold.count())), keepdim);
}

namespace {

// What is folded, along which dimensions, and whether these stay.
struct FoldCall {
  FoldAlong fold;
  bool keepdim;
};

FoldCall fold_of(PlanBuilder& plan, const Call& call) {
  if (call.has_argument("dtype") && !call.is_none("dtype") &&
      call.known("dtype").to_int() != static_cast<int64_t>(DType::kFloat32)) {
    decline("another dtype");
  }
  const TensorId input = plan.in_float32(plan.real_tensor(call, 0));
  const bool has_dims = call.has_argument("dim") && !call.is_none("dim");
  const IntArray dims = has_dims ? call.known_ints("dim") : IntArray{};
  return {FoldAlong(plan, input, dims), call.has_argument("keepdim") && call.known_bool("keepdim")};
}

template <Fold kFold>
void lower_fold(PlanBuilder& plan, const Call& call) {
  FoldCall of = fold_of(plan, call);
  plan.define(call, of.fold.seen(of.fold.add(kFold), of.keepdim));
}

// Of the second order.
void lower_norm(PlanBuilder& plan, const Call& call) {
  const char* order = call.has_argument("ord") ? "ord" : "p";
  if (!call.is_none(order) && call.known_double(order) != 2) decline("another order");
  FoldCall of = fold_of(plan, call);
  plan.define(call, of.fold.seen(of.fold.add(Fold::kSumOfSquares, 1, true), of.keepdim));
}

// The variance or its root, and the mean if the call gives that too; in two passes, as the
// reference has it.
template <bool kRoot>
void lower_spread(PlanBuilder& plan, const Call& call) {
  int64_t correction = 1;
  if (call.has_argument("unbiased")) {
    correction = call.known_bool("unbiased") ? 1 : 0;
  } else if (!call.is_none("correction")) {
    correction = call.known_int("correction");
  }
  FoldCall of = fold_of(plan, call);
  const int64_t count = of.fold.count();
  const TensorId mean = of.fold.add(Fold::kSum, static_cast<float>(count));
  const auto divisor = static_cast<float>(std::max<int64_t>(0, count - correction));
  const TensorId spread = of.fold.add(Fold::kSumOfDistances, divisor, kRoot, mean);
  plan.define(call, of.fold.seen(spread, of.keepdim));
  if (call.outputs.size() == 2) plan.define(call.outputs[1], of.fold.seen(mean, of.keepdim));
}

}  // namespace

std::span<const Lowering> reduction_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::sum", lower_fold<Fold::kSum>},    {"aten::amax", lower_fold<Fold::kMax>},
      {"aten::amin", lower_fold<Fold::kMin>},   {"aten::norm", lower_norm},
      {"aten::linalg_vector_norm", lower_norm}, {"aten::var", lower_spread<false>},
      {"aten::var_mean", lower_spread<false>},  {"aten::std", lower_spread<true>},
      {"aten::std_mean", lower_spread<true>},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
