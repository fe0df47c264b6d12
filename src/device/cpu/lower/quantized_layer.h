// Quantized weights as the kernels take them.
#pragma once

#include <vector>

#include "device/cpu/builder.h"
#include "kernels/quantized/elementwise_q8.h"
#include "kernels/quantized/layer_q8.h"

namespace torchlet::cpu {

// qint8 weights, per tensor or per channel along axis 0, and a bias; Declined for others. The
// scales of input and output are those of set_scales().
class QuantizedLayer {
 public:
  QuantizedLayer(const Tensor& weight, const Tensor& bias);
  QuantizedLayer(const QuantizedLayer&) = delete;

  void set_scales(const kernels::AffineQ8& input, float output_scale) {
    layer_.input_scale = input.scale;
    layer_.input_zero_point = input.zero_point;
    layer_.output_scale = output_scale;
  }
  const kernels::LayerQ8& operator*() const { return layer_; }

 private:
  Tensor weight_, bias_;
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  kernels::LayerQ8 layer_;
};

// Weights [out, in] of a dynamically quantized linear layer, which the plan keeps; Declined for
// those that are not quantized.
struct DynamicLinear {
  int64_t in, out;
  const void* packed;
};
DynamicLinear keep_dynamic_linear(PlanBuilder& plan, const Tensor& weight, const Tensor& bias);

// y[rows, out] of x[rows, in], clamped to [low, high]. `work` has linear_dynamic_q8_work_bytes.
void run_dynamic_linear(const DynamicLinear& linear, int64_t rows, const float* x, int64_t x_stride,
                        float low, float high, float* y, int64_t y_stride, uint8_t* work);

}  // namespace torchlet::cpu
