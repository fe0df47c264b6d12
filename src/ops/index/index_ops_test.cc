// Rows that are read and written by positions: of every length that a loop of whole steps leaves
// something of, in any memory layout.
#include <cstdint>
#include <utility>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kRows = 5;
constexpr int64_t kPositions[] = {3, 0, 3, 1};
constexpr int64_t kCount = 4;

// f(self, width) for all widths, dtypes and layouts of a [kRows, width].
template <typename F>
void with_selves(const F& f) {
  for (const int64_t width : {1, 7, 8, 9, 16, 31, 32, 63, 65, 130}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt16,
                              DType::kFloat16, DType::kBool}) {
      for (const bool transposed : {false, true}) {
        const Tensor self = transposed ? transpose(ramp({width, kRows}, 1, dtype), 0, 1)
                                       : ramp({kRows, width}, 1, dtype);
        SCOPED_TRACE(description_of(self));
        f(self, width);
      }
    }
  }
}

// What self holds when each row of source went to its place by `update`.
template <typename Update>
std::vector<double> updated(const Tensor& self, const Tensor& source, const Update& update) {
  const std::vector<double> from = elements_of(source);
  std::vector<double> to = elements_of(self);
  const int64_t width = self.size(1);
  for (int64_t k = 0; k < kCount; ++k) {
    for (int64_t i = 0; i < width; ++i) {
      double& at = to[static_cast<size_t>(kPositions[k] * width + i)];
      at = update(at, from[static_cast<size_t>(k * width + i)]);
      if (self.dtype() == DType::kBool) at = at != 0;
    }
  }
  return to;
}

TEST(IndexOps, RowsAreTakenIntoRows) {
  const Tensor index = ints({3, 0, 3, 1});
  with_selves([&](const Tensor& self, int64_t width) {
    const Tensor source = ramp({kCount, width}, 2, self.dtype());
    const Tensor slices = expand(unsqueeze(index, 1), IntArray{kCount, width});
    const IntArray sizes{kRows, width};
    auto expect = [&](const char* reduce, auto update) {
      const std::vector<double> expected = updated(self, source, update);
      const bool is_sum = std::string(reduce) == "sum";
      expect_tensor(result_of(is_sum ? "aten::index_add" : "aten::index_reduce", "",
                              is_sum ? std::vector<Value>{self, 0, index, source}
                                     : std::vector<Value>{self, 0, index, source, reduce}),
                    expected, self.dtype(), sizes);
      for (const Tensor& all : {slices, slices.contiguous()}) {
        expect_tensor(result_of("aten::scatter_reduce", "two", {self, 0, all, source, reduce}),
                      expected, self.dtype(), sizes);
      }
    };
    expect("sum", [](double a, double b) { return a + b; });
    expect("prod", [](double a, double b) { return a * b; });
    expect("amax", [](double a, double b) { return std::max(a, b); });
    expect("amin", [](double a, double b) { return std::min(a, b); });
    expect_tensor(result_of("aten::index_copy", "", {self, 0, index, source}),
                  updated(self, source, [](double, double b) { return b; }), self.dtype(), sizes);
  });
}

TEST(IndexOps, SelfMayNotCount) {
  // Rows 0, 1 and 3 are hit once, once and twice.
  const Tensor self = make({9, 9, 9, 9, 9}), source = make({2, 4, 6, 8});
  const Tensor index = ints({3, 0, 3, 1});
  auto result = [&](const char* name, const char* overload, const char* reduce) {
    return result_of(name, overload, {self, 0, index, source, reduce, false});
  };
  for (const auto& [name, overload] :
       {std::pair("aten::index_reduce", ""), std::pair("aten::scatter_reduce", "two")}) {
    expect_tensor(result(name, overload, "mean"), {4, 8, 9, 4, 9});
    expect_tensor(result(name, overload, "prod"), {4, 8, 9, 12, 9});
    expect_tensor(result(name, overload, "amax"), {4, 8, 9, 6, 9});
  }
  const Tensor truth = make({1, 1, 1, 1, 1}, DType::kBool), none = make({0, 0, 1, 1}, DType::kBool);
  expect_tensor(result_of("aten::index_reduce", "", {truth, 0, index, none, "prod", false}),
                {0, 1, 1, 0, 1}, DType::kBool);
}

TEST(IndexOps, ElementsOfAnyLayoutArePut) {
  with_selves([&](const Tensor& self, int64_t width) {
    const std::vector<double> places{0, -1, static_cast<double>(width)};
    std::vector<double> expected = elements_of(self);
    const Tensor source = make({1, 0, 1}, self.dtype());
    expected.front() = 1;
    expected.back() = 0;
    expected[static_cast<size_t>(width)] = 1;
    const IntArray sizes{kRows, width};
    expect_tensor(result_of("aten::put", "", {self, ints(places), source}), expected, self.dtype(),
                  sizes);
    expect_tensor(result_of("aten::take", "", {make(expected), ints(places)}), {1, 0, 1});
  });
  const Tensor three = make({1, 2, 3});
  expect_tensor(result_of("aten::put", "", {three, ints({1, 1}), make({5, 7}), true}), {1, 14, 3});
  EXPECT_THROW(call_op("aten::put", "", {three, ints({3}), make({5})}), Error);
  EXPECT_THROW(call_op("aten::put", "", {three, ints({-4}), make({5})}), Error);
}

// Rows long enough for positions to be looked at in blocks.
TEST(IndexOps, BlocksOfPositions) {
  constexpr int64_t kLong = 130, kSize = 50;
  const Tensor self = ramp({1, kSize}, 3), source = ramp({1, kLong}, 5);
  const Tensor index = zeros({{1, kLong}}, DType::kInt64);
  int64_t* const at = index.data_ptr<int64_t>();
  std::vector<double> gathered, scattered = elements_of(self);
  for (int64_t i = 0; i < kLong; ++i) {
    at[i] = i * 7 % (kSize - 1) + 1;
    gathered.push_back(elements_of(self)[static_cast<size_t>(at[i])]);
    scattered[static_cast<size_t>(at[i])] = elements_of(source)[static_cast<size_t>(i)];
  }
  expect_tensor(result_of("aten::gather", "", {self, 1, index}), gathered, DType::kFloat32,
                {1, kLong});
  expect_tensor(result_of("aten::scatter", "src", {self, 1, index, source}), scattered,
                DType::kFloat32, {1, kSize});
  for (const int64_t place : {0, 63, 64, 127, 129}) {
    for (const int64_t position : {int64_t{-1}, kSize, INT64_MIN, INT64_MAX}) {
      const int64_t before = std::exchange(at[place], position);
      EXPECT_THROW(call_op("aten::gather", "", {self, 1, index}), Error);
      EXPECT_THROW(call_op("aten::scatter", "src", {self, 1, index, source}), Error);
      at[place] = before;
    }
  }
}

// Strides that PyTorch 1.13 gives.
TEST(IndexOps, WhatIsTakenLiesAsTheTensorDoes) {
  const Tensor turned = transpose(ramp({2, 4, 6, 6}), 2, 3),
               across = transpose(ramp({2, 6, 4, 5}), 1, 2),
               around = permute(ramp({5, 2, 3, 4}), IntArray{1, 2, 3, 0});
  const Tensor pick = ints({1, 0}), picks = ints({1, 0, 0, 1}, {2, 2});
  const auto strides = [](const Tensor& self, std::vector<Tensor> indices) {
    const Tensor taken = index(self, indices);
    const Tensor plain = index(self.contiguous(), indices);
    EXPECT_EQ(elements_of(taken), elements_of(plain));
    return IntArray(taken.strides());
  };
  EXPECT_EQ(strides(turned, {Tensor(), pick}), (IntArray{72, 36, 1, 6}));
  EXPECT_EQ(strides(turned, {pick}), (IntArray{144, 36, 1, 6}));
  EXPECT_EQ(strides(turned, {Tensor(), picks}), (IntArray{144, 72, 36, 1, 6}));
  EXPECT_EQ(strides(turned, {pick, pick}), (IntArray{36, 1, 6}));
  EXPECT_EQ(strides(across, {Tensor(), Tensor(), Tensor(), pick}), (IntArray{48, 2, 8, 1}));
  EXPECT_EQ(strides(around, {Tensor(), pick}), (IntArray{4, 8, 1, 16}));
  EXPECT_EQ(strides(around, {pick}), (IntArray{60, 4, 1, 12}));
}

TEST(IndexOps, PositionsOutOfBoundsAreErrors) {
  const Tensor self = ramp({3, 4});
  for (const double position : {-1.0, 3.0}) {
    const Tensor index = ints({0, 1, position, 1}, {1, 4});
    EXPECT_THROW(call_op("aten::gather", "", {self, 0, index}), Error);
    EXPECT_THROW(call_op("aten::scatter", "src", {self, 0, index, ramp({1, 4})}), Error);
    EXPECT_THROW(call_op("aten::scatter_add", "", {self, 0, index, ramp({1, 4})}), Error);
    EXPECT_THROW(call_op("aten::index_select", "", {self, 0, ints({position})}), Error);
  }
  expect_tensor(
      result_of("aten::index", "Tensor", {make({1, 2, 3}), make_tensor_list({ints({-3, -1})})}),
      {1, 3});
  EXPECT_THROW(call_op("aten::index", "Tensor", {self, make_tensor_list({ints({-4})})}), Error);
}

// Coordinates of what is not zero, of any rank, in rows shorter and longer than a part of one.
TEST(IndexOps, WhatIsNotZeroIsFound) {
  for (const IntArray& sizes : {IntArray{1}, IntArray{600}, IntArray{3, 257}, IntArray{5, 1, 7},
                                IntArray{2, 3, 2, 300}, IntArray{2, 2, 1, 2, 3}, IntArray{0, 4}}) {
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
      const Tensor x = ramp(sizes, 2, dtype);
      const std::vector<double> elements = elements_of(x);
      std::vector<double> expected;
      int64_t count = 0;
      for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i] == 0) continue;
        ++count;
        int64_t rest = static_cast<int64_t>(i);
        std::vector<double> place;
        for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) {
          place.insert(place.begin(), static_cast<double>(rest % sizes[d]));
        }
        expected.insert(expected.end(), place.begin(), place.end());
      }
      expect_tensor(result_of("aten::nonzero", "", {x}), expected, DType::kInt64,
                    {count, static_cast<int64_t>(sizes.size())});
    }
  }
}

// What is written along each dimension does not depend on how memory lies.
TEST(IndexOps, EveryDimensionOfEveryLayoutIsWritten) {
  for (int64_t dim = -3; dim < 3; ++dim) {
    const Tensor dense = ramp({4, 3, 5}, 1);
    const int64_t size = dense.size(dim);
    const Tensor index = ints({static_cast<double>(size - 1), 0});
    IntArray shape(dense.sizes());
    shape[static_cast<size_t>((dim + 3) % 3)] = 2;
    const Tensor source = ramp(shape, 3);
    const auto both = [&](const char* name, std::vector<Value> more) {
      std::vector<std::vector<double>> found;
      for (const IntArray& order : {IntArray{0, 1, 2}, IntArray{2, 0, 1}, IntArray{1, 2, 0}}) {
        IntArray back{0, 0, 0};
        for (size_t d = 0; d < 3; ++d)
          back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
        const Tensor self = permute(permute(dense, order).contiguous().clone(), back);
        std::vector<Value> args{self, dim, index};
        args.insert(args.end(), more.begin(), more.end());
        call_op(name, more[0].is_tensor() ? "" : "int_Scalar", args);
        found.push_back(elements_of(self));
      }
      EXPECT_EQ(found[0], found[1]) << name;
      EXPECT_EQ(found[0], found[2]) << name;
      return found[0];
    };
    const auto expected = [&](auto change) {
      const Tensor self = dense.clone();
      for (int64_t k = 0; k < 2; ++k) {
        change(select(self, dim, k == 0 ? size - 1 : 0), select(source, dim, k));
      }
      return elements_of(self);
    };
    EXPECT_EQ(both("aten::index_copy_", {source}),
              expected([](const Tensor& to, const Tensor& from) { to.copy_(from); }));
    EXPECT_EQ(both("aten::index_add_", {source}),
              expected([](const Tensor& to, const Tensor& from) {
                to.copy_(result_of("aten::add", "Tensor", {to, from}));
              }));
    EXPECT_EQ(both("aten::index_fill_", {7.0}), expected([](const Tensor& to, const Tensor&) {
                to.copy_(make({7}, DType::kFloat32, {}));
              }));
  }
}

// Rows follow each other at one distance, at several, or in no order of memory.
TEST(IndexOps, RowsAtAnyDistance) {
  const Tensor whole = ramp({4, 6, 3, 4}, 1);
  const auto every_second = [&](int64_t dim) { return slice(whole, dim, 0, whole.size(dim), 2); };
  const Tensor positions = ints({1, 0, 1});
  for (const Tensor& self :
       {whole, every_second(0), every_second(1), every_second(2),
        permute(whole, IntArray{1, 0, 2, 3}), permute(every_second(1), IntArray{2, 0, 3, 1})}) {
    SCOPED_TRACE(description_of(self));
    const Tensor dense = self.contiguous();
    for (int64_t dim = 0; dim < 4; ++dim) {
      IntArray shape(self.sizes());
      shape[static_cast<size_t>(dim)] = 3;
      const Tensor source = ramp(shape, 5);
      IntArray along{1, 1, 1, 1};
      along[static_cast<size_t>(dim)] = 3;
      const Tensor everywhere = expand(view(positions, along), shape);
      const auto same = [&](const char* name, auto... more) {
        EXPECT_EQ(elements_of(result_of(name, "", {self, dim, more...})),
                  elements_of(result_of(name, "", {dense, dim, more...})))
            << name << " along " << dim;
      };
      same("aten::index_select", Value(positions));
      same("aten::gather", Value(everywhere));
      same("aten::index_add", Value(positions), Value(source));
      same("aten::index_reduce", Value(positions), Value(source), Value("prod"));
      EXPECT_EQ(elements_of(result_of("aten::gather", "", {self, dim, everywhere})),
                elements_of(result_of("aten::index_select", "", {self, dim, positions})));
      EXPECT_EQ(elements_of(result_of("aten::scatter", "src", {self, dim, everywhere, source})),
                elements_of(result_of("aten::index_copy", "", {dense, dim, positions, source})));
    }
  }
}

TEST(IndexOps, PositionsOfSlicesAreChecked) {
  const Tensor self = ramp({5, 9}, 1), source = ramp({2, 9}, 1);
  for (const double outside : {5.0, -1.0, 0x1p62}) {
    const Tensor index = expand(unsqueeze(ints({0, outside}), 1), IntArray{2, 9});
    EXPECT_THROW(call_op("aten::gather", "", {self, 0, index}), Error);
    EXPECT_THROW(call_op("aten::scatter", "src", {self, 0, index, source}), Error);
    EXPECT_THROW(call_op("aten::scatter_add", "", {self, 0, index, source}), Error);
  }
}

TEST(IndexOps, ElementsAreTakenByTheirNumbers) {
  const Tensor self = transpose(ints({0, 1, 2, 3, 4, 5}, {2, 3}), 0, 1);  // 0 3 1 4 2 5
  expect_tensor(result_of("aten::take", "", {self, ints({1, -1, 0, -6}, {2, 2})}), {3, 5, 0, 0},
                DType::kInt64, {2, 2});
  for (const double place : {6.0, -7.0, 0x1p62, -0x1p63}) {
    EXPECT_THROW(call_op("aten::take", "", {self, ints({0, place})}), Error);
  }
}

}  // namespace
}  // namespace torchlet::ops
