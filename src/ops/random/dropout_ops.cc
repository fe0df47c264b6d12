// Dropout in all its forms. Outside of training, and with p = 0, each returns its input.
#include <cmath>

#include "ops/core/op.h"
#include "ops/math/math.h"
#include "ops/random/random.h"

namespace torchlet::ops {
namespace {

// kFeature drops whole channels; kAlpha keeps mean and variance for SELU networks (Klambauer et
// al., "Self-Normalizing Neural Networks", 2017, section "New Dropout Technique").
enum DropoutKind { kPlain = 0, kFeature = 1, kAlpha = 2 };

template <int kKind>
Tensor dropout_as(const Tensor& input, double p, bool train) {
  TORCHLET_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got %g", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  TORCHLET_CHECK(is_floating_point(input.dtype()) || is_complex(input.dtype()),
                 "result type Float can't be cast to the desired output type %s",
                 dtype_name(input.dtype()).data());
  if (p == 1) return mul(input, scalar_tensor(0, input.dtype()));
  IntArray shape(input.sizes());
  if (kKind & kFeature) {
    TORCHLET_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
    for (size_t d = 2; d < shape.size(); ++d) shape[d] = 1;
  }
  const Tensor kept = empty(shape, input.dtype());
  fill_bernoulli(kept, 1 - p);
  if (!(kKind & kAlpha)) return mul(input, div(kept, Scalar(1 - p)));
  // Dropped elements take SELU's saturation value; a and b restore mean and variance.
  constexpr double kAlphaValue = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlphaValue * kAlphaValue * p + 1) * (1 - p));
  const Tensor shift =
      add(mul(add(kept, Scalar(-1.0)), Scalar(kAlphaValue * a)), Scalar(kAlphaValue * a * p));
  return add(mul(input, mul(kept, Scalar(a))), shift);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  const Tensor mask = full(input.sizes(), true, DType::kBool);
  if (!train.value_or(true)) return {input, mask};
  fill_bernoulli(mask, 1 - p);
  return {
      p == 1 ? mul(input, scalar_tensor(0, input.dtype())) : div(mul(input, mask), Scalar(1 - p)),
      mask};
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) {
  return dropout_as<kPlain>(input, p, train);
}

TORCHLET_OP_WITH(dropout,
                 inplace() | keeps_rank() | keeps_dtype() | identity("train") | varies("p train") |
                     may_alias(),
                 "aten::dropout(Tensor input, float p, bool train) -> Tensor", dropout_as<kPlain>);
TORCHLET_OP_WITH(feature_dropout,
                 inplace() | keeps_rank() | keeps_dtype() | identity("train") | varies("p train") |
                     may_alias(),
                 "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
                 dropout_as<kFeature>);
TORCHLET_OP_WITH(alpha_dropout,
                 inplace() | keeps_rank() | keeps_dtype() | identity("train") | varies("p train") |
                     may_alias(),
                 "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
                 dropout_as<kAlpha>);
TORCHLET_OP_WITH(feature_alpha_dropout,
                 inplace() | keeps_rank() | keeps_dtype() | identity("train") | varies("p train") |
                     may_alias(),
                 "aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
                 dropout_as<kFeature | kAlpha>);
TORCHLET_OP_WITH(native_dropout, varies("p train") | may_alias(),
                 "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
                 native_dropout);

}  // namespace torchlet::ops
