// Functions of quantized tensors beyond sums and products: joined, activated, normalised.
#include <algorithm>
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/matmul.h"
#include "ops/nn/norm.h"
#include "ops/quantized/quantized_map.h"

namespace torchlet::ops {
namespace {

template <bool kRelu>
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim, std::optional<double> scale,
           std::optional<int64_t> zero_point) {
  TORCHLET_CHECK(!tensors.empty(), "quantized::cat needs at least one tensor");
  static const Operator* const concatenate = find_operator("aten::cat", "");
  std::vector<Tensor> real;
  for (const Tensor& tensor : tensors) real.push_back(dequantize(tensor));
  Value args[] = {make_tensor_list(std::move(real)), Value(dim)}, result;
  concatenate->call(args, {&result, 1});
  Tensor joined = result.to_tensor();
  if (kRelu) {
    joined = map<kMapReal, 1>({joined}, DType::kFloat32,
                              [](auto x) { return std::max(x, decltype(x)(0)); });
  }
  const Tensor& first = tensors[0];
  return quantize_like(joined, first, scale.value_or(first.q_scale()),
                       zero_point.value_or(first.q_zero_point()));
}

Tensor clamp(const Tensor& qx, std::optional<Scalar> low, std::optional<Scalar> high) {
  const double least = low ? low->to_double() : -INFINITY,
               most = high ? high->to_double() : INFINITY;
  return map_quantized(qx, qx.q_scale(), qx.q_zero_point(), [=](auto x) {
    using T = decltype(x);
    return std::min(std::max(x, static_cast<T>(least)), static_cast<T>(most));
  });
}

template <bool kRelu>
Tensor batch_norm(const Tensor& qx, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                  const Tensor& var, double eps, double scale, int64_t zero_point) {
  Tensor real = ops::batch_norm(dequantize(qx), weight, bias, mean, var, false, 0, eps).output;
  if (kRelu) {
    real = map<kMapReal, 1>({real}, DType::kFloat32,
                            [](auto x) { return std::max(x, decltype(x)(0)); });
  }
  return quantize_like(real, qx, scale, zero_point);
}

Tensor quantized_groups(const Tensor& qx, int64_t groups, const Tensor& weight, const Tensor& bias,
                        double eps, double scale, int64_t zero_point) {
  return quantize_like(ops::group_norm(dequantize(qx), groups, weight, bias, eps).output, qx, scale,
                       zero_point);
}

Tensor elu(const Tensor& qx, double scale, int64_t zero_point, double alpha, double factor,
           double input_factor) {
  return map_quantized(qx, scale, zero_point, [=](auto x) {
    using T = decltype(x);
    return x > 0 ? x * static_cast<T>(factor)
                 : std::expm1(x * static_cast<T>(input_factor)) * static_cast<T>(alpha * factor);
  });
}

Tensor call_float(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  Value result;
  op->call(args, {&result, 1});
  return result.to_tensor();
}

}  // namespace

TORCHLET_OP_WITH(quantized_cat, on_meta(),
                 "quantized::cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
                 cat<false>);
TORCHLET_OP_WITH(
    quantized_cat_relu, on_meta(),
    "quantized::cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    cat<true>);
TORCHLET_OP(quantized_matmul,
            "quantized::matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
            [](const Tensor& qa, const Tensor& qb, double scale, int64_t zero_point) {
              return quantize_like(matmul(dequantize(qa), dequantize(qb)), qa, scale, zero_point);
            });

TORCHLET_OP_WITH(quantized_clamp, on_meta(),
                 "quantized::clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
                 clamp);
TORCHLET_OP(quantized_relu6, "quantized::relu6(Tensor qx, bool inplace=False) -> Tensor",
            [](const Tensor& qx, bool inplace) {
              const Tensor result = clamp(qx, Scalar(0.0), Scalar(6.0));
              if (!inplace) return result;
              qx.copy_(result);
              return qx;
            });
TORCHLET_OP(quantized_threshold,
            "quantized::threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
            [](const Tensor& qx, double threshold, double value) {
              return map_quantized(qx, qx.q_scale(), qx.q_zero_point(), [=](auto x) {
                using T = decltype(x);
                return x > static_cast<T>(threshold) ? x : static_cast<T>(value);
              });
            });
TORCHLET_OP_WITH(
    quantized_leaky_relu, on_meta(),
    "quantized::leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int "
    "output_zero_point) -> Tensor",
    [](const Tensor& qx, double slope, bool, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [=](auto x) {
        using T = decltype(x);
        return x > 0 ? x : x * static_cast<T>(slope);
      });
    });
TORCHLET_OP(quantized_prelu,
            "quantized::prelu(Tensor qx, Tensor weight, float output_scale, int output_zero_point) "
            "-> Tensor",
            [](const Tensor& qx, const Tensor& weight, double scale, int64_t zero_point) {
              return quantize_like(
                  call_float("aten::prelu", "", {dequantize(qx), dequantize(weight)}), qx, scale,
                  zero_point);
            });
TORCHLET_OP_WITH(
    quantized_elu, on_meta(),
    "quantized::elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, Scalar "
    "scale=1, Scalar input_scale=1) -> Tensor",
    elu);
TORCHLET_OP(quantized_celu,
            "quantized::celu(Tensor self, float output_scale, int output_zero_point, Scalar "
            "alpha=1) -> Tensor",
            [](const Tensor& qx, double scale, int64_t zero_point, double alpha) {
              TORCHLET_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
              return elu(qx, scale, zero_point, alpha, 1, 1 / alpha);
            });
TORCHLET_OP_WITH(
    quantized_hardswish, on_meta(),
    "quantized::hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [](auto x) {
        using T = decltype(x);
        return x * std::min(std::max(x + 3, T(0)), T(6)) / 6;
      });
    });
TORCHLET_OP_WITH(
    quantized_sigmoid, on_meta(),
    "quantized::sigmoid(Tensor qx, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, double scale, int64_t zero_point) {
      return map_quantized(qx, scale, zero_point, [](auto x) { return 1 / (1 + std::exp(-x)); });
    });
TORCHLET_OP_WITH(
    quantized_softmax, on_meta(),
    "quantized::softmax(Tensor qx, int dim, float output_scale, int output_zero_point) -> Tensor",
    [](const Tensor& qx, int64_t dim, double scale, int64_t zero_point) {
      return quantize_like(call_float("aten::softmax", "int", {dequantize(qx), dim, Value()}), qx,
                           scale, zero_point);
    });
TORCHLET_OP_WITH(
    quantized_dropout, may_alias(),
    "quantized::dropout(Tensor self, float output_scale, int output_zero_point, Scalar p=0.5, bool "
    "training=False) -> Tensor",
    [](const Tensor& qx, double, int64_t, const Scalar&, bool) { return qx; });

#define TORCHLET_QUANTIZED_BATCH_NORM(id, name, fn)                                   \
  TORCHLET_OP(quantized_##id,                                                         \
              "quantized::" name                                                      \
              "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor "        \
              "var, float eps, float output_scale, int output_zero_point) -> Tensor", \
              fn)
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm, "batch_norm", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm1d, "batch_norm1d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm2d, "batch_norm2d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm3d, "batch_norm3d", batch_norm<false>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm_relu, "batch_norm_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm1d_relu, "batch_norm1d_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm2d_relu, "batch_norm2d_relu", batch_norm<true>);
TORCHLET_QUANTIZED_BATCH_NORM(batch_norm3d_relu, "batch_norm3d_relu", batch_norm<true>);
#undef TORCHLET_QUANTIZED_BATCH_NORM
TORCHLET_OP(aten_quantized_batch_norm,
            "aten::quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, "
            "Tensor var, "
            "float eps, float output_scale, int output_zero_point) -> Tensor",
            batch_norm<false>);
TORCHLET_OP(quantized_layer_norm,
            "quantized::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? "
            "bias, float eps, "
            "float output_scale, int output_zero_point) -> Tensor",
            [](const Tensor& qx, const IntArray& shape, const Tensor& weight, const Tensor& bias,
               double eps, double scale, int64_t zero_point) {
              return quantize_like(layer_norm(dequantize(qx), shape, weight, bias, eps), qx, scale,
                                   zero_point);
            });
TORCHLET_OP(quantized_group_norm,
            "quantized::group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, "
            "float eps, float "
            "output_scale, int output_zero_point) -> Tensor",
            quantized_groups);
TORCHLET_OP(quantized_instance_norm,
            "quantized::instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float "
            "output_scale, "
            "int output_zero_point) -> Tensor",
            [](const Tensor& qx, const Tensor& weight, const Tensor& bias, double eps, double scale,
               int64_t zero_point) {
              return quantized_groups(qx, qx.size(1), weight, bias, eps, scale, zero_point);
            });

}  // namespace torchlet::ops
