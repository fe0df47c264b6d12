// Activation functions. They keep the dtype; all but the clamping ones want floats.
#include <cmath>
#include <numbers>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/core/op.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/quantize.h"
#include "ops/math/math.h"
#include "ops/random/random.h"

namespace torchlet::ops {
namespace {

using kernels::DoubleFunction;
using UnaryOp = kernels::MatrixUnaryOp;

// The kernel for float32 and the 16-bit floats, f for float64.
template <typename F>
Tensor activation(kernels::UnaryFunction* kernel, const Tensor& self, float alpha, F f) {
  if (has_kernel(self.dtype())) return kernel_map(kernel, self, self.dtype(), alpha);
  return map<kMapDouble, 1>({self}, self.dtype(), f);
}
// By a kernel with those parameters for floats, else by f.
template <typename F>
Tensor activation(kernels::MatrixUnaryOp op, const Tensor& self, const UnaryParameters& parameters,
                  F f) {
  if (has_kernel(self.dtype())) return kernel_map(op, self, self.dtype(), parameters);
  return map<kMapDouble, 1>({self}, self.dtype(), f);
}
// By the kernel for floats, and for doubles as composed_doubles().
template <typename Prepare, typename Finish>
Tensor activation(FloatKernel kernel, const Tensor& self, const UnaryParameters& parameters,
                  std::initializer_list<DoubleFunction> functions, const Prepare& prepare,
                  const Finish& finish) {
  const DType dtype = self.dtype();
  if (has_kernel(dtype) && kernel.function) return kernel_map(kernel.function, self, dtype);
  if (has_kernel(dtype)) return kernel_map(kernel.op, self, dtype, parameters);
  if constexpr (selection::kHasFloat64) {
    if (dtype == DTypeOf<double>::value)
      return composed_doubles<1>(functions, {self}, prepare, finish);
  }
  detail::fail_not_implemented(dtype);
}
UnaryParameters parameters(double alpha, double beta = 0, double gamma = 1) {
  return {static_cast<float>(alpha), static_cast<float>(beta), static_cast<float>(gamma)};
}

Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  TORCHLET_CHECK(self.dtype() != DType::kBool, "Bool inputs not supported for hardtanh");
  if (is_integral(self.dtype(), false)) {
    TORCHLET_CHECK(
        self.dtype() != DType::kUInt8 || (min_val.to_int() >= 0 && max_val.to_int() >= 0),
        "cannot do hardtanh on an unsigned type with negative limits");
    return clamp(self, Scalar(min_val.to_int()), Scalar(max_val.to_int()));
  }
  return clamp(self, min_val, max_val);
}

Tensor relu6(const Tensor& self) { return hardtanh(self, 0, 6); }

Tensor hardswish(const Tensor& self) {
  return activation(kernels::hardswish_f32, self, 0, [](auto x) {
    using T = decltype(x);
    return x * std::min(std::max(x + T(3), T(0)), T(6)) / T(6);
  });
}

Tensor hardsigmoid(const Tensor& self) {
  if (self.is_quantized()) return quantize_unit(hardsigmoid(dequantize(self)), self.dtype(), 0, 1);
  return activation(kernels::hardsigmoid_f32, self, 0, [](auto x) {
    using T = decltype(x);
    return std::min(std::max(x + T(3), T(0)), T(6)) / T(6);
  });
}

// x > 0 ? scale x : scale alpha (e^(input_scale x) - 1)
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale,
           const Scalar& input_scale) {
  const double negative = alpha.to_double() * scale.to_double(), positive = scale.to_double(),
               inner = input_scale.to_double();
  const UnaryParameters p = parameters(alpha.to_double(), inner, positive);
  return activation(
      UnaryOp::kElu, self, p, {DoubleFunction::kExpm1}, [=](double x) { return x * inner; },
      [=](double x, double y) { return choose(x <= 0, y * negative, x * positive); });
}

Tensor selu(const Tensor& self) {
  return elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

Tensor celu(const Tensor& self, const Scalar& alpha) {
  TORCHLET_CHECK(alpha.to_double() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(self, alpha, 1, 1 / alpha.to_double());
}

Tensor silu(const Tensor& self) {
  if (is_complex(self.dtype())) {
    return map<kMapComplex, 1>({self}, self.dtype(),
                               [](auto x) { return x / (1.0 + std::exp(-x)); });
  }
  return activation(
      kernels::silu_f32, self, {}, {DoubleFunction::kSigmoid}, [](double x) { return x; },
      [](double x, double y) { return x * y; });
}

Tensor mish(const Tensor& self) {
  return activation(
      UnaryOp::kMish, self, {},
      {DoubleFunction::kExp, DoubleFunction::kLog1p, DoubleFunction::kTanh},
      [](double x) { return x; }, [](double x, double y) { return x * y; });
}

Tensor softshrink(const Tensor& self, const Scalar& lambd) {
  const double limit = lambd.to_double();
  TORCHLET_CHECK(limit >= 0, "lambda must be greater or equal to 0, but found to be %g.", limit);
  return map<kMapReal | kMapSteps, 1>({self}, self.dtype(), [limit](auto x) {
    using T = decltype(x);
    return choose(std::abs(x) > T(limit), x - std::copysign(T(limit), x), T(0));  // 0 of NaN
  });
}

Tensor hardshrink(const Tensor& self, const Scalar& lambd) {
  const double limit = lambd.to_double();
  return activation(UnaryOp::kHardshrink, self, parameters(limit), [limit](auto x) {
    using T = decltype(x);
    return x >= -T(limit) && x <= T(limit) ? T(0) : x;
  });
}

Tensor threshold(const Tensor& self, const Scalar& limit, const Scalar& value) {
  if (self.is_quantized()) {
    return map_quantized(self, [&](const Tensor& x) { return threshold(x, limit, value); });
  }
  const Tensor bounds = scalar_tensor(limit, self.dtype());
  return map<kMapReal | kMapInt | kMapSteps, 3>(
      {self, bounds, scalar_tensor(value, self.dtype())}, self.dtype(),
      [](auto x, auto t, auto v) { return x <= t ? v : x; });
}

Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope) {
  if (self.is_quantized()) {
    return map_quantized(self, [&](const Tensor& x) { return leaky_relu(x, negative_slope); });
  }
  const double slope = negative_slope.to_double();
  return activation(kernels::leaky_relu_f32, self, static_cast<float>(slope),
                    [slope](auto x) { return x > 0 ? x : x * static_cast<decltype(x)>(slope); });
}

// One slope for all, or one per channel (dimension 1).
Tensor prelu(const Tensor& self, const Tensor& weight) {
  TORCHLET_CHECK(weight.dim() <= 1,
                 "prelu: Expected `weight` to be a scalar or 1D tensor, but got ndim = %lld",
                 static_cast<long long>(weight.dim()));
  Tensor slopes = weight;
  if (weight.numel() == 1) {
    slopes = reshape(weight, {});
  } else {
    TORCHLET_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
    TORCHLET_CHECK(channels == weight.numel(),
                   "Mismatch of parameter numbers and input channel size. Found parameter numbers "
                   "= %lld and channel size = %lld.",
                   static_cast<long long>(weight.numel()), static_cast<long long>(channels));
    IntArray shape(static_cast<size_t>(self.dim()), 1);
    shape[1] = channels;
    slopes = reshape(weight, shape);
  }
  if (has_kernel(self.dtype())) {
    return kernel_map(kernels::MatrixBinaryOp::kPrelu, self, slopes, self.dtype());
  }
  return map<kMapReal, 2>({self, slopes}, self.dtype(),
                          [](auto x, auto w) { return x > 0 ? x : x * w; });
}

// A leaky relu whose slope is the middle of [lower, upper], or random for each element in training:
// the slopes (1 for positive elements) are then written to `noise`.
Tensor rrelu_with_noise(const Tensor& self, const Tensor& noise, const Scalar& lower,
                        const Scalar& upper, bool training, const Value&) {
  TORCHLET_CHECK(lower.to_double() <= upper.to_double(),
                 "Lower bound should be less than or equal to the upper bound");
  if (!training) return leaky_relu(self, (lower.to_double() + upper.to_double()) / 2);
  const Tensor slopes = empty_like(self);
  fill_uniform(slopes, lower.to_double(), upper.to_double());
  noise.copy_(map<kMapReal, 2>({self, slopes}, self.dtype(),
                               [](auto x, auto slope) { return x <= 0 ? slope : decltype(x)(1); }));
  return mul(self, noise);
}
Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             const Value& generator) {
  return rrelu_with_noise(self, empty_like(self), lower, upper, training, generator);
}

std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  return {log_sigmoid(self), exp(neg(abs(self)))};
}

// First half times the sigmoid of the second.
Tensor glu(const Tensor& self, int64_t dim) {
  TORCHLET_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t size = self.size(dim), half = size / 2;
  TORCHLET_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension %lld is size %lld",
                 static_cast<long long>(wrap_dim(dim, self.dim())), static_cast<long long>(size));
  return composed<2>(
      kernels::sigmoid_f32, {narrow(self, dim, 0, half), narrow(self, dim, half, half)},
      self.dtype(), [](auto, auto gate) { return gate; },
      [](auto gate) { return 1 / (1 + std::exp(-gate)); },
      [](auto x, auto, auto sigmoid) { return x * sigmoid; });
}

Tensor gelu_named(const Tensor& self, const std::string& approximate) {
  TORCHLET_CHECK(approximate == "none" || approximate == "tanh",
                 "approximate argument must be either none or tanh.");
  return gelu(self, approximate == "tanh");
}

}  // namespace

Tensor relu(const Tensor& self) {
  TORCHLET_CHECK(self.dtype() != DType::kBool, "Boolean inputs not supported for relu");
  return clamp(self, Scalar(0), std::nullopt);
}

namespace {

// As layers have it, which is exact enough for 16-bit floats.
template <kernels::ActivationKind kKind>
void of_layer(const float* x, float* y, int64_t n, float /*alpha*/, float /*beta*/) {
  kernels::activation_rows_f32({kKind}, 1, n, x, n, y, n);
}

}  // namespace

Tensor gelu(const Tensor& self, bool tanh_approximation) {
  if (self.is_quantized()) {
    return map_quantized(self, [&](const Tensor& x) { return gelu(x, tanh_approximation); });
  }
  if (is_half(self.dtype())) {
    using enum kernels::ActivationKind;
    return kernel_map(tanh_approximation ? of_layer<kGeluTanh> : of_layer<kGelu>, self,
                      self.dtype());
  }
  if (tanh_approximation) {
    const double factor = std::sqrt(2 / std::numbers::pi);
    return activation(
        kernels::gelu_tanh_f32, self, {}, {DoubleFunction::kTanh},
        [=](double x) { return factor * (x + 0.044715 * x * x * x); },
        [](double x, double y) { return 0.5 * x * (1 + y); });
  }
  return activation(kernels::gelu_f32, self, 0, [](auto x) {
    using T = decltype(x);
    return T(0.5) * x * (T(1) + std::erf(x / std::numbers::sqrt2_v<T>));
  });
}

Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const double b = beta.to_double(), limit = threshold.to_double();
  return activation(
      UnaryOp::kSoftplus, self, parameters(b, limit),
      {DoubleFunction::kExp, DoubleFunction::kLog1p}, [=](double x) { return x * b; },
      [=](double x, double y) { return choose(x * b > limit, x, y / b); });
}

Tensor log_sigmoid(const Tensor& self) {
  // It is -softplus(-x).
  return activation(
      UnaryOp::kSoftplus, self, parameters(-1, 20), {DoubleFunction::kExp, DoubleFunction::kLog1p},
      [](double x) { return -std::abs(x); },
      [](double x, double y) { return std::min(0.0, x) - y; });
}

#define TORCHLET_ACTIVATION(name, quantized, fn)                           \
  TORCHLET_OP_WITH(name, inplace() | out("out") | pointwise() | quantized, \
                   "aten::" #name "(Tensor self) -> Tensor", fn)

TORCHLET_ACTIVATION(relu, quantized_as_input(), [](const Tensor& self) { return relu(self); });
TORCHLET_OP_WITH(relu6, inplace() | pointwise() | quantized_as_input(),
                 "aten::relu6(Tensor self) -> Tensor", relu6);
TORCHLET_ACTIVATION(hardswish, Traits(), hardswish);
TORCHLET_ACTIVATION(hardsigmoid, quantized_unit(), hardsigmoid);
TORCHLET_ACTIVATION(silu, Traits(), silu);
TORCHLET_ACTIVATION(mish, Traits(), mish);
TORCHLET_OP_WITH(selu, inplace() | pointwise(), "aten::selu(Tensor self) -> Tensor", selu);
TORCHLET_OP_WITH(hardtanh, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
                 hardtanh);
TORCHLET_OP_WITH(elu, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) "
                 "-> Tensor",
                 elu);
TORCHLET_OP_WITH(celu, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", celu);
TORCHLET_OP_WITH(gelu, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", gelu_named);
TORCHLET_OP_WITH(softplus, out("out") | pointwise(),
                 "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
                 [](const Tensor& self, const Scalar& beta, const Scalar& threshold) {
                   return softplus(self, beta, threshold);
                 });
TORCHLET_OP_WITH(softshrink, out("out") | pointwise(),
                 "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", softshrink);
TORCHLET_OP_WITH(hardshrink, out("out") | pointwise(),
                 "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", hardshrink);
TORCHLET_OP_WITH(threshold, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                 threshold);
TORCHLET_OP_WITH(leaky_relu, inplace() | out("out") | pointwise() | quantized_as_input(),
                 "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", leaky_relu);
TORCHLET_OP_WITH(prelu,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu);
TORCHLET_OP_WITH(rrelu, inplace() | keeps_rank() | keeps_dtype() | varies("training"),
                 "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar "
                 "upper=0.33333333333333331, bool training=False, Generator? generator=None) "
                 "-> Tensor",
                 rrelu);
TORCHLET_OP_WITH(rrelu_with_noise,
                 inplace() | out("out") | writes("noise", "training") | varies("training"),
                 "aten::rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
                 "upper=0.33333333333333331, bool training=False, Generator? generator=None) "
                 "-> Tensor",
                 rrelu_with_noise);
TORCHLET_OP_WITH(log_sigmoid, out("out") | pointwise(), "aten::log_sigmoid(Tensor self) -> Tensor",
                 [](const Tensor& self) { return log_sigmoid(self); });
TORCHLET_OP_WITH(log_sigmoid_forward, out("output(output, buffer)"),
                 "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
                 log_sigmoid_forward);
TORCHLET_OP_WITH(glu, out("out") | on_meta() | keeps_rank() | keeps_dtype(),
                 "aten::glu(Tensor self, int dim=-1) -> Tensor", glu);

}  // namespace torchlet::ops
