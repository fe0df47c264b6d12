// Normalisation over channels, groups or trailing dimensions. Weights and biases may be undefined.
#pragma once

#include <tuple>

#include "ops/core/common.h"

namespace torchlet::ops {

struct BatchNormResult {
  Tensor output, save_mean, save_invstd;  // the latter two are empty unless `training`
};
// input [N, C, ...]. In training mode the statistics are those of the batch, and defined running
// statistics are updated in place: running = (1 - momentum) * running + momentum * batch.
BatchNormResult batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps);

struct NormResult {
  Tensor output, mean, rstd;
};
// Normalises the last dimensions, which must be `normalized_shape`.
Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps);
// The same with mean and rstd, whose normalised dimensions have size 1.
NormResult layer_norm_statistics(const Tensor& input, IntSpan normalized_shape,
                                 const Tensor& weight, const Tensor& bias, double eps);
// input [N, C, ...]; mean and rstd are [N, groups].
NormResult group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                      double eps);

}  // namespace torchlet::ops
