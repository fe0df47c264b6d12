// prepacked::* : what optimize_for_mobile makes of convolutions and linear layers, with an optional
// clamp of the output. The contexts hold the original float weights (xnnpack/OpContext.h).
#include <cmath>

#include "ops/core/custom_class.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/matmul.h"
#include "ops/nn/convolution.h"

namespace torchlet::ops {
namespace {

Value bound_value(const std::optional<Scalar>& bound) { return bound ? Value(*bound) : Value(); }

struct Clamp {
  std::optional<Scalar> low, high;

  Tensor operator()(const Tensor& x) const {
    if (!low && !high) return x;
    const double least = low ? low->to_double() : -INFINITY,
                 most = high ? high->to_double() : INFINITY;
    return map<kMapReal, 1>({x}, x.dtype(), [=](auto v) {
      using T = decltype(v);
      return std::min(std::max(v, static_cast<T>(least)), static_cast<T>(most));
    });
  }
};

class LinearContext : public CustomObject {
 public:
  static constexpr char kClassName[] = "__torch__.torch.classes.xnnpack.LinearOpContext";
  std::string_view class_name() const override { return kClassName; }
  Value get_state() const override {
    return Value::tuple({weight, bias, bound_value(clamp.low), bound_value(clamp.high)});
  }
  Tensor weight, bias;
  Clamp clamp;
};

class ConvContext : public CustomObject {
 public:
  static constexpr char kClassName[] = "__torch__.torch.classes.xnnpack.Conv2dOpContext";
  static constexpr char kTransposedName[] =
      "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext";
  std::string_view class_name() const override {
    return params.transposed ? kTransposedName : kClassName;
  }
  Value get_state() const override {
    std::vector<Value> items = {weight, bias, make_int_list(params.stride),
                                make_int_list(params.padding)};
    if (params.transposed) items.push_back(make_int_list(params.output_padding));
    items.insert(items.end(), {make_int_list(params.dilation), params.groups,
                               bound_value(clamp.low), bound_value(clamp.high)});
    return Value::tuple(std::move(items));
  }
  Tensor weight, bias;
  ConvParams params;
  Clamp clamp;
};

Value linear_prepack(const Tensor& weight, const Tensor& bias, std::optional<Scalar> low,
                     std::optional<Scalar> high) {
  auto context = make_ref<LinearContext>();
  context->weight = weight;
  context->bias = bias;
  context->clamp = {low, high};
  return Value(Ref<CustomObject>(context));
}

Value conv_context(const Tensor& weight, const Tensor& bias, ConvParams params,
                   std::optional<Scalar> low, std::optional<Scalar> high) {
  auto context = make_ref<ConvContext>();
  context->weight = weight;
  context->bias = bias;
  context->params = std::move(params);
  context->clamp = {low, high};
  return Value(Ref<CustomObject>(context));
}

Value conv_prepack(const Tensor& weight, const Tensor& bias, const IntArray& stride,
                   const IntArray& padding, const IntArray& dilation, int64_t groups,
                   std::optional<Scalar> low, std::optional<Scalar> high) {
  return conv_context(weight, bias, {stride, padding, dilation, false, {}, groups}, low, high);
}

Value transposed_prepack(const Tensor& weight, const Tensor& bias, const IntArray& stride,
                         const IntArray& padding, const IntArray& output_padding,
                         const IntArray& dilation, int64_t groups, std::optional<Scalar> low,
                         std::optional<Scalar> high) {
  return conv_context(weight, bias, {stride, padding, dilation, true, output_padding, groups}, low,
                      high);
}

Tensor linear_run(const Tensor& x, const Value& value) {
  const auto& context = custom_object<LinearContext>(value);
  return context.clamp(linear(x, context.weight, context.bias));
}

Tensor conv_run(const Tensor& x, const Value& value) {
  const auto& context = custom_object<ConvContext>(value);
  return context.clamp(convolution(x, context.weight, context.bias, context.params));
}

// ---- states ----

std::vector<Value> state_items(const Value& state, size_t least, const char* name) {
  std::vector<Value> items = state.to_tuple();
  TORCHLET_CHECK(items.size() >= least, "the state of a %s has %zu items, expected %zu", name,
                 items.size(), least);
  items.resize(std::max(items.size(), least + 2));  // old files have no clamp
  return items;
}

std::optional<Scalar> bound(const Value& value) {
  return FromValue<std::optional<Scalar>>::get(value);
}
IntArray ints(const Value& value) { return FromValue<IntArray>::get(value); }

Value linear_state(const Value& state) {
  const auto items = state_items(state, 2, "LinearOpContext");
  return linear_prepack(items[0].to_tensor(), FromValue<Tensor>::get(items[1]), bound(items[2]),
                        bound(items[3]));
}

// (weight, bias, stride, padding, dilation, groups, min, max). The first versions wrote padding
// before stride; a stride of 0 cannot be, so it tells them.
Value conv_state(const Value& state) {
  const auto items = state_items(state, 6, "Conv2dOpContext");
  IntArray stride = ints(items[2]), padding = ints(items[3]);
  for (const int64_t step : stride) {
    if (step == 0) {
      std::swap(stride, padding);
      break;
    }
  }
  return conv_prepack(items[0].to_tensor(), FromValue<Tensor>::get(items[1]), stride, padding,
                      ints(items[4]), items[5].to_int(), bound(items[6]), bound(items[7]));
}

Value transposed_state(const Value& state) {
  const auto items = state_items(state, 7, "TransposeConv2dOpContext");
  return transposed_prepack(items[0].to_tensor(), FromValue<Tensor>::get(items[1]), ints(items[2]),
                            ints(items[3]), ints(items[4]), ints(items[5]), items[6].to_int(),
                            bound(items[7]), bound(items[8]));
}

#define TORCHLET_LINEAR_CONTEXT "__torch__.torch.classes.xnnpack.LinearOpContext"
#define TORCHLET_CONV_CONTEXT "__torch__.torch.classes.xnnpack.Conv2dOpContext"
#define TORCHLET_TRANSPOSED_CONTEXT "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext"

}  // namespace

#define TORCHLET_CONTEXT(id, name, state) \
  extern const CustomClassDef class_##id; \
  constinit const CustomClassDef class_##id = {name, state, {}}
TORCHLET_CONTEXT(xnnpack_linear, LinearContext::kClassName, linear_state);
TORCHLET_CONTEXT(xnnpack_conv2d, ConvContext::kClassName, conv_state);
TORCHLET_CONTEXT(xnnpack_conv2d_transposed, ConvContext::kTransposedName, transposed_state);
// The names of 2019.
TORCHLET_CONTEXT(xnnpack_linear_old, "__torch__.torch.classes.xnnpack.XNNPackLinearOpContext",
                 linear_state);
TORCHLET_CONTEXT(xnnpack_conv2d_old, "__torch__.torch.classes.xnnpack.XNNPackConv2dOpContext",
                 conv_state);
#undef TORCHLET_CONTEXT

TORCHLET_OP(prepacked_linear_run,
            "prepacked::linear_clamp_run(Tensor X, " TORCHLET_LINEAR_CONTEXT
            " W_prepack) -> Tensor Y",
            linear_run);
TORCHLET_OP(prepacked_conv2d_run,
            "prepacked::conv2d_clamp_run(Tensor X, " TORCHLET_CONV_CONTEXT
            " W_prepack) -> Tensor Y",
            conv_run);
TORCHLET_OP(prepacked_conv2d_transpose_run,
            "prepacked::conv2d_transpose_clamp_run(Tensor X, " TORCHLET_TRANSPOSED_CONTEXT
            " W_prepack) -> Tensor Y",
            conv_run);
TORCHLET_OP(
    prepacked_linear_prepack,
    "prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, Scalar? "
    "output_max=None) -> " TORCHLET_LINEAR_CONTEXT,
    linear_prepack);
TORCHLET_OP(
    prepacked_conv2d_prepack,
    "prepacked::conv2d_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] padding, int[2] "
    "dilation, "
    "int groups, Scalar? output_min=None, Scalar? output_max=None) -> " TORCHLET_CONV_CONTEXT,
    conv_prepack);
TORCHLET_OP(prepacked_conv2d_transpose_prepack,
            "prepacked::conv2d_transpose_clamp_prepack(Tensor W, Tensor? B, int[2] stride, int[2] "
            "padding, int[2] "
            "output_padding, int[2] dilation, int groups, Scalar? output_min=None, Scalar? "
            "output_max=None) "
            "-> " TORCHLET_TRANSPOSED_CONTEXT,
            transposed_prepack);

}  // namespace torchlet::ops
