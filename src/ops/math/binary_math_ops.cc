// Functions of two tensors beyond arithmetic: angles, logarithms, gcd, bit operations.
#include <bit>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include "ops/core/op.h"
#include "ops/engines/integer_math.h"
#include "ops/engines/kernel_map.h"
#include "ops/engines/narrow.h"
#include "ops/math/binary.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"

namespace torchlet::ops {
namespace {

// ---- floats; integers give floats ----

Tensor atan2_as(const Tensor& self, const Tensor& other, DType dtype) {
  const DType result = to_float_type(dtype);
  return composed<2>(
      kernels::atan_f32, {operand(self, result), operand(other, result)}, result,
      [](auto a, auto b) {  // the slope without signs; 0 / 0 is 0, and infinities are equal
        using T = decltype(a);
        const T y = std::abs(a), x = std::abs(b);
        return choose(y == x, choose(y == T(0), T(0), T(1)), y / x);
      },
      [](auto slope) { return std::atan(slope); },
      [](auto a, auto b, auto angle) {
        using T = decltype(a);
        const T right = choose(std::copysign(T(1), b) < T(0), std::numbers::pi_v<T> - angle, angle);
        return std::copysign(right, a);
      });
}
Tensor hypot(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal | kMapSteps>(self, other, dtype, [](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), float>) {  // squares of floats fit doubles
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const double x = a, y = b;
      const bool is_infinite = std::fabs(a) == kInfinity || std::fabs(b) == kInfinity;
      return choose(is_infinite, kInfinity, static_cast<float>(std::sqrt(x * x + y * y)));
    } else {
      return std::hypot(a, b);
    }
  });
}
Tensor copysign(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal | kMapSteps, true>(self, other, dtype,
                                            [](auto a, auto b) { return std::copysign(a, b); });
}
// The next number after a towards b, of those whose bits are multiples of `unit`: 1 for floats, and
// 2^16 for bfloat16.
[[gnu::always_inline]] inline float next_after(float a, float b, uint32_t unit) {
  const auto bits = std::bit_cast<uint32_t>(a);
  const auto next = std::bit_cast<float>((a < b) == (a > 0) ? bits + unit : bits - unit);
  const float from_zero = std::copysign(std::bit_cast<float>(unit), b);
  const float unequal = choose(a == 0, from_zero, next);
  return choose((a != a) | (b != b), a + b, choose(a == b, b, unequal));
}
Tensor nextafter(const Tensor& self, const Tensor& other, DType dtype) {
  TORCHLET_CHECK(dtype != DType::kFloat16, "\"nextafter_cpu\" not implemented for 'Half'");
  const uint32_t unit = dtype == DType::kBFloat16 ? 0x10000 : 1;
  return binary<kMapReal | kMapSteps>(self, other, dtype, [unit](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), float>) {
      return next_after(a, b, unit);
    } else {
      return std::nextafter(a, b);
    }
  });
}
// x times a logarithm of y: 0 where x is, unless y is NaN.
constexpr auto times_logarithm = [](auto x, auto y, auto log) {
  using T = decltype(x);
  return choose(x == T(0), choose(y == y, T(0), y), x * log);
};
Tensor xlogy(const Tensor& self, const Tensor& other, DType dtype) {
  const DType result = to_float_type(dtype);
  return composed<2>(
      kernels::MatrixUnaryOp::kLog, {operand(self, result), operand(other, result)}, result,
      [](auto, auto y) { return y; }, [](auto y) { return std::log(y); }, times_logarithm);
}
Tensor xlog1py(const Tensor& self, const Tensor& other, DType dtype) {
  const DType result = to_float_type(dtype);
  return composed<2>(
      kernels::MatrixUnaryOp::kLog1p, {operand(self, result), operand(other, result)}, result,
      [](auto, auto y) { return y; }, [](auto y) { return std::log1p(y); }, times_logarithm);
}
Tensor zeta(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal, true>(self, other, dtype,
                                [](auto s, auto q) { return special::zeta(s, q); });
}
Tensor igamma(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal>(self, other, dtype, [](auto a, auto x) { return special::igamma(a, x); });
}
Tensor igammac(const Tensor& self, const Tensor& other, DType dtype) {
  return binary<kMapReal>(self, other, dtype,
                          [](auto a, auto x) { return special::igammac(a, x); });
}

// log(e^a + e^b) and log2(2^a + 2^b), without overflow: `unit` is the logarithm of the base.
Tensor logaddexp_of(const Tensor& self, const Tensor& other, DType dtype, double unit) {
  const Tensor distance = binary<kMapReal | kMapSteps>(
      self, other, dtype, [](auto a, auto b) { return -std::abs(a - b); });
  return map<kMapReal | kMapSteps, 3>({self, other, softplus(distance, unit)}, dtype,
                                      [](auto a, auto b, auto more) {
                                        const bool same = a == b && std::isinf(a);
                                        return choose(same, a, choose(a < b, b, a) + more);
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
  return binary<kMapReal | kMapInt | kMapSteps>(self, values, self.dtype(), [](auto x, auto value) {
    using T = decltype(x);
    return choose(x == T(0), value, choose(x > T(0), T(1), T(0)));
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

template <NarrowOp op, class F>
struct Bitwise {
  F operator()(DType) const { return F(); }
  NarrowOp narrow = op;
};
constexpr Bitwise<NarrowOp::kAnd, std::bit_and<>> kAnd;
constexpr Bitwise<NarrowOp::kOr, std::bit_or<>> kOr;
constexpr Bitwise<NarrowOp::kXor, std::bit_xor<>> kXor;
Tensor bitwise_not(const Tensor& self) {
  if (is_narrow(self.dtype())) {
    return narrow_map(NarrowOp::kXor, self, scalar_tensor(-1, self.dtype()), self.dtype());
  }
  const int64_t flipped = self.dtype() == DType::kBool ? 1 : -1;
  return map<kMapInt | kMapSteps, 1>({self}, self.dtype(),
                                     [flipped](auto x) { return x ^ flipped; });
}

// A shift by the width of the type or more, or by a negative count, empties it (the sign stays on a
// right shift). Without branches, and the sign apart, since AVX2 shifts what has none.
struct LeftShift {
  int64_t operator()(int64_t a, int64_t b) const {
    const uint64_t bits = static_cast<uint64_t>(a) << (b & 63);
    return choose(static_cast<uint64_t>(b) < width, static_cast<int64_t>(bits), int64_t{0});
  }
  uint64_t width;
};
struct RightShift {
  int64_t operator()(int64_t a, int64_t b) const {
    const uint64_t sign = a < 0 ? ~uint64_t{0} : 0;
    const uint64_t count = std::min(static_cast<uint64_t>(b), width - 1);
    return static_cast<int64_t>(((static_cast<uint64_t>(a) ^ sign) >> count) ^ sign);
  }
  uint64_t width;
};
constexpr auto kLeftShift = [](DType dtype) { return LeftShift{element_size(dtype) * 8}; };
constexpr auto kRightShift = [](DType dtype) { return RightShift{element_size(dtype) * 8}; };

// An operator of integers that is `make(dtype)` of two elements.
template <auto make>
Tensor of_integers(const Tensor& self, const Tensor& other, DType dtype) {
  if constexpr (requires { make.narrow; }) {
    if (is_narrow(dtype)) return narrow_map(make.narrow, self, other, dtype);
  }
  return binary<kMapInt | kMapSteps>(self, other, dtype, make(dtype));
}
// The same into self, where its dtype is the result's. Another operand in self's memory might be
// written before it is read.
Tensor in_place_of(const Tensor& self, const Tensor& other, DType dtype, BinaryFn fn,
                   std::optional<NarrowOp> narrow, const detail::BlockBody (&bodies)[4],
                   const void* f) {
  const bool is_apart = other.impl()->storage != self.impl()->storage;
  if (dtype != self.dtype() || !is_apart ||
      !std::ranges::equal(broadcast_shapes(self.sizes(), other.sizes()), self.sizes())) {
    return assign(self, fn(self, other, dtype));
  }
  check_no_internal_overlap(self);
  if (narrow && (is_narrow(dtype) || dtype == DType::kBool)) {
    return narrow_map(*narrow, self, other, dtype, &self);
  }
  return detail::map_compute(Operands<2>(self, operand(other, dtype)), dtype, false, bodies, true,
                             f, &self);
}
template <auto make>
Tensor in_place(const Tensor& self, const Tensor& other, DType dtype) {
  auto f = make(dtype);
  using Bodies = detail::Bodies<kMapInt | kMapSteps, false, 2, decltype(f)>;
  std::optional<NarrowOp> narrow;
  if constexpr (selection::kHasConversions && requires { make.narrow; }) narrow = make.narrow;
  return in_place_of(self, other, dtype, of_integers<make>, narrow, Bodies::kBodies, &f);
}

}  // namespace

Tensor atan2(const Tensor& self, const Tensor& other) { return tensors<atan2_as>(self, other); }

#define TORCHLET_BINARY(name, fn)                              \
  TORCHLET_OP_WITH(name, inplace() | out("out") | pointwise(), \
                   "aten::" #name "(Tensor self, Tensor other) -> Tensor", fn)

TORCHLET_BINARY(atan2, atan2);
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

#define TORCHLET_BITWISE(name, fn)                                                       \
  TORCHLET_OP_WITH(name##_Tensor, inplace() | out("Tensor_out") | pointwise(),           \
                   "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor",        \
                   tensors<of_integers<fn>>);                                            \
  TORCHLET_OP_WITH(name##_Scalar, inplace() | out("Scalar_out") | pointwise(),           \
                   "aten::" #name ".Scalar(Tensor self, Scalar other) -> Tensor",        \
                   with_scalar<of_integers<fn>>);                                        \
  TORCHLET_OP_WITH(name##_Scalar_Tensor, out("Scalar_Tensor_out") | pointwise(),         \
                   "aten::" #name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", \
                   scalar_first<of_integers<fn>>)

TORCHLET_BITWISE(bitwise_and, kAnd);
TORCHLET_BITWISE(bitwise_or, kOr);
TORCHLET_BITWISE(bitwise_xor, kXor);
TORCHLET_OP_WITH(bitwise_not, inplace() | out("out") | pointwise(),
                 "aten::bitwise_not(Tensor self) -> Tensor", bitwise_not);

#define TORCHLET_SHIFT(name, fn)                                                             \
  TORCHLET_OP_WITH(name##_Tensor, inplace() | out("Tensor_out") | pointwise(),               \
                   "aten::" #name ".Tensor(Tensor self, Tensor other) -> Tensor",            \
                   tensors<of_integers<fn>>);                                                \
  TORCHLET_OP_WITH(name##_Tensor_Scalar, inplace() | out("Tensor_Scalar_out") | pointwise(), \
                   "aten::" #name ".Tensor_Scalar(Tensor self, Scalar other) -> Tensor",     \
                   with_scalar<of_integers<fn>>);                                            \
  TORCHLET_OP_WITH(name##_Scalar_Tensor, out("Scalar_Tensor_out") | pointwise(),             \
                   "aten::" #name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor",     \
                   scalar_first<of_integers<fn>>)

TORCHLET_SHIFT(bitwise_left_shift, kLeftShift);
TORCHLET_SHIFT(bitwise_right_shift, kRightShift);

// Python's operators; __iand__ and its like are the in-place forms.
#define TORCHLET_PYTHON_OPERATOR(name, fn, variants)                                      \
  TORCHLET_OP_WITH(__##name##___Tensor, variants("Tensor_out") | pointwise(),             \
                   "aten::__" #name "__.Tensor(Tensor self, Tensor other) -> Tensor",     \
                   tensors<of_integers<fn>>);                                             \
  TORCHLET_OP_WITH(__##name##___Scalar, variants("Scalar_out") | pointwise(),             \
                   "aten::__" #name "__.Scalar(Tensor self, Scalar other) -> Tensor",     \
                   with_scalar<of_integers<fn>>);                                         \
  TORCHLET_OP(__i##name##___Tensor,                                                       \
              "aten::__i" #name "__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", \
              tensors<in_place<fn>>);                                                     \
  TORCHLET_OP(__i##name##___Scalar,                                                       \
              "aten::__i" #name "__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", \
              with_scalar<in_place<fn>>)
#define TORCHLET_NO_OUT(overload) Traits()

TORCHLET_PYTHON_OPERATOR(and, kAnd, TORCHLET_NO_OUT);
TORCHLET_PYTHON_OPERATOR(or, kOr, TORCHLET_NO_OUT);
TORCHLET_PYTHON_OPERATOR(xor, kXor, TORCHLET_NO_OUT);
TORCHLET_PYTHON_OPERATOR(lshift, kLeftShift, out);
TORCHLET_PYTHON_OPERATOR(rshift, kRightShift, out);

}  // namespace torchlet::ops
