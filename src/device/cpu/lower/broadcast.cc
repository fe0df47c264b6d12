#include "device/cpu/lower/broadcast.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/sort.h"
#include "base/thread_pool.h"
#include "device/cpu/lower/epilogue_step.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

using kernels::MatrixBinaryOp;
using kernels::Spread;

// A dimension of the result, and how far apart its elements are in the operands: 0 where one is
// spread.
struct Axis {
  int64_t size, a, b;
};

int64_t stride_of(const PlanTensor& t, size_t dim, size_t dims) {
  const size_t missing = dims - t.sizes.size();
  return dim < missing || t.sizes[dim - missing] == 1 ? 0 : t.strides[dim - missing];
}

// The dimensions of the result in the order in which the larger operand lies, so that what the step
// writes lies so as well.
std::vector<int64_t> memory_order(const PlanTensor& a, const PlanTensor& b, size_t dims) {
  const bool b_leads = b.numel() > a.numel();
  const auto reach = [&](int64_t dim) {
    const auto d = static_cast<size_t>(dim);
    const int64_t leading = stride_of(b_leads ? b : a, d, dims);
    return leading != 0 ? leading : stride_of(b_leads ? a : b, d, dims);
  };
  std::vector<int64_t> order(dims);
  std::iota(order.begin(), order.end(), int64_t{0});
  stable_sort(order, [&](int64_t x, int64_t y) { return reach(x) > reach(y); });
  return order;
}

// Dimensions that both operands walk in one step are one.
std::vector<Axis> axes_of(const PlanTensor& a, const PlanTensor& b, IntSpan sizes,
                          const std::vector<int64_t>& order) {
  std::vector<Axis> axes;
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    const Axis axis{sizes[d], stride_of(a, d, sizes.size()), stride_of(b, d, sizes.size())};
    if (axis.size == 1) continue;
    Axis* outer = axes.empty() ? nullptr : &axes.back();
    if (outer && outer->a == axis.a * axis.size && outer->b == axis.b * axis.size) {
      *outer = {outer->size * axis.size, axis.a, axis.b};
    } else {
      axes.push_back(axis);
    }
  }
  while (axes.size() < 2) axes.insert(axes.begin(), {1, 0, 0});
  return axes;
}

// Matrices along the last two axes, one for each index of the others. The rows of `a` lie together.
class BroadcastStep : public ActivatedStep {
 public:
  BroadcastStep(MatrixBinaryOp op, std::vector<Axis> axes, DType dtype, TensorId a, TensorId b,
                TensorId y)
      : op_(op),
        rows_(axes.end()[-2]),
        columns_(axes.back()),
        outer_(axes.begin(), axes.end() - 2),
        dtype_(dtype),
        a_(reading(Operand::fixed(a))),
        b_(reading(Operand::fixed(b))),
        y_(writing_in_place(Operand::fixed(y))) {
    for (const Axis& axis : outer_) matrices_ *= axis.size;
  }
  const char* kernel() const override {
    return is_float16(dtype_) ? "broadcast_rows_f16" : "broadcast_rows_f32";
  }
  void run(const Memory& m) const override {
    if (is_float16(dtype_)) {
      run_in<Float16>(m, kernels::binary_rows_f16);
    } else {
      run_in<float>(m, kernels::binary_rows_f32);
    }
  }

 private:
  template <typename T, typename Function>
  void run_in(const Memory& m, const Function& function) const {
    const T* const a = m.data<T>(a_);
    const T* const b = m.data<T>(b_);
    T* const y = m.data<T>(y_);
    // Rows of few columns are as fast as others if the kernel knows that one stands for all.
    const Spread spread = columns_.b == 0 ? Spread::kRows
                          : rows_.b == 0  ? Spread::kColumns
                                          : Spread::kNone;
    const auto run_matrix = [&](int64_t index) {
      int64_t a_offset = 0, b_offset = 0, rest = index;
      for (size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        a_offset += rest % outer_[d].size * outer_[d].a;
        b_offset += rest % outer_[d].size * outer_[d].b;
      }
      const kernels::SpreadOperandOf<T> second{b + b_offset, spread, rows_.b};
      function(op_, rows_.size, columns_.size, a + a_offset, rows_.a, second, activation_,
               y + index * rows_.size * columns_.size, columns_.size);
    };
    if (matrices_ == 1) return run_matrix(0);  // whose rows go to the threads
    constexpr int64_t kElementsPerTask = 16384;
    const int64_t grain = kElementsPerTask / (rows_.size * columns_.size) + 1;
    parallel_for(matrices_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_matrix(i);
    });
  }

  MatrixBinaryOp op_;
  Axis rows_, columns_;
  std::vector<Axis> outer_;
  int64_t matrices_ = 1;
  DType dtype_;
  Operand a_, b_, y_;
};

}  // namespace

TensorId add_broadcast(PlanBuilder& plan, MatrixBinaryOp op, TensorId a, TensorId b) {
  if constexpr (!kHasBroadcasts) decline("an unusual broadcast");
  const IntArray sizes = ops::broadcast_shapes(plan.info(a).sizes, plan.info(b).sizes);
  if (std::ranges::find(sizes, 0) != sizes.end()) decline("an empty tensor");
  std::vector<int64_t> order;
  const auto axes = [&] {
    order = memory_order(plan.info(a), plan.info(b), sizes.size());
    return axes_of(plan.info(a), plan.info(b), sizes, order);
  };
  const auto is_walked = [](const Axis& columns) {
    return std::max(columns.a, columns.b) == 1 && std::min(columns.a, columns.b) >= 0;
  };
  std::vector<Axis> all = axes();
  if (!is_walked(all.back())) {
    a = plan.contiguous(a);
    b = plan.contiguous(b);
    all = axes();
    if (!is_walked(all.back())) decline("an unusual broadcast");
  }
  if (all.back().a == 0) {
    if (op == MatrixBinaryOp::kPrelu) decline("an unusual broadcast");
    std::swap(a, b);
    op = kernels::reversed(op);
    for (Axis& axis : all) std::swap(axis.a, axis.b);
  }
  const DType dtype = plan.info(a).dtype;
  IntArray strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step *= sizes[d];
  }
  const TensorId y = plan.new_tensor(dtype, sizes, strides);
  plan.add_step<BroadcastStep>(op, std::move(all), dtype, a, b, y);
  return y;
}

}  // namespace torchlet::cpu
