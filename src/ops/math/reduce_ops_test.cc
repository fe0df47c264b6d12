#include "kernels/simd/target_test.h"
// After the line above.
#include <algorithm>
#include <cmath>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"
#include "tensor/containers.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY;
constexpr double kNan = NAN;
constexpr DType kF32 = DType::kFloat32, kI64 = DType::kInt64, kU8 = DType::kUInt8,
                kBool = DType::kBool;

Value dims(IntArray list) { return make_int_list(list); }

TEST(Reduce, SumsAnyDimensionsAndStrides) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}, kF32, {1, 2, 3});
  expect_tensor(result_of("aten::sum", "", {x}), {21}, kF32, {});
  expect_tensor(result_of("aten::sum", "dim_IntList", {x, dims({1})}), {5, 7, 9}, kF32, {1, 3});
  expect_tensor(result_of("aten::sum", "dim_IntList", {x, dims({-1, 0}), true}), {6, 15}, kF32,
                {1, 2, 1});
  expect_tensor(result_of("aten::sum", "dim_IntList", {transpose(x, 1, 2), dims({2})}), {5, 7, 9},
                kF32, {1, 3});
  expect_tensor(result_of("aten::sum", "", {make({1, 1}, kBool)}), {2}, kI64, {});
  expect_tensor(result_of("aten::prod", "dim_int", {ints({2, 3, 4}), 0}), {24}, kI64, {});
  EXPECT_THROW(call_op("aten::sum", "dim_IntList", {x, dims({0, 0})}), Error);
  EXPECT_THROW(call_op("aten::mean", "", {ints({1})}), Error);
}

// The gathered path: neighbouring outputs, more than one group of them, and a tail.
TEST(Reduce, ManyOutputsOfAStridedDimension) {
  constexpr int64_t kRows = 3, kColumns = 37;
  std::vector<double> elements, expected;
  for (int64_t i = 0; i < kRows * kColumns; ++i) elements.push_back(static_cast<double>(i % 11));
  for (int64_t c = 0; c < kColumns; ++c) {
    double total = 0;
    for (int64_t r = 0; r < kRows; ++r) total += elements[static_cast<size_t>(r * kColumns + c)];
    expected.push_back(total);
  }
  const Tensor x = make(elements, kF32, {kRows, kColumns});
  expect_tensor(result_of("aten::sum", "dim_IntList", {x, dims({0})}), expected);
  const Tensor scan = result_of("aten::cumsum", "", {x, 0});
  expect_tensor(select(scan, 0, kRows - 1), expected);
}

TEST(Reduce, EmptyTensors) {
  const Tensor none = empty(IntArray{0, 3}, kF32);
  expect_tensor(result_of("aten::sum", "dim_IntList", {none, dims({0})}), {0, 0, 0});
  expect_tensor(result_of("aten::mean", "dim", {none, dims({0})}), {kNan, kNan, kNan});
  expect_tensor(result_of("aten::all", "dim", {none, 0}), {1, 1, 1}, kBool);
  expect_tensor(result_of("aten::amax", "", {none, dims({1})}), {}, kF32, {0});
  EXPECT_THROW(call_op("aten::amax", "", {none, dims({0})}), Error);
  EXPECT_THROW(call_op("aten::max", "", {none}), Error);
  EXPECT_THROW(call_op("aten::argmax", "", {none}), Error);
}

TEST(Reduce, TruthKeepsUint8) {
  expect_tensor(result_of("aten::all", "", {make({2, 1}, kU8)}), {1}, kU8, {});
  expect_tensor(result_of("aten::any", "", {make({0, 0.5})}), {1}, kBool, {});
  expect_tensor(result_of("aten::count_nonzero", "", {make({0, 0.5, kNan})}), {2}, kI64, {});
}

TEST(Reduce, ExtremesFindTheFirstAndNan) {
  const Tensor x = make({1, 5, 5, 2}, kF32, {2, 2});
  expect_tensor(result_of("aten::max", "dim", {x, 0}, 1), {1, 0}, kI64);
  expect_tensor(result_of("aten::argmax", "", {x}), {1}, kI64, {});
  expect_tensor(result_of("aten::argmax", "", {x, Value(), true}), {1}, kI64, {1, 1});
  expect_tensor(result_of("aten::argmin", "", {make({1, kNan, 0, kNan})}), {1}, kI64, {});
  expect_tensor(result_of("aten::min", "dim", {make({1, kNan, 0}), 0}), {kNan}, kF32, {});
  expect_tensor(result_of("aten::aminmax", "", {ints({3, 1, 2})}, 1), {3}, kI64, {});
}

// Along memory and across it, more results than are looked at together, and a tail.
TEST(Reduce, ExtremesOfAnyTypeAndStride) {
  constexpr int64_t kRows = 37, kColumns = 21;
  for (const DType dtype : {kF32, kI64, kU8, kBool, DType::kFloat16, DType::kFloat64}) {
    const Tensor x = empty(IntArray{kRows, kColumns}, DType::kFloat64);
    for (int64_t i = 0; i < x.numel(); ++i) {
      x.data_ptr<double>()[i] = static_cast<double>(i * i * 7 % 31 % (dtype == kBool ? 2 : 31));
    }
    const double* data = x.data_ptr<double>();
    for (const bool is_across : {false, true}) {
      const Tensor laid = is_across ? transpose(x, 0, 1).to(dtype).contiguous() : x.to(dtype);
      std::vector<double> most, least, most_at, least_at;
      for (int64_t r = 0; r < kRows; ++r) {
        const double *begin = data + r * kColumns, *end = begin + kColumns;
        most_at.push_back(static_cast<double>(std::max_element(begin, end) - begin));
        least_at.push_back(static_cast<double>(std::min_element(begin, end) - begin));
        most.push_back(*std::max_element(begin, end));
        least.push_back(*std::min_element(begin, end));
      }
      const int64_t dim = is_across ? 0 : 1;
      expect_tensor(result_of("aten::max", "dim", {laid, dim}), most, dtype);
      expect_tensor(result_of("aten::max", "dim", {laid, dim}, 1), most_at, kI64);
      expect_tensor(result_of("aten::min", "dim", {laid, dim}), least, dtype);
      expect_tensor(result_of("aten::min", "dim", {laid, dim}, 1), least_at, kI64);
      const Tensor turned = transpose(laid, 0, 1);  // the same in the other order of memory
      expect_tensor(result_of("aten::max", "dim", {turned, 1 - dim}), most, dtype);
      expect_tensor(result_of("aten::max", "dim", {turned, 1 - dim, true}, 1), most_at, kI64,
                    is_across ? IntArray{kRows, 1} : IntArray{1, kRows});
    }
  }
  const Tensor zeros = result_of("aten::max", "dim", {make({-0.0, 0.0}), 0});
  EXPECT_TRUE(std::signbit(zeros.item<float>()));
  expect_tensor(result_of("aten::max", "dim", {make({kNan, 1, kNan, kInf}), 0}, 1), {0}, kI64, {});
}

// Wide and narrow, in steps of a kernel and with a rest, many small ones and few long ones: of few
// values, so that the first of equal ones matters.
TEST(Reduce, ExtremesBetweenAnySizes) {
  constexpr int64_t kSizes[][3] = {{1, 5, 40}, {7, 3, 33},  {70, 3, 2},  {5, 9, 1},
                                   {40, 3, 1}, {2, 600, 3}, {1, 700, 1}, {9, 1, 64}};
  const auto compare = [](const Tensor& x, int64_t outer, int64_t count, int64_t inner) {
    SCOPED_TRACE(x.describe());
    const std::vector<double> data = elements_of(x);
    std::vector<double> most, least, most_at, least_at;
    for (int64_t i = 0; i < outer * inner; ++i) {
      const auto element = [&](int64_t k) {
        return data[static_cast<size_t>((i / inner * count + k) * inner + i % inner)];
      };
      int64_t high = 0, low = 0;
      for (int64_t k = 1; k < count; ++k) {
        if (!std::isnan(element(high)) && !(element(k) <= element(high))) high = k;
        if (!std::isnan(element(low)) && !(element(k) >= element(low))) low = k;
      }
      most.push_back(element(high));
      least.push_back(element(low));
      most_at.push_back(static_cast<double>(high));
      least_at.push_back(static_cast<double>(low));
    }
    expect_tensor(result_of("aten::max", "dim", {x, 1}), most, x.dtype(), {outer, inner});
    expect_tensor(result_of("aten::max", "dim", {x, 1}, 1), most_at, kI64, {outer, inner});
    expect_tensor(result_of("aten::min", "dim", {x, 1}), least, x.dtype(), {outer, inner});
    expect_tensor(result_of("aten::argmin", "", {x, 1}), least_at, kI64, {outer, inner});
  };
  kernels::for_each_target([&] {
    for (const auto& [outer, count, inner] : kSizes) {
      const Tensor x = empty(IntArray{outer, count, inner}, DType::kFloat64);
      for (int64_t i = 0; i < x.numel(); ++i) {
        x.data_ptr<double>()[i] = static_cast<double>((i * i + i / 5) % 7 % 4 - 1);
      }
      for (const DType dtype : {kF32, DType::kFloat64, DType::kFloat16, kI64, DType::kInt32,
                                DType::kInt16, DType::kInt8, kU8, kBool}) {
        compare(x.to(dtype), outer, count, inner);
      }
      for (int64_t i = 0; i < x.numel(); i += 5) x.data_ptr<double>()[i] = kNan;
      compare(x.to(kF32), outer, count, inner);
    }
  });
}

TEST(Reduce, SumsOfNumbersLeaveNanOut) {
  const Tensor x = make({1, kNan, 2, kNan, kNan, 5}, kF32, {2, 3});
  expect_tensor(result_of("aten::nansum", "", {x, dims({0})}), {1, 0, 7});
  expect_tensor(result_of("aten::nansum", "", {x.to(DType::kFloat16), dims({1})}), {3, 5},
                DType::kFloat16);
  expect_tensor(result_of("aten::nanmean", "", {x.to(DType::kFloat64), dims({1})}), {1.5, 5},
                DType::kFloat64);
  expect_tensor(result_of("aten::nansum", "", {make({kInf, kNan, -kInf})}), {kNan}, kF32, {});
  EXPECT_THROW(call_op("aten::nansum", "", {x, dims({1}), false, static_cast<int64_t>(kI64)}),
               Error);
}

TEST(Reduce, VarianceAndNorms) {
  const Tensor x = make({1, 2, 4, 8});
  expect_tensor(result_of("aten::var", "", {x}), {9.58333333}, kF32, {});
  expect_tensor(result_of("aten::var", "correction", {x, dims({0}), 0}), {7.1875}, kF32, {});
  expect_tensor(result_of("aten::var", "correction", {x, dims({0}), 5}), {kInf}, kF32, {});
  expect_tensor(result_of("aten::std_mean", "", {x}, 1), {3.75}, kF32, {});
  expect_tensor(result_of("aten::var", "", {make({1})}), {kNan}, kF32, {});
  expect_tensor(result_of("aten::linalg_vector_norm", "", {x, 3.0}), {8.36344662}, kF32, {});
  expect_tensor(result_of("aten::linalg_vector_norm", "", {x, kInf}), {8}, kF32, {});
  EXPECT_THROW(call_op("aten::linalg_vector_norm", "", {empty(IntArray{0}, kF32), kInf}), Error);
  expect_tensor(result_of("aten::logsumexp", "", {make({-kInf, -kInf}), dims({0})}), {-kInf}, kF32,
                {});
}

TEST(Scan, RunningSumsAndExtremes) {
  expect_tensor(result_of("aten::cumsum", "", {make({1, 1, 0}, kBool), 0}), {1, 2, 2}, kI64);
  expect_tensor(result_of("aten::cumprod", "", {make({2, 3, 0.5}), 0}), {2, 6, 3});
  expect_tensor(result_of("aten::cummax", "", {ints({1, 1, 0, 1}), 0}, 1), {0, 1, 1, 3}, kI64);
  expect_tensor(result_of("aten::cummin", "", {make({1, kNan, 0}), 0}), {1, kNan, kNan});
  expect_tensor(result_of("aten::logcumsumexp", "", {make({1, -kInf}), 0}), {1, 1});
  expect_tensor(result_of("aten::trapezoid", "x", {make({1, 2, 3}), make({0, 1, 4})}), {9}, kF32,
                {});
  expect_tensor(result_of("aten::cumulative_trapezoid", "dx", {ints({1, 2, 3})}), {1.5, 4});
}

// Of any layout, of both or of one alone.
TEST(Scan, TrapezoidsLieAsTheyLike) {
  for (const DType dtype : {kF32, kI64, DType::kFloat16, DType::kFloat64, DType::kInt32}) {
    for (const int64_t length : {2, 9, 17, 20}) {
      const Tensor y = empty(IntArray{3, 2, length}, DType::kFloat64), x = empty_like(y);
      std::vector<double> areas(6);
      for (int64_t i = 0; i < y.numel(); ++i) {
        y.data_ptr<double>()[i] = static_cast<double>(i * i % 7);
        x.data_ptr<double>()[i] = static_cast<double>(i + i % 3);
        if (i % length == 0) continue;
        const double width = x.data_ptr<double>()[i] - x.data_ptr<double>()[i - 1];
        const double heights = y.data_ptr<double>()[i] + y.data_ptr<double>()[i - 1];
        areas[static_cast<size_t>(i / length)] += width * heights / 2;
      }
      const auto turned = [](const Tensor& t) {
        return transpose(transpose(t, 0, 2).contiguous(), 0, 2);
      };
      const Tensor a = y.to(dtype), b = x.to(dtype);
      const DType result = is_floating_point(dtype) ? dtype : kF32;
      for (const auto& [p, q] :
           {std::pair(a, b), std::pair(turned(a), turned(b)), std::pair(a, turned(b))}) {
        expect_tensor(result_of("aten::trapz", "x", {p, q}), areas, result, {3, 2});
        const Tensor sums = result_of("aten::cumulative_trapezoid", "x", {p, q});
        expect_tensor(select(sums, 2, length - 2), areas, result, {3, 2});
      }
    }
  }
}

// Slices that lie side by side are scanned some at a time: more of them than that, and a tail.
TEST(Scan, OfSlicesSideBySideIsThatOfSlices) {
  const auto check = [](DType dtype, int64_t length, int64_t inner) {
    constexpr int64_t kOuter = 3;
    const Tensor x = empty(IntArray{kOuter, length, inner}, DType::kFloat64);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const bool is_nan = is_floating_point(dtype) && i % 97 == 5;
      x.data_ptr<double>()[i] = is_nan ? kNan : static_cast<double>(i * i * 7 % 13 % 4);
    }
    const Tensor across = x.to(dtype), along = transpose(across, 1, 2).contiguous();
    for (const char* name : {"aten::cumsum", "aten::cumprod", "aten::cummax", "aten::cummin"}) {
      const bool has_places = std::string(name).starts_with("aten::cumm");
      for (size_t k = 0; k < (has_places ? 2 : 1); ++k) {
        const Tensor expected = transpose(result_of(name, "", {along, 2}, k), 1, 2);
        expect_tensor(result_of(name, "", {across, 1}, k), elements_of(expected), expected.dtype(),
                      {kOuter, length, inner});
      }
    }
  };
  for (const DType dtype : {kF32, kI64, DType::kFloat64, DType::kFloat16, kU8, DType::kBool}) {
    check(dtype, 7, 131);
    for (const int64_t inner : {1, 2, 3, 7, 8}) {
      check(dtype, 15, inner);
      check(dtype, 19, inner);
    }
  }
}

TEST(Scan, PartsOfComplexNumbersAreSummedByThemselves) {
  const Tensor parts = make({1, 2, 3, -4, 5, 6, 7, 8}, kF32, {2, 2, 2});
  const Tensor sums = result_of("aten::cumsum", "", {view_as_complex(parts), -1});
  expect_tensor(view_as_real(sums), {1, 2, 4, -2, 5, 6, 12, 14}, kF32, {2, 2, 2});
}

}  // namespace
}  // namespace torchlet::ops
