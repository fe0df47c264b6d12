#include "ops/engines/fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/math/math.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {
namespace {

using kernels::Fold;

// Element by element, in row-major order.
std::vector<double> expected_of(Fold fold, const Tensor& x, const std::vector<bool>& reduced) {
  int64_t outputs = 1;
  for (size_t d = 0; d < x.sizes().size(); ++d) outputs *= reduced[d] ? 1 : x.sizes()[d];
  std::vector<double> result(static_cast<size_t>(outputs), fold == Fold::kProduct ? 1 : 0);
  std::vector<bool> is_set(result.size());
  const Tensor wide = x.to(DType::kFloat64).contiguous();
  const double* data = wide.data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t rest = i, place = 0, step = 1;
    for (size_t d = x.sizes().size(); d-- > 0; rest /= x.sizes()[d]) {
      if (reduced[d]) continue;
      place += rest % x.sizes()[d] * step;
      step *= x.sizes()[d];
    }
    double& to = result[static_cast<size_t>(place)];
    const bool first = !is_set[static_cast<size_t>(place)];
    is_set[static_cast<size_t>(place)] = true;
    if (fold == Fold::kMax) {
      to = first ? data[i] : std::max(to, data[i]);
    } else if (fold == Fold::kMin) {
      to = first ? data[i] : std::min(to, data[i]);
    } else if (fold == Fold::kSumOfSquares) {
      to += data[i] * data[i];
    } else {
      to = fold == Fold::kProduct ? to * data[i] : to + data[i];
    }
  }
  return result;
}

// Integers, so that every order gives the same.
Tensor numbers(const IntArray& sizes, DType dtype, std::mt19937& random, int64_t span) {
  const Tensor x = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data_ptr<float>()[i] =
        static_cast<float>(static_cast<int64_t>(random() % 997) % span - span / 2);
  }
  return x.to(dtype);
}

class Layouts : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, Layouts,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kInt64,
                                         DType::kFloat16, DType::kInt32, DType::kUInt8));

TEST_P(Layouts, OfAnyKindAreFolded) {
  std::mt19937 random(5);
  const int64_t choices[] = {1, 2, 3, 5, 17, 40, 70};
  for (int round = 0; round < 800; ++round) {
    const size_t rank = 1 + random() % 4;
    IntArray sizes, order;
    for (size_t d = 0; d < rank; ++d) {
      sizes.push_back(choices[random() % (rank > 3 ? 5 : 7)]);
      order.push_back(static_cast<int64_t>(d));
    }
    std::shuffle(order.begin(), order.end(), random);
    Tensor x = permute(numbers(sizes, GetParam(), random, 7), order);
    if (random() % 4 == 0)
      x = slice(x, 0, x.size(0) / 2, x.size(0), 1 + static_cast<int64_t>(random() % 2));
    if (random() % 5 == 0) {
      IntArray wide(x.sizes().begin(), x.sizes().end());
      wide.insert(wide.begin(), 3);
      x = expand(x, wide);
    }
    IntArray dims;
    std::vector<bool> reduced(x.sizes().size());
    for (size_t d = 0; d < reduced.size(); ++d) {
      reduced[d] = random() % 2;
      if (reduced[d]) dims.push_back(static_cast<int64_t>(d));
    }
    if (dims.empty()) reduced.assign(reduced.size(), true);
    for (Fold of : {Fold::kSum, Fold::kMax, Fold::kMin, Fold::kSumOfSquares}) {
      if (of == Fold::kSumOfSquares && !is_floating_point(GetParam())) continue;
      const Tensor result = fold(of, x, dims, false, GetParam()).to(DType::kFloat64);
      const std::vector<double> expected = expected_of(of, x, reduced);
      ASSERT_EQ(std::vector<double>(result.data_ptr<double>(),
                                    result.data_ptr<double>() + result.numel()),
                expected)
          << static_cast<int>(of) << " of " << x.describe() << " in round " << round;
    }
    if (GetParam() != DType::kFloat32 && GetParam() != DType::kFloat64) continue;
    const Tensor center = fold(Fold::kMax, x, dims, true, GetParam());
    const Tensor result =
        fold(Fold::kSumOfDistances, x, dims, false, GetParam(), center).to(DType::kFloat64);
    ASSERT_EQ(
        std::vector<double>(result.data_ptr<double>(), result.data_ptr<double>() + result.numel()),
        expected_of(Fold::kSumOfSquares, sub(x, center), reduced))
        << "distances of " << x.describe() << " in round " << round;
  }
}

// Small matrices side by side: more than are turned at once, and a rest.
TEST_P(Layouts, ManySmallOnesAreFolded) {
  std::mt19937 random(7);
  for (const IntArray& sizes :
       {IntArray{64, 1, 2}, IntArray{1000, 2, 2}, IntArray{3, 231, 3, 7}, IntArray{70, 16, 16},
        IntArray{99, 2, 3, 5}, IntArray{501, 64, 3}}) {
    const Tensor x = numbers(sizes, GetParam(), random, 3);
    const size_t last = sizes.size() - 2;
    std::vector<bool> reduced(sizes.size());
    reduced[last] = true;
    for (Fold of : {Fold::kSum, Fold::kProduct, Fold::kMax, Fold::kMin}) {
      if (of == Fold::kProduct && GetParam() == DType::kUInt8) continue;  // -1 is 255 there
      const Tensor result = fold(of, x, IntArray{-2}, false, GetParam()).to(DType::kFloat64);
      ASSERT_EQ(std::vector<double>(result.data_ptr<double>(),
                                    result.data_ptr<double>() + result.numel()),
                expected_of(of, x, reduced))
          << static_cast<int>(of) << " of " << x.describe();
    }
  }
}

// One after the other, three million additions lose four digits more.
TEST(FoldTensor, LargeSumsKeepTheirPrecision) {
  for (const IntArray& sizes : {IntArray{3000000}, IntArray{100000, 3}, IntArray{4, 200000}}) {
    const Tensor x = empty(sizes, DType::kFloat32);
    for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = 0.1f;
    const int64_t dim = sizes.size() == 2 && sizes[1] > 3 ? 1 : 0;
    const Tensor total = fold(Fold::kSum, x, IntArray{dim}, false, DType::kFloat32);
    const double expected = 0.1f * static_cast<double>(x.size(dim));
    for (int64_t i = 0; i < total.numel(); ++i) {
      EXPECT_NEAR(total.data_ptr<float>()[i] / expected, 1, 1e-6);
    }
  }
}

// Runs of runs, with and without a rest.
TEST(FoldTensor, AllOfMemory) {
  for (const int64_t count : {1 << 16, 70001, (1 << 21) + 1024 + 3}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
      std::mt19937 random(3);
      const Tensor x = numbers({count}, dtype, random, 7);
      for (const Fold of : {Fold::kSum, Fold::kMax, Fold::kMin}) {
        const Tensor all = fold(of, x, {}, false, dtype).to(DType::kFloat64);
        EXPECT_EQ(all.item<double>(), expected_of(of, x, {true})[0]) << count;
      }
    }
  }
}

// Runs of more than fits at once, in one piece and in several, with gaps between them and results
// in another order.
TEST(FoldTensor, LongRunsByPieces) {
  std::mt19937 random(11);
  for (const int64_t count : {4096, 4097, 5120, 32768, 33001, 70000}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
      const Tensor whole = numbers({2, 3, count + 5}, dtype, random, 7);
      const Tensor x = permute(slice(whole, 2, 2, count + 2, 1), IntArray{1, 2, 0});
      for (const Fold of : {Fold::kSum, Fold::kMax, Fold::kMin, Fold::kSumOfSquares}) {
        if (of == Fold::kSumOfSquares && dtype == DType::kInt64) continue;
        const Tensor result = fold(of, x, IntArray{1}, false, dtype).to(DType::kFloat64);
        ASSERT_EQ(std::vector<double>(result.data_ptr<double>(), result.data_ptr<double>() + 6),
                  expected_of(of, x, {false, true, false}))
            << static_cast<int>(of) << " of " << count;
      }
    }
  }
  const Tensor x = numbers({3, 40000}, DType::kFloat32, random, 7);
  const Tensor center = numbers({3, 1}, DType::kFloat32, random, 7);
  const Tensor out = empty(IntArray{3, 1}, DType::kFloat32);
  fold_into(Fold::kSumOfDistances, x, IntArray{1}, out, center);
  for (int64_t r = 0; r < 3; ++r) {
    double expected = 0;
    for (int64_t i = 0; i < 40000; ++i) {
      const double distance = x.data_ptr<float>()[r * 40000 + i] - center.data_ptr<float>()[r];
      expected += distance * distance;
    }
    EXPECT_EQ(out.data_ptr<float>()[r], expected);
  }
}

// Pairs, boxes and other short rows, with gaps between the runs and results in another order.
TEST(FoldTensor, RunsOfColumns) {
  std::mt19937 random(13);
  for (const int64_t columns : {2, 3, 4, 8}) {
    for (const int64_t rows : {7, 8, 17, 500, 1024, 2049}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64}) {
        const Tensor whole = numbers({2, 3, rows + 5, columns}, dtype, random, 7);
        const Tensor x = permute(slice(whole, 2, 2, rows + 2, 1), IntArray{1, 0, 2, 3});
        for (const Fold of : {Fold::kSum, Fold::kMax, Fold::kMin, Fold::kSumOfSquares}) {
          if (of == Fold::kSumOfSquares && dtype == DType::kInt64) continue;
          const Tensor result = fold(of, x, IntArray{2}, false, dtype).to(DType::kFloat64);
          ASSERT_EQ(std::vector<double>(result.data_ptr<double>(),
                                        result.data_ptr<double>() + result.numel()),
                    expected_of(of, x, {false, false, true, false}))
              << static_cast<int>(of) << " of " << rows << " x " << columns;
        }
      }
    }
  }
}

// Outer dimensions and short or long runs at once; with what is repeated, too.
TEST(FoldTensor, RunsOfSeveralRows) {
  std::mt19937 random(17);
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kFloat16}) {
    for (const IntArray& sizes :
         {IntArray{6, 9, 4, 5}, IntArray{3, 4, 7, 40}, IntArray{2, 3, 5, 300},
          IntArray{2, 70, 17, 15}, IntArray{5, 4, 1, 16}}) {
      const Tensor x = numbers(sizes, dtype, random, 5);
      const Tensor wide = expand(x, IntArray{3, sizes[0], sizes[1], sizes[2], sizes[3]});
      const Tensor turned = transpose(x, 2, 3);
      for (const Fold of : {Fold::kSum, Fold::kMax, Fold::kMin}) {
        const auto check = [&](const Tensor& self, const IntArray& dims) {
          std::vector<bool> reduced(self.sizes().size());
          for (const int64_t d : dims) reduced[static_cast<size_t>(d)] = true;
          const Tensor result = fold(of, self, dims, false, dtype).to(DType::kFloat64);
          ASSERT_EQ(std::vector<double>(result.data_ptr<double>(),
                                        result.data_ptr<double>() + result.numel()),
                    expected_of(of, self, reduced))
              << static_cast<int>(of) << " of " << self.describe();
        };
        check(x, {1, 3});
        check(x, {0, 3});
        check(wide, {0, 2, 4});
        check(wide, {0, 4});
        check(turned, {0, 1, 2});
        check(turned, {0, 1, 3});
        check(turned, {1, 2});
      }
    }
  }
}

TEST(FoldTensor, OfNothing) {
  const Tensor x = empty(IntArray{2, 0, 3}, DType::kFloat32);
  const Tensor sums = fold(Fold::kSum, x, IntArray{1}, true, DType::kFloat32);
  EXPECT_EQ(IntArray(sums.sizes().begin(), sums.sizes().end()), (IntArray{2, 1, 3}));
  EXPECT_EQ(sums.data_ptr<float>()[5], 0);
  EXPECT_EQ(fold(Fold::kProduct, x, {}, false, DType::kInt64).item<int64_t>(), 1);
  EXPECT_EQ(fold(Fold::kSum, x, IntArray{0}, false, DType::kFloat32).numel(), 0);
}

}  // namespace
}  // namespace torchlet::ops
