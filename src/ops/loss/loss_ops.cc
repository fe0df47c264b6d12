// Losses that compare element by element, and those made of a few such steps.
#include "ops/loss/loss.h"

#include <cmath>
#include <numbers>

#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/kernel_map.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using UnaryOp = kernels::MatrixUnaryOp;

// f(input, target) of every element, then the reduction. Integers are computed as float.
template <int Types = kMapReal, typename F>
Tensor pointwise_loss(const Tensor& input, const Tensor& target, int64_t reduction, F f) {
  const DType dtype = to_float_type(result_type(input, target));
  return reduce_loss(map<Types, 2>({input, target}, dtype, f), to_reduction(reduction));
}

Tensor weighted(const Tensor& loss, const Tensor& weight) {
  return weight.defined() ? mul(loss, weight) : loss;
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return pointwise_loss<kMapReal | kMapSteps>(self, target, reduction,
                                              [](auto x, auto y) { return (x - y) * (x - y); });
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(abs(sub(self, target)), to_reduction(reduction));
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCHLET_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return l1_loss(self, target, reduction);
  return pointwise_loss<kMapReal | kMapSteps>(self, target, reduction, [beta](auto x, auto y) {
    using T = decltype(x);
    const T b = static_cast<T>(beta), z = std::abs(x - y);
    const T square = z < b ? z : b;
    return T(0.5) * square * square / b + (z - square);
  });
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCHLET_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  return pointwise_loss<kMapReal | kMapSteps>(
      self, target.to(self.dtype()), reduction, [delta](auto x, auto y) {
        using T = decltype(x);
        const T d = static_cast<T>(delta), z = std::abs(x - y);
        const T square = z < d ? z : d;
        return square * (z - T(0.5) * square);
      });
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  return pointwise_loss(self, target, reduction, [log_target](auto x, auto y) {
    using T = decltype(x);
    if (log_target) return std::exp(y) * (y - x);
    return (y == 0 ? T(0) : y * std::log(y)) - y * x;
  });
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  expect_dtype(target, self.dtype());
  expect_dtype(weight, self.dtype());
  TORCHLET_CHECK(all(map_bool<kMapReal | kMapSteps, 1>({self}, self.dtype(),
                                                       [](auto x) { return (x >= 0) & (x <= 1); })),
                 "all elements of input should be between 0 and 1");
  // Logarithms end at -100, so that the loss is finite.
  const Tensor of_zeros = composed<2>(
      UnaryOp::kLog1p, {self, target}, self.dtype(), [](auto x, auto) { return -x; },
      [](auto x) { return std::log1p(x); },
      [](auto, auto y, auto log) { return (1 - y) * std::max(log, decltype(y)(-100)); });
  const Tensor of_ones = composed<2>(
      UnaryOp::kLog, {self, target}, self.dtype(), [](auto x, auto) { return x; },
      [](auto x) { return std::log(x); },
      [](auto, auto y, auto log) { return y * std::max(log, decltype(y)(-100)); });
  const Tensor loss = neg(add(of_zeros, of_ones));
  return reduce_loss(weighted(loss, weight), to_reduction(reduction));
}

// -log sigmoid(x) where the target is 1, scaled by `pos_weight`, and -log sigmoid(-x) where it is
// 0.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  Tensor log_probability = log_sigmoid(self);
  if (pos_weight.defined()) {
    log_probability = mul(log_probability, add(mul(sub(pos_weight, Scalar(1)), target), Scalar(1)));
  }
  const Tensor loss =
      map<kMapReal | kMapSteps, 3>({self, target, log_probability}, result_type(self, target),
                                   [](auto x, auto y, auto log_p) { return (1 - y) * x - log_p; });
  return reduce_loss(weighted(loss, weight), to_reduction(reduction));
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full_loss,
                        double eps, int64_t reduction) {
  const DType dtype = to_float_type(result_type(input, target));
  Tensor loss = log_input ? composed<2>(
                                kernels::exp_f32, {input, target}, dtype,
                                [](auto x, auto) { return x; }, [](auto x) { return std::exp(x); },
                                [](auto x, auto y, auto exp) { return exp - y * x; })
                          : composed<2>(
                                UnaryOp::kLog, {input, target}, dtype,
                                [eps](auto x, auto) { return x + static_cast<decltype(x)>(eps); },
                                [](auto x) { return std::log(x); },
                                [](auto x, auto y, auto log) { return x - y * log; });
  if (full_loss) {  // Stirling's approximation of log(y!)
    const Tensor factorial = composed<1>(
        UnaryOp::kLog, {target}, dtype, [](auto y) { return y; },
        [](auto y) { return std::log(y); },
        [](auto y, auto log) {
          using T = decltype(y);
          constexpr auto kHalfLog = static_cast<T>(0.91893853320467274);  // log(2 pi) / 2
          return choose(y > T(1), y * log - y + (kHalfLog + T(0.5) * log), T(0));
        });
    loss = add(loss, factorial);
  }
  return reduce_loss(loss, to_reduction(reduction));
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(neg(log_sigmoid(mul(self, target.to(self.dtype())))), to_reduction(reduction));
}

// -1 as a target of this dtype holds it: 255 in uint8.
double minus_one_of(DType dtype) { return scalar_of(scalar_tensor(Scalar(-1), dtype)).to_double(); }

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction) {
  const double minus_one = minus_one_of(target.dtype());
  const Tensor loss = map<kMapReal | kMapSteps, 2>(
      {self, target}, to_float_type(self.dtype()), [margin, minus_one](auto x, auto y) {
        using T = decltype(x);
        const T rest = static_cast<T>(margin) - x;
        return choose(y != T(1), choose(rest < T(0), T(0), rest), T(0)) +
               choose(y != static_cast<T>(minus_one), x, T(0));
      });
  return reduce_loss(loss, to_reduction(reduction));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  TORCHLET_CHECK(
      target.dim() == input1.dim() && target.dim() == input2.dim(),
      "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
      "input1: %s, input2: %s, target: %s ",
      input1.describe().c_str(), input2.describe().c_str(), target.describe().c_str());
  const Tensor loss = add(mul(neg(target), sub(input1, input2)), Scalar(margin));
  return reduce_loss(clamp(loss, Scalar(0), std::nullopt), to_reduction(reduction));
}

// In all of these a margin that is not reached counts 0.
Tensor at_least_zero(const Tensor& tensor) { return clamp(tensor, Scalar(0), std::nullopt); }

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction) {
  const int64_t dim = target.dim();
  TORCHLET_CHECK(dim <= 1, "0D or 1D target tensor expected, multi-target not supported");
  TORCHLET_CHECK(input1.dim() == dim + 1 && input2.dim() == dim + 1,
                 "%lldD target tensor expects %lldD input tensors, but found inputs with sizes %s "
                 "and %s.",
                 static_cast<long long>(dim), static_cast<long long>(dim + 1),
                 input1.describe().c_str(), input2.describe().c_str());
  auto magnitude = [dim](const Tensor& x) { return add(sum(square(x), {{dim}}), Scalar(1e-12)); };
  const Tensor cosine =
      div(sum(mul(input1, input2), {{dim}}), sqrt(mul(magnitude(input1), magnitude(input2))));
  const DType dtype = cosine.dtype();
  const double minus_one = minus_one_of(target.dtype());
  return reduce_loss(map<kMapReal, 2>({cosine, target}, dtype,
                                      [margin, minus_one](auto c, auto y) {
                                        using T = decltype(c);
                                        if (y == 1) return 1 - c;
                                        const T rest = c - static_cast<T>(margin);
                                        return y == minus_one ? (rest < 0 ? T(0) : rest) : T(0);
                                      }),
                     to_reduction(reduction));
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  TORCHLET_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
                 "All inputs should have same dimension but got %lldD, %lldD and %lldD inputs.",
                 static_cast<long long>(anchor.dim()), static_cast<long long>(positive.dim()),
                 static_cast<long long>(negative.dim()));
  const Tensor near = pairwise_distance(anchor, positive, p, eps, false);
  Tensor far = pairwise_distance(anchor, negative, p, eps, false);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps, false));
  return reduce_loss(at_least_zero(add(sub(near, far), Scalar(margin))), to_reduction(reduction));
}

}  // namespace

Reduction to_reduction(int64_t number) {
  TORCHLET_CHECK(number >= 0 && number <= 2, "%lld is not a valid value for reduction",
                 static_cast<long long>(number));
  return static_cast<Reduction>(number);
}

Tensor reduce_loss(const Tensor& loss, Reduction reduction) {
  if (reduction == Reduction::kNone) return loss;
  return reduction == Reduction::kMean ? mean(loss) : sum(loss);
}

TORCHLET_OP_WITH(mse_loss, out("out"),
                 "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", mse_loss);
TORCHLET_OP(l1_loss, "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            l1_loss);
TORCHLET_OP_WITH(smooth_l1_loss, out("out"),
                 "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float "
                 "beta=1.) -> Tensor",
                 smooth_l1_loss);
TORCHLET_OP_WITH(huber_loss, out("out"),
                 "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float "
                 "delta=1.) -> Tensor",
                 huber_loss);
TORCHLET_OP(kl_div,
            "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) "
            "-> Tensor",
            kl_div);
TORCHLET_OP_WITH(binary_cross_entropy, out("out"),
                 "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, "
                 "int reduction=1) -> Tensor",
                 binary_cross_entropy);
TORCHLET_OP_WITH(binary_cross_entropy_with_logits, out("out"),
                 "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
                 "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
                 binary_cross_entropy_with_logits);
TORCHLET_OP(poisson_nll_loss,
            "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float "
            "eps, int reduction) -> Tensor",
            poisson_nll_loss);
TORCHLET_OP_WITH(soft_margin_loss, out("out"),
                 "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> "
                 "Tensor",
                 soft_margin_loss);
TORCHLET_OP(hinge_embedding_loss,
            "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
            "reduction=1) -> Tensor",
            hinge_embedding_loss);
TORCHLET_OP(margin_ranking_loss,
            "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float "
            "margin=0., int reduction=1) -> Tensor",
            margin_ranking_loss);
TORCHLET_OP(cosine_embedding_loss,
            "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float "
            "margin=0., int reduction=1) -> Tensor",
            cosine_embedding_loss);
TORCHLET_OP(triplet_margin_loss,
            "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float "
            "margin=1., float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
            triplet_margin_loss);

}  // namespace torchlet::ops
