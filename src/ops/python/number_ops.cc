// Arithmetic, comparisons and mathematics on Python numbers (int, float, complex, bool). Where
// Python and TorchScript differ, TorchScript's C++ rules hold: 1 / 0 is inf, log(0) is -inf
// (register_prim_ops.cpp).
#include <cmath>

#include "ops/core/op.h"
#include "ops/engines/integer_math.h"

namespace torchlet::ops {
namespace {

using Complex = std::complex<double>;

// Runs f on the widest kind of the two numbers.
template <typename F>
Value arithmetic(const Value& a, const Value& b, F f) {
  if (a.is_complex() || b.is_complex()) {
    if constexpr (std::is_invocable_v<F, Complex, Complex>) {
      return Value(f(a.to_complex(), b.to_complex()));
    }
    fail(ErrorCode::kRuntime, "this operator is not defined for complex numbers");
  }
  if (a.is_float() || b.is_float()) return Value(f(a.to_double(), b.to_double()));
  return Value(f(a.to_int(), b.to_int()));
}

// Integers wrap around.
struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return wrap_add(a, b);
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return wrap_sub(a, b);
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    return wrap_mul(a, b);
  }
};
struct Div {
  double operator()(int64_t a, int64_t b) const {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  double operator()(double a, double b) const { return a / b; }
  Complex operator()(Complex a, Complex b) const { return a / b; }
};

void check_python_divisor(int64_t b) { TORCHLET_CHECK(b != 0, "division by 0"); }

struct FloorDiv {
  int64_t operator()(int64_t a, int64_t b) const {
    check_python_divisor(b);
    if (b == -1) return wrap_sub<int64_t>(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  double operator()(double a, double b) const { return std::floor(a / b); }
};
struct Remainder {
  int64_t operator()(int64_t a, int64_t b) const {
    check_python_divisor(b);
    if (b == -1) return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  double operator()(double a, double b) const { return std::fmod(b + std::fmod(a, b), b); }
};
// With a NaN the second number wins, which is not Python's rule.
struct Max {
  int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
  double operator()(double a, double b) const { return a > b ? a : b; }
};
struct Min {
  int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
  double operator()(double a, double b) const { return a < b ? a : b; }
};

template <typename F>
void binary(const Operator&, std::span<Value> args, std::span<Value> results) {
  results[0] = arithmetic(args[0], args[1], F());
}

int64_t int_power(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

void power(const Operator& op, std::span<Value> args, std::span<Value> results) {
  if (args[0].is_complex() || args[1].is_complex()) {
    results[0] = Value(std::pow(args[0].to_complex(), args[1].to_complex()));
    return;
  }
  const double base = args[0].to_double(), exponent = args[1].to_double();
  TORCHLET_CHECK(base != 0 || exponent >= 0, "0.0 cannot be raised to a negative power");
  results[0] = op.schema.overload == "int_to_int"
                   ? Value(int_power(args[0].to_int(), args[1].to_int()))
                   : Value(std::pow(base, exponent));
}

template <typename F>
void compare(const Operator&, std::span<Value> args, std::span<Value> results) {
  const Value &a = args[0], &b = args[1];
  if (a.is_complex() || b.is_complex()) {
    if constexpr (std::is_invocable_v<F, Complex, Complex>) {
      results[0] = Value(F()(a.to_complex(), b.to_complex()));
      return;
    }
    fail(ErrorCode::kRuntime, "complex numbers have no order");
  }
  results[0] = Value(a.is_float() || b.is_float() ? F()(a.to_double(), b.to_double())
                                                  : F()(a.to_int(), b.to_int()));
}

// A function of a float: int and bool are converted first; a complex version where there is one.
template <auto Real>
void real_math(const Operator&, std::span<Value> args, std::span<Value> results) {
  results[0] = Value(static_cast<double>(Real(args[0].to_double())));
}
template <auto Real, auto Imaginary>
void complex_math(const Operator&, std::span<Value> args, std::span<Value> results) {
  results[0] = args[0].is_complex() ? Value(Imaginary(args[0].to_complex()))
                                    : Value(static_cast<double>(Real(args[0].to_double())));
}
template <auto Real>
void real_math2(const Operator&, std::span<Value> args, std::span<Value> results) {
  results[0] = Value(Real(args[0].to_double(), args[1].to_double()));
}

// floor and ceil of a float are ints.
template <auto Real>
void to_integer(const Operator&, std::span<Value> args, std::span<Value> results) {
  results[0] = args[0].is_float() ? Value(Scalar(Real(args[0].to_double())).to_int()) : args[0];
}

constexpr double kPi = 3.141592653589793238463;

}  // namespace

#define TORCHLET_NUMBER_OPS(id, name, F)                                               \
  TORCHLET_OP_BOXED_WITH(id##_number,                                                  \
                         per_type("int float complex int_float float_int complex_int " \
                                  "int_complex complex_float float_complex") |         \
                             never_raises(),                                           \
                         "aten::" name ".$($1 a, $2 b) -> $r", binary<F>);             \
  TORCHLET_OP_BOXED(id##_Scalar_Scalar, "aten::" name "(Scalar a, Scalar b) -> Scalar", binary<F>)
TORCHLET_NUMBER_OPS(add, "add", Add);
TORCHLET_NUMBER_OPS(sub, "sub", Sub);
TORCHLET_NUMBER_OPS(mul, "mul", Mul);
#undef TORCHLET_NUMBER_OPS

TORCHLET_OP_BOXED(div_int, "aten::div.int(int a, int b) -> float", binary<Div>);
TORCHLET_OP_BOXED_WITH(div_number, per_type("float complex"), "aten::div.$($ a, $ b) -> $",
                       binary<Div>);
TORCHLET_OP_BOXED(div_Scalar_Scalar, "aten::div(Scalar a, Scalar b) -> float", binary<Div>);

#define TORCHLET_REAL_OPS(id, name, F)                                           \
  TORCHLET_OP_BOXED_WITH(id##_number, per_type("int float int_float float_int"), \
                         name ".$($1 a, $2 b) -> $r", binary<F>);                \
  TORCHLET_OP_BOXED(id##_Scalar_Scalar, name "(Scalar a, Scalar b) -> Scalar", binary<F>)
TORCHLET_REAL_OPS(floordiv, "aten::floordiv", FloorDiv);
TORCHLET_REAL_OPS(remainder, "aten::remainder", Remainder);
TORCHLET_REAL_OPS(prim_max, "prim::max", Max);
TORCHLET_REAL_OPS(prim_min, "prim::min", Min);
#undef TORCHLET_REAL_OPS

TORCHLET_OP(round_to_zero_floordiv, "aten::__round_to_zero_floordiv.int(int a, int b) -> int",
            [](int64_t a, int64_t b) {
              check_python_divisor(b);
              return b == -1 ? wrap_sub<int64_t>(0, a) : a / b;
            });

TORCHLET_OP_BOXED_WITH(pow_number, per_type("int float int_float float_int"),
                       "aten::pow.$($1 a, $2 b) -> float", power);
TORCHLET_OP_BOXED_WITH(pow_complex, per_type("complex complex_float float_complex"),
                       "aten::pow.$($1 a, $2 b) -> complex", power);
TORCHLET_OP_BOXED(pow_Scalar_Scalar, "aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", power);
TORCHLET_OP_BOXED(pow_int_to_int, "aten::pow.int_to_int(int a, int b) -> int", power);

#define TORCHLET_COMPARISON(id, name, F)                                                          \
  TORCHLET_OP_BOXED_WITH(id##_number, per_type("int float int_float float_int") | never_raises(), \
                         "aten::" name ".$($1 a, $2 b) -> bool", compare<F>);                     \
  TORCHLET_OP_BOXED(id##_Scalar_Scalar, "aten::" name "(Scalar a, Scalar b) -> bool", compare<F>)
TORCHLET_COMPARISON(lt, "lt", std::less<>);
TORCHLET_COMPARISON(le, "le", std::less_equal<>);
TORCHLET_COMPARISON(gt, "gt", std::greater<>);
TORCHLET_COMPARISON(ge, "ge", std::greater_equal<>);
TORCHLET_COMPARISON(eq, "eq", std::equal_to<>);
TORCHLET_COMPARISON(ne, "ne", std::not_equal_to<>);
#undef TORCHLET_COMPARISON
TORCHLET_OP_BOXED_WITH(eq_complex,
                       per_type("bool complex complex_float float_complex") | never_raises(),
                       "aten::eq.$($1 a, $2 b) -> bool", compare<std::equal_to<>>);
TORCHLET_OP_BOXED_WITH(ne_complex,
                       per_type("bool complex complex_float float_complex") | never_raises(),
                       "aten::ne.$($1 a, $2 b) -> bool", compare<std::not_equal_to<>>);

TORCHLET_OP_WITH(and_int, never_raises(), "aten::__and__.int(int a, int b) -> int",
                 [](int64_t a, int64_t b) { return a & b; });
TORCHLET_OP_WITH(or_int, never_raises(), "aten::__or__.int(int a, int b) -> int",
                 [](int64_t a, int64_t b) { return a | b; });
TORCHLET_OP(xor_int, "aten::__xor__.int(int a, int b) -> int",
            [](int64_t a, int64_t b) { return a ^ b; });
TORCHLET_OP_WITH(and_bool, never_raises(), "aten::__and__.bool(bool a, bool b) -> bool",
                 [](bool a, bool b) { return a && b; });
TORCHLET_OP_WITH(or_bool, never_raises(), "aten::__or__.bool(bool a, bool b) -> bool",
                 [](bool a, bool b) { return a || b; });
TORCHLET_OP(xor_bool, "aten::__xor__.bool(bool a, bool b) -> bool",
            [](bool a, bool b) { return a != b; });
// Shifts by the width or more are undefined in C++; x86 takes the count modulo 64, and so does
// PyTorch there.
TORCHLET_OP(lshift_int, "aten::__lshift__.int(int a, int b) -> int", [](int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63));
});
TORCHLET_OP(rshift_int, "aten::__rshift__.int(int a, int b) -> int",
            [](int64_t a, int64_t b) { return a >> (b & 63); });

#define TORCHLET_REAL_MATH(id, name, fn)                                                       \
  TORCHLET_OP_BOXED_WITH(id##_number, per_type("int float"), "aten::" name ".$($ a) -> float", \
                         real_math<fn>);                                                       \
  TORCHLET_OP_BOXED(id##_of_Scalar, "aten::" name ".Scalar(Scalar a) -> Scalar", real_math<fn>)
#define TORCHLET_COMPLEX_MATH(id, name, fn)                                           \
  TORCHLET_OP_BOXED_WITH(                                                             \
      id##_number, per_type("int float"), "aten::" name ".$($ a) -> float",           \
      complex_math<[](double x) { return fn(x); }, [](Complex x) { return fn(x); }>); \
  TORCHLET_OP_BOXED(                                                                  \
      id##_complex, "aten::" name ".complex(complex a) -> complex",                   \
      complex_math<[](double x) { return fn(x); }, [](Complex x) { return fn(x); }>); \
  TORCHLET_OP_BOXED(id##_of_Scalar, "aten::" name ".Scalar(Scalar a) -> Scalar",      \
                    complex_math<[](double x) { return fn(x); }, [](Complex x) { return fn(x); }>)
TORCHLET_COMPLEX_MATH(sin, "sin", std::sin);
TORCHLET_COMPLEX_MATH(cos, "cos", std::cos);
TORCHLET_COMPLEX_MATH(tan, "tan", std::tan);
TORCHLET_COMPLEX_MATH(asin, "asin", std::asin);
TORCHLET_COMPLEX_MATH(acos, "acos", std::acos);
TORCHLET_COMPLEX_MATH(atan, "atan", std::atan);
TORCHLET_COMPLEX_MATH(sinh, "sinh", std::sinh);
TORCHLET_COMPLEX_MATH(cosh, "cosh", std::cosh);
TORCHLET_COMPLEX_MATH(tanh, "tanh", std::tanh);
TORCHLET_COMPLEX_MATH(asinh, "asinh", std::asinh);
TORCHLET_COMPLEX_MATH(acosh, "acosh", std::acosh);
TORCHLET_COMPLEX_MATH(atanh, "atanh", std::atanh);
TORCHLET_COMPLEX_MATH(exp, "exp", std::exp);
TORCHLET_COMPLEX_MATH(log, "log", std::log);
TORCHLET_COMPLEX_MATH(log10, "log10", std::log10);
TORCHLET_COMPLEX_MATH(sqrt, "sqrt", std::sqrt);
TORCHLET_REAL_MATH(expm1, "expm1", [](double x) { return std::expm1(x); });
TORCHLET_REAL_MATH(log1p, "log1p", [](double x) { return std::log1p(x); });
TORCHLET_REAL_MATH(erf, "erf", [](double x) { return std::erf(x); });
TORCHLET_REAL_MATH(erfc, "erfc", [](double x) { return std::erfc(x); });
TORCHLET_REAL_MATH(gamma, "gamma", [](double x) { return std::tgamma(x); });
TORCHLET_REAL_MATH(lgamma, "lgamma", [](double x) { return std::lgamma(x); });
TORCHLET_REAL_MATH(fabs, "fabs", [](double x) { return std::fabs(x); });
TORCHLET_REAL_MATH(degrees, "degrees", [](double x) { return x * 180 / kPi; });
TORCHLET_REAL_MATH(radians, "radians", [](double x) { return x * kPi / 180; });
// Half to even, as Python rounds.
TORCHLET_REAL_MATH(round, "round", [](double x) { return std::nearbyint(x); });
#undef TORCHLET_REAL_MATH
#undef TORCHLET_COMPLEX_MATH

TORCHLET_OP_BOXED_WITH(floor_number, per_type("int float"), "aten::floor.$($ a) -> int",
                       to_integer<[](double x) { return std::floor(x); }>);
TORCHLET_OP_BOXED(floor_of_Scalar, "aten::floor.Scalar(Scalar a) -> Scalar",
                  to_integer<[](double x) { return std::floor(x); }>);
TORCHLET_OP_BOXED_WITH(ceil_number, per_type("int float"), "aten::ceil.$($ a) -> int",
                       to_integer<[](double x) { return std::ceil(x); }>);
TORCHLET_OP_BOXED(ceil_of_Scalar, "aten::ceil.Scalar(Scalar a) -> Scalar",
                  to_integer<[](double x) { return std::ceil(x); }>);

#define TORCHLET_REAL_MATH2(id, name, ...)                                       \
  TORCHLET_OP_BOXED_WITH(id##_number, per_type("int float int_float float_int"), \
                         "aten::" name ".$($1 a, $2 b) -> float", real_math2<__VA_ARGS__>)
TORCHLET_REAL_MATH2(atan2, "atan2", [](double a, double b) { return std::atan2(a, b); });
TORCHLET_REAL_MATH2(copysign, "copysign", [](double a, double b) { return std::copysign(a, b); });
TORCHLET_REAL_MATH2(fmod, "fmod", [](double a, double b) { return std::fmod(a, b); });
TORCHLET_REAL_MATH2(mathremainder, "mathremainder",
                    [](double a, double b) { return std::remainder(a, b); });
#undef TORCHLET_REAL_MATH2
TORCHLET_OP_BOXED_WITH(log_mixed, per_type("int_float float_int"),
                       "aten::log.$($1 a, $2 b) -> float",
                       real_math2<[](double a, double b) { return std::log(a) / std::log(b); }>);
TORCHLET_OP_BOXED_WITH(log_two, per_type("int float"), "aten::log.$_$($ a, $ b) -> float",
                       real_math2<[](double a, double b) { return std::log(a) / std::log(b); }>);
TORCHLET_OP_WITH(polar_number, per_type("int float int_float float_int"),
                 "aten::polar.$($1 a, $2 b) -> complex",
                 [](double r, double phi) { return std::polar(r, phi); });
TORCHLET_OP_WITH(log_complex_base,
                 per_type("complex_complex complex_float complex_int float_complex int_complex"),
                 "aten::log.$($1 a, $2 b) -> complex",
                 [](Complex a, Complex b) { return std::log(a) / std::log(b); });
TORCHLET_OP(log_Scalar_Scalar, "aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float",
            [](double a, double b) { return std::log(a) / std::log(b); });
TORCHLET_OP(atan2_Scalar_Scalar, "aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float",
            [](double a, double b) { return std::atan2(a, b); });
TORCHLET_OP(copysign_Scalar_Scalar, "aten::copysign(Scalar a, Scalar b) -> float",
            [](double a, double b) { return std::copysign(a, b); });
TORCHLET_OP(fmod_Scalar_Scalar, "aten::fmod(Scalar a, Scalar b) -> float",
            [](double a, double b) { return std::fmod(a, b); });
TORCHLET_OP(mathremainder_Scalar_Scalar, "aten::mathremainder(Scalar a, Scalar b) -> float",
            [](double a, double b) { return std::remainder(a, b); });

TORCHLET_OP_BOXED_WITH(neg_number, per_type("int float complex") | never_raises(),
                       "aten::neg.$($ a) -> $",
                       [](const Operator&, std::span<Value> args, std::span<Value> results) {
                         results[0] = arithmetic(Value(int64_t{0}), args[0], Sub());
                         if (args[0].is_float()) results[0] = Value(-args[0].to_double());
                       });
TORCHLET_OP(neg_of_Scalar, "aten::neg.Scalar(Scalar a) -> Scalar",
            [](const Value& a) { return arithmetic(Value(int64_t{-1}), a, Mul()); });
TORCHLET_OP(abs_int, "prim::abs.int(int a) -> int", [](int64_t a) { return wrap_abs(a); });
TORCHLET_OP(abs_float, "prim::abs.float(float a) -> float", [](double a) { return std::fabs(a); });
TORCHLET_OP(abs_complex, "prim::abs.complex(complex a) -> float",
            [](Complex a) { return std::abs(a); });
TORCHLET_OP(abs_of_Scalar, "prim::abs.Scalar(Scalar a) -> Scalar", [](const Value& a) {
  if (a.is_int()) return Value(wrap_abs(a.to_int()));
  return a.is_complex() ? Value(std::abs(a.to_complex())) : Value(std::fabs(a.to_double()));
});
TORCHLET_OP(angle_complex, "aten::angle.complex(complex a) -> float",
            [](Complex a) { return std::arg(a); });
TORCHLET_OP_WITH(angle_number, per_type("int float"), "aten::angle.$($ a) -> float",
                 // std::arg: the sign bit decides, also that of zero and NaN.
                 [](double a) { return std::signbit(a) ? kPi : 0.0; });

TORCHLET_OP(gcd_int, "aten::gcd.int(int a, int b) -> int",
            [](int64_t a, int64_t b) { return greatest_divisor(a, b); });
TORCHLET_OP(factorial_int, "aten::factorial.int(int a) -> int", [](int64_t n) {
  TORCHLET_CHECK(n >= 0, "factorial() not defined for negative values");
  int64_t product = 1;
  // Past 20! the result wraps, and past 65! it stays 0.
  for (int64_t i = 2; i <= std::min<int64_t>(n, 66); ++i) product = Mul()(product, i);
  return product;
});
TORCHLET_OP(divmod_int, "aten::divmod.int(int x, int y) -> (int, int)", [](int64_t a, int64_t b) {
  TORCHLET_CHECK(b != 0, "ZeroDivisionError: integer division or modulo by zero");
  return std::tuple(FloorDiv()(a, b), Remainder()(a, b));
});
TORCHLET_OP_WITH(divmod_number, per_type("float float_int int_float"),
                 "aten::divmod.$($1 x, $2 y) -> (float, float)", [](double a, double b) {
                   TORCHLET_CHECK(b != 0, "ZeroDivisionError: float divmod()");
                   const double rest = std::fmod(a, b);
                   const double wrapped_rest = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
                   return std::tuple(std::floor(a / b), wrapped_rest);
                 });
TORCHLET_OP(modf_float, "aten::modf(float a) -> (float, float)", [](double a) {
  double whole;
  const double part = std::modf(a, &whole);
  return std::tuple(part, whole);
});
TORCHLET_OP(frexp_float, "aten::frexp(float a) -> (float, int)", [](double a) {
  int exponent;
  const double mantissa = std::frexp(a, &exponent);
  return std::tuple(mantissa, static_cast<int64_t>(exponent));
});
TORCHLET_OP(ldexp_float, "aten::ldexp(float x, int i) -> float", [](double x, int64_t i) {
  return std::ldexp(x, static_cast<int>(std::clamp<int64_t>(i, -4096, 4096)));
});
TORCHLET_OP_WITH(isnan_number, per_type("float complex"), "aten::isnan.$($ a) -> bool",
                 [](Complex a) { return std::isnan(a.real()) || std::isnan(a.imag()); });
TORCHLET_OP_WITH(isinf_number, per_type("float complex"), "aten::isinf.$($ a) -> bool",
                 [](Complex a) { return std::isinf(a.real()) || std::isinf(a.imag()); });
TORCHLET_OP_WITH(isfinite_number, per_type("float complex"), "aten::isfinite.$($ a) -> bool",
                 [](Complex a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); });

// ---- conversions ----

TORCHLET_OP_WITH(Bool_number, per_type("int float") | never_raises(), "aten::Bool.$($ a) -> bool",
                 [](double a) { return a != 0; });
TORCHLET_OP(Bool_Tensor, "aten::Bool.Tensor(Tensor a) -> bool", [](const Value& a) {
  const Tensor tensor = a.to_tensor();
  TORCHLET_CHECK(tensor.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCHLET_CHECK(tensor.numel() == 1,
                 "Boolean value of Tensor with more than one value is ambiguous");
  return a.to_scalar().to_bool();
});
TORCHLET_OP(Int_Tensor, "aten::Int.Tensor(Tensor a) -> int",
            [](const Value& a) { return a.to_scalar().to_int(); });
TORCHLET_OP_WITH(Int_number, per_type("bool float Scalar"), "aten::Int.$($ a) -> int",
                 [](const Scalar& a) { return a.to_int(); });
TORCHLET_OP(Float_Tensor, "aten::Float.Tensor(Tensor a) -> float",
            [](const Value& a) { return a.to_scalar().to_double(); });
TORCHLET_OP_WITH(Float_number, per_type("int bool Scalar"), "aten::Float.$($ a) -> float",
                 [](const Scalar& a) { return a.to_double(); });
TORCHLET_OP(Complex_Scalar, "aten::Complex.Scalar(Scalar a) -> complex",
            [](const Scalar& a) { return a.to_complex(); });
TORCHLET_OP_WITH(Complex_Tensor,
                 per_type("Tensor_Tensor Tensor_int Tensor_float Tensor_bool int_Tensor "
                          "float_Tensor bool_Tensor"),
                 "aten::Complex.$($1 a, $2 b) -> complex",
                 [](double a, double b) { return Complex(a, b); });
TORCHLET_OP_WITH(Complex_number,
                 per_type("int_int int_float float_int float_float int_bool float_bool bool_int "
                          "bool_float bool_bool"),
                 "aten::Complex.$($1 x, $2 y) -> complex",
                 [](double a, double b) { return Complex(a, b); });
TORCHLET_OP(IntImplicit, "aten::IntImplicit(Tensor a) -> int", [](const Value& a) {
  const Tensor tensor = a.to_tensor();
  TORCHLET_CHECK(tensor.dim() == 0,
                 "Cannot input a tensor of dimension other than 0 as a scalar argument");
  TORCHLET_CHECK(is_integral(tensor.dtype(), false),
                 "Cannot input a tensor of type %s as an integral argument",
                 dtype_name(tensor.dtype()).data());
  return a.to_scalar().to_int();
});
TORCHLET_OP(FloatImplicit, "aten::FloatImplicit(Tensor a) -> float", [](const Value& a) {
  TORCHLET_CHECK(a.to_tensor().dim() == 0,
                 "Cannot input a tensor of dimension other than 0 as a scalar argument");
  return a.to_scalar().to_double();
});
TORCHLET_OP(ComplexImplicit, "aten::ComplexImplicit(Tensor a) -> complex",
            [](const Value& a) { return a.to_scalar().to_complex(); });
TORCHLET_OP(ScalarImplicit, "aten::ScalarImplicit(Tensor a) -> Scalar", [](const Value& a) {
  TORCHLET_CHECK(a.to_tensor().dim() == 0,
                 "Cannot input a tensor of dimension other than 0 as a scalar argument");
  return Value(a.to_scalar());
});
TORCHLET_OP_WITH(NumToTensor, per_type("Scalar bool") | never_raises(),
                 "prim::NumToTensor.$($ a) -> Tensor",
                 [](const Scalar& a) { return scalar_tensor(a, a.dtype()); });

// ---- ranges of for loops ----

TORCHLET_OP(range_length, "aten::__range_length(int lo, int hi, int step) -> int",
            [](int64_t lo, int64_t hi, int64_t step) -> int64_t {
              TORCHLET_CHECK(step != 0, "range() arg 3 must not be zero");
              if (step > 0 && lo < hi) return wrap_add<int64_t>(1, wrap_sub(hi - 1, lo) / step);
              if (step < 0 && lo > hi)
                return wrap_add<int64_t>(1, wrap_sub(lo - 1, hi) / wrap_sub<int64_t>(0, step));
              return 0;
            });
TORCHLET_OP(derive_index, "aten::__derive_index(int index, int start, int step) -> int",
            [](int64_t index, int64_t start, int64_t step) {
              return wrap_add(start, wrap_mul(index, step));
            });

}  // namespace torchlet::ops
