// Attention and the fused layers of torch.nn.MultiheadAttention and TransformerEncoderLayer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/matmul.h"
#include "ops/math/math.h"
#include "ops/nn/norm.h"
#include "ops/random/random.h"
#include "ops/sequence/nested.h"

namespace torchlet::ops {
namespace {

// A bool mask as something to add to scores: 0 where it is `keep`, -inf elsewhere.
Tensor additive_mask(const Tensor& mask, bool keep, DType dtype) {
  return map<kMapReal, 1>({mask}, dtype, [keep](auto x) {
    using T = decltype(x);
    return (x != 0) == keep ? T(0) : -std::numeric_limits<T>::infinity();
  });
}

Tensor lower_triangle(int64_t rows, int64_t columns) {
  const Tensor mask = zeros({{rows, columns}}, DType::kBool);
  bool* data = mask.data_ptr<bool>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j <= i && j < columns; ++j) data[i * columns + j] = true;
  }
  return mask;
}

// softmax(q k^T / sqrt(E) + mask) v, and the softmax.
std::tuple<Tensor, Tensor> scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                                        const Tensor& value, const Tensor& mask,
                                                        double dropout_p, bool, bool is_causal) {
  TORCHLET_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
                 "scaled_dot_product_attention: expected at least 2 dimensions, got %s, %s and %s",
                 query.describe().c_str(), key.describe().c_str(), value.describe().c_str());
  TORCHLET_CHECK(!is_causal || !mask.defined(),
                 "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                 "is_causal=True");
  Tensor bias = mask;
  if (is_causal) bias = lower_triangle(query.size(-2), key.size(-2));
  if (bias.defined() && bias.dtype() == DType::kBool) {
    bias = additive_mask(bias, true, query.dtype());
  }
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  Tensor scores = matmul(mul(query, Scalar(scale)), transpose(key, -2, -1));
  if (bias.defined()) scores = add(scores, bias);
  const Tensor weights = dropout(softmax(scores, -1), dropout_p, true);
  return {matmul(weights, value), weights};
}

// aten::_masked_softmax: True in the mask leaves an element out. mask_type 0: [L, L], 1: [B, L], 2:
// the shape of the input.
Tensor masked_softmax(const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                      std::optional<int64_t> mask_type) {
  TORCHLET_CHECK(mask.dtype() == DType::kBool, "Mask should be a boolean tensor");
  Tensor wide = mask;
  if (mask.dim() == 2 && self.dim() == 4) {
    const bool padding = mask_type.value_or(0) == 1;
    wide = padding ? view(mask.contiguous(), {{mask.size(0), 1, 1, mask.size(1)}})
                   : view(mask.contiguous(), {{1, 1, mask.size(0), mask.size(1)}});
  }
  return softmax(add(self, additive_mask(wide, false, self.dtype())), dim.value_or(-1));
}

struct AttentionWeights {
  Tensor qkv_weight, qkv_bias, proj_weight, proj_bias;
  int64_t embed_dim, heads;
};

// [B, T, D] -> [B, heads, T, D / heads]
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, {{x.size(0), x.size(1), heads, x.size(2) / heads}}), 1, 2);
}

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttentionWeights& w) {
  TORCHLET_CHECK(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                 "expected 3-D `query`, `key` and `value`, got %s, %s and %s",
                 query.describe().c_str(), key.describe().c_str(), value.describe().c_str());
  TORCHLET_CHECK(query.size(2) == w.embed_dim,
                 "passed-in embed_dim %lld didn't match last dim of query %s",
                 static_cast<long long>(w.embed_dim), query.describe().c_str());
  TORCHLET_CHECK(w.qkv_weight.dim() == 2 && w.qkv_weight.size(0) == 3 * w.embed_dim &&
                     w.qkv_bias.numel() == 3 * w.embed_dim,
                 "expected `qkv_weight` and `qkv_bias` for 3 x %lld outputs, got %s and %s",
                 static_cast<long long>(w.embed_dim), w.qkv_weight.describe().c_str(),
                 w.qkv_bias.describe().c_str());
  TORCHLET_CHECK(w.heads > 0 && w.embed_dim % w.heads == 0,
                 "`embed_dim` must divide evenly by `num_heads`");
}

// Returns the projected output [B, T, D] and the attention weights [B, heads, T, S].
std::tuple<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionWeights& w, const Tensor& mask,
                                  std::optional<int64_t> mask_type) {
  check_attention(query, key, value, w);
  auto project = [&](const Tensor& x, int64_t part) {
    return split_heads(linear(x, narrow(w.qkv_weight, 0, part * w.embed_dim, w.embed_dim),
                              narrow(w.qkv_bias, 0, part * w.embed_dim, w.embed_dim)),
                       w.heads);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(w.embed_dim / w.heads));
  const Tensor q = mul(project(query, 0), Scalar(scale));
  const Tensor scores = matmul(q, transpose(project(key, 1), -2, -1));
  const Tensor weights = mask.defined()
                             ? masked_softmax(scores, mask.to(DType::kBool), -1, mask_type)
                             : softmax(scores, -1);
  const Tensor context = transpose(matmul(weights, project(value, 2)), 1, 2);
  const Tensor joined = reshape(context, {{query.size(0), query.size(1), w.embed_dim}});
  return {linear(joined, w.proj_weight, w.proj_bias), weights};
}

std::tuple<Tensor, Tensor> native_multi_head_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim,
    int64_t num_head, const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
    const Tensor& proj_bias, const Tensor& mask, bool need_weights, bool average_attn_weights,
    std::optional<int64_t> mask_type) {
  TORCHLET_CHECK(std::ranges::equal(query.sizes(), key.sizes()) &&
                     std::ranges::equal(key.sizes(), value.sizes()),
                 "expected `query`/`key`/`value` shapes to match, got %s, %s and %s",
                 query.describe().c_str(), key.describe().c_str(), value.describe().c_str());
  const AttentionWeights w{qkv_weight, qkv_bias, proj_weight, proj_bias, embed_dim, num_head};
  auto [output, weights] = attend(query, key, value, w, mask, mask_type);
  if (!need_weights) return {output, Tensor()};
  return {output, average_attn_weights ? mean(weights, {{1}}) : weights};
}

struct EncoderLayer {
  AttentionWeights attention;
  bool use_gelu, norm_first;
  double eps;
  Tensor norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2;
  Tensor ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2;
};

Tensor run_encoder_layer(const EncoderLayer& layer, const Tensor& src, const Tensor& mask,
                         std::optional<int64_t> mask_type) {
  auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return layer_norm(x, {{layer.attention.embed_dim}}, weight, bias, layer.eps);
  };
  Tensor x = layer.norm_first ? norm(src, layer.norm_weight_1, layer.norm_bias_1) : src;
  x = add(std::get<0>(attend(x, x, x, layer.attention, mask, mask_type)), src);
  if (!layer.norm_first) x = norm(x, layer.norm_weight_1, layer.norm_bias_1);
  const Tensor rest = x;
  if (layer.norm_first) x = norm(x, layer.norm_weight_2, layer.norm_bias_2);
  x = linear(x, layer.ffn_weight_1, layer.ffn_bias_1);
  x = linear(layer.use_gelu ? gelu(x) : relu(x), layer.ffn_weight_2, layer.ffn_bias_2);
  x = add(x, rest);
  return layer.norm_first ? x : norm(x, layer.norm_weight_2, layer.norm_bias_2);
}

Tensor transformer_encoder_layer(const Tensor& src, int64_t embed_dim, int64_t num_heads,
                                 const Tensor& qkv_weight, const Tensor& qkv_bias,
                                 const Tensor& proj_weight, const Tensor& proj_bias, bool use_gelu,
                                 bool norm_first, double eps, const Tensor& norm_weight_1,
                                 const Tensor& norm_bias_1, const Tensor& norm_weight_2,
                                 const Tensor& norm_bias_2, const Tensor& ffn_weight_1,
                                 const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                                 const Tensor& ffn_bias_2, const Tensor& mask,
                                 std::optional<int64_t> mask_type) {
  const EncoderLayer layer{{qkv_weight, qkv_bias, proj_weight, proj_bias, embed_dim, num_heads},
                           use_gelu,
                           norm_first,
                           eps,
                           norm_weight_1,
                           norm_bias_1,
                           norm_weight_2,
                           norm_bias_2,
                           ffn_weight_1,
                           ffn_bias_1,
                           ffn_weight_2,
                           ffn_bias_2};
  if (!is_nested(src)) return run_encoder_layer(layer, src, mask, mask_type);
  TORCHLET_CHECK(!mask.defined(), "NestedTensor with mask is not supported yet");
  std::vector<Tensor> parts;
  for (const Tensor& part : nested_parts(src)) {
    parts.push_back(squeeze(run_encoder_layer(layer, unsqueeze(part, 0), Tensor(), {}), 0));
  }
  return make_nested(std::move(parts));
}

// (q / sqrt(head size), k, v), each [B, heads, T, head size], of qkv [B, T, 3 * D] and its bias.
std::tuple<Tensor, Tensor, Tensor> transform_bias_rescale_qkv(const Tensor& qkv,
                                                              const Tensor& qkv_bias,
                                                              int64_t num_heads) {
  TORCHLET_CHECK(
      qkv.dim() == 3 && qkv.size(2) % 3 == 0 && num_heads > 0 && qkv.size(2) / 3 % num_heads == 0,
      "_transform_bias_rescale_qkv: expected [batch, time, 3 * heads * size], got %s",
      qkv.describe().c_str());
  const int64_t width = qkv.size(2) / 3;
  const double scale = 1 / std::sqrt(static_cast<double>(width / num_heads));
  const auto heads = [&](const Tensor& x, int64_t i) {
    return split_heads(narrow(x, 2, i * width, width), num_heads);
  };
  if (qkv.dtype() == DType::kFloat32 && qkv_bias.dtype() == DType::kFloat32 && qkv.stride(2) == 1 &&
      qkv_bias.is_contiguous() && qkv_bias.numel() == 3 * width) {
    // Rows go where they lie in the results.
    const int64_t length = qkv.size(1), size = width / num_heads;
    const auto part = [&](int64_t i) {
      const Tensor out = empty({{qkv.size(0), num_heads, length, size}}, DType::kFloat32);
      for (int64_t j = 0; out.numel() > 0 && j < qkv.size(0) * num_heads; ++j) {
        const int64_t column = i * width + j % num_heads * size;
        const float* const x = qkv.data_ptr<float>() + j / num_heads * qkv.stride(0) + column;
        float* const y = out.data_ptr<float>() + j * length * size;
        kernels::binary_rows_f32(
            kernels::MatrixBinaryOp::kAdd, length, size, x, qkv.stride(1),
            {.data = qkv_bias.data_ptr<float>() + column, .spread = kernels::Spread::kColumns}, {},
            y, size);
        if (i > 0) continue;
        kernels::affine_rows_f32(length, size, y, size, static_cast<float>(scale), 0, y, size);
      }
      return out;
    };
    return {part(0), part(1), part(2)};
  }
  const Tensor sum = add(qkv, qkv_bias);
  return {mul(heads(sum, 0).contiguous(), Scalar(scale)), heads(sum, 1).contiguous(),
          heads(sum, 2).contiguous()};
}

}  // namespace

TORCHLET_OP_WITH(
    _scaled_dot_product_attention, varies("dropout_p"),
    "aten::_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool "
    "is_causal=False) -> (Tensor, Tensor)",
    scaled_dot_product_attention);
TORCHLET_OP_WITH(
    _scaled_dot_product_attention_forward, varies("dropout_p"),
    "aten::_scaled_dot_product_attention_forward(Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool "
    "is_causal=False) -> (Tensor, Tensor)",
    scaled_dot_product_attention);
TORCHLET_OP_WITH(_scaled_dot_product_attention_math, varies("dropout_p"),
                 "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, "
                 "Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool "
                 "is_causal=False) -> (Tensor, Tensor)",
                 scaled_dot_product_attention);
TORCHLET_OP_WITH(_masked_softmax, out("out"),
                 "aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? "
                 "mask_type=None) -> Tensor",
                 masked_softmax);
TORCHLET_OP_WITH(_native_multi_head_attention, on_meta() | keeps_rank() | keeps_dtype(),
                 "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int "
                 "embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, "
                 "Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool "
                 "average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
                 native_multi_head_attention);
TORCHLET_OP_WITH(
    _transformer_encoder_layer_fwd, on_meta() | out("out"),
    "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor "
    "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool "
    "norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor "
    "norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, "
    "Tensor? mask=None, int? mask_type=None) -> Tensor",
    transformer_encoder_layer);
TORCHLET_OP_WITH(_transform_bias_rescale_qkv, out("out(out0, out1, out2)"),
                 "aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int "
                 "num_heads) -> (Tensor, Tensor, Tensor)",
                 transform_bias_rescale_qkv);

}  // namespace torchlet::ops
