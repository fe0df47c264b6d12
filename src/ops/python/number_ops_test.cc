#include <limits>

#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

using Complex = std::complex<double>;
constexpr double kInf = INFINITY, kNan = NAN, kPi = 3.141592653589793;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Value pair(Value a, Value b) { return Value::tuple({std::move(a), std::move(b)}); }

TEST(Number, ArithmeticTakesTheWiderKindAndWraps) {
  expect_op("aten::add", "int", {kMax, 1}, std::numeric_limits<int64_t>::min());
  expect_op("aten::add", "int_float", {1, 2.5}, 3.5);
  expect_op("aten::mul", "complex_int", {Complex(1, 2), 3}, Complex(3, 6));
  expect_op("aten::sub", "", {5, 7}, -2);
  expect_op("aten::sub", "", {5, 7.0}, -2.0);
  expect_op("aten::div", "int", {-7, 2}, -3.5);
  expect_op("aten::div", "int", {1, 0}, kInf);
  expect_op("aten::div", "float", {0.0, 0.0}, kNan);
  expect_op("aten::neg", "int", {5}, -5);
  expect_op("aten::neg", "float", {0.0}, -0.0);
  expect_op("aten::neg", "complex", {Complex(1, -2)}, Complex(-1, 2));
  expect_op("aten::neg", "Scalar", {3}, -3);
}

TEST(Number, DivisionRoundsDownAndTheRestHasTheSignOfTheDivisor) {
  expect_op("aten::floordiv", "int", {-7, 2}, -4);
  expect_op("aten::floordiv", "int", {-kMax, -1}, kMax);
  expect_op("aten::floordiv", "float", {-7.5, 2.0}, -4.0);
  expect_op("aten::floordiv", "float", {1.0, 0.0}, kInf);
  expect_op("aten::floordiv", "int_float", {7, -2.0}, -4.0);
  EXPECT_THROW(call_op("aten::floordiv", "int", {1, 0}), Error);
  expect_op("aten::__round_to_zero_floordiv", "int", {-7, 2}, -3);
  expect_op("aten::remainder", "int", {-7, 3}, 2);
  expect_op("aten::remainder", "int", {7, -3}, -2);
  expect_op("aten::remainder", "int", {std::numeric_limits<int64_t>::min(), -1}, 0);
  expect_op("aten::remainder", "float", {-7.5, 2.0}, 0.5);
  expect_op("aten::remainder", "float", {6.0, -2.0}, -0.0);
  expect_op("aten::remainder", "float", {-1e-20, 2.0}, 0.0);
  expect_op("aten::remainder", "float", {6.0, 0.0}, kNan);
  EXPECT_THROW(call_op("aten::remainder", "int", {7, 0}), Error);
  expect_op("aten::divmod", "int", {7, -2}, pair(-4, -1));
  expect_op("aten::divmod", "float", {7.5, -2.0}, pair(-4.0, -0.5));
  expect_op("aten::divmod", "int_float", {-7, 2.0}, pair(-4.0, 1.0));
  EXPECT_THROW(call_op("aten::divmod", "int", {7, 0}), Error);
  EXPECT_THROW(call_op("aten::divmod", "float", {-7.0, 0.0}), Error);
  expect_op("aten::fmod", "int", {-7, 3}, -1.0);
  expect_op("aten::fmod", "int", {7, 0}, kNan);
  expect_op("aten::mathremainder", "int", {7, 4}, -1.0);
}

TEST(Number, PowersAreFloats) {
  expect_op("aten::pow", "int", {2, -1}, 0.5);
  expect_op("aten::pow", "int", {2, 10}, 1024.0);
  expect_op("aten::pow", "float", {-8.0, 1.0 / 3}, kNan);
  expect_op("aten::pow", "Scalar_Scalar", {2, 3}, 8.0);
  EXPECT_NEAR(call_op("aten::pow", "complex", {Complex(0, 1), Complex(2)}).to_complex().real(), -1,
              1e-15);
  EXPECT_THROW(call_op("aten::pow", "float", {0.0, -1.0}), Error);
  EXPECT_THROW(call_op("aten::pow", "int_float", {0, -1.0}), Error);
}

TEST(Number, ComparisonsAndExtremes) {
  expect_op("aten::lt", "int_float", {1, 1.5}, true);
  expect_op("aten::ge", "", {2, 2.0}, true);
  expect_op("aten::eq", "float", {kNan, kNan}, false);
  expect_op("aten::eq", "complex_float", {Complex(1), 1.0}, true);
  expect_op("aten::ne", "bool", {true, false}, true);
  expect_op("prim::max", "int_float", {1, 2.5}, 2.5);
  expect_op("prim::max", "float", {kNan, 1.0}, 1.0);
  expect_op("prim::max", "float", {1.0, kNan}, kNan);
  expect_op("prim::min", "float", {kNan, 1.0}, 1.0);
  expect_op("prim::min", "float", {1.0, kNan}, kNan);
  expect_op("prim::min", "int", {3, -2}, -2);
}

TEST(Number, Bits) {
  expect_op("aten::__and__", "int", {6, -4}, 4);
  expect_op("aten::__or__", "int", {5, 2}, 7);
  expect_op("aten::__xor__", "bool", {true, true}, false);
  expect_op("aten::__lshift__", "int", {1, 3}, 8);
  expect_op("aten::__lshift__", "int", {1, 64}, 1);
  expect_op("aten::__lshift__", "int", {1, -1}, std::numeric_limits<int64_t>::min());
  expect_op("aten::__rshift__", "int", {-9, 1}, -5);
  expect_op("aten::__rshift__", "int", {-9, 70}, -1);
}

TEST(Number, Mathematics) {
  expect_op("aten::log", "int", {0}, -kInf);
  expect_op("aten::log", "float", {-1.0}, kNan);
  expect_op("aten::log", "int_int", {8, 2}, 3.0);
  expect_op("aten::log", "int_float", {8, 2.0}, 3.0);
  expect_op("aten::log", "Scalar_Scalar", {8, 2}, 3.0);
  expect_op("aten::log", "complex", {Complex(-1)}, Complex(0, kPi));
  expect_op("aten::log1p", "float", {1e-10}, 9.999999999500001e-11);
  expect_op("aten::sqrt", "int", {-1}, kNan);
  expect_op("aten::sqrt", "complex", {Complex(-4)}, Complex(0, 2));
  expect_op("aten::exp", "int", {1}, 2.718281828459045);
  expect_op("aten::sin", "float", {0.5}, 0.479425538604203);
  expect_op("aten::atanh", "float", {0.5}, 0.5493061443340548);
  expect_op("aten::acosh", "int", {2}, 1.3169578969248166);
  expect_op("aten::gamma", "int", {5}, 24.0);
  expect_op("aten::lgamma", "float", {0.5}, 0.5723649429247001);
  expect_op("aten::erfc", "float", {0.5}, 0.4795001221869535);
  expect_op("aten::degrees", "int", {3}, 171.88733853924697);
  expect_op("aten::radians", "int", {180}, kPi);
  expect_op("aten::atan2", "float", {-0.0, -1.0}, -kPi);
  expect_op("aten::copysign", "float", {3.0, -0.0}, -3.0);
  expect_op("aten::angle", "int", {-3}, kPi);
  expect_op("aten::angle", "float", {-0.0}, kPi);
  expect_op("aten::angle", "float", {kNan}, 0.0);
  expect_op("aten::angle", "complex", {Complex(-1)}, kPi);
  expect_op("prim::abs", "complex", {Complex(3, 4)}, 5.0);
  expect_op("prim::abs", "Scalar", {-5}, 5);
  expect_op("aten::polar", "float", {2.0, 0.0}, Complex(2));
}

TEST(Number, Rounding) {
  expect_op("aten::round", "float", {2.5}, 2.0);
  expect_op("aten::round", "int", {3}, 3.0);
  expect_op("aten::floor", "float", {-2.5}, -3);
  expect_op("aten::ceil", "Scalar", {2.5}, 3);
  expect_op("aten::floor", "Scalar", {2}, 2);
  EXPECT_THROW(call_op("aten::floor", "float", {kInf}), Error);
  EXPECT_THROW(call_op("aten::ceil", "float", {kNan}), Error);
  expect_op("aten::modf", "", {-2.75}, pair(-0.75, -2.0));
  expect_op("aten::modf", "", {kInf}, pair(0.0, kInf));
  expect_op("aten::frexp", "", {10.0}, pair(0.625, 4));
  expect_op("aten::ldexp", "", {0.75, 4}, 12.0);
  expect_op("aten::ldexp", "", {1.0, 5000}, kInf);
}

TEST(Number, IntegerFunctions) {
  expect_op("aten::factorial", "int", {20}, int64_t{2432902008176640000});
  expect_op("aten::factorial", "int", {21}, int64_t{-4249290049419214848});
  expect_op("aten::factorial", "int", {0}, 1);
  EXPECT_THROW(call_op("aten::factorial", "int", {-1}), Error);
  expect_op("aten::gcd", "int", {-12, 18}, 6);
  expect_op("aten::gcd", "int", {0, 0}, 0);
  expect_op("aten::gcd", "int", {INT64_MIN, 6}, 2);
  expect_op("aten::__range_length", "", {0, 10, 3}, 4);
  expect_op("aten::__range_length", "", {10, 0, -3}, 4);
  expect_op("aten::__range_length", "", {5, 0, 1}, 0);
  EXPECT_THROW(call_op("aten::__range_length", "", {0, 5, 0}), Error);
  expect_op("aten::__derive_index", "", {3, 10, -2}, 4);
  expect_op("aten::__derive_index", "", {int64_t{1} << 32, 0, int64_t{1} << 32}, 0);
}

TEST(Number, Conversions) {
  expect_op("aten::Bool", "float", {kNan}, true);
  expect_op("aten::Bool", "Tensor", {make({0})}, false);
  EXPECT_THROW(call_op("aten::Bool", "Tensor", {make({})}), Error);
  EXPECT_THROW(call_op("aten::Bool", "Tensor", {make({1, 2})}), Error);
  expect_op("aten::Int", "float", {-2.7}, -2);
  expect_op("aten::Int", "Tensor", {make({3.9})}, 3);
  expect_op("aten::Float", "bool", {true}, 1.0);
  expect_op("aten::Float", "Tensor", {ints({2})}, 2.0);
  expect_op("aten::Complex", "int_bool", {1, true}, Complex(1, 1));
  expect_op("aten::IntImplicit", "", {ints({3}, {})}, 3);
  EXPECT_THROW(call_op("aten::IntImplicit", "", {make({3.5}, DType::kFloat32, {})}), Error);
  EXPECT_THROW(call_op("aten::IntImplicit", "", {ints({3})}), Error);
  expect_op("aten::FloatImplicit", "", {ints({3}, {})}, 3.0);
  expect_tensor(result_of("prim::NumToTensor", "Scalar", {2.5}), {2.5}, DType::kFloat64, {});
  expect_tensor(result_of("prim::NumToTensor", "bool", {true}), {1}, DType::kBool, {});
  expect_op("aten::isnan", "complex", {Complex(0, kNan)}, true);
  expect_op("aten::isfinite", "complex", {Complex(0, kInf)}, false);
}

TEST(Number, TextToNumbers) {
  expect_op("aten::Int", "str", {"+12"}, 12);
  expect_op("aten::Int", "str", {" 12"}, 12);
  expect_op("aten::Float", "str", {"1.5e2"}, 150.0);
  expect_op("aten::Float", "str", {" 1.5"}, 1.5);
  expect_op("aten::Float", "str", {"nan"}, kNan);
  for (const char* text : {"12 ", "0x12", "", "99999999999999999999"}) {
    EXPECT_THROW(call_op("aten::Int", "str", {text}), Error) << text;
  }
  for (const char* text : {"abc", "", "1.5 ", "1e400"}) {
    EXPECT_THROW(call_op("aten::Float", "str", {text}), Error) << text;
  }
}

}  // namespace
}  // namespace torchlet::ops
