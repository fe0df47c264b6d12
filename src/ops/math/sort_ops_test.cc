#include <algorithm>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Sort, EqualElementsComeAsPytorchLeavesThem) {
  const Tensor x = make({1, 2, 0, 0, 0, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0, 1, 2});
  const std::vector<double> values = {2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  expect_tensor(result_of("aten::sort", "", {x, 0, true}), values);
  expect_tensor(result_of("aten::sort", "", {x, 0, true}, 1),
                {1, 16, 7, 5, 6, 8, 9, 10, 11, 15, 0, 3, 4, 2, 12, 13, 14}, DType::kInt64);
  expect_tensor(result_of("aten::sort", "stable", {x, true, 0, true}, 1),
                {1, 7, 16, 0, 5, 6, 8, 9, 10, 11, 15, 2, 3, 4, 12, 13, 14}, DType::kInt64);
}

TEST(Sort, NanIsTheLargest) {
  const Tensor x = make({1, NAN, -INFINITY, INFINITY});
  expect_tensor(result_of("aten::sort", "", {x}, 1), {2, 0, 3, 1}, DType::kInt64);
  expect_tensor(result_of("aten::sort", "", {x, 0, true}, 1), {1, 3, 0, 2}, DType::kInt64);
}

constexpr DType kReal[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                           DType::kInt64,   DType::kInt32,    DType::kInt16,   DType::kInt8,
                           DType::kUInt8,   DType::kBool};

// Extremes of the dtype among `n` elements of few values.
Tensor many_equal(int64_t n, DType dtype) {
  std::vector<double> list;
  for (int64_t i = 0; i < n; ++i) {
    const double few[] = {0, -2, 1, -0.0, 3, -1, 2};
    list.push_back(few[i * i % 11 % 7]);
    if (is_floating_point(dtype) && i % 9 == 4) list.back() = i % 2 ? NAN : -INFINITY;
    if (is_floating_point(dtype) && i % 9 == 7) list.back() = INFINITY;
    if (dtype == DType::kInt64 && i % 9 == 4) list.back() = i % 2 ? -0x1p63 : 0x1p62;
    if (dtype == DType::kUInt8) list.back() = static_cast<double>(i * 37 % 256);
  }
  return make(list, dtype);
}

TEST(Sort, EveryDtypeInBothDirections) {
  for (const DType dtype : kReal) {
    for (const int64_t n : {1, 2, 4, 31, 32, 33, 100, 700}) {
      for (const bool down : {false, true}) {
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(n));
        const Tensor x = many_equal(n, dtype);
        const std::vector<double> elements = elements_of(x);
        std::vector<double> order(elements.size()), sorted;
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<double>(i);
        std::stable_sort(order.begin(), order.end(), [&](double i, double j) {
          double a = elements[static_cast<size_t>(i)], b = elements[static_cast<size_t>(j)];
          if (down) std::swap(a, b);
          return a < b || (std::isnan(b) && !std::isnan(a));
        });
        for (double i : order) sorted.push_back(elements[static_cast<size_t>(i)]);
        expect_tensor(result_of("aten::sort", "stable", {x, true, 0, down}), sorted, dtype);
        expect_tensor(result_of("aten::sort", "stable", {x, true, 0, down}, 1), order,
                      DType::kInt64);
        expect_tensor(result_of("aten::sort", "", {x, 0, down}), sorted, dtype);
        expect_tensor(result_of("aten::topk", "", {x, n, 0, down}), sorted, dtype);
        const std::vector<double> best(sorted.begin(), sorted.begin() + 1);
        expect_tensor(result_of("aten::topk", "", {x, 1, 0, down}), best, dtype);
        if (down) continue;
        expect_tensor(result_of("aten::msort", "", {x}), sorted, dtype);
        const std::vector<double> third(sorted.begin() + n / 3, sorted.begin() + n / 3 + 1);
        expect_tensor(result_of("aten::kthvalue", "", {x, n / 3 + 1}), third, dtype, {});
      }
    }
  }
}

// Only values or only indices are asked for, and neither lies in memory as it is computed.
TEST(Sort, OneOfTwoResults) {
  for (const int64_t n : {4, 40, 300}) {
    const Tensor wide = reshape(many_equal(3 * n, DType::kFloat32), IntArray{n, 3});
    const Tensor x = transpose(wide, 0, 1), first = select(wide, 1, 0);
    for (const Tensor& self : {x, first}) {
      const Tensor indices = result_of("aten::sort", "", {self, -1, true}, 1);
      expect_tensor(result_of("aten::argsort", "", {self, -1, true}), elements_of(indices),
                    DType::kInt64, IntArray(self.sizes()));
    }
    expect_tensor(result_of("aten::msort", "", {wide}),
                  elements_of(result_of("aten::sort", "", {wide, 0})), DType::kFloat32, {n, 3});
  }
}

TEST(Sort, EachNanIsAnotherMode) {
  expect_tensor(result_of("aten::mode", "", {make({NAN, 2, NAN, 2, NAN, -0.0, 0})}, 0), {0},
                DType::kFloat32, {});
}

}  // namespace
}  // namespace torchlet::ops
