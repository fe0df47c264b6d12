// torch.classes.rnn.CellParamsBase: the weights of one direction of a dynamically quantized
// recurrent layer.
#pragma once

#include "ops/quantized/packed_params.h"

namespace torchlet::ops {

class CellParams : public CustomObject {
 public:
  static constexpr char kClassName[] = "__torch__.torch.classes.rnn.CellParamsBase";
  std::string_view class_name() const override { return kClassName; }

  Value get_state() const override;

  Ref<CustomObject> ih, hh;  // LinearPackedParams, with their biases
  bool has_float16_weights = false;
  // For engines other than QNNPACK, which Torchlet computes as: kept for them.
  bool reduce_range = false;

  const LinearPackedParams& input() const { return static_cast<const LinearPackedParams&>(*ih); }
  const LinearPackedParams& hidden() const { return static_cast<const LinearPackedParams&>(*hh); }
  Tensor linear_ih(const Tensor& x) const { return input().apply_dynamic(x, false); }
  Tensor linear_hh(const Tensor& h) const { return hidden().apply_dynamic(h, false); }
};

}  // namespace torchlet::ops
