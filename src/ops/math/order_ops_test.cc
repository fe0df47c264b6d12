// Sorting, searching, counting and torch.special. Expected numbers are PyTorch 1.13's.
#include <algorithm>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY;
constexpr double kNan = NAN;
constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI64 = DType::kInt64,
                kI32 = DType::kInt32, kBool = DType::kBool;

TEST(Sort, NanIsLargestAndEqualElementsKeepTheirOrder) {
  const Tensor x = make({3, kNan, 1, 3});
  expect_tensor(result_of("aten::sort", "", {x}), {1, 3, 3, kNan});
  expect_tensor(result_of("aten::sort", "", {x}, 1), {2, 0, 3, 1}, kI64);
  expect_tensor(result_of("aten::sort", "", {x, 0, true}, 1), {1, 0, 3, 2}, kI64);
  expect_tensor(result_of("aten::msort", "", {ints({3, 1, 2, 0}, {2, 2})}), {2, 0, 3, 1}, kI64,
                {2, 2});
  expect_tensor(result_of("aten::argsort", "", {make({5}, kF32, {})}), {0}, kI64, {});
}

TEST(Sort, TopkPicksAlongADimension) {
  const Tensor x = make({1, 9, 3, 7, 2, 8}, kF32, {2, 3});
  expect_tensor(result_of("aten::topk", "", {x, 2}), {9, 3, 8, 7}, kF32, {2, 2});
  expect_tensor(result_of("aten::topk", "", {x, 1, 0, false}, 1), {0, 1, 0}, kI64, {1, 3});
  expect_tensor(result_of("aten::topk", "", {make({3, kNan, 1}), 2}), {kNan, 3});
  EXPECT_THROW(call_op("aten::topk", "", {x, 4}), Error);
}

// Along a dimension of one element the results are the elements, in memory of their own.
TEST(Sort, OfOneElementEach) {
  const Tensor x = transpose(make({3, kNan, -1, 2, 0, 5}, kF32, {1, 2, 3}), 1, 2);
  const std::vector<double> elements = {3, 2, kNan, 0, -1, 5}, zeros(6);
  const std::pair<const char*, std::vector<Value>> calls[] = {
      {"aten::sort", {x, 0, true}}, {"aten::topk", {x, 1, 0}}, {"aten::kthvalue", {x, 1, 0, true}},
      {"aten::mode", {x, 0, true}}, {"aten::cummax", {x, 0}},  {"aten::cummin", {x, 0}}};
  for (const auto& [name, arguments] : calls) {
    SCOPED_TRACE(name);
    expect_tensor(result_of(name, "", arguments), elements, kF32, {1, 3, 2});
    expect_tensor(result_of(name, "", arguments, 1), zeros, kI64, {1, 3, 2});
    EXPECT_NE(result_of(name, "", arguments).raw_data(), x.raw_data());
  }
  for (const char* name : {"aten::max", "aten::min", "aten::median", "aten::nanmedian"}) {
    SCOPED_TRACE(name);
    expect_tensor(result_of(name, "dim", {x, 0, false}), elements, kF32, {3, 2});
    expect_tensor(result_of(name, "dim", {x, 0, false}, 1), zeros, kI64, {3, 2});
  }
  for (const char* name : {"aten::cumsum", "aten::cumprod"}) {
    SCOPED_TRACE(name);
    expect_tensor(result_of(name, "", {x, 0}), elements, kF32, {1, 3, 2});
    EXPECT_NE(result_of(name, "", {x, 0}).raw_data(), x.raw_data());
    expect_tensor(result_of(name, "", {ints({1, 2}, {1, 2}), 0}), {1, 2}, kI64, {1, 2});
  }
  expect_tensor(result_of("aten::argmax", "", {x, 0, true}), zeros, kI64, {1, 3, 2});
}

TEST(Sort, OrderStatistics) {
  expect_tensor(result_of("aten::kthvalue", "", {make({3, 1, 1, 1}), 2}, 1), {3}, kI64, {});
  EXPECT_THROW(call_op("aten::kthvalue", "", {make({3}), 2}), Error);
  expect_tensor(result_of("aten::median", "dim", {make({3, 1, 1, 4}), 0}, 1), {2}, kI64, {});
  expect_tensor(result_of("aten::median", "", {make({3, kNan, 1, 4})}), {kNan}, kF32, {});
  expect_tensor(result_of("aten::nanmedian", "dim", {make({3, kNan, 1, 4}), 0, true}), {3}, kF32,
                {1});
  expect_tensor(result_of("aten::median", "", {empty(IntArray{0}, kF32)}), {kNan}, kF32, {});
  expect_tensor(result_of("aten::mode", "", {ints({1, 1, 2, 2, 2, 1})}), {1}, kI64, {});
  expect_tensor(result_of("aten::mode", "", {ints({1, 1, 2, 2, 2, 1})}, 1), {5}, kI64, {});
}

TEST(Sort, Quantiles) {
  const Tensor x = make({3, 1, 2, 4});
  expect_tensor(result_of("aten::quantile", "scalar", {x, 0.3}), {1.9}, kF32, {});
  expect_tensor(result_of("aten::quantile", "", {x, make({0.3, 0.5}), Value(), true}), {1.9, 2.5},
                kF32, {2, 1});
  for (const auto& [how, expected] : std::vector<std::pair<const char*, double>>{
           {"lower", 1}, {"higher", 2}, {"midpoint", 1.5}, {"nearest", 2}}) {
    expect_tensor(result_of("aten::quantile", "scalar", {x, 0.3, Value(), false, how}), {expected},
                  kF32, {});
  }
  expect_tensor(result_of("aten::quantile", "scalar", {make({3, kNan}), 0.5}), {kNan}, kF32, {});
  expect_tensor(result_of("aten::nanquantile", "scalar", {make({3, 1, kNan}), 0.5}), {2}, kF32, {});
  EXPECT_THROW(call_op("aten::quantile", "scalar", {x, 1.5}), Error);
  EXPECT_THROW(call_op("aten::quantile", "scalar", {ints({1}), 0.5}), Error);
}

TEST(Search, PlacesInSortedSequences) {
  const Tensor sorted = make({1, 3, 5});
  expect_tensor(result_of("aten::searchsorted", "Tensor", {sorted, make({3, kNan, 0, 6})}),
                {1, 3, 0, 3}, kI64);
  expect_tensor(result_of("aten::searchsorted", "Scalar", {sorted, 3.0, true, true}), {2}, kI32,
                {});
  const Tensor rows = make({1, 3, 5, 2, 4, 6}, kF32, {2, 3});
  expect_tensor(result_of("aten::searchsorted", "Tensor", {rows, make({3, 3}, kF32, {2, 1})}),
                {1, 1}, kI64, {2, 1});
  expect_tensor(result_of("aten::searchsorted", "Tensor",
                          {make({5, 1, 3}), make({2}), false, false, Value(), ints({1, 2, 0})}),
                {1}, kI64);
  expect_tensor(result_of("aten::bucketize", "Tensor", {ints({3, 4}), sorted}), {1, 2}, kI64);
  EXPECT_THROW(call_op("aten::searchsorted", "Tensor", {rows, make({3})}), Error);
  EXPECT_THROW(call_op("aten::searchsorted", "Scalar", {sorted, 3.0, false, true, "left"}), Error);
  EXPECT_THROW(call_op("aten::searchsorted", "Tensor",
                       {sorted, sorted, false, false, Value(), ints({0, 1, 9})}),
               Error);
}

// Rows of every length and as many values, duplicates and NaN among them.
TEST(Search, SortedRows) {
  for (const int64_t n : {1, 2, 3, 5, 8, 31, 64}) {
    for (const int64_t count : {1, 7, 8, 9, 40}) {
      std::vector<double> elements, values, left, right;
      for (int64_t row = 0; row < 3; ++row) {
        const auto begin = static_cast<ptrdiff_t>(elements.size());
        for (int64_t k = 0; k < n; ++k) elements.push_back(static_cast<double>(row + k / 2 * 2));
        const auto first = elements.begin() + begin;
        for (int64_t i = 0; i < count; ++i) {
          const double value = i == 11 ? kNan : static_cast<double>(i * 7 % (n + 4) + row - 1);
          const bool is_nan = value != value;
          values.push_back(value);
          left.push_back(static_cast<double>(
              is_nan ? n : std::lower_bound(first, elements.end(), value) - first));
          right.push_back(static_cast<double>(
              is_nan ? n : std::upper_bound(first, elements.end(), value) - first));
        }
      }
      const Tensor rows = make(elements, kF32, {3, n}), wanted = make(values, kF32, {3, count});
      expect_tensor(result_of("aten::searchsorted", "Tensor", {rows, wanted}), left, kI64,
                    {3, count});
      expect_tensor(result_of("aten::searchsorted", "Tensor", {rows, wanted, false, true}), right,
                    kI64, {3, count});
    }
  }
}

// PyTorch's answers, which depend on the steps of its search.
TEST(Search, UnsortedElements) {
  const Tensor values = make({0, 1, 2, 3, 6, kNan, 2, 5, 1, 9});
  const Tensor with_nan = make({1, 2, 2, 5, kNan, kNan}), mixed = make({3, 1, 2, 9, 4});
  expect_tensor(result_of("aten::searchsorted", "Tensor", {with_nan, values}),
                {0, 0, 1, 3, 6, 6, 1, 3, 0, 6}, kI64);
  expect_tensor(result_of("aten::searchsorted", "Tensor", {with_nan, values, false, true}),
                {0, 1, 3, 3, 6, 6, 3, 6, 1, 6}, kI64);
  expect_tensor(result_of("aten::searchsorted", "Tensor", {mixed, values}),
                {0, 0, 2, 3, 5, 5, 2, 5, 0, 5}, kI64);
  expect_tensor(result_of("aten::searchsorted", "Tensor", {mixed, values, false, true}),
                {0, 2, 3, 3, 5, 5, 3, 5, 2, 5}, kI64);
}

TEST(Search, Membership) {
  const Tensor x = make({1, 2, kNan});
  expect_tensor(result_of("aten::isin", "Tensor_Tensor", {x, make({2, kNan})}), {0, 1, 0}, kBool);
  expect_tensor(result_of("aten::isin", "Tensor_Scalar", {x, 2, false, true}), {1, 0, 1}, kBool);
  expect_tensor(result_of("aten::isin", "Scalar_Tensor", {2, ints({1, 2})}), {1}, kBool, {});
}

TEST(Unique, ElementsSlicesAndNeighbours) {
  const Tensor x = ints({3, 1, 1, 3}, {2, 2});
  expect_tensor(result_of("aten::_unique2", "", {x, true, true, true}, 0), {1, 3}, kI64);
  expect_tensor(result_of("aten::_unique2", "", {x, true, true, true}, 1), {1, 0, 0, 1}, kI64,
                {2, 2});
  expect_tensor(result_of("aten::_unique2", "", {x, true, true, true}, 2), {2, 2}, kI64);
  expect_tensor(result_of("aten::_unique2", "", {x}, 1), {}, kI64, {0});
  for (const std::vector<double>& bools : {std::vector<double>{1, 0, 1}, {1, 1}, {0, 0, 0}, {}}) {
    const Tensor b = make(bools, DType::kBool);
    const std::set<double> found(bools.begin(), bools.end());
    const std::vector<double> expected(found.begin(), found.end());
    expect_tensor(result_of("aten::_unique2", "", {b}), expected, DType::kBool);
    expect_tensor(result_of("aten::_unique2", "", {b, true, true}), expected, DType::kBool);
  }
  expect_tensor(result_of("aten::unique_consecutive", "", {ints({3, 1, 1, 3}), true, true}, 2),
                {1, 2, 1}, kI64);
  const Tensor rows = ints({3, 1, 1, 1, 3, 1}, {3, 2});
  expect_tensor(result_of("aten::unique_dim", "", {rows, 0}, 0), {1, 1, 3, 1}, kI64, {2, 2});
  expect_tensor(result_of("aten::unique_dim", "", {rows, 0}, 1), {1, 0, 1}, kI64);
  expect_tensor(result_of("aten::unique_dim", "", {rows, 1}, 0), {1, 3, 1, 1, 1, 3}, kI64, {3, 2});
}

TEST(Histogram, CountsInBins) {
  const Tensor x = make({1, 2, 1, 3});
  expect_tensor(result_of("aten::histc", "", {x, 4}), {2, 0, 1, 1});
  expect_tensor(result_of("aten::histc", "", {x, 4, 0, 3}), {0, 2, 1, 1});
  expect_tensor(result_of("aten::histc", "", {make({1, 1}), 3}), {0, 2, 0});
  EXPECT_THROW(call_op("aten::histc", "", {make({kInf}), 3}), Error);
  expect_tensor(result_of("aten::histogram", "bin_ct", {x, 4}, 1), {1, 1.5, 2, 2.5, 3});
  const Tensor bins = make({0, 1.5, 3}), weight = make({1, 2, 3, 4});
  expect_tensor(result_of("aten::histogram", "bins_tensor", {x, bins, weight, true}),
                {4.0 / 15, 6.0 / 15});
  expect_tensor(result_of("aten::bincount", "", {ints({1, 2, 1}), make({1, 2, 0.5}), 5}),
                {0, 1.5, 2, 0, 0});
  EXPECT_THROW(call_op("aten::bincount", "", {ints({-1})}), Error);
}

TEST(Covariance, WeightsAndCorrection) {
  const Tensor x = make({1, 2, 3, 3, 2, 1}, kF32, {2, 3});
  expect_tensor(result_of("aten::cov", "", {x}), {1, -1, -1, 1}, kF32, {2, 2});
  const Tensor fweights = ints({1, 2, 3}), aweights = make({0.1, 0.2, 0.3});
  expect_tensor(result_of("aten::cov", "", {x, 0, fweights, aweights}),
                {0.387755102, -0.387755102, -0.387755102, 0.387755102}, kF32, {2, 2});
  expect_tensor(result_of("aten::corrcoef", "", {make({1, 2, 3})}), {1}, kF32, {});
}

TEST(Special, BesselFunctionsInAllTheirRanges) {
  expect_tensor(result_of("aten::special_bessel_j0", "", {make({0, 1, 10, 30}, kF64)}),
                {1, 0.7651976865579666, -0.2459357644513483, -0.08636798358104031}, kF64);
  expect_tensor(result_of("aten::special_bessel_y1", "", {make({0.5, 3, 40}, kF64)}),
                {-1.4714723926702433, 0.3246744247918001, -0.0057935058215495}, kF64);
  expect_tensor(result_of("aten::special_modified_bessel_k0", "", {make({0.1, 5, 30}, kF64)}),
                {2.427069024702017, 0.003691098334042594, 2.1324774964631e-14}, kF64);
  expect_tensor(result_of("aten::i0", "", {make({0, -2, 30}, kF64)}),
                {1, 2.2795853023360673, 781672297823.977}, kF64);
  expect_tensor(result_of("aten::special_airy_ai", "", {make({-10, -2, 0, 2}, kF64)}),
                {0.04024123848644, 0.22740742820168557, 0.355028053887817, 0.034924130423274},
                kF64);
}

// Floats take fewer powers than doubles do.
TEST(Special, ZetaOfFloatsIsThatOfDoubles) {
  for (const double q : {0.01, 0.5, 1.0, 2.75, 3.5, 4.0, 9.0, 30.0, 1000.0}) {
    for (const double s : {1.015625, 1.5, 2.0, 3.25, 5.0, 8.5, 13.0, 20.0, 33.0}) {
      const Tensor narrow = make({s}, kF32), wide = make({s}, kF64);
      const Tensor in_float = make({q}, kF32);
      const double got = elements_of(result_of("aten::special_zeta", "", {narrow, in_float}))[0];
      const Tensor same = in_float.to(kF64);
      const double want = elements_of(result_of("aten::special_zeta", "", {wide, same}))[0];
      if (want < 1e-37 || want > 3e38) continue;  // beyond a float
      EXPECT_NEAR(got / want, 1, 1e-7) << s << ", " << q;
    }
  }
}

TEST(Special, GammaAndErrorFunctions) {
  expect_tensor(result_of("aten::igamma", "", {make({4, 0.5}, kF64), make({2, 9}, kF64)}),
                {0.14287653950145296, 0.9999779095030014}, kF64);
  expect_tensor(result_of("aten::special_zeta", "other_scalar", {make({2, 3}, kF64), 1.5}),
                {0.9348022005446793, 0.41439832211716}, kF64);
  expect_tensor(result_of("aten::special_ndtri", "", {make({0.001, 0.6, 1}, kF64)}),
                {-3.090232306167814, 0.2533471031357997, kInf}, kF64);
  expect_tensor(result_of("aten::special_log_ndtr", "", {make({-40, 1}, kF64)}),
                {-804.608442013754, -0.1727537790234499}, kF64);
  expect_tensor(result_of("aten::special_erfcx", "", {make({-1, 30}, kF64)}),
                {5.0089800807622835, 0.0187958888614168}, kF64);
}

TEST(Special, Polynomials) {
  const Tensor x = make({0.5, 1, 2});
  expect_tensor(result_of("aten::special_chebyshev_polynomial_t", "n_scalar", {x, 3}), {-1, 1, 26});
  expect_tensor(result_of("aten::special_chebyshev_polynomial_u", "n_scalar", {x, 10}),
                {-1, 11, 564719});
  expect_tensor(result_of("aten::special_hermite_polynomial_h", "n_scalar", {x, 4}), {1, -20, 76});
  expect_tensor(result_of("aten::special_laguerre_polynomial_l", "n_scalar", {x, 2}),
                {0.125, -0.5, -1});
  expect_tensor(
      result_of("aten::special_legendre_polynomial_p", "x_scalar", {0.5, ints({0, 2, -1})}),
      {1, -0.125, 0});
}

// At the ends of what each series is for, and beyond.
TEST(Special, DoublesAreExactTo13Digits) {
  const struct {
    const char* op;
    std::vector<double> x, expected;
  } kCases[] = {
      {"special_i1e",
       {0.5, 8, 50},
       {0.1564208031848717, 0.13414249329269817, 0.055993123892895402}},
      {"special_scaled_modified_bessel_k1",
       {0.5, 2, 10},
       {2.7310097082117859, 1.0334768470686886, 0.41076657059578875}},
      {"special_modified_bessel_k1",
       {0.5, 2, 10},
       {1.6564411200033009, 0.13986588181652243, 1.8648773453825585e-05}},
      {"special_airy_ai",
       {-9, 2.25, 9},
       {-0.022133721547341403, 0.023654658557747447, 2.4711684308724899e-09}},
      {"erfinv", {0.125, 1 - 0x1p-30}, {0.11123545184094996, 4.3280282758009463}},
      {"special_ndtri", {0x1p-1000, 0x1p-140}, {-37.11101193716479, -13.674855035788477}},
      {"special_erfcx", {0.5, 100}, {0.6156903441929259, 0.005641613782989433}},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.op);
    const auto got =
        elements_of(result_of(std::string("aten::") + one.op, "", {make(one.x, kF64)}));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i] / one.expected[i], 1, 1e-13) << one.x[i];
    }
  }
}

// Each in its ranges, among them where one ends and the next begins.
TEST(Special, FloatsAreAsDoubles) {
  std::vector<double> list = {
      0,   -0.0,          1,      -1,   2,     3,    5,  6,   8,  -8,    2.25,   -9,   0.25,
      0.5, 0.75,          -0.5,   kInf, -kInf, kNan, 40, -40, 80, 1e-30, -1e-30, 1e30, 0x1p-140,
      9,   0x1.fffffep-1, -0.9375};
  for (int i = 0; i < 1000; ++i) list.push_back(static_cast<double>(i * 379 % 1000 - 500) / 64);
  const Tensor floats = make(list, kF32), doubles = floats.to(kF64);
  for (const char* name : {"erfinv",
                           "lgamma",
                           "digamma",
                           "i0",
                           "special_erfcx",
                           "special_ndtr",
                           "special_ndtri",
                           "special_log_ndtr",
                           "special_i0e",
                           "special_i1",
                           "special_i1e",
                           "special_bessel_j0",
                           "special_bessel_j1",
                           "special_bessel_y0",
                           "special_bessel_y1",
                           "special_modified_bessel_k0",
                           "special_modified_bessel_k1",
                           "special_scaled_modified_bessel_k0",
                           "special_scaled_modified_bessel_k1",
                           "special_spherical_bessel_j0",
                           "special_airy_ai"}) {
    const std::string op = std::string("aten::") + name;
    const auto want = elements_of(result_of(op, "", {doubles}).to(kF32));
    const auto got = elements_of(result_of(op, "", {floats}));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      SCOPED_TRACE(op + " of " + std::to_string(list[i]));
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << got[i];
      } else if (std::isinf(want[i])) {
        EXPECT_EQ(got[i], want[i]);
      } else {
        // Near zeros of a function errors are of the terms that cancel.
        const double room = std::max(4e-6 * std::abs(want[i]), std::abs(want[i]) > 1e-4 ? 5e-7 : 0);
        EXPECT_NEAR(got[i], want[i], room + 1e-37);
      }
    }
    // Of other types: as of these floats.
    const Tensor whole = ints({0, 1, 2, 3, -1, 7, 100}), bools = make({0, 1, 1, 0, 1}, kBool);
    for (const Tensor& x : {whole, bools}) {
      expect_tensor(result_of(op, "", {x}), elements_of(result_of(op, "", {x.to(kF32)})));
    }
  }
}

TEST(Special, LowDegreesAreAsDegreesOfEachElement) {
  for (const char* name :
       {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
        "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
        "laguerre_polynomial_l", "legendre_polynomial_p"}) {
    const std::string op = std::string("aten::special_") + name;
    for (const DType dtype : {kF32, kF64, kI64, kBool}) {
      for (const int64_t count : {1, 5, 64, 131}) {
        std::vector<double> list = {-1, 1, 0};
        for (int64_t i = 3; i < count; ++i) list.push_back(static_cast<double>(i - 60) / 32);
        list.resize(static_cast<size_t>(count));
        const Tensor x = make(list, dtype);
        for (double n : {-1.0, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 2.75}) {
          SCOPED_TRACE(op + " of degree " + std::to_string(n));
          const std::vector<double> degrees(static_cast<size_t>(count), n);
          const Tensor each = result_of(op, "", {x, make(degrees, dtype == kF64 ? kF64 : kF32)});
          expect_tensor(result_of(op, "n_scalar", {x, n}), elements_of(each), each.dtype());
        }
      }
    }
  }
  // A degree of a wider type decides the type of the result.
  expect_tensor(
      result_of("aten::special_hermite_polynomial_he", "", {ints({3}), make({2}, kF64, {})}), {8},
      kF64);
}

// What is done along rows in memory, and along columns that are brought into rows.
TEST(AlongADimension, ColumnsAreAsRows) {
  for (const DType dtype : {kF32, kF64, kI64, DType::kFloat16}) {
    for (int64_t columns : {1, 5, 16, 17, 40}) {
      const int64_t length = 23;
      std::vector<double> list;
      for (int64_t i = 0; i < columns * length; ++i) {
        list.push_back(static_cast<double>(i * 37 % 101 - 50) / 8);
      }
      const Tensor rows = make(list, dtype, {columns, length});
      const Tensor standing = transpose(rows, 0, 1).contiguous();
      const auto both = [&](const char* name, std::vector<Value> more, size_t result = 0) {
        std::vector<Value> args{rows, 1}, standing_args{standing, 0};
        args.insert(args.end(), more.begin(), more.end());
        standing_args.insert(standing_args.end(), more.begin(), more.end());
        const Tensor expected = result_of(name, "", args, result);
        expect_tensor(transpose(result_of(name, "", standing_args, result), 0, 1),
                      elements_of(expected), expected.dtype(), {columns, length});
      };
      both("aten::cumsum", {});
      both("aten::cummax", {});
      both("aten::cummin", {}, 1);
      both("aten::sort", {false}, 1);
      if (dtype == kF32 || dtype == kF64) {
        both("aten::_softmax", {false});
        both("aten::_log_softmax", {false});
      }
    }
  }
}

// Exact for parabolas, in lines that lie in memory and in those that do not.
TEST(AlongADimension, GradientsBetweenUnevenCoordinates) {
  const Tensor at = make({0, 1, 3, 6, 10, 15, 21});
  const Tensor line =
      make({0, 2, 12, 42, 110, 240, 462, 0, 1, 9, 36, 100, 225, 441}, DType::kFloat32, {2, 7});
  const double expected[] = {1, 3, 7, 13, 21, 31, 43, 0, 2, 6, 12, 20, 30, 42};
  const Tensor across = transpose(line, 0, 1);
  for (const Tensor& x : {line, across, across.contiguous()}) {
    const int64_t dim = x.size(0) == 2 ? 1 : 0;
    const std::vector<Value> found =
        call_op("aten::gradient", "tensorarrayint", {x, Value::list({Value(at)}), dim, 2})
            .to_list();
    const Tensor lying = found[0].to_tensor();
    const std::vector<double> numbers = elements_of(dim == 1 ? lying : transpose(lying, 0, 1));
    ASSERT_EQ(numbers.size(), std::size(expected));
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], 1e-4) << i;
  }
}

// Columns of every layout; infinity has a gradient on both sides of it, but none of its own.
TEST(AlongADimension, DifferencesLieAsTheirInput) {
  std::vector<double> numbers(3 * 4 * 5 * 2);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 37);
  const Tensor plain = make(numbers, DType::kFloat32, {3, 4, 5, 2});
  const Tensor last = plain.contiguous(MemoryFormat::kChannelsLast);
  const Tensor turned = transpose(transpose(plain, 2, 3).contiguous(), 2, 3);
  for (int64_t dim = 0; dim < 4; ++dim) {
    const auto differences = [&](const Tensor& x) {
      return result_of("aten::diff", "", {x, int64_t{1}, dim});
    };
    const auto gradient = [&](const Tensor& x) {
      return call_op("aten::gradient", "scalarint", {x, Value(), dim}).to_list()[0].to_tensor();
    };
    for (const Tensor& x : {last, turned}) {
      expect_tensor(differences(x), elements_of(differences(plain)), kF32,
                    IntArray(differences(plain).sizes()));
      expect_tensor(gradient(x), elements_of(gradient(plain)), kF32,
                    IntArray(gradient(plain).sizes()));
    }
    EXPECT_TRUE(differences(last).is_contiguous(MemoryFormat::kChannelsLast)) << dim;
    EXPECT_TRUE(gradient(last).is_contiguous(MemoryFormat::kChannelsLast)) << dim;
    EXPECT_TRUE(gradient(turned).is_contiguous()) << dim;
  }
  for (const DType dtype : {kF32, kI64, DType::kInt32, DType::kFloat16, DType::kFloat64}) {
    for (const int64_t length : {2, 8, 9, 16, 21}) {  // of what is made eight at a time
      const Tensor rows = ramp({3, 2, length}, 0, dtype);
      const Tensor columns = transpose(transpose(rows, 0, 2).contiguous(), 0, 2);
      std::vector<double> expected;
      const std::vector<double> x = elements_of(rows);
      for (size_t i = 1; i < x.size(); ++i) {
        if (i % static_cast<size_t>(length) != 0) expected.push_back(x[i] - x[i - 1]);
      }
      for (const Tensor& t : {rows, columns}) {
        expect_tensor(result_of("aten::diff", "", {t}), expected, dtype, {3, 2, length - 1});
      }
    }
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_tensor(call_op("aten::gradient", "scalarint", {make({1, kInfinity, 3, 4, 7}), Value(2.0)})
                    .to_list()[0]
                    .to_tensor(),
                {kInfinity, 0.5, -kInfinity, 1, 1.5});
  EXPECT_EQ(call_op("aten::gradient", "scalarint", {zeros({{0, 3}}, DType::kFloat32), Value(), 1})
                .to_list()[0]
                .to_tensor()
                .numel(),
            0);
}

// Rows of integers are added where they lie, also in parts of a tensor; sums wrap.
TEST(AlongADimension, RowsOfIntegersAreAddedInPlace) {
  for (int64_t length : {16, 17, 31, 64}) {
    const Tensor wide = zeros({{5, length + 3}}, kI64), rows = narrow(wide, 1, 2, length);
    std::vector<double> sums(5);
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t k = 0; k < length + 3; ++k) {
        const int64_t value = i * 1000 + k * k - 77;
        wide.data_ptr<int64_t>()[i * (length + 3) + k] = value;
        if (k >= 2 && k < length + 2) sums[static_cast<size_t>(i)] += static_cast<double>(value);
      }
    }
    expect_tensor(result_of("aten::sum", "dim_IntList", {rows, int_list({1})}), sums, kI64);
  }
  const Tensor large = empty(IntArray{2, 16}, kI64);
  std::fill_n(large.data_ptr<int64_t>(), 32, std::numeric_limits<int64_t>::max());
  expect_tensor(result_of("aten::sum", "dim_IntList", {large, int_list({1})}), {-16, -16}, kI64);
}

// Of types that are computed in another one, too.
TEST(AlongADimension, ExtremesOfBoolsAcrossRows) {
  const Tensor bools = make({0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0}, kBool, {4, 3});
  for (const DType dtype : {kBool, DType::kInt32, DType::kFloat16}) {
    const Tensor x = bools.to(dtype);
    expect_tensor(result_of("aten::cummax", "", {x, 0}), {0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0},
                  dtype, {4, 3});
    expect_tensor(result_of("aten::cummax", "", {x, 0}, 1), {0, 0, 0, 1, 0, 1, 2, 2, 2, 2, 2, 3},
                  kI64, {4, 3});
    expect_tensor(result_of("aten::cummin", "", {x, 0}, 1), {0, 0, 0, 0, 1, 1, 0, 1, 2, 3, 3, 3},
                  kI64, {4, 3});
  }
}

TEST(AlongADimension, GatherGoesInTheOrderOfTheIndex) {
  const Tensor x = make({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, kF32, {3, 4});
  const Tensor index = ints({2, 0, 1, 1, 2, 0}, {2, 3}),
               by_column = ints({3, 0, 2, 1, 0, 0}, {3, 2});
  const auto turned = [](const Tensor& t) {
    return transpose(transpose(t, 0, 1).contiguous(), 0, 1);
  };
  for (const Tensor& self : {x, turned(x)}) {
    for (const bool is_turned : {false, true}) {
      const auto laid = [&](const Tensor& t) { return is_turned ? turned(t) : t; };
      const Tensor rows = result_of("aten::gather", "", {self, 0, laid(index)});
      expect_tensor(rows, {8, 1, 6, 4, 9, 2}, kF32, {2, 3});
      EXPECT_TRUE(rows.is_contiguous());
      expect_tensor(result_of("aten::gather", "", {self, -1, laid(by_column)}), {3, 0, 6, 5, 8, 8},
                    kF32, {3, 2});
      EXPECT_THROW(result_of("aten::gather", "", {self, 1, laid(ints({0, 4}, {2, 1}))}), Error);
    }
  }
}

TEST(Search, FewValuesAmongMany) {
  std::vector<double> list;
  for (int64_t i = 0; i < 500; ++i) list.push_back(static_cast<double>(i / 2));
  for (const DType dtype : {kF32, kI64, DType::kFloat16}) {
    const Tensor sorted = make(list, dtype);
    const Tensor wide = empty(IntArray{500, 2}, dtype), spread = select(wide, 1, 0);
    spread.copy_(sorted);
    for (const Tensor& boundaries : {sorted, spread}) {
      expect_tensor(
          result_of("aten::bucketize", "Tensor", {make({-1, 17, 999}, dtype), boundaries}),
          {0, 34, 500}, kI64);
      expect_tensor(result_of("aten::searchsorted", "Scalar", {boundaries, 17, false, true}), {36},
                    kI64, {});
    }
  }
}

TEST(Unique, RunsOfEveryLengthAndDtype) {
  for (const DType dtype : {kF32, kF64, DType::kFloat16, kI64, kI32, DType::kInt8, kBool}) {
    for (const int64_t n : {0, 1, 2, 63, 64, 65, 66, 129, 300}) {
      std::vector<double> list;
      for (int64_t i = 0; i < n; ++i) {
        list.push_back(static_cast<double>(i * i / 7 % 5 % 3));
        if (is_floating_point(dtype) && i % 10 > 7) list.back() = i % 3 ? kNan : -0.0;
      }
      const Tensor x = make(list, dtype);
      std::vector<double> values, inverse, counts;
      for (double element : elements_of(x)) {
        if (values.empty() || element != values.back()) {
          values.push_back(element);
          counts.push_back(0);
        }
        ++counts.back();
        inverse.push_back(static_cast<double>(values.size()) - 1);
      }
      SCOPED_TRACE(description_of(x));
      const std::vector<Value> args{x, true, true};
      expect_tensor(result_of("aten::unique_consecutive", "", args, 0), values, dtype);
      expect_tensor(result_of("aten::unique_consecutive", "", args, 1), inverse, kI64);
      expect_tensor(result_of("aten::unique_consecutive", "", args, 2), counts, kI64);
      expect_tensor(result_of("aten::unique_consecutive", "", {x}, 2), {}, kI64);
    }
  }
}

// Slices along each dimension, next to rows of their elements with `dim` and the first one swapped.
TEST(Unique, SlicesOfAnyLayout) {
  for (const DType dtype : {kF32, kI64, kBool, DType::kFloat16}) {
    for (int64_t dim = 0; dim < 4; ++dim) {
      for (const bool turned : {false, true}) {
        Tensor x = ramp({2, 3, 2, 5}, dim, dtype);
        for (int64_t d = 0; d < 4; ++d) {  // some slices are equal
          if (d == dim) select(x, d, 1).copy_(select(x, d, 0));
        }
        if (turned) x = transpose(transpose(x, 1, 3).contiguous(), 1, 3);
        SCOPED_TRACE(description_of(x) + " along " + std::to_string(dim));
        const int64_t n = x.size(dim);
        std::vector<std::vector<double>> rows;
        for (int64_t i = 0; i < n; ++i) {
          rows.push_back(elements_of(select(transpose(x, 0, dim), 0, i)));
        }
        std::vector<std::vector<double>> sorted = rows;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        std::vector<double> places, groups, found;
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto at = std::find(sorted.begin(), sorted.end(), rows[i]);
          places.push_back(static_cast<double>(at - sorted.begin()));
          const bool same = i > 0 && rows[i] == rows[i - 1];
          groups.push_back(i == 0 ? 0 : groups.back() + (same ? 0 : 1));
        }
        const Tensor distinct = result_of("aten::unique_dim", "", {x, dim});
        ASSERT_EQ(distinct.size(dim), std::ssize(sorted));
        for (size_t i = 0; i < sorted.size(); ++i) {
          EXPECT_EQ(elements_of(select(transpose(distinct, 0, dim), 0, static_cast<int64_t>(i))),
                    sorted[i]);
        }
        expect_tensor(result_of("aten::unique_dim", "", {x, dim}, 1), places, kI64);
        expect_tensor(result_of("aten::unique_dim_consecutive", "", {x, dim}, 1), groups, kI64);
      }
    }
  }
}

TEST(Search, MembershipOfIntegersInAnyRange) {
  const double least = -0x1p63, most = 0x1p62;
  const Tensor x = ints({least, -3, 0, 5, 7, most});
  const auto is_in = [&](std::vector<double> tests, bool invert) {
    return elements_of(result_of("aten::isin", "Tensor_Tensor", {x, ints(tests), false, invert}));
  };
  using Flags = std::vector<double>;
  EXPECT_EQ(is_in({5, -3, 6}, false), (Flags{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(is_in({5, -3, 6}, true), (Flags{1, 0, 1, 0, 1, 1}));
  EXPECT_EQ(is_in({most, least, 7}, false), (Flags{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(is_in({least}, false), (Flags{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(is_in({}, false), (Flags{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(is_in({}, true), (Flags{1, 1, 1, 1, 1, 1}));
}

TEST(Histogram, EdgesBelongToTheBinAbove) {
  const Tensor x = make({0, 1, 1.5, 2, 3, 4, -1, 5, kNan});
  const auto counts = [&](std::vector<double> edges) {
    return elements_of(
        result_of("aten::histogram", "bins_tensor", {x, make(edges), Value(), false}));
  };
  using Counts = std::vector<double>;
  EXPECT_EQ(counts({0, 1, 2, 3, 4}), (Counts{1, 2, 1, 2}));
  EXPECT_EQ(counts({0, 1.5, 4}), (Counts{2, 4}));
  EXPECT_EQ(counts({0, 0.1, 0.2, 4}), (Counts{1, 0, 5}));
  EXPECT_EQ(counts({1, 1, 4, 4}), (Counts{0, 4, 1}));
  EXPECT_EQ(counts({2}), (Counts{}));
  // Elements that are edges themselves, which are not where multiples of a width are.
  const Tensor edges = result_of("aten::histogram", "bin_ct", {make({0, 0.7}), 49}, 1);
  std::vector<double> one_each(49, 1);
  one_each.back() = 2;
  expect_tensor(result_of("aten::histogram", "bins_tensor", {edges, edges, Value(), false}),
                one_each);
}

// Of a small range, which are counted, and of the largest.
TEST(Unique, IntegersOfAnyRange) {
  for (const double far : {2.0, 11.0, 12.0, 13.0, 0x1p62, -0x1p63}) {
    const Tensor x = ints({3, far, -1, 3, far, 1}, {2, 3});
    const std::vector<Value> args{x, true, true, true};
    const bool lowest = far < -1;
    using List = std::vector<double>;
    const bool between = far == 2;
    expect_tensor(result_of("aten::_unique2", "", args, 0),
                  lowest    ? List{far, -1, 1, 3}
                  : between ? List{-1, 1, 2, 3}
                            : List{-1, 1, 3, far},
                  kI64);
    expect_tensor(result_of("aten::_unique2", "", args, 1),
                  lowest    ? List{3, 0, 1, 3, 0, 2}
                  : between ? List{3, 2, 0, 3, 2, 1}
                            : List{2, 3, 0, 2, 3, 1},
                  kI64, {2, 3});
    expect_tensor(result_of("aten::_unique2", "", args, 2),
                  lowest ? List{2, 1, 1, 2} : List{1, 1, 2, 2}, kI64);
  }
  expect_tensor(result_of("aten::_unique2", "", {ints({})}), {}, kI64);
  const Tensor tests = ints({3, 5});
  for (const bool invert : {false, true}) {
    expect_tensor(result_of("aten::isin", "Scalar_Tensor", {5, tests, false, invert}),
                  {invert ? 0.0 : 1.0}, kBool, {});
    expect_tensor(result_of("aten::isin", "Scalar_Tensor", {4.5, tests, false, invert}),
                  {invert ? 1.0 : 0.0}, kBool, {});
  }
}

}  // namespace
}  // namespace torchlet::ops
