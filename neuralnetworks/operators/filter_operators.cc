// What brings NNAPI's quantized filters and biases into the form that PyTorch packs.
#include <algorithm>

#include "ops/core/common.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

// qint8 of the same numbers, with the dimensions permuted; scales of channels follow theirs.
Tensor quantized_filter(const Tensor& filter, const IntArray& dims) {
  const Tensor permuted = permute(filter, dims).contiguous();
  const Quantizer& quantizer = *filter.impl()->quantizer;
  auto made = std::make_shared<Quantizer>(quantizer);
  if (!quantizer.per_tensor()) {
    made->axis = std::ranges::find(dims, quantizer.axis) - dims.begin();
  }
  const bool is_unsigned = filter.dtype() == DType::kQUInt8;
  if (is_unsigned) made->zero_point -= 128;
  Tensor result = empty_quantized(permuted.sizes(), DType::kQInt8, std::move(made));
  const auto* from = reinterpret_cast<const uint8_t*>(permuted.impl()->data());
  auto* to = reinterpret_cast<uint8_t*>(result.impl()->data());
  const uint8_t flip = is_unsigned ? 0x80 : 0;
  std::transform(from, from + permuted.numel(), to, [&](uint8_t value) { return value ^ flip; });
  return result;
}

// int32 [C] -> float32 [C]: NNAPI's biases are integers in the scale of the sums of products, that
// of the input times that of the filter, or of each of its channels.
Tensor quantized_bias(const Tensor& bias, double input_scale, const Tensor& filter) {
  TORCHLET_CHECK(bias.dim() == 1, "the bias has %lld dimensions in place of 1",
                 static_cast<long long>(bias.dim()));
  const Quantizer& weights = *filter.impl()->quantizer;
  const Tensor integers = bias.contiguous();
  TORCHLET_CHECK(weights.per_tensor() || weights.scales.numel() == bias.numel(),
                 "the bias has %lld channels and the filter %lld",
                 static_cast<long long>(bias.numel()),
                 static_cast<long long>(weights.scales.numel()));
  Tensor result = empty(bias.sizes(), DType::kFloat32);
  for (int64_t i = 0; i < bias.numel(); ++i) {
    const double scale =
        weights.per_tensor() ? weights.scale : weights.scales.data_ptr<double>()[i];
    result.data_ptr<float>()[i] =
        static_cast<float>(integers.data_ptr<int32_t>()[i] * (input_scale * scale));
  }
  return result;
}

}  // namespace

TORCHLET_OP(nnapi_quantized_filter, "nnapi::quantized_filter(Tensor filter, int[] dims) -> Tensor",
            quantized_filter);
TORCHLET_OP(nnapi_quantized_bias,
            "nnapi::quantized_bias(Tensor bias, float input_scale, Tensor filter) -> Tensor",
            quantized_bias);

}  // namespace torchlet::ops
