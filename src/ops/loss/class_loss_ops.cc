// Losses against class numbers: negative log likelihood, cross entropy, multi-class margins.
#include <algorithm>
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/loss/loss.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

struct NllResult {
  Tensor output, total_weight;
};

// input [batch, classes, plane] (in memory), target [batch, plane]; the shape of the unreduced
// result is that of the target.
NllResult nll(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t classes,
              int64_t plane, Reduction reduction, int64_t ignore_index) {
  TORCHLET_CHECK(target.dtype() == DType::kInt64 || target.dtype() == DType::kUInt8,
                 "nll_loss: expected a target of dtype int64, but found %s",
                 dtype_name(target.dtype()).data());
  TORCHLET_CHECK(
      !weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
      "weight tensor should be defined either for all %lld classes or no classes but got "
      "weight tensor of shape: %s",
      ll(classes), weight.describe().c_str());
  expect_dtype(weight, self.dtype());
  return compute_as<kMapReal>(self.dtype(), "nll_loss", [&](auto zero) -> NllResult {
    using T = decltype(zero);
    const Tensor x = dense_as<T>(self), y = dense_as<int64_t>(target);
    const Tensor w = weight.defined() ? dense_as<T>(weight) : Tensor();
    const T *x_data = const_data<T>(x), *w_data = const_data<T>(w);
    const int64_t* y_data = y.data_ptr<int64_t>();
    const bool keep = reduction == Reduction::kNone;
    const Tensor each = keep ? empty(target.sizes(), DTypeOf<T>::value) : Tensor();
    T* to = keep ? each.data_ptr<T>() : nullptr;
    double total = 0, total_weight = 0;
    for (int64_t begin = 0; begin < y.numel(); begin += plane, x_data += classes * plane) {
      double sum = 0, weights = 0;  // of a plane: these stay in registers
      for (int64_t i = 0; i < plane; ++i) {
        const int64_t label = y_data[begin + i];
        T loss = 0;
        if (label != ignore_index) {
          TORCHLET_CHECK(label >= 0 && label < classes, "Target %lld is out of bounds.", ll(label));
          const T factor = w_data ? w_data[label] : T(1);
          loss = -x_data[label * plane + i] * factor;
          sum += static_cast<double>(loss);
          weights += static_cast<double>(factor);
        }
        if (to) to[begin + i] = loss;
      }
      total += sum;
      total_weight += weights;
    }
    const DType dtype = self.dtype();
    if (keep) return {each.to(dtype), full({}, Scalar(0.0), dtype)};
    const double output = reduction == Reduction::kMean ? total / total_weight : total;
    return {full({}, Scalar(output), dtype), full({}, Scalar(total_weight), dtype)};
  });
}

NllResult nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                   int64_t reduction, int64_t ignore_index) {
  TORCHLET_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  TORCHLET_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  TORCHLET_CHECK(
      self.dim() == 1 ? target.dim() == 0 : target.dim() == 1 && self.size(0) == target.size(0),
      "size mismatch (got input: %s, target: %s)", self.describe().c_str(),
      target.describe().c_str());
  return nll(self, target, weight, self.size(-1), 1, to_reduction(reduction), ignore_index);
}

NllResult nll_loss2d(const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, int64_t ignore_index) {
  TORCHLET_CHECK(target.dim() == 3,
                 "only batches of spatial targets supported (3D tensors) but got targets of "
                 "dimension: %lld",
                 ll(target.dim()));
  TORCHLET_CHECK(self.dim() == 4,
                 "only batches of spatial inputs supported (4D tensors), but got input of "
                 "dimension: %lld",
                 ll(self.dim()));
  TORCHLET_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) &&
                     self.size(3) == target.size(2),
                 "size mismatch (got input: %s , target: %s", self.describe().c_str(),
                 target.describe().c_str());
  return nll(self, target, weight, self.size(1), self.size(2) * self.size(3),
             to_reduction(reduction), ignore_index);
}

// input [classes], [batch, classes] or [batch, classes, ...], target the same without the classes.
Tensor nll_loss_nd(const Tensor& self, const Tensor& target, const Tensor& weight,
                   int64_t reduction, int64_t ignore_index) {
  TORCHLET_CHECK(self.dim() >= 1, "Expected 1 or more dimensions (got 0)");
  if (self.dim() <= 2) return nll_loss(self, target, weight, reduction, ignore_index).output;
  TORCHLET_CHECK(
      target.dim() > 0 && self.size(0) == target.size(0) &&
          std::ranges::equal(self.sizes().subspan(2), target.sizes().subspan(1)),
      "nll_loss: expected a target of the input's size without its classes, got input %s "
      "and target %s",
      self.describe().c_str(), target.describe().c_str());
  int64_t plane = 1;
  for (int64_t size : self.sizes().subspan(2)) plane *= size;
  return nll(self, target, weight, self.size(1), plane, to_reduction(reduction), ignore_index)
      .output;
}

// A weight per class, shaped to multiply `input` whose classes are dimension `class_dim`.
Tensor class_weight(const Tensor& weight, const Tensor& input, int64_t class_dim) {
  IntArray shape(input.sizes().size(), 1);
  shape[static_cast<size_t>(class_dim)] = weight.numel();
  return view(weight.contiguous(), shape);
}

Tensor soft_cross_entropy(const Tensor& self, const Tensor& probabilities, const Tensor& weight,
                          Reduction reduction, double smoothing) {
  TORCHLET_CHECK(is_floating_point(probabilities.dtype()),
                 "Expected floating point type for target with class probabilities, got %s",
                 dtype_name(probabilities.dtype()).data());
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const int64_t classes = self.size(class_dim);
  TORCHLET_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
                 "cross_entropy: weight tensor should be defined either for all %lld classes or no "
                 "classes but got weight tensor of shape: %s",
                 ll(classes), weight.describe().c_str());
  Tensor target = probabilities;
  if (smoothing > 0) {
    target =
        add(mul(target, Scalar(1 - smoothing)), Scalar(smoothing / static_cast<double>(classes)));
  }
  Tensor loss = mul(log_softmax(self, class_dim), target);
  if (weight.defined()) loss = mul(loss, class_weight(weight, self, class_dim));
  if (reduction == Reduction::kNone) return neg(sum(loss, {{class_dim}}));
  const Tensor total = neg(sum(loss));
  if (reduction == Reduction::kSum) return total;
  return div(total, Scalar(static_cast<double>(self.numel() / std::max<int64_t>(1, classes))));
}

// The loss against the uniform distribution, with the targets' weights and ignored places.
Tensor smooth_part(const Tensor& log_probs, const Tensor& target, const Tensor& weight,
                   Reduction reduction, int64_t ignore_index) {
  const int64_t class_dim = log_probs.dim() == 1 ? 0 : 1;
  const Tensor scaled =
      weight.defined() ? mul(log_probs, class_weight(weight, log_probs, class_dim)) : log_probs;
  const Tensor counted = ne(target, Scalar(ignore_index));
  const Tensor each =
      where(counted, neg(sum(scaled, {{class_dim}})), full({}, Scalar(0.0), log_probs.dtype()));
  if (reduction == Reduction::kNone) return each;
  const Tensor total = sum(each);
  if (reduction == Reduction::kSum) return total;
  if (!weight.defined()) return div(total, sum(counted));
  const Tensor labels = dense_as<int64_t>(target), weights = dense_as<double>(weight);
  double all = 0;
  for (int64_t i = 0; i < labels.numel(); ++i) {
    const int64_t label = labels.data_ptr<int64_t>()[i];
    if (label != ignore_index) all += weights.data_ptr<double>()[label];  // nll has checked it
  }
  return div(total, Scalar(all));
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, int64_t ignore_index, double smoothing) {
  TORCHLET_CHECK(smoothing >= 0 && smoothing <= 1,
                 "label_smoothing must be between 0.0 and 1.0. Got: %g", smoothing);
  TORCHLET_CHECK(self.dim() >= 1, "cross_entropy: expected an input of at least one dimension");
  if (std::ranges::equal(self.sizes(), target.sizes())) {
    TORCHLET_CHECK(ignore_index < 0, "ignore_index is not supported for floating point target");
    return soft_cross_entropy(self, target, weight, to_reduction(reduction), smoothing);
  }
  const int64_t class_dim = self.dim() == 1 ? 0 : 1;
  const Tensor log_probs = log_softmax(self, class_dim);
  const Tensor loss = nll_loss_nd(log_probs, target, weight, reduction, ignore_index);
  if (smoothing == 0) return loss;
  const Tensor smooth =
      smooth_part(log_probs, target, weight, to_reduction(reduction), ignore_index);
  const double share = smoothing / static_cast<double>(self.size(class_dim));
  return add(mul(loss, Scalar(1 - smoothing)), mul(smooth, Scalar(share)));
}

// A loss per row [batch] of an input [batch, classes] or [classes].
template <typename T, typename RowLoss>
Tensor row_losses(const Tensor& self, RowLoss row_loss) {
  TORCHLET_CHECK(self.dim() <= 2 && self.numel() > 0,
                 "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
                 self.describe().c_str());
  const int64_t classes = self.dim() == 0 ? 1 : self.size(-1);
  const Tensor x = dense_as<T>(self);
  const Tensor out = empty({{self.numel() / classes}}, DTypeOf<T>::value);
  for (int64_t row = 0; row < out.numel(); ++row) {
    out.data_ptr<T>()[row] = row_loss(const_data<T>(x) + row * classes, classes, row);
  }
  return out;
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p,
                         const Scalar& margin, const Tensor& weight, int64_t reduction) {
  const double power = p.to_double();
  TORCHLET_CHECK(power == 1 || power == 2, "only p == 1 and p == 2 supported");
  const int64_t batch = self.dim() < 2 ? 1 : self.size(0);
  TORCHLET_CHECK(target.dim() <= 1 && target.numel() == batch,
                 "inconsistent target size, expected %lld but got %s", ll(batch),
                 target.describe().c_str());
  TORCHLET_CHECK(
      !weight.defined() || (weight.numel() == self.size(-1) && weight.dtype() == self.dtype()),
      "inconsistent weight size or dtype, expected %lld values of %s but got %s", ll(self.size(-1)),
      dtype_name(self.dtype()).data(), weight.describe().c_str());
  return compute_as<kMapReal>(self.dtype(), "multi_margin_loss", [&](auto zero) {
    using T = decltype(zero);
    const Tensor labels = dense_as<int64_t>(target);
    const Tensor w = weight.defined() ? dense_as<T>(weight) : Tensor();
    const T gap = static_cast<T>(margin.to_double());
    Tensor loss = row_losses<T>(self, [&](const T* x, int64_t classes, int64_t row) {
      const int64_t label = labels.data_ptr<int64_t>()[row];
      TORCHLET_CHECK(label >= 0 && label < classes, "target out of range");
      const T factor = w.defined() ? const_data<T>(w)[label] : T(1);
      T sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const T z = gap - x[label] + x[c];
        const T part = (power == 1 ? z : z * z) * factor;
        sum += choose((c != label) & (z > 0), part, T(0));  // nobody foresees which it is
      }
      return sum / static_cast<T>(classes);
    });
    loss = reduce_loss(loss, to_reduction(reduction));
    return (target.dim() == 0 ? view(loss, {}) : loss).to(self.dtype());
  });
}

// Every class of the target (up to a -1) is compared with every class that is not in it.
std::tuple<Tensor, Tensor> multilabel_margin_loss(const Tensor& self, const Tensor& target,
                                                  int64_t reduction) {
  TORCHLET_CHECK(std::ranges::equal(self.sizes(), target.sizes()),
                 "inconsistent target size: %s for input of size: %s", target.describe().c_str(),
                 self.describe().c_str());
  return compute_as<kMapReal>(self.dtype(), "multilabel_margin_loss", [&](auto zero) {
    using T = decltype(zero);
    const Tensor labels = dense_as<int64_t>(target);
    const Tensor is_target = zeros(target.sizes(), DTypeOf<T>::value);
    Tensor loss = row_losses<T>(self, [&](const T* x, int64_t classes, int64_t row) {
      const int64_t* label = labels.data_ptr<int64_t>() + row * classes;
      T* chosen = is_target.data_ptr<T>() + row * classes;
      int64_t count = 0;
      for (; count < classes && label[count] >= 0; ++count) {
        TORCHLET_CHECK(label[count] < classes, "target out of range");
        chosen[label[count]] = 1;
      }
      T sum = 0;
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t c = 0; c < classes; ++c) {
          const T z = 1 - x[label[k]] + x[c];
          if (chosen[c] == 0 && z > 0) sum += z;
        }
      }
      return sum / static_cast<T>(classes);
    });
    loss = reduce_loss(loss, to_reduction(reduction));
    if (self.dim() < 2) loss = view(loss, {});
    return std::tuple(loss.to(self.dtype()), is_target.to(self.dtype()));
  });
}

std::tuple<Tensor, Tensor> nll_forward(const Tensor& self, const Tensor& target,
                                       const Tensor& weight, int64_t reduction,
                                       int64_t ignore_index) {
  const NllResult r = nll_loss(self, target, weight, reduction, ignore_index);
  return {r.output, r.total_weight};
}
std::tuple<Tensor, Tensor> nll2d_forward(const Tensor& self, const Tensor& target,
                                         const Tensor& weight, int64_t reduction,
                                         int64_t ignore_index) {
  const NllResult r = nll_loss2d(self, target, weight, reduction, ignore_index);
  return {r.output, r.total_weight};
}

}  // namespace

TORCHLET_OP_WITH(nll_loss, out("out"),
                 "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int "
                 "reduction=1, int ignore_index=-100) -> Tensor",
                 [](const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction, int64_t ignore_index) {
                   return nll_loss(self, target, weight, reduction, ignore_index).output;
                 });
TORCHLET_OP_WITH(nll_loss2d, out("out"),
                 "aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int "
                 "reduction=1, int ignore_index=-100) -> Tensor",
                 [](const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction, int64_t ignore_index) {
                   return nll_loss2d(self, target, weight, reduction, ignore_index).output;
                 });
TORCHLET_OP_WITH(nll_loss_forward, out("output(output, total_weight)"),
                 "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int "
                 "reduction, int ignore_index) -> (Tensor output, Tensor total_weight)",
                 nll_forward);
TORCHLET_OP_WITH(nll_loss2d_forward, out("output(output, total_weight)"),
                 "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int "
                 "reduction, int ignore_index) -> (Tensor output, Tensor total_weight)",
                 nll2d_forward);
TORCHLET_OP(nll_loss_nd,
            "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
            "int ignore_index=-100) -> Tensor",
            nll_loss_nd);
TORCHLET_OP(cross_entropy_loss,
            "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
            "reduction=1, int ignore_index=-100, float label_smoothing=0.) -> Tensor",
            cross_entropy_loss);
TORCHLET_OP_WITH(multi_margin_loss, out("out"),
                 "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar "
                 "margin=1, Tensor? weight=None, int reduction=1) -> Tensor",
                 multi_margin_loss);
TORCHLET_OP_WITH(multilabel_margin_loss, out("out"),
                 "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> "
                 "Tensor",
                 [](const Tensor& self, const Tensor& target, int64_t reduction) {
                   return std::get<0>(multilabel_margin_loss(self, target, reduction));
                 });
TORCHLET_OP_WITH(multilabel_margin_loss_forward, out("output(output, is_target)"),
                 "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int "
                 "reduction) -> (Tensor output, Tensor is_target)",
                 multilabel_margin_loss);

}  // namespace torchlet::ops
