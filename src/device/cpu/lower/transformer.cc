// The fused layers that PyTorch puts into traces of torch.nn.MultiheadAttention and
// TransformerEncoderLayer, as the steps that they consist of.
#include <cmath>
#include <limits>

#include "device/cpu/lower/lowering.h"
#include "passes/analysis/constants.h"

namespace torchlet::cpu {
namespace {

struct AttentionWeights {
  int64_t width, heads;
  Tensor qkv_weight, qkv_bias, proj_weight, proj_bias;
};

// `heads`: what the operator calls their number.
AttentionWeights attention_weights(const Call& call, const char* heads) {
  AttentionWeights w{call.known_int("embed_dim"),      call.known_int(heads),
                     call.known_tensor("qkv_weight"),  call.known_tensor("qkv_bias"),
                     call.known_tensor("proj_weight"), call.known_tensor("proj_bias")};
  const auto has_sizes = [](const Tensor& t, int64_t rows, int64_t cols) {
    return t.dim() == 2 && t.size(0) == rows && t.size(1) == cols;
  };
  if (w.heads < 1 || w.width % w.heads != 0 || !has_sizes(w.qkv_weight, 3 * w.width, w.width) ||
      !has_sizes(w.proj_weight, w.width, w.width)) {
    decline("unusual weights");
  }
  return w;
}

// Of x [batch, time, width] by itself; the sum of it and `residual`, if that is a tensor.
TensorId add_self_attention(PlanBuilder& plan, TensorId x, const AttentionWeights& w,
                            TensorId residual) {
  const IntArray sizes = plan.info(x).sizes;
  if (sizes.size() != 3 || sizes[2] != w.width || plan.info(x).numel() == 0) decline("other ranks");
  if (residual != kNoTensor) residual = plan.in_precision(residual);  // before it is read
  const TensorId qkv = add_linear(plan, x, w.qkv_weight, w.qkv_bias);
  const int64_t batch = sizes[0], time = sizes[1], row = 3 * w.width, depth = w.width / w.heads;
  const auto part = [&](int64_t i) {
    return plan.new_view(qkv, {{batch, w.heads, time, depth}}, {{time * row, depth, row, 1}},
                         i * w.width);
  };
  const TensorId keys =
      plan.new_view(qkv, {{batch, w.heads, depth, time}}, {{time * row, depth, 1, row}}, w.width);
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  const TensorId heads = add_attention(plan, part(0), keys, part(2), {}, scale, {{batch, w.heads}});
  if (heads == kNoTensor) decline("too many keys");
  const TensorId joined = plan.new_view(heads, sizes, contiguous_strides(sizes), 0);
  const TensorId result = add_linear(plan, joined, w.proj_weight, w.proj_bias);
  if (residual != kNoTensor && !plan.fuse_residual(result, residual)) decline("unlike a sum");
  return result;
}

void lower_encoder_layer(PlanBuilder& plan, const Call& call) {
  if (!call.is_none("mask")) decline("a mask");
  const AttentionWeights weights = attention_weights(call, "num_heads");
  const auto tensor = [&](const char* name) { return call.known_tensor(name); };
  const bool use_gelu = call.known_bool("use_gelu");
  const bool norm_first = call.known_bool("norm_first");
  const float eps = static_cast<float>(call.known_double("eps"));
  const auto norm = [&](TensorId x, const char* weight, const char* bias) {
    return add_layer_norm(plan, plan.in_float32(x), weights.width, tensor(weight), tensor(bias),
                          eps);
  };
  const DType dtype = weights.qkv_weight.dtype();
  const TensorId src = plan.contiguous(plan.in_float32(plan.layer_tensor(call.argument(0), dtype)));
  TensorId x = norm_first ? norm(src, "norm_weight_1", "norm_bias_1") : src;
  x = add_self_attention(plan, x, weights, src);
  if (!norm_first) x = norm(x, "norm_weight_1", "norm_bias_1");
  const TensorId rest = plan.in_precision(x);
  if (norm_first) x = norm(x, "norm_weight_2", "norm_bias_2");
  x = add_linear(plan, x, tensor("ffn_weight_1"), tensor("ffn_bias_1"), true);
  using kernels::ActivationKind;
  x = add_activation(plan, x,
                     use_gelu ? kernels::Activation{ActivationKind::kGelu}
                              : kernels::Activation{ActivationKind::kClamp, 0,
                                                    std::numeric_limits<float>::infinity()});
  x = add_linear(plan, x, tensor("ffn_weight_2"), tensor("ffn_bias_2"));
  if (plan.info(x).sizes.back() != weights.width) decline("unusual weights");
  if (!plan.fuse_residual(x, rest)) decline("unlike a sum");
  plan.define_layer(call, norm_first ? x : norm(x, "norm_weight_2", "norm_bias_2"), dtype);
}

void lower_multi_head_attention(PlanBuilder& plan, const Call& call) {
  const AttentionWeights weights = attention_weights(call, "num_head");
  const DType dtype = weights.qkv_weight.dtype();
  const TensorId x = plan.in_float32(plan.layer_tensor(call.argument(0), dtype));
  plan.define_layer(call, add_self_attention(plan, x, weights, kNoTensor), dtype);
  plan.define(call.outputs[1], kNoneTensor);
}

// The weights of the softmax are a second result, which no step writes.
std::string refuse_multi_head_attention(const Node& node) {
  if (node.input(1) != node.input(0) || node.input(2) != node.input(0)) {
    return "attention to another sequence";
  }
  const auto known = [&](const char* name) { return passes::constant_argument(node, name); };
  const Value *mask = known("mask"), *need_weights = known("need_weights");
  if (!mask || !mask->is_none()) return "a mask";
  const bool unread = node.output(1)->users().empty();
  if (!unread && !(need_weights && need_weights->is_bool() && !need_weights->to_bool())) {
    return "its weights are read";
  }
  for (const char* name : {"qkv_weight", "qkv_bias", "proj_weight", "proj_bias"}) {
    if (!known(name)) return "unknown weights";
  }
  return "";
}

}  // namespace

std::span<const Lowering> transformer_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::_transformer_encoder_layer_fwd", lower_encoder_layer},
      {"aten::_native_multi_head_attention", lower_multi_head_attention,
       refuse_multi_head_attention},
  };
  return present<kTable>();
}

}  // namespace torchlet::cpu
