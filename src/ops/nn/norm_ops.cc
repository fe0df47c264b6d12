// Batch, instance, layer and group normalisation.
#include "ops/nn/norm.h"

#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

Tensor3 native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          const Tensor& running_mean, const Tensor& running_var, bool training,
                          double momentum, double eps) {
  const BatchNormResult r =
      batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {r.output, r.save_mean, r.save_invstd};
}

// Every instance becomes a channel of one batch, with parameters and running statistics repeated;
// the running statistics become the mean over the instances.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool) {
  TORCHLET_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
                 "Expected running_mean and running_var to be defined when use_input_stats is "
                 "false");
  TORCHLET_CHECK(input.dim() >= 2, "instance_norm: expected at least 2 dimensions, got %s",
                 input.describe().c_str());
  const int64_t batch = input.size(0), channels = input.size(1);
  IntArray shape(input.sizes());
  shape[0] = 1;
  shape[1] = batch * channels;
  auto repeat = [&](const Tensor& t) {
    return t.defined() ? reshape(expand(t, {{batch, channels}}), {{batch * channels}}).clone()
                       : Tensor();
  };
  const Tensor mean = repeat(running_mean), var = repeat(running_var);
  const Tensor output = batch_norm(reshape(input, shape), repeat(weight), repeat(bias), mean, var,
                                   use_input_stats, momentum, eps)
                            .output;
  auto keep_mean = [&](const Tensor& running, const Tensor& repeated) {
    if (!running.defined() || batch == 0 || is_meta(output)) return;
    const Tensor factor =
        full({{batch}}, Scalar(1.0 / static_cast<double>(batch)), repeated.dtype());
    running.copy_(matmul(factor, view(repeated, {{batch, channels}})));
  };
  keep_mean(running_mean, mean);
  keep_mean(running_var, var);
  return view(output, input.sizes());
}

Tensor3 native_layer_norm(const Tensor& input, const IntArray& normalized_shape,
                          const Tensor& weight, const Tensor& bias, double eps) {
  const NormResult r = layer_norm_statistics(input, normalized_shape, weight, bias, eps);
  return {r.output, r.mean, r.rstd};
}

Tensor3 native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                          int64_t batch, int64_t channels, int64_t plane, int64_t groups,
                          double eps) {
  const NormResult r =
      group_norm(reshape(input, {{batch, channels, plane}}), groups, weight, bias, eps);
  return {view(r.output, input.sizes()), r.mean, r.rstd};
}

}  // namespace

TORCHLET_OP_WITH(
    batch_norm,
    on_meta() | keeps_rank() | keeps_dtype() | writes("running_mean running_var", "training"),
    "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> "
    "Tensor",
    [](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
       const Tensor& running_var, bool training, double momentum, double eps, bool) {
      if (input.numel() == 0) return input.clone();
      return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
          .output;
    });
TORCHLET_OP_WITH(
    native_batch_norm,
    out("out(out, save_mean, save_invstd)") | writes("running_mean running_var", "training"),
    "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    native_batch_norm);
TORCHLET_OP_WITH(
    instance_norm,
    on_meta() | keeps_rank() | keeps_dtype() |
        writes("running_mean running_var", "use_input_stats"),
    "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool "
    "cudnn_enabled) -> Tensor",
    instance_norm);
TORCHLET_OP_WITH(
    layer_norm, on_meta() | keeps_rank() | keeps_dtype() | places(PlaceRule::kButNormalized),
    "aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? "
    "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    [](const Tensor& input, const IntArray& shape, const Tensor& weight, const Tensor& bias,
       double eps, bool) { return layer_norm(input, shape, weight, bias, eps); });
TORCHLET_OP_WITH(
    native_layer_norm, out("out(out0, out1, out2)"),
    "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
    "bias, float eps) -> (Tensor, Tensor, Tensor)",
    native_layer_norm);
TORCHLET_OP_WITH(group_norm, on_meta() | keeps_rank() | keeps_dtype(),
                 "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
                 "bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
                 [](const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                    double eps,
                    bool) { return group_norm(input, groups, weight, bias, eps).output; });
TORCHLET_OP_WITH(
    native_group_norm, out("out(out0, out1, out2)"),
    "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
    "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    native_group_norm);

}  // namespace torchlet::ops
