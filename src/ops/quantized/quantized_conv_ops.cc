// quantized::conv*, plain, transposed, dynamic, and the packed parameters (conv_serialization.h). A
// conv1d is a conv2d of height 1.
#include <algorithm>

#include "ops/core/custom_class.h"
#include "ops/quantized/packed_params.h"

namespace torchlet::ops {
namespace {

const ConvPackedParams& packed(const Value& value) {
  return custom_object<ConvPackedParams>(value);
}

Value make(int64_t spatial, const Tensor& weight, const Tensor& bias, ConvParams params) {
  return Value(
      Ref<CustomObject>(make_ref<ConvPackedParams>(spatial, weight, bias, std::move(params))));
}

// ---- state ----

// [spatial, stride.., padding.., dilation.., output_padding.., groups, flags]; the lowest flag is
// `transposed`.
Value from_config(const IntArray& config, const Tensor& weight, const Tensor& bias) {
  TORCHLET_CHECK(!config.empty() && (config[0] == 2 || config[0] == 3),
                 "packed convolution parameters with %lld spatial dimensions",
                 static_cast<long long>(config.empty() ? 0 : config[0]));
  const size_t k = static_cast<size_t>(config[0]);
  TORCHLET_CHECK(config.size() == 4 * k + 3,
                 "packed convolution parameters of %zu numbers, expected %zu", config.size(),
                 4 * k + 3);
  auto part = [&](size_t i) {
    return IntArray(config.begin() + 1 + i * k, config.begin() + 1 + (i + 1) * k);
  };
  ConvParams params{part(0), part(1),          part(2), (config[4 * k + 2] & 1) != 0,
                    part(3), config[4 * k + 1]};
  return make(config[0], weight, bias, std::move(params));
}

IntArray integers(const Tensor& tensor) {
  const Tensor flat = tensor.to(DType::kInt64).contiguous();
  return IntArray(flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel());
}

IntArray integers(const std::vector<Tensor>& tensors) {
  IntArray result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.item<int64_t>());
  return result;
}

Value set_state(const Value& state) {
  const std::vector<Value> items = state.to_tuple();
  TORCHLET_CHECK(items.size() >= 3, "the state of packed convolution parameters has %zu items",
                 items.size());
  if (items[0].is_tensor()) {  // version 1: (weight, bias, stride[], padding[], dilation[], groups)
    TORCHLET_CHECK(items.size() >= 6,
                   "version 1 of packed convolution parameters has 6 items, not %zu", items.size());
    const bool has_output_padding = items.size() >= 8;
    ConvParams params;
    params.stride = integers(items[2].to_tensor_list());
    params.padding = integers(items[3].to_tensor_list());
    size_t next = 4;
    if (has_output_padding) params.output_padding = integers(items[next++].to_tensor_list());
    params.dilation = integers(items[next++].to_tensor_list());
    params.groups = items[next++].to_tensor().item<int64_t>();
    if (has_output_padding) params.transposed = items[next].to_tensor().item<bool>();
    const int64_t spatial = static_cast<int64_t>(params.stride.size());
    return make(spatial, items[0].to_tensor(), FromValue<Tensor>::get(items[1]), std::move(params));
  }
  if (items[0].is_string()) {  // version 2: ("2", [config, weight], [bias?])
    const std::vector<Tensor> tensors = items[1].to_tensor_list(),
                              optional = items[2].to_tensor_list();
    TORCHLET_CHECK(items[0].to_string() == "2" && tensors.size() >= 2,
                   "unknown version '%s' of packed convolution parameters",
                   items[0].to_string().c_str());
    return from_config(integers(tensors[0]), tensors[1], optional.empty() ? Tensor() : optional[0]);
  }
  // version 3: (3, config, [None, weight, bias?])
  const std::vector<Tensor> tensors = items[2].to_tensor_list();
  TORCHLET_CHECK(items[0].to_int() == 3 && tensors.size() >= 3,
                 "unknown version of packed convolution parameters");
  return from_config(FromValue<IntArray>::get(items[1]), tensors[1], tensors[2]);
}

}  // namespace

// Version 2, which every release reads.
Value ConvPackedParams::get_state() const {
  const auto k = static_cast<size_t>(spatial_);
  IntArray config = {spatial_};
  const auto add = [&](const IntArray& values, int64_t absent) {
    for (size_t i = 0; i < k; ++i) {
      config.push_back(values.empty() ? absent : values[std::min(i, values.size() - 1)]);
    }
  };
  add(params_.stride, 1);
  add(params_.padding, 0);
  add(params_.dilation, 1);
  add(params_.output_padding, 0);
  config.push_back(params_.groups);
  config.push_back(params_.transposed ? 1 : 0);
  const Tensor numbers = empty(IntArray{std::ssize(config)}, DType::kInt16);
  std::ranges::copy(config, numbers.data_ptr<int16_t>());
  return Value::tuple({"2", make_tensor_list({numbers, weight()}),
                       make_list(types::optional(types::tensor()), {Value(bias())})});
}

namespace {

// ---- packing ----

template <int kSpatial>
Value prepack(const Tensor& weight, const Tensor& bias, const IntArray& stride,
              const IntArray& padding, const IntArray& dilation, int64_t groups) {
  return make(kSpatial, weight, bias, {stride, padding, dilation, false, {}, groups});
}

template <int kSpatial>
Value prepack_transposed(const Tensor& weight, const Tensor& bias, const IntArray& stride,
                         const IntArray& padding, const IntArray& output_padding,
                         const IntArray& dilation, int64_t groups) {
  return make(kSpatial, weight, bias, {stride, padding, dilation, true, output_padding, groups});
}

// One spatial dimension as two of which the first is 1.
IntArray with_height(const IntArray& values, int64_t height) { return {height, values[0]}; }

Value prepack_1d(const Tensor& weight, const Tensor& bias, const IntArray& stride,
                 const IntArray& padding, const IntArray& dilation, int64_t groups) {
  return prepack<2>(unsqueeze(weight, 2), bias, with_height(stride, 1), with_height(padding, 0),
                    with_height(dilation, 1), groups);
}

Value prepack_transposed_1d(const Tensor& weight, const Tensor& bias, const IntArray& stride,
                            const IntArray& padding, const IntArray& output_padding,
                            const IntArray& dilation, int64_t groups) {
  return prepack_transposed<2>(unsqueeze(weight, 2), bias, with_height(stride, 1),
                               with_height(padding, 0), with_height(output_padding, 0),
                               with_height(dilation, 1), groups);
}

std::tuple<Tensor, Tensor> unpack(const Value& params) {
  return {packed(params).weight(), packed(params).bias()};
}
std::tuple<Tensor, Tensor> unpack_1d(const Value& params) {
  return {squeeze(packed(params).weight(), 2), packed(params).bias()};
}

// ---- running ----

template <bool kRelu>
Tensor run(const Tensor& x, const Value& params, double scale, int64_t zero_point) {
  return packed(params).apply(x, scale, zero_point, kRelu);
}
template <bool kRelu>
Tensor run_1d(const Tensor& x, const Value& params, double scale, int64_t zero_point) {
  return squeeze(packed(params).apply(unsqueeze(x, 2), scale, zero_point, kRelu), 2);
}
// The overload of old files repeats what is packed.
template <bool kRelu>
Tensor run_old(const Tensor& x, const Value& params, const IntArray&, const IntArray&,
               const IntArray&, int64_t, double scale, int64_t zero_point) {
  return packed(params).apply(x, scale, zero_point, kRelu);
}
Tensor run_dynamic(const Tensor& x, const Value& params, bool /*reduce_range*/) {
  return packed(params).apply_dynamic(x);
}
Tensor run_dynamic_1d(const Tensor& x, const Value& params, bool /*reduce_range*/) {
  return squeeze(packed(params).apply_dynamic(unsqueeze(x, 2)), 2);
}

#define TORCHLET_CONV2D "__torch__.torch.classes.quantized.Conv2dPackedParamsBase"
#define TORCHLET_CONV3D "__torch__.torch.classes.quantized.Conv3dPackedParamsBase"

constexpr auto kWeight = typed(+[](const Value& self) { return packed(self).weight(); });
constexpr auto kUnpack = typed(unpack);
constexpr auto kBias = typed(+[](const Value& self) { return packed(self).bias(); });
constexpr auto kStride = typed(+[](const Value& self) { return packed(self).params().stride; });
constexpr auto kPadding = typed(+[](const Value& self) { return packed(self).params().padding; });
constexpr auto kOutputPadding =
    typed(+[](const Value& self) { return packed(self).params().output_padding; });
constexpr auto kDilation = typed(+[](const Value& self) { return packed(self).params().dilation; });
constexpr auto kGroups = typed(+[](const Value& self) { return packed(self).params().groups; });
constexpr auto kTransposed =
    typed(+[](const Value& self) { return packed(self).params().transposed; });

#define TORCHLET_CONV_METHODS(type)                                                          \
  {"weight(" type " self) -> Tensor", &kWeight}, {"bias(" type " self) -> Tensor?", &kBias}, \
      {"unpack(" type " self) -> (Tensor, Tensor?)", &kUnpack},                              \
      {"stride(" type " self) -> int[]", &kStride},                                          \
      {"padding(" type " self) -> int[]", &kPadding},                                        \
      {"output_padding(" type " self) -> int[]", &kOutputPadding},                           \
      {"dilation(" type " self) -> int[]", &kDilation},                                      \
      {"groups(" type " self) -> int", &kGroups}, {                                          \
    "transpose(" type " self) -> bool", &kTransposed                                         \
  }
constexpr CustomMethodDef kMethods2d[] = {TORCHLET_CONV_METHODS(TORCHLET_CONV2D)};
constexpr CustomMethodDef kMethods3d[] = {TORCHLET_CONV_METHODS(TORCHLET_CONV3D)};
#undef TORCHLET_CONV_METHODS

}  // namespace

extern const CustomClassDef class_quantized_conv2d, class_quantized_conv3d;
constinit const CustomClassDef class_quantized_conv2d = {ConvPackedParams::kClassName, set_state,
                                                         kMethods2d};
constinit const CustomClassDef class_quantized_conv3d = {ConvPackedParams::kClassName3d, set_state,
                                                         kMethods3d};

#define TORCHLET_RUN(id, ns, name, type, fn)                     \
  TORCHLET_OP_WITH(id, on_meta(),                                \
                   ns "::" name "(Tensor qx, " type              \
                      " packed_weight, float output_scale, int " \
                      "output_zero_point) -> Tensor",            \
                   fn)
TORCHLET_RUN(quantized_conv1d, "quantized", "conv1d", TORCHLET_CONV2D, run_1d<false>);
TORCHLET_RUN(quantized_conv1d_relu, "quantized", "conv1d_relu", TORCHLET_CONV2D, run_1d<true>);
TORCHLET_RUN(quantized_conv2d, "quantized", "conv2d.new", TORCHLET_CONV2D, run<false>);
TORCHLET_RUN(quantized_conv2d_relu, "quantized", "conv2d_relu.new", TORCHLET_CONV2D, run<true>);
TORCHLET_RUN(quantized_conv3d, "quantized", "conv3d.new", TORCHLET_CONV3D, run<false>);
TORCHLET_RUN(quantized_conv3d_relu, "quantized", "conv3d_relu.new", TORCHLET_CONV3D, run<true>);
TORCHLET_RUN(quantized_conv_transpose1d, "quantized", "conv_transpose1d", TORCHLET_CONV2D,
             run_1d<false>);
TORCHLET_RUN(quantized_conv_transpose2d, "quantized", "conv_transpose2d", TORCHLET_CONV2D,
             run<false>);
TORCHLET_RUN(quantized_conv_transpose3d, "quantized", "conv_transpose3d", TORCHLET_CONV3D,
             run<false>);
TORCHLET_RUN(quantized_conv2d_alias, "_quantized", "conv2d", TORCHLET_CONV2D, run<false>);
TORCHLET_RUN(quantized_conv2d_relu_alias, "_quantized", "conv2d_relu", TORCHLET_CONV2D, run<true>);
TORCHLET_RUN(quantized_conv3d_alias, "_quantized", "conv3d", TORCHLET_CONV3D, run<false>);
TORCHLET_RUN(quantized_conv3d_relu_alias, "_quantized", "conv3d_relu", TORCHLET_CONV3D, run<true>);
TORCHLET_RUN(quantized_conv_transpose1d_alias, "_quantized", "conv_transpose1d", TORCHLET_CONV2D,
             run_1d<false>);
TORCHLET_RUN(quantized_conv_transpose2d_alias, "_quantized", "conv_transpose2d", TORCHLET_CONV2D,
             run<false>);
#undef TORCHLET_RUN

#define TORCHLET_RUN_OLD(id, name, type, fn)                                                     \
  TORCHLET_OP_WITH(id, on_meta(),                                                                \
                   "quantized::" name "(Tensor qx, " type                                        \
                   " weight, int[] stride, int[] padding, int[] "                                \
                   "dilation, int groups, float output_scale, int output_zero_point) -> Tensor", \
                   fn)
TORCHLET_RUN_OLD(quantized_conv2d_old, "conv2d", TORCHLET_CONV2D, run_old<false>);
TORCHLET_RUN_OLD(quantized_conv2d_relu_old, "conv2d_relu", TORCHLET_CONV2D, run_old<true>);
TORCHLET_RUN_OLD(quantized_conv3d_old, "conv3d", TORCHLET_CONV3D, run_old<false>);
TORCHLET_RUN_OLD(quantized_conv3d_relu_old, "conv3d_relu", TORCHLET_CONV3D, run_old<true>);
#undef TORCHLET_RUN_OLD

#define TORCHLET_RUN_DYNAMIC(id, name, type, fn)                         \
  TORCHLET_OP_WITH(id, on_meta(),                                        \
                   "quantized::" name "(Tensor qx, " type                \
                   " packed_weight, bool reduce_range=False) -> Tensor", \
                   fn)
TORCHLET_RUN_DYNAMIC(quantized_conv1d_dynamic, "conv1d_dynamic", TORCHLET_CONV2D, run_dynamic_1d);
TORCHLET_RUN_DYNAMIC(quantized_conv2d_dynamic, "conv2d_dynamic", TORCHLET_CONV2D, run_dynamic);
TORCHLET_RUN_DYNAMIC(quantized_conv3d_dynamic, "conv3d_dynamic", TORCHLET_CONV3D, run_dynamic);
TORCHLET_RUN_DYNAMIC(quantized_conv_transpose1d_dynamic, "conv_transpose1d_dynamic",
                     TORCHLET_CONV2D, run_dynamic_1d);
TORCHLET_RUN_DYNAMIC(quantized_conv_transpose2d_dynamic, "conv_transpose2d_dynamic",
                     TORCHLET_CONV2D, run_dynamic);
TORCHLET_RUN_DYNAMIC(quantized_conv_transpose3d_dynamic, "conv_transpose3d_dynamic",
                     TORCHLET_CONV3D, run_dynamic);
#undef TORCHLET_RUN_DYNAMIC

#define TORCHLET_PREPACK(id, ns, name, type, fn)                                     \
  TORCHLET_OP(id,                                                                    \
              ns "::" name                                                           \
                 "(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] " \
                 "dilation, int groups) -> " type,                                   \
              fn)
TORCHLET_PREPACK(quantized_conv1d_prepack, "quantized", "conv1d_prepack", TORCHLET_CONV2D,
                 prepack_1d);
TORCHLET_PREPACK(quantized_conv2d_prepack, "quantized", "conv2d_prepack", TORCHLET_CONV2D,
                 prepack<2>);
TORCHLET_PREPACK(quantized_conv_prepack, "quantized", "conv_prepack", TORCHLET_CONV2D, prepack<2>);
TORCHLET_PREPACK(quantized_conv3d_prepack, "quantized", "conv3d_prepack", TORCHLET_CONV3D,
                 prepack<3>);
TORCHLET_PREPACK(quantized_conv2d_prepack_alias, "_quantized", "conv2d_prepack", TORCHLET_CONV2D,
                 prepack<2>);
TORCHLET_PREPACK(quantized_conv3d_prepack_alias, "_quantized", "conv3d_prepack", TORCHLET_CONV3D,
                 prepack<3>);
#undef TORCHLET_PREPACK

#define TORCHLET_PREPACK_TRANSPOSED(id, name, type, fn)                           \
  TORCHLET_OP(id,                                                                 \
              "quantized::" name                                                  \
              "(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] " \
              "output_padding, int[] dilation, int groups) -> " type,             \
              fn)
TORCHLET_PREPACK_TRANSPOSED(quantized_conv_transpose1d_prepack, "conv_transpose1d_prepack",
                            TORCHLET_CONV2D, prepack_transposed_1d);
TORCHLET_PREPACK_TRANSPOSED(quantized_conv_transpose2d_prepack, "conv_transpose2d_prepack",
                            TORCHLET_CONV2D, prepack_transposed<2>);
TORCHLET_PREPACK_TRANSPOSED(quantized_conv_transpose3d_prepack, "conv_transpose3d_prepack",
                            TORCHLET_CONV3D, prepack_transposed<3>);
#undef TORCHLET_PREPACK_TRANSPOSED

#define TORCHLET_UNPACK(id, name, type, fn)                    \
  TORCHLET_OP(id,                                              \
              "quantized::" name "_unpack(" type               \
              " packed_weights) -> (Tensor unpacked_weights, " \
              "Tensor? B_origin)",                             \
              fn)
TORCHLET_UNPACK(quantized_conv_unpack, "conv", TORCHLET_CONV2D, unpack);
TORCHLET_UNPACK(quantized_conv1d_unpack, "conv1d", TORCHLET_CONV2D, unpack_1d);
TORCHLET_UNPACK(quantized_conv2d_unpack, "conv2d", TORCHLET_CONV2D, unpack);
TORCHLET_UNPACK(quantized_conv3d_unpack, "conv3d", TORCHLET_CONV3D, unpack);
TORCHLET_UNPACK(quantized_conv_transpose1d_unpack, "conv_transpose1d", TORCHLET_CONV2D, unpack_1d);
TORCHLET_UNPACK(quantized_conv_transpose2d_unpack, "conv_transpose2d", TORCHLET_CONV2D, unpack);
TORCHLET_UNPACK(quantized_conv_transpose3d_unpack, "conv_transpose3d", TORCHLET_CONV3D, unpack);
#undef TORCHLET_UNPACK

}  // namespace torchlet::ops
