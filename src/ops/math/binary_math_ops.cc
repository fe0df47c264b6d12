// Functions of two tensors beyond arithmetic: angles, logarithms, gcd, bit operations.
#include <bit>
#include <cmath>
#include <numbers>

#include "ops/core/op.h"
#include "ops/engines/integer_math.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"

namespace torchlet::ops {
namespace {

// ---- floats; integers give floats ----

Tensor atan2(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal, true>(self, other, dtype,
                                [](auto a, auto b) { return std::atan2(a, b); });
}
Tensor hypot(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal>(self, other, dtype, [](auto a, auto b) { return std::hypot(a, b); });
}
Tensor copysign(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal | kMapSteps, true>(self, other, dtype,
                                            [](auto a, auto b) { return std::copysign(a, b); });
}
// The next bfloat16 after a towards b: a float whose low 16 bits are zero.
float next_bfloat16(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return b;
  if (a == 0) return std::copysign(0x1p-133f, b);
  const uint32_t bits = std::bit_cast<uint32_t>(a);
  return std::bit_cast<float>((a < b) == (a > 0) ? bits + 0x10000u : bits - 0x10000u);
}
Tensor nextafter(const Tensor& self, const Tensor& other, DType dtype) {
  TORCHLET_CHECK(dtype != DType::kFloat16, "\"nextafter_cpu\" not implemented for 'Half'");
  if (dtype == DType::kBFloat16) {
    return map<kMapReal, 2>({self, other}, dtype, [](auto a, auto b) {
      return static_cast<decltype(a)>(next_bfloat16(static_cast<float>(a), static_cast<float>(b)));
    });
  }
  return binary<kMapReal>(self, other, dtype, [](auto a, auto b) { return std::nextafter(a, b); });
}
Tensor xlogy(const Tensor& self, const Tensor& other, DType dtype) {
  const Tensor y = operand(other, to_float_type(dtype)).to(to_float_type(dtype));
  return map<kMapReal | kMapSteps, 3>(
      {operand(self, y.dtype()), y, log(y)}, y.dtype(), [](auto x, auto b, auto log_b) {
        using T = decltype(x);
        return choose(x == T(0), choose(b == b, T(0), b), x * log_b);
      });
}
Tensor xlog1py(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal, true>(self, other, dtype, [](auto a, auto b) {
    return static_cast<decltype(a)>(special::xlog1py(a, b));
  });
}
Tensor zeta(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal, true>(self, other, dtype, [](auto a, auto b) {
    return static_cast<decltype(a)>(special::zeta(a, b));
  });
}
Tensor igamma(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal>(self, other, dtype, [](auto a, auto x) {
    return static_cast<decltype(a)>(special::igamma(a, x));
  });
}
Tensor igammac(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal>(self, other, dtype, [](auto a, auto x) {
    return static_cast<decltype(a)>(special::igammac(a, x));
  });
}

// log(e^a + e^b) and log2(2^a + 2^b), without overflow: `unit` is the logarithm of the base.
Tensor logaddexp_of(const Tensor& self, const Tensor& other, DType dtype, double unit) {
  const Tensor distance = binary<kMapReal | kMapSteps>(
      self, other, dtype, [](auto a, auto b) { return -std::abs(a - b); });
  return map<kMapReal | kMapSteps, 3>({self, other, softplus(distance, unit)}, dtype,
                                      [](auto a, auto b, auto more) {
                                        return std::isinf(a) && a == b ? a : std::max(a, b) + more;
                                      });
}
Tensor logaddexp(const Tensor& self, const Tensor& other, DType dtype) {
  return logaddexp_of(self, other, dtype, 1);
}
Tensor logaddexp2(const Tensor& self, const Tensor& other, DType dtype) {
  return logaddexp_of(self, other, dtype, std::numbers::ln2);
}

Tensor heaviside(const Tensor& self, const Tensor& values) {
  TORCHLET_CHECK(self.dtype() == values.dtype(),
                 "heaviside is not yet implemented for tensors with different dtypes.");
  return binary<kMapReal | kMapInt>(self, values, self.dtype(), [](auto x, auto value) {
    using T = decltype(x);
    return x == T(0) ? value : T(x > T(0));
  });
}

// self * 2^other, as PyTorch's composition: an integer `other` gives floats.
Tensor ldexp(const Tensor& self, const Tensor& other) {
  const DType dtype = result_type(other, Scalar(2.0));
  auto power = [](auto x) { return std::exp2(x); };
  return mul(self, map<kMapReal, 1>({other}, dtype, power));
}

// ---- integers ----

Tensor gcd(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapInt>(self, other, dtype, [](auto a, auto b) { return greatest_divisor(a, b); });
}
Tensor lcm(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapInt>(self, other, dtype, [](auto a, auto b) {
    const auto divisor = greatest_divisor(a, b);
    return divisor == 0 ? 0 : wrap_abs(wrap_mul(a / divisor, b));
  });
}

constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
Tensor bitwise_and(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapInt | kMapSteps>(self, other, dtype, kAnd);
}
Tensor bitwise_or(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapInt | kMapSteps>(self, other, dtype, kOr);
}
Tensor bitwise_xor(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapInt | kMapSteps>(self, other, dtype, kXor);
}
// fn into self, by the bodies of f, where its dtype is the result's.
Tensor in_place_of(const Tensor& self, const Scalar& other, BinaryFn fn,
                   const detail::BlockBody (&bodies)[4], const void* f) {
  const DType dtype = result_type(self, other);
  const Tensor number = scalar_tensor(other, dtype);
  if (dtype != self.dtype()) return assign(self, fn(self, number, dtype));
  return detail::map_compute(Operands<2>(self, number), dtype, false, bodies, true, f, &self);
}
template <typename F>
Tensor in_place(const Tensor& self, const Scalar& other, BinaryFn fn, const F& f) {
  using Bodies = detail::Bodies<kMapInt | kMapSteps, false, 2, F>;
  return in_place_of(self, other, fn, Bodies::kBodies, &f);
}
Tensor bitwise_not(const Tensor& self) {
  const bool flip = self.dtype() == DType::kBool;
  return map<kMapInt | kMapSteps, 1>({self}, self.dtype(),
                                     [flip](auto x) { return flip ? decltype(x)(x == 0) : ~x; });
}

// A shift by the width of the type or more, or by a negative count, empties it (the sign stays on a
// right shift).
Tensor left_shift(const Tensor& self, const Tensor& other, DType dtype) {
  const int64_t width = static_cast<int64_t>(element_size(dtype)) * 8;
  return binary<kMapInt>(self, other, dtype, [width](auto a, auto b) {
    return b < 0 || b >= width ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  });
}
Tensor right_shift(const Tensor& self, const Tensor& other, DType dtype) {
  const int64_t last = static_cast<int64_t>(element_size(dtype)) * 8 - 1;
  return binary<kMapInt>(self, other, dtype,
                         [last](auto a, auto b) { return a >> (b < 0 || b > last ? last : b); });
}

}  // namespace

#define TORCHLET_BINARY(name, fn)                              \
  TORCHLET_OP_WITH(name, inplace() | out("out") | pointwise(), \
                   "aten::" #name "(Tensor self, Tensor other) -> Tensor", fn)

TORCHLET_BINARY(atan2, tensors<atan2>);
TORCHLET_BINARY(hypot, tensors<hypot>);
TORCHLET_BINARY(nextafter, tensors<nextafter>);
TORCHLET_BINARY(logaddexp, tensors<logaddexp>);
TORCHLET_BINARY(logaddexp2, tensors<logaddexp2>);
TORCHLET_BINARY(igamma, tensors<igamma>);
TORCHLET_BINARY(igammac, tensors<igammac>);
TORCHLET_BINARY(gcd, tensors<gcd>);
TORCHLET_BINARY(lcm, tensors<lcm>);
TORCHLET_OP_WITH(ldexp_Tensor, inplace("") | out("out") | pointwise(),
                 "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", ldexp);
TORCHLET_OP_WITH(heaviside, inplace() | out("out") | pointwise(),
                 "aten::heaviside(Tensor self, Tensor values) -> Tensor", heaviside);
TORCHLET_OP_WITH(copysign_Tensor, inplace() | out("out") | pointwise(),
                 "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", tensors<copysign>);
TORCHLET_OP_WITH(copysign_Scalar, inplace() | out("Scalar_out") | pointwise(),
                 "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
                 with_scalar<copysign>);

TORCHLET_OP_WITH(xlogy_Tensor, inplace() | out("OutTensor") | pointwise(),
                 "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", tensors<xlogy>);
TORCHLET_OP_WITH(xlogy_Scalar_Other, inplace() | out("OutScalar_Other") | pointwise(),
                 "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
                 with_scalar<xlogy>);
TORCHLET_OP_WITH(xlogy_Scalar_Self, out("OutScalar_Self") | pointwise(),
                 "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
                 scalar_first<xlogy>);

// special.name(x, y) with either of them a number.
#define TORCHLET_SPECIAL_BINARY(name, fn)                                                \
  TORCHLET_OP_WITH(name, out("out") | pointwise(),                                       \
                   "aten::" #name "(Tensor self, Tensor other) -> Tensor", tensors<fn>); \
  TORCHLET_OP_WITH(name##_other_scalar, out("other_scalar_out") | pointwise(),           \
                   "aten::" #name ".other_scalar(Tensor self, Scalar other) -> Tensor",  \
                   with_scalar<fn>);                                                     \
  TORCHLET_OP_WITH(name##_self_scalar, out("self_scalar_out") | pointwise(),             \
                   "aten::" #name ".self_scalar(Scalar self, Tensor other) -> Tensor",   \
                   scalar_first<fn>)

TORCHLET_SPECIAL_BINARY(special_xlogy, xlogy);
TORCHLET_SPECIAL_BINARY(special_xlog1py, xlog1py);
TORCHLET_SPECIAL_BINARY(special_zeta, zeta);

#define TORCHLET_BITWISE(name)                                                                    \
  TORCHLET_OP_WITH(name##_Tensor, inplace() | out("Tensor_out") | pointwise(),                    \
                   "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor", tensors<name>); \
  TORCHLET_OP_WITH(name##_Scalar, inplace() | out("Scalar_out") | pointwise(),                    \
                   "aten::" #name ".Scalar(Tensor self, Scalar other) -> Tensor",                 \
                   with_scalar<name>);                                                            \
  TORCHLET_OP_WITH(name##_Scalar_Tensor, out("Scalar_Tensor_out") | pointwise(),                  \
                   "aten::" #name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor",          \
                   scalar_first<name>)

TORCHLET_BITWISE(bitwise_and);
TORCHLET_BITWISE(bitwise_or);
TORCHLET_BITWISE(bitwise_xor);
TORCHLET_OP_WITH(bitwise_not, inplace() | out("out") | pointwise(),
                 "aten::bitwise_not(Tensor self) -> Tensor", bitwise_not);

#define TORCHLET_SHIFT(name, fn)                                                                \
  TORCHLET_OP_WITH(name##_Tensor, inplace() | out("Tensor_out") | pointwise(),                  \
                   "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor", tensors<fn>); \
  TORCHLET_OP_WITH(name##_Tensor_Scalar, inplace() | out("Tensor_Scalar_out") | pointwise(),    \
                   "aten::" #name ".Tensor_Scalar(Tensor self, Scalar other) -> Tensor",        \
                   with_scalar<fn>);                                                            \
  TORCHLET_OP_WITH(name##_Scalar_Tensor, out("Scalar_Tensor_out") | pointwise(),                \
                   "aten::" #name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor",        \
                   scalar_first<fn>)

TORCHLET_SHIFT(bitwise_left_shift, left_shift);
TORCHLET_SHIFT(bitwise_right_shift, right_shift);

// Python's operators; __iand__ and its like are the in-place forms.
#define TORCHLET_PYTHON_OPERATOR(name, fn, variants, in_place_scalar)                     \
  TORCHLET_OP_WITH(__##name##___Tensor, variants("Tensor_out") | pointwise(),             \
                   "aten::__" #name "__.Tensor(Tensor self, Tensor other) -> Tensor",     \
                   tensors<fn>);                                                          \
  TORCHLET_OP_WITH(__##name##___Scalar, variants("Scalar_out") | pointwise(),             \
                   "aten::__" #name "__.Scalar(Tensor self, Scalar other) -> Tensor",     \
                   with_scalar<fn>);                                                      \
  TORCHLET_OP(__i##name##___Tensor,                                                       \
              "aten::__i" #name "__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", \
              [](const Tensor& self, const Tensor& other) {                               \
                return assign(self, tensors<fn>(self, other));                            \
              });                                                                         \
  TORCHLET_OP(__i##name##___Scalar,                                                       \
              "aten::__i" #name "__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", \
              [](const Tensor& self, const Scalar& other) { return in_place_scalar; })
#define TORCHLET_NO_OUT(overload) Traits()

TORCHLET_PYTHON_OPERATOR(and, bitwise_and, TORCHLET_NO_OUT,
                         in_place(self, other, bitwise_and, kAnd));
TORCHLET_PYTHON_OPERATOR(or, bitwise_or, TORCHLET_NO_OUT, in_place(self, other, bitwise_or, kOr));
TORCHLET_PYTHON_OPERATOR(xor, bitwise_xor, TORCHLET_NO_OUT,
                         in_place(self, other, bitwise_xor, kXor));
TORCHLET_PYTHON_OPERATOR(lshift, left_shift, out,
                         assign(self, with_scalar<left_shift>(self, other)));
TORCHLET_PYTHON_OPERATOR(rshift, right_shift, out,
                         assign(self, with_scalar<right_shift>(self, other)));

}  // namespace torchlet::ops
