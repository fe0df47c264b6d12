// The C++ objects behind torch.classes.quantized.*PackedParamsBase: quantized weights, made ready.
//
// The answers are QNNPACK's, PyTorch's engine on phones, bit for bit: the bias is rounded to the
// scale of the sums, sums of integers are exact, and one float multiplication with rounding to even
// brings them to the output's scale (qnnpack/src/requantization). The reference computes the sums
// with the same convolution and matrix product as float models, on integers held in floats; they
// are exact below 2^24, and longer sums are computed in double.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "ops/nn/convolution.h"
#include "tensor/containers.h"

namespace torchlet::ops {

// A quantized weight as the compute needs it.
class QuantizedWeight {
 public:
  // `terms` is how many products one output sums.
  QuantizedWeight(const Tensor& quantized, int64_t channel_axis, int64_t terms);

  // q - zero_point, same shape, of a dtype that holds the sums. Four or eight times the memory of
  // the weight, which plans never ask for: made when it is, and kept. Any thread may ask. Beside a
  // meta tensor `x`, a meta tensor.
  Tensor centred_beside(const Tensor& x) const;

  const Tensor original;  // qint8, as it was packed
  const Tensor scales;    // float32 [output channels], or [1]
  const DType dtype;      // of sums: float32, or float64 if that could not hold them

 private:
  mutable std::once_flag is_made_;
  mutable Tensor centred_;
};

class LinearPackedParams : public CustomObject {
 public:
  static constexpr char kClassName[] = "__torch__.torch.classes.quantized.LinearPackedParamsBase";
  std::string_view class_name() const override { return kClassName; }
  Value get_state() const override { return Value::tuple({unpack().first, unpack().second}); }

  // weight [out, in]: qint8 (per tensor, or per channel on axis 0), or float for fp16 dynamic; bias
  // [out] or undefined.
  LinearPackedParams(const Tensor& weight, Tensor bias);

  // x quint8 [..., in] -> [..., out] quantized.
  Tensor apply(const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  // x float: quantized for the product by its own range, result float.
  Tensor apply_dynamic(const Tensor& x, bool relu) const;
  std::pair<Tensor, Tensor> unpack() const;
  bool is_float() const { return float_weight_.defined(); }

 private:
  std::optional<QuantizedWeight> weight_;
  Tensor float_weight_;
  Tensor bias_;
};

class ConvPackedParams : public CustomObject {
 public:
  // weight [O, C / groups, kernel...] (transposed: [C, O / groups, kernel...]) qint8; `spatial` is
  // 2 or 3.
  ConvPackedParams(int64_t spatial, const Tensor& weight, Tensor bias, ConvParams params);
  std::string_view class_name() const override { return spatial_ == 2 ? kClassName : kClassName3d; }
  static constexpr char kClassName[] = "__torch__.torch.classes.quantized.Conv2dPackedParamsBase";
  static constexpr char kClassName3d[] = "__torch__.torch.classes.quantized.Conv3dPackedParamsBase";
  // quantized_conv_ops.cc, where it is read, too.
  Value get_state() const override;

  // x quint8 [N, C, spatial...] -> quantized.
  Tensor apply(const Tensor& x, double scale, int64_t zero_point, bool relu) const;
  // x float -> float.
  Tensor apply_dynamic(const Tensor& x) const;

  const Tensor& weight() const { return weight_.original; }
  const Tensor& bias() const { return bias_; }
  const ConvParams& params() const { return params_; }

 private:
  // Exact sums of integers [N, O, spatial...].
  Tensor sums(const Tensor& x) const;

  int64_t spatial_;
  QuantizedWeight weight_;
  Tensor bias_;
  ConvParams params_;
};

// Integers minus zero point, as floats of `dtype`.
Tensor centred(const Tensor& quantized, DType dtype);

}  // namespace torchlet::ops
