// quantized::linear*, static and dynamic, and its packed parameters.
#include "ops/core/custom_class.h"
#include "ops/quantized/packed_params.h"

namespace torchlet::ops {
namespace {

const LinearPackedParams& packed(const Value& value) {
  return custom_object<LinearPackedParams>(value);
}

Value pack(const Tensor& weight, const Tensor& bias) {
  return Value(Ref<CustomObject>(make_ref<LinearPackedParams>(weight, bias)));
}

// (weight, bias) of fbgemm_utils.cpp.
Value set_state(const Value& state) {
  const std::vector<Value> items = state.to_tuple();
  TORCHLET_CHECK(items.size() == 2 && items[0].is_tensor(),
                 "the state of a LinearPackedParamsBase must be (weight, bias)");
  return pack(items[0].to_tensor(), FromValue<Tensor>::get(items[1]));
}

Tensor to_half_and_back(const Tensor& weight) {
  return weight.to(DType::kFloat16).to(DType::kFloat32);
}

std::tuple<Tensor, Tensor> unpack(const Value& params) {
  const auto [weight, bias] = packed(params).unpack();
  return {weight, bias};
}

template <bool kRelu>
Tensor linear_static(const Tensor& x, const Value& params, double scale, int64_t zero_point) {
  return packed(params).apply(x, scale, zero_point, kRelu);
}
template <bool kRelu>
Tensor linear_dynamic(const Tensor& x, const Value& params, bool /*reduce_range*/) {
  return packed(params).apply_dynamic(x, kRelu);
}
template <bool kRelu>
Tensor linear_dynamic_fp16(const Tensor& x, const Value& params) {
  return packed(params).apply_dynamic(x, kRelu);
}

#define TORCHLET_LINEAR "__torch__.torch.classes.quantized.LinearPackedParamsBase"

constexpr auto kUnpack = typed(unpack);
constexpr auto kBias = typed(+[](const Value& self) { return packed(self).unpack().second; });
constexpr CustomMethodDef kMethods[] = {
    {"unpack(" TORCHLET_LINEAR " self) -> (Tensor, Tensor?)", &kUnpack},
    {"bias(" TORCHLET_LINEAR " self) -> Tensor?", &kBias},
    {"__getstate__(" TORCHLET_LINEAR " self) -> (Tensor, Tensor?)", &kUnpack},
};

}  // namespace

extern const CustomClassDef class_quantized_linear;
constinit const CustomClassDef class_quantized_linear = {LinearPackedParams::kClassName, set_state,
                                                         kMethods};

TORCHLET_OP_WITH(quantized_linear, on_meta(),
                 "quantized::linear(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, float Y_scale_i, int Y_zero_point_i) -> "
                 "Tensor Y",
                 linear_static<false>);
TORCHLET_OP_WITH(quantized_linear_relu, on_meta(),
                 "quantized::linear_relu(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, float Y_scale_i, int "
                 "Y_zero_point_i) -> Tensor Y",
                 linear_static<true>);
TORCHLET_OP_WITH(quantized_linear_dynamic, on_meta(),
                 "quantized::linear_dynamic(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, bool reduce_range=False) -> "
                 "Tensor Y",
                 linear_dynamic<false>);
TORCHLET_OP_WITH(quantized_linear_relu_dynamic, on_meta(),
                 "quantized::linear_relu_dynamic(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, bool reduce_range=False) -> "
                 "Tensor Y",
                 linear_dynamic<true>);
TORCHLET_OP_WITH(quantized_linear_dynamic_fp16, on_meta(),
                 "quantized::linear_dynamic_fp16(Tensor X, " TORCHLET_LINEAR
                 " W_prepack) -> Tensor Y",
                 linear_dynamic_fp16<false>);
TORCHLET_OP_WITH(quantized_linear_relu_dynamic_fp16, on_meta(),
                 "quantized::linear_relu_dynamic_fp16(Tensor X, " TORCHLET_LINEAR
                 " W_prepack) -> Tensor Y",
                 linear_dynamic_fp16<true>);
TORCHLET_OP(quantized_linear_prepack,
            "quantized::linear_prepack(Tensor W, Tensor? B=None) -> " TORCHLET_LINEAR " W_prepack",
            pack);
TORCHLET_OP(quantized_linear_prepack_fp16,
            "quantized::linear_prepack_fp16(Tensor W, Tensor? B=None) -> " TORCHLET_LINEAR
            " W_prepack",
            [](const Tensor& weight, const Tensor& bias) {
              return pack(to_half_and_back(weight), bias);
            });
TORCHLET_OP(quantized_linear_unpack,
            "quantized::linear_unpack(" TORCHLET_LINEAR
            " W_prepack) -> (Tensor W_origin, Tensor? B_origin)",
            unpack);
TORCHLET_OP(quantized_linear_unpack_fp16,
            "quantized::linear_unpack_fp16(" TORCHLET_LINEAR
            " W_prepack) -> (Tensor W_origin, Tensor? "
            "B_origin)",
            unpack);
TORCHLET_OP_WITH(quantized_linear_alias, on_meta(),
                 "_quantized::linear(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, float Y_scale_i, int Y_zero_point_i) -> "
                 "Tensor Y",
                 linear_static<false>);
TORCHLET_OP_WITH(quantized_linear_dynamic_alias, on_meta(),
                 "_quantized::linear_dynamic(Tensor X, " TORCHLET_LINEAR
                 " W_prepack, bool reduce_range=False) -> "
                 "Tensor Y",
                 linear_dynamic<false>);
TORCHLET_OP(quantized_linear_prepack_alias,
            "_quantized::linear_prepack(Tensor W, Tensor? B=None) -> " TORCHLET_LINEAR " W_prepack",
            pack);

}  // namespace torchlet::ops
