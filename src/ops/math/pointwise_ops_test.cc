#include "kernels/simd/target_test.h"
#include "ops/core/testing.h"
#include "ops/shape/shape.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY;
constexpr double kNan = NAN;
constexpr DType kF64 = DType::kFloat64, kI64 = DType::kInt64, kU8 = DType::kUInt8,
                kBool = DType::kBool;

TEST(Arithmetic, PromotesAndBroadcasts) {
  expect_tensor(result_of("aten::add", "Tensor", {make({1, 2}), ints({1, 2}, {2, 1})}),
                {2, 3, 3, 4}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::add", "Scalar", {ints({1}), 2.5}), {3.5});
  expect_tensor(result_of("aten::add", "Tensor", {make({200}, kU8), make({100}, kU8)}), {44}, kU8);
  expect_tensor(result_of("aten::sub", "Tensor", {make({1, 2}), make({3, 5}), 2}), {-5, -8});
  expect_tensor(result_of("aten::div", "Tensor", {ints({7, -7}), ints({2, 2})}), {3.5, -3.5});
}

TEST(Arithmetic, ProductsOfComplexNumbers) {
  const auto complex = [](std::initializer_list<double> parts, IntArray sizes) {
    sizes.push_back(2);
    return result_of("aten::view_as_complex", "", {make(parts, DType::kFloat32, sizes)});
  };
  const Tensor a = complex({1, 2, kInf, 1, 3, -4, 0.5, -1}, {2, 2});
  const Tensor row = complex({3, -1, 2, 0}, {2});
  expect_tensor(result_of("aten::abs", "",
                          {complex({3, -4, kInf, kNan, kNan, 1, 1e30, 1e30, 1e-30, 0}, {5})}),
                {5, kInf, kNan, 1.41421354e30, 1e-30});
  const auto product = [](const Tensor& x, const Tensor& y) {
    return result_of("aten::view_as_real", "", {result_of("aten::mul", "Tensor", {x, y})});
  };
  expect_tensor(product(a, row), {5, 5, kInf, kNan, 5, -15, 1, -2}, DType::kFloat32, {2, 2, 2});
  expect_tensor(product(make({2, 3}, DType::kFloat32, {2, 1}), a),
                {2, 4, kInf, kNan, 9, -12, 1.5, -3}, DType::kFloat32, {2, 2, 2});
}

TEST(Arithmetic, DivisionModes) {
  const Tensor a = ints({7, -7, 7}), b = ints({2, 2, -2});
  expect_tensor(result_of("aten::div", "Tensor_mode", {a, b, "floor"}), {3, -4, -4}, kI64);
  expect_tensor(result_of("aten::div", "Tensor_mode", {a, b, "trunc"}), {3, -3, -3}, kI64);
  expect_tensor(result_of("aten::remainder", "Tensor", {a, b}), {1, 1, -1}, kI64);
  expect_tensor(result_of("aten::fmod", "Tensor", {a, b}), {1, -1, 1}, kI64);
  expect_tensor(result_of("aten::floor_divide", "Scalar", {make({-0.5, 5}), 0.0}), {-kInf, kInf});
  EXPECT_THROW(call_op("aten::floor_divide", "", {a, ints({0})}), Error);
  EXPECT_THROW(call_op("aten::div", "Tensor_mode", {a, b, "round"}), Error);
}

TEST(Arithmetic, PowersOfIntegersAndFloats) {
  expect_tensor(result_of("aten::pow", "Tensor_Tensor", {ints({2, -1, 1}), ints({-1, -3, -2})}),
                {0, -1, 1}, kI64);
  expect_tensor(result_of("aten::pow", "Scalar", {2, ints({2, -1, 10})}), {4, 0, 1024}, kI64);
  EXPECT_THROW(call_op("aten::pow", "Tensor_Scalar", {ints({2}), -1}), Error);
  expect_tensor(result_of("aten::pow", "Scalar", {-1.5, ints({2, 3, 0, -1})}),
                {2.25, -3.375, 1, -2.0 / 3}, DType::kFloat32);
  expect_tensor(result_of("aten::pow", "Tensor_Tensor",
                          {make({2, -2, 0, 4}, DType::kFloat16), make({0.5, 3, -1, -0.5})}),
                {std::sqrt(2.0), -8, kInf, 0.5}, DType::kFloat32);
  expect_tensor(result_of("aten::float_power", "Tensor_Scalar", {ints({2}), -1}), {0.5}, kF64);
  Tensor x = make({4, 9});
  expect_tensor(result_of("aten::pow_", "Scalar", {x, 0.5}), {2, 3});
  expect_tensor(x, {2, 3});
}

TEST(Arithmetic, SquaresOfIntegersWrap) {
  expect_tensor(result_of("aten::square", "", {ints({3, -4, 4294967296})}), {9, 16, 0},
                DType::kInt64);
  expect_tensor(result_of("aten::square", "", {make({3, 16, 20}, DType::kUInt8)}), {9, 0, 144},
                DType::kUInt8);
  expect_tensor(result_of("aten::pow", "Tensor_Scalar", {make({0, 1}, DType::kBool), 2}), {0, 1},
                DType::kInt64);
}

// Integers of fewer than 64 bits, in rows of every tail, with a partner that is repeated or a
// number.
TEST(Arithmetic, NarrowIntegersWrap) {
  for (const DType dtype : {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32}) {
    const auto wrapped = [dtype](int64_t x) {
      const auto bits = 8 * element_size(dtype);
      const auto cut = static_cast<uint64_t>(x) << (64 - bits);
      return static_cast<double>(dtype == DType::kUInt8 ? static_cast<int64_t>(cut >> (64 - bits))
                                                        : static_cast<int64_t>(cut) >> (64 - bits));
    };
    for (const int64_t count : {1, 3, 16, 33, 70}) {
      std::vector<double> x, y, sums, differences, products, doubled, from_number;
      const auto scale = static_cast<int64_t>(wrapped(int64_t{0x7A6B5C4D3E2F1055}));
      for (int64_t i = 0; i < count; ++i) {
        const double a = wrapped(scale * (3 * i + 1)), b = wrapped(scale * (7 * i + 5));
        const auto p = static_cast<int64_t>(a), q = static_cast<int64_t>(b);
        x.push_back(a);
        y.push_back(b);
        sums.push_back(wrapped(p + q));
        differences.push_back(wrapped(p - q));
        products.push_back(wrapped(p * q));
        doubled.push_back(wrapped(2 * p));
        from_number.push_back(wrapped(100 - p));
      }
      const Tensor a = make(x, dtype), b = make(y, dtype);
      expect_tensor(result_of("aten::add", "Tensor", {a, b}), sums, dtype);
      expect_tensor(result_of("aten::sub", "Tensor", {a, b}), differences, dtype);
      expect_tensor(result_of("aten::mul", "Tensor", {a, b}), products, dtype);
      expect_tensor(result_of("aten::mul", "Scalar", {a, 2}), doubled, dtype);
      expect_tensor(result_of("aten::rsub", "Scalar", {a, 100}), from_number, dtype);
      const Tensor one = make({y[0]}, dtype);
      std::vector<double> raised;
      for (const double v : x) {
        raised.push_back(wrapped(static_cast<int64_t>(v) + static_cast<int64_t>(y[0])));
      }
      expect_tensor(result_of("aten::add", "Tensor", {a, one}), raised, dtype);
    }
  }
}

TEST(Arithmetic, InPlaceRefusesWhatDoesNotFit) {
  EXPECT_THROW(call_op("aten::div_", "Tensor", {ints({1}), ints({2})}), Error);
  EXPECT_THROW(call_op("aten::add_", "Tensor", {make({1}), make({1, 2})}), Error);
  EXPECT_THROW(call_op("aten::sub", "Tensor", {make({1}, kBool), make({1}, kBool)}), Error);
  EXPECT_THROW(call_op("aten::add", "Tensor", {ints({1}), ints({1}), 0.5}), Error);
}

TEST(Comparison, SmallIntegersWrapTheirPartner) {
  expect_tensor(result_of("aten::eq", "Scalar", {make({1, 44}, kU8), 300}), {0, 1}, kBool);
  expect_tensor(result_of("aten::gt", "Scalar", {ints({1, 3}), 2.5}), {0, 1}, kBool);
  expect_tensor(result_of("aten::maximum", "", {make({1, kNan, 3}), make({2, 2, kNan})}),
                {2, kNan, kNan});
  expect_tensor(result_of("aten::fmin", "", {make({1, kNan, kNan}), make({2, 2, kNan})}),
                {1, 2, kNan});
}

TEST(Comparison, ClampAndWhere) {
  expect_tensor(result_of("aten::clamp", "", {make({-1, 0.5, 9, kNan}), 0, 1}), {0, 0.5, 1, kNan});
  expect_tensor(result_of("aten::clamp", "", {ints({1, 5}), 2.5}), {2.5, 5});
  expect_tensor(result_of("aten::clamp", "", {make({1, 2}), 5, 1}), {1, 1});
  EXPECT_THROW(call_op("aten::clamp", "", {make({1})}), Error);
  expect_tensor(result_of("aten::where", "self", {make({1, 0}, kBool), ints({1}), make({2, 3})}),
                {1, 3});
  EXPECT_THROW(call_op("aten::where", "self", {ints({1}), ints({1}), ints({1})}), Error);
  expect_tensor(result_of("aten::isclose", "", {make({1, 1, kNan}), make({1.000001, 2, kNan})}),
                {1, 0, 0}, kBool);
}

TEST(Unary, RoundsHalfToEven) {
  expect_tensor(result_of("aten::round", "", {make({0.5, 1.5, -2.5})}), {0, 2, -2});
  expect_tensor(result_of("aten::round", "decimals", {make({1.2345, -6.5432}), 2}), {1.23, -6.54});
  expect_tensor(result_of("aten::round", "decimals", {make({1234, 5678}), -2}), {1200, 5700});
  expect_tensor(result_of("aten::ceil", "", {ints({3})}), {3}, kI64);
}

// Steps of 32 and a rest.
TEST(Binary, ManyBools) {
  std::vector<double> a, b, less, differ, largest, neither, chosen;
  for (int i = 0; i < 71; ++i) {
    a.push_back(i % 2);
    b.push_back(i / 2 % 2);
    less.push_back(a.back() < b.back());
    differ.push_back(a.back() != b.back());
    largest.push_back(std::max(a.back(), b.back()));
    neither.push_back(a.back() == 0);
    chosen.push_back(differ.back() != 0 ? a.back() : b.back());
  }
  const Tensor x = make(a, kBool), y = make(b, kBool);
  expect_tensor(result_of("aten::lt", "Tensor", {x, y}), less, kBool);
  expect_tensor(result_of("aten::bitwise_xor", "Tensor", {x, y}), differ, kBool);
  expect_tensor(result_of("aten::maximum", "", {x, y}), largest, kBool);
  expect_tensor(result_of("aten::logical_not", "", {x}), neither, kBool);
  const Tensor third = result_of("aten::bitwise_xor", "Tensor", {x, y});
  expect_tensor(result_of("aten::where", "self", {third, x, y}), chosen, kBool);
}

TEST(Unary, IntegersBecomeFloats) {
  expect_tensor(result_of("aten::sqrt", "", {ints({4, 2})}), {2, 1.41421356});
  expect_tensor(result_of("aten::sigmoid", "", {make({0, 1}, kBool)}), {0.5, 0.731058579});
  expect_tensor(result_of("aten::neg", "", {make({1}, kU8)}), {255}, kU8);
  expect_tensor(result_of("aten::nan_to_num", "", {make({kNan, kInf}), kNan, 7.0}), {kNan, 7});
  const Tensor half = make({kInf}, DType::kFloat16);
  expect_tensor(result_of("aten::nan_to_num", "", {half}), {65504}, DType::kFloat16);
}

TEST(Unary, SpecialFunctions) {
  expect_tensor(result_of("aten::digamma", "", {make({1, 0.25, 0, -1}, kF64)}),
                {-0.5772156649015329, -4.2274535333762655, -kInf, kNan}, kF64);
  expect_tensor(result_of("aten::erfinv", "", {make({0.5, -0.999, 1}, kF64)}),
                {0.4769362762044699, -2.3267537655135246, kInf}, kF64);
  expect_tensor(result_of("aten::polygamma", "", {2, make({1, 0.5}, kF64)}),
                {-2.404113806319188, -16.82879664423432}, kF64);
  expect_tensor(result_of("aten::mvlgamma", "", {make({3}, kF64), 2}), {1.5501949939575644}, kF64);
  for (const DType dtype : {DType::kFloat32, kF64}) {
    const Tensor x = make({10, -0.25, 0, -0.0, kInf, kNan, -0x1.8p-140, 1}, dtype);
    expect_tensor(result_of("aten::frexp", "Tensor", {x}, 0),
                  {0.625, -0.5, 0, -0.0, kInf, kNan, -0.75, 0.5}, dtype);
    expect_tensor(result_of("aten::frexp", "Tensor", {x}, 1), {4, -1, 0, 0, 0, 0, -139, 1},
                  DType::kInt32);
    expect_tensor(result_of("aten::special_spherical_bessel_j0", "",
                            {make({0, 1e-5, 0.5, -2, kInf, kNan}, dtype)}),
                  {1, 1, 0.95885107720840601, 0.45464871341284085, 0, kNan}, dtype);
  }
}

TEST(Binary, BitsAndShifts) {
  expect_tensor(result_of("aten::bitwise_not", "", {make({1, 0}, kBool)}), {0, 1}, kBool);
  expect_tensor(result_of("aten::bitwise_left_shift", "Tensor_Scalar", {ints({1, -3}), 2}),
                {4, -12}, kI64);
  expect_tensor(result_of("aten::__rshift__", "Scalar", {ints({-5, 5}), 1}), {-3, 2}, kI64);
  Tensor x = ints({6});
  call_op("aten::__ixor__", "Scalar", {x, 3});
  expect_tensor(x, {5}, kI64);
  const Tensor counts = ints({0, 1, 63, 64, -1, INT64_MIN}), ones = ints({-3, -3, -3, -3, -3, -3});
  expect_tensor(result_of("aten::bitwise_left_shift", "Tensor", {ones, counts}),
                {-3, -6, -0x1p63, 0, 0, 0}, kI64);
  expect_tensor(result_of("aten::bitwise_right_shift", "Tensor", {ones, counts}),
                {-3, -2, -1, -1, -1, -1}, kI64);
  const Tensor bytes = make({-127, 127, 127, 127, 127}, DType::kInt8),
               shifts = make({1, 1, 7, 8, -1}, DType::kInt8);
  expect_tensor(result_of("aten::bitwise_left_shift", "Tensor", {bytes, shifts}),
                {2, -2, -128, 0, 0}, DType::kInt8);
  expect_tensor(result_of("aten::bitwise_right_shift", "Tensor", {bytes, shifts}),
                {-64, 63, 0, 0, 0}, DType::kInt8);
  expect_tensor(result_of("aten::gcd", "", {ints({12, 0}), ints({-18, 0})}), {6, 0}, kI64);
  expect_tensor(result_of("aten::lcm", "", {ints({4, 0}), ints({-6, 0})}), {12, 0}, kI64);
}

TEST(Binary, InPlaceOperandsMayLieInTheSameMemory) {
  const Tensor x = ints({1, 2, 4, 8, 16});
  const void* memory = x.raw_data();
  call_op("aten::__ior__", "Tensor", {x, ints({8, 8, 8, 8, 8})});
  expect_tensor(x, {9, 10, 12, 8, 24}, kI64);
  call_op("aten::__ixor__", "Tensor", {narrow(x, 0, 1, 4), narrow(x, 0, 0, 4)});
  expect_tensor(x, {9, 3, 6, 4, 16}, kI64);
  call_op("aten::__ilshift__", "Tensor", {x, ints({1})});
  expect_tensor(x, {18, 6, 12, 8, 32}, kI64);
  call_op("aten::__iand__", "Tensor", {x, make({14, 6, 4, 12, 2}, kU8)});
  expect_tensor(x, {2, 6, 4, 8, 0}, kI64);
  EXPECT_EQ(x.raw_data(), memory);
  EXPECT_THROW(call_op("aten::__iand__", "Tensor", {ints({1}), ints({1, 2})}), Error);
  const Tensor repeated = expand(ints({1}), IntArray{3});
  EXPECT_THROW(call_op("aten::__iand__", "Tensor", {repeated, ints({1, 2, 3})}), Error);
}

// Kernels between two functions: pieces of 1024 and what is left.
TEST(Composed, EveryQuadrantAndPiece) {
  kernels::for_each_target([] {
    const double numbers[] = {0, -0.0, 1, -1, 0.5, -3e30, 1e-40, kInf, -kInf, kNan, 3};
    std::vector<double> a, b, angles, logarithms, odds;
    for (int64_t i = 0; i < 1100; ++i) {
      const auto y = static_cast<double>(static_cast<float>(numbers[i % 11]));
      const auto x = static_cast<double>(static_cast<float>(numbers[i / 11 % 11]));
      a.push_back(y), b.push_back(x);
      angles.push_back(std::atan2(y, x));
      logarithms.push_back(std::isnan(x) ? x : y == 0 ? 0 : y * std::log1p(x));
      odds.push_back(std::log(y / (1 - y)));
    }
    for (const DType dtype : {DType::kFloat32, kF64}) {
      const Tensor x = make(a, dtype), y = make(b, dtype);
      const Tensor angle = result_of("aten::atan2", "", {x, y});
      expect_tensor(angle, angles, dtype);
      const std::vector<double> found = elements_of(angle);
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_TRUE(std::isnan(found[i]) || std::signbit(found[i]) == std::signbit(angles[i])) << i;
      }
      expect_tensor(result_of("aten::special_xlog1py", "", {x, y}), logarithms, dtype);
      expect_tensor(result_of("aten::logit", "", {x}), odds, dtype);
      expect_tensor(result_of("aten::logit", "", {make({-1, 0.5, 2}, dtype), 0.25}),
                    {-std::log(3), 0, std::log(3)}, dtype);
      const Tensor few = make({0, 0.25, -1.5, kNan}, dtype);
      expect_tensor(result_of("aten::sinc", "", {few}),
                    {1, 0.90031631615710606, -0.21220659078919378, kNan}, dtype);
    }
  });
  expect_tensor(result_of("aten::atan2", "", {ints({-1, 0, 1}), ints({-1, -1, 0})}),
                {-2.35619449, 3.14159265, 1.57079633});
}

// By polynomials in vectors of floats, and otherwise in double.
TEST(Special, FloatsAreAsDoubles) {
  kernels::for_each_target([] {
    std::vector<double> everywhere, inside, probabilities;
    for (int i = -600; i < 600; ++i) {
      everywhere.push_back(static_cast<double>(std::ldexp(static_cast<float>(i) / 97, i % 5)));
      inside.push_back(static_cast<double>(static_cast<float>(i) / 600));
      probabilities.push_back(static_cast<double>(std::ldexp(0.75f, i / 5 - 121)));
    }
    for (std::vector<double>* list : {&everywhere, &inside, &probabilities}) {
      list->insert(list->end(), {kNan, kInf, -kInf, -1, 1, 2, 0, -0.0});
    }
    const auto compare = [](const char* name, const std::vector<double>& x) {
      SCOPED_TRACE(name);
      const std::vector<double> floats = elements_of(result_of(name, "", {make(x)})),
                                doubles = elements_of(result_of(name, "", {make(x, kF64)}));
      for (size_t i = 0; i < x.size(); ++i) {
        const auto expected = static_cast<double>(static_cast<float>(doubles[i]));
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(floats[i])) << x[i];
        } else if (std::isinf(expected) || std::isinf(floats[i])) {
          EXPECT_GT(floats[i] / (expected > 0 ? 1e36 : -1e36), 1) << x[i];
          EXPECT_GT(expected / (floats[i] > 0 ? 1e36 : -1e36), 1) << x[i];
        } else {
          EXPECT_NEAR(floats[i], expected, 2e-6 * std::abs(expected) + 1e-44) << x[i];
        }
      }
    };
    compare("aten::i0", everywhere);
    compare("aten::special_i0e", everywhere);
    compare("aten::special_i1", everywhere);
    compare("aten::special_i1e", everywhere);
    compare("aten::special_ndtr", inside);
    compare("aten::erfinv", inside);
    compare("aten::special_ndtri", probabilities);
  });
}

TEST(Special, PolynomialsOfLowDegree) {
  const std::vector<double> points = {-1, -0.5, 0, 0.25, 1, 1.5, kNan};
  const auto compare = [&](const std::string& name, bool is_exact_at_ends = false) {
    for (const double degree : {-1.0, 0.0, 1.0, 2.0, 3.5, 6.0, 7.0}) {
      SCOPED_TRACE(name + " of degree " + std::to_string(degree));
      const Tensor floats = result_of("aten::special_" + name, "n_scalar", {make(points), degree});
      const Tensor doubles =
          result_of("aten::special_" + name, "n_scalar", {make(points, kF64), degree});
      expect_tensor(floats, elements_of(doubles));
      for (size_t i : {0, 4}) {
        EXPECT_TRUE(!is_exact_at_ends || elements_of(floats)[i] == elements_of(doubles)[i]);
      }
    }
  };
  for (const char* kind : {"t", "u", "v", "w"}) {
    compare(std::string("chebyshev_polynomial_") + kind, true);
    compare(std::string("shifted_chebyshev_polynomial_") + kind);
  }
  for (const char* name :
       {"hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"}) {
    compare(name);
  }
  compare("legendre_polynomial_p", true);
  expect_tensor(result_of("aten::special_hermite_polynomial_h", "n_scalar", {ints({2}), 3}), {40});
  expect_tensor(
      result_of("aten::special_hermite_polynomial_h", "n_scalar", {make({1, 0}, kBool), 3}),
      {-4, 0});
}

// Where one series ends and another begins; the values are mpmath's.
TEST(Special, SeriesOfBesselAndAiry) {
  const auto expect = [](const char* name, const std::vector<double>& x,
                         const std::vector<double>& expected) {
    const std::vector<double> found = elements_of(result_of(name, "", {make(x, kF64)}));
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-13 * std::abs(expected[i])) << name << " " << x[i];
    }
  };
  expect("aten::special_modified_bessel_k0", {0.5, 1, 2, 25, 30},
         {0.92441907122766586, 0.42102443824070833, 0.11389387274953344, 3.4641615622131144e-12,
          2.1324774964630564e-14});
  expect("aten::special_scaled_modified_bessel_k1", {0.5, 1, 2, 25, 30},
         {2.7310097082117857, 1.6361534862632582, 1.0334768470686886, 0.25437732954208525,
          0.2316541293777118});
  expect("aten::special_airy_ai", {-5, -2, -1, 0, 1, 2, 2.5, 9},
         {0.35076100902411432, 0.22740742820168558, 0.53556088329235212, 0.35502805388781724,
          0.13529241631288142, 0.034924130423274379, 0.01572592338047049, 2.4711684308724898e-9});
}

TEST(Binary, NextNumbers) {
  const double tiny = 0x1p-149, most = 0x1.fffffep127;
  expect_tensor(
      result_of("aten::nextafter", "",
                {make({1, 1, 0, -0.0, tiny, -1, most, kInf, kNan, 0, 2}),
                 make({2, 0, -1, 1, 0, -2, kInf, 0, 1, kNan, 2})}),
      {1 + 0x1p-23, 1 - 0x1p-24, -tiny, tiny, 0, -1 - 0x1p-23, kInf, most, kNan, kNan, 2});
  expect_tensor(result_of("aten::nextafter", "",
                          {make({1, 0}, DType::kBFloat16), make({2, -1}, DType::kBFloat16)}),
                {1 + 0x1p-7, -0x1p-133}, DType::kBFloat16);
}

TEST(Binary, LogarithmsAndLimits) {
  expect_tensor(result_of("aten::logaddexp", "", {make({1, -kInf}), make({2, -kInf})}),
                {2.31326169, -kInf});
  expect_tensor(result_of("aten::xlogy", "Scalar_Other", {make({0, 2}), 0.0}), {0, -kInf});
  expect_tensor(result_of("aten::ldexp", "Tensor", {ints({3}), ints({-1})}), {1.5});
  expect_tensor(result_of("aten::heaviside", "", {make({-1, 0, 2}), make({0.5})}), {0, 0.5, 1});
  expect_tensor(result_of("aten::lerp", "Scalar", {make({1, 2}), make({3, 2}), 0.75}), {2.5, 2});
}

TEST(Activation, ValuesAndDomains) {
  const Tensor x = make({-4, -1, 0, 2, 7});
  expect_tensor(result_of("aten::relu6", "", {x}), {0, 0, 0, 2, 6});
  expect_tensor(result_of("aten::hardswish", "", {x}), {0, -1.0 / 3, 0, 5.0 / 3, 7});
  expect_tensor(result_of("aten::elu", "", {x}), {-0.981684361, -0.632120559, 0, 2, 7});
  expect_tensor(result_of("aten::selu", "", {x}),
                {-1.72589854, -1.11133073, 0, 2.10140197, 7.35490691});
  expect_tensor(result_of("aten::gelu", "", {x}), {-1.26684e-4, -0.158655254, 0, 1.95449974, 7});
  expect_tensor(result_of("aten::gelu", "", {x, "tanh"}),
                {-7.02202e-5, -0.158808009, 0, 1.95459771, 7});
  expect_tensor(result_of("aten::softplus", "", {x}),
                {0.0181499279, 0.313261688, 0.693147181, 2.12692801, 7.00091147});
  expect_tensor(result_of("aten::relu", "", {ints({-1, 1})}), {0, 1}, kI64);
  EXPECT_THROW(call_op("aten::relu", "", {make({1}, kBool)}), Error);
  expect_tensor(
      result_of("aten::prelu", "", {make({-1, -1}, DType::kFloat32, {1, 2}), make({0.5, 0.25})}),
      {-0.5, -0.25}, DType::kFloat32, {1, 2});
  EXPECT_THROW(call_op("aten::glu", "", {make({1, 2, 3})}), Error);
  expect_tensor(result_of("aten::glu", "", {make({1, 2, 0, 0})}), {0.5, 1});
}

TEST(Activation, SoftmaxAlongAnyDimension) {
  const Tensor x = make({1, 2, 3, 1, 1, 1}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::softmax", "int", {x, -1, Value()}),
                {0.0900305732, 0.244728471, 0.665240956, 1.0 / 3, 1.0 / 3, 1.0 / 3},
                DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::softmax", "int", {x, 0, Value()}),
                {0.5, 0.731058579, 0.880797078, 0.5, 0.268941421, 0.119202922}, DType::kFloat32,
                {2, 3});
  expect_tensor(
      result_of("aten::log_softmax", "int", {ints({0, 1}), 0, static_cast<int64_t>(kF64)}),
      {-1.313261687518223, -0.31326168751822286}, kF64);
}

// Loops of whole steps, and short rows that are computed together.
TEST(Steps, EveryTailAndRow) {
  kernels::for_each_target([] {
    for (int64_t n : {1, 7, 31, 32, 33, 64, 127, 128, 129, 1030}) {
      for (int64_t rows : {1, 3, 40}) {
        std::vector<double> a, b, both, smaller, is_less, negative;
        for (int64_t i = 0; i < rows * n; ++i) {
          a.push_back(static_cast<double>(i * 7 % 11)),
              b.push_back(static_cast<double>(i * 5 % 13));
          both.push_back(static_cast<double>(i * 7 % 11 & i * 5 % 13));
          smaller.push_back(std::min(a.back(), b.back()));
          is_less.push_back(a.back() < b.back());
          negative.push_back(-a.back());
        }
        // Each row has a gap behind it.
        const auto strided = [&](const std::vector<double>& list, DType dtype) {
          const Tensor wide = zeros(IntArray{rows, n + 3}, dtype), view = narrow(wide, 1, 0, n);
          view.copy_(reshape(make(list), IntArray{rows, n}));
          return view;
        };
        for (const DType dtype : {kI64, kF64, DType::kFloat32, DType::kFloat16, kU8}) {
          const Tensor x = strided(a, dtype), y = strided(b, dtype);
          const IntArray shape{rows, n};
          expect_tensor(result_of("aten::fmin", "", {x, y}), smaller, dtype, shape);
          expect_tensor(result_of("aten::lt", "Tensor", {x, y}), is_less, kBool, shape);
          if (dtype != kU8) expect_tensor(result_of("aten::neg", "", {x}), negative, dtype, shape);
          if (is_integral(dtype, false)) {
            expect_tensor(result_of("aten::bitwise_and", "Tensor", {x, y}), both, dtype, shape);
          }
        }
      }
    }
  });
}

// Short rows of which an operand is repeated along any dimensions, with and without another dtype.
TEST(Steps, ShortRowsAreRepeated) {
  constexpr DType kF32 = DType::kFloat32, kI32 = DType::kInt32;
  for (const int64_t n : {1, 2, 3, 5, 16, 17, 128, 512, 513}) {
    const IntArray shape{5, 29, n};
    for (const auto& [dtype, other, result] :
         {std::array{kF32, kF32, kF32}, std::array{kI32, kI64, kI64}, std::array{kI64, kI32, kI64},
          std::array{kF64, kF64, kF64}, std::array{kBool, kU8, kU8}, std::array{kF32, kU8, kF32},
          std::array{DType::kFloat16, DType::kFloat16, DType::kFloat16}}) {
      for (int repeated = 0; repeated < 8; ++repeated) {
        IntArray sizes = shape;
        for (size_t d = 0; d < 3; ++d) sizes[d] = repeated >> d & 1 ? 1 : shape[d];
        const Tensor wide = ramp({5, 29, n + 1}, 3, dtype), x = narrow(wide, 2, 0, n);
        const Tensor y = ramp(sizes, 8, other), all = expand(y, shape);
        const std::vector<double> a = elements_of(x), b = elements_of(all);
        std::vector<double> smaller, is_less;
        for (size_t i = 0; i < a.size(); ++i) {
          smaller.push_back(std::min(a[i], b[i]));
          is_less.push_back(a[i] < b[i]);
        }
        SCOPED_TRACE(repeated);
        expect_tensor(result_of("aten::fmin", "", {x, y}), smaller, result, shape);
        expect_tensor(result_of("aten::lt", "Tensor", {x, y}), is_less, kBool, shape);
        if (dtype != result) continue;
        call_op("aten::fmin", "out", {x, y, x});  // rows with gaps
        expect_tensor(x, smaller, dtype, shape);
      }
    }
  }
}

TEST(Binary, RowsWithANumberEach) {
  for (const int64_t n : {1, 15, 16, 17, 33, 130}) {
    const IntArray shape{5, 29, n};
    const Tensor x = ramp(shape, 3);
    for (const IntArray& sizes : {IntArray{5, 29, 1}, IntArray{5, 1, 1}, IntArray{1, 29, 1}}) {
      const Tensor y = ramp(sizes, 8);
      const std::vector<double> a = elements_of(x), b = elements_of(expand(y, shape));
      std::vector<double> product, difference, larger;
      for (size_t i = 0; i < a.size(); ++i) {
        const auto p = static_cast<float>(a[i]), q = static_cast<float>(b[i]);
        product.push_back(static_cast<double>(p * q));
        difference.push_back(static_cast<double>(p - q));
        larger.push_back(std::max(a[i], b[i]));
      }
      SCOPED_TRACE(n);
      expect_tensor(result_of("aten::mul", "Tensor", {x, y}), product, DType::kFloat32, shape);
      expect_tensor(result_of("aten::sub", "Tensor", {x, y, 1}), difference, DType::kFloat32,
                    shape);
      expect_tensor(result_of("aten::maximum", "", {x, y}), larger, DType::kFloat32, shape);
    }
  }
}

TEST(Steps, DivisorsAreNotInvented) {
  // What fills up a step are elements again, and no zeros to divide by.
  expect_tensor(result_of("aten::floor_divide", "", {ints({7, 8, 9}), ints({2, 2, 2})}), {3, 4, 4},
                kI64);
}

TEST(Arithmetic, RemaindersOfFloatsAreExact) {
  const float numbers[] = {0,        -0.0f,   1,    -1,   3,           0.1f,     -0.1f,    0.3f,
                           1e-45f,   1e-30f,  7.5f, 1e8f, -1e8f,       16777216, 3.4e38f,  -3.4e38f,
                           INFINITY, 2.5e-3f, 1e7f, 0.7f, 33554430.0f, 1.5e9f,   -0.6999f, 2.1f};
  std::vector<double> a, b, rests;
  for (float x : numbers) {
    for (float y : numbers) {
      a.push_back(static_cast<double>(x)), b.push_back(static_cast<double>(y));
      rests.push_back(static_cast<double>(std::fmod(x, y)));
    }
  }
  const Tensor rest = result_of("aten::fmod", "Tensor", {make(a), make(b)});
  const Tensor quotients = result_of("aten::floor_divide", "", {make(a), make(b)});
  for (size_t i = 0; i < rests.size(); ++i) {
    const auto value = static_cast<double>(rest.data_ptr<float>()[i]);
    if (std::isnan(rests[i])) {
      EXPECT_TRUE(std::isnan(value)) << a[i] << " % " << b[i];
      continue;
    }
    EXPECT_EQ(value, rests[i]) << a[i] << " % " << b[i];
    EXPECT_EQ(std::signbit(value), std::signbit(rests[i])) << a[i] << " % " << b[i];
    if (std::abs(a[i] / b[i]) < 1e6 && std::isfinite(b[i])) {
      const double quotient = std::floor(a[i] / b[i]);
      EXPECT_EQ(static_cast<double>(quotients.data_ptr<float>()[i]), quotient)
          << a[i] << " // " << b[i];
    }
  }
}

TEST(Functions, IntegersAndHalvesGoThroughKernels) {
  expect_tensor(result_of("aten::asin", "", {ints({-1, 0, 1, 2})}), {-M_PI / 2, 0, M_PI / 2, kNan});
  expect_tensor(result_of("aten::cosh", "", {make({0, 1}, kF64)}), {1, std::cosh(1)}, kF64);
  expect_tensor(result_of("aten::isinf", "", {ints({-1, 0})}), {0, 0}, kBool);
  expect_tensor(result_of("aten::isfinite", "", {ints({-1, 0})}), {1, 1}, kBool);
  expect_tensor(result_of("aten::isneginf", "", {make({-kInf, kInf, kNan})}), {1, 0, 0}, kBool);
  expect_tensor(result_of("aten::softshrink", "", {make({-2, -0.25, 1, kNan}), 0.5}),
                {-1.5, 0, 0.5, 0});
  expect_tensor(result_of("aten::logaddexp", "", {make({kInf, -kInf, 0}), make({kInf, -kInf, 0})}),
                {kInf, -kInf, std::log(2)});
}

// Seventeen elements: a whole step and what is left of one.
TEST(Pointwise, WhatHasVectorsHandlesEveryKindOfNumber) {
  const double inf = INFINITY, tiny = 0x1p-140;
  const Tensor x =
      make({0, -0.0, -1, inf, -inf, NAN, tiny, 1, 2, 8, 0.25, 1000, 1e-3, 0x1p100, 10, 3, 5});
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    std::vector<double> twos, tens, entropies;
    for (const double value : elements_of(x)) {
      twos.push_back(std::log2(value));
      tens.push_back(std::log10(value));
      entropies.push_back(value == 0 ? 0 : value < 0 ? -inf : -value * std::log(value));
    }
    const Tensor in = x.to(dtype);
    expect_tensor(result_of("aten::log2", "", {in}), twos, dtype);
    expect_tensor(result_of("aten::log10", "", {in}), tens, dtype);
    expect_tensor(result_of("aten::special_entr", "", {in}), entropies, dtype);
    for (const double power : {8.0, 0.25, 0x1p100, 1.0}) {
      const Tensor exact = result_of("aten::log2", "", {make({power}, dtype)});
      EXPECT_EQ(elements_of(exact)[0], std::log2(power));
    }
    EXPECT_EQ(elements_of(result_of("aten::log10", "", {make({1000}, dtype)}))[0], 3);
    const Tensor y = make({2.75, -2.75, 0.5, -0.5, 0, 0x1p30, -0x1p60, inf, NAN}, dtype);
    expect_tensor(result_of("aten::frac", "", {y}), {0.75, -0.75, 0.5, -0.5, 0, 0, 0, NAN, NAN},
                  dtype);
    expect_tensor(result_of("aten::round", "decimals", {y, 1}),
                  {2.8, -2.8, 0.5, -0.5, 0, 0x1p30, -0x1p60, inf, NAN}, dtype);
    expect_tensor(result_of("aten::round", "decimals", {make({250, 350, -449}, dtype), -2}),
                  {200, 400, -400}, dtype);
    const Tensor zero = make({0, 0, 0, 0}, dtype), ys = make({0, -1, NAN, inf}, dtype);
    expect_tensor(result_of("aten::xlogy", "Tensor", {zero, ys}), {0, 0, NAN, 0}, dtype);
    expect_tensor(result_of("aten::lerp", "Tensor",
                            {make({1, 1}, dtype), make({3, 3}, dtype), make({0.25, 0.75}, dtype)}),
                  {1.5, 2.5}, dtype);
    expect_tensor(
        result_of("aten::polygamma", "", {1, make({1, 0.25, -0.5, 30}, dtype)}),
        {1.6449340668482264, 17.197329154507109, 8.9348022005446793, 0.033895044512797975}, dtype);
  }
  const Tensor numbers = ints({1, 2, 4, 7, -8, 16, 3, 5, 9});
  call_op("aten::__ior__", "Scalar", {numbers, 8});
  expect_tensor(numbers, {9, 10, 12, 15, -8, 24, 11, 13, 9}, DType::kInt64);
}

// Squares may leave the range of floats where the sides and the result do not; an infinite side
// wins over NaN.
TEST(Hypot, NeitherOverflowsNorLosesInfinity) {
  const double inf = INFINITY, nan = NAN;
  const Tensor a = make({3, 3e38, 3e-40, inf, nan, nan, -0.0}),
               b = make({-4, 1e38, -4e-40, nan, -inf, 1, 0});
  const auto got = elements_of(result_of("aten::hypot", "", {a, b}));
  EXPECT_EQ(got[0], 5);
  EXPECT_NEAR(got[1] / 3.16227766e38, 1, 1e-6);
  EXPECT_NEAR(got[2] / 5e-40, 1, 1e-4);
  EXPECT_EQ(got[3], inf);
  EXPECT_EQ(got[4], inf);
  EXPECT_TRUE(std::isnan(got[5]));
  EXPECT_EQ(got[6], 0);
}

// Wherever they differ, in whatever order their memory lies.
TEST(Compare, LargeTensorsAreEqualInAllElements) {
  for (const bool is_across : {false, true}) {
    Tensor x = zeros(IntArray{5, 67, 71}, DType::kFloat32);
    Tensor y = zeros(IntArray{5, 67, 71}, DType::kFloat32);
    if (is_across) x = transpose(x, 0, 2), y = transpose(y, 0, 2);
    EXPECT_TRUE(call_op("aten::equal", "", {x, y}).to_bool());
    for (const int64_t at : {0, 4095, 4096, 12000, 23784}) {
      float& element = y.data_ptr<float>()[at];
      element = at % 2 ? NAN : 2;
      EXPECT_FALSE(call_op("aten::equal", "", {x, y}).to_bool()) << at;
      element = 0;
    }
  }
}

// Bytes that lie alike are chosen in steps; what a step leaves over, and what does not, one by one.
TEST(Where, BytesOfEveryLength) {
  for (const DType dtype : {DType::kBool, DType::kUInt8, DType::kInt8}) {
    for (const int64_t n : {0, 1, 63, 64, 65, 128, 200}) {
      for (const DType condition_dtype : {DType::kBool, DType::kUInt8}) {
        std::vector<double> flags, yes, no, expected;
        for (int64_t i = 0; i < n; ++i) {
          flags.push_back(i * 5 % 3 == 0 ? 0 : condition_dtype == DType::kBool ? 1 : i % 255 + 1);
          yes.push_back(dtype == DType::kBool ? 1 : static_cast<double>(i % 100));
          no.push_back(dtype == DType::kBool ? i % 2 : static_cast<double>(i % 27 + 100));
          expected.push_back(flags.back() != 0 ? yes.back() : no.back());
        }
        const Tensor condition = make(flags, condition_dtype), a = make(yes, dtype),
                     b = make(no, dtype);
        expect_tensor(result_of("aten::where", "self", {condition, a, b}), expected, dtype);
        const Tensor wide = empty(IntArray{n, 2}, dtype), spread = select(wide, 1, 1);
        spread.copy_(b);
        expect_tensor(result_of("aten::where", "self", {condition, a, spread}), expected, dtype);
      }
    }
  }
}

}  // namespace
}  // namespace torchlet::ops
