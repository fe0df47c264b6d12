#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Convolution, TwoDimensions) {
  expect_tensor(result_of("aten::conv2d", "",
                          {ramp({1, 2, 4, 5}), ramp({3, 2, 3, 3}, 1), ramp({3}, 2),
                           int_list({1, 1}), int_list({1, 0}), int_list({1, 1}), 1}),
                {7,      -3.125,  -0.875,  3.125,   1.5,   0.5625, -2.9375, 5.0625,  -2.75,
                 -0.75,  4.6875,  -2.25,   -4.1875, 1.625, 1.25,   -1,      -1.75,   -1.8125,
                 1.4375, -0.6875, -0.0625, -1.75,   -3.75, 0.4375, 8,       -2.5625, -0.0625,
                 6.5625, 1.875,   -2.125,  1,       6.625, -4.25,  -2.75,   7.75,    -2.375},
                DType::kFloat32, {1, 3, 4, 3});
  expect_tensor(
      result_of("aten::conv2d", "",
                {ramp({4, 4, 4}), ramp({4, 1, 2, 3}, 1), Value(), int_list({2, 1}),
                 int_list({0, 1}), int_list({1, 1}), 4}),
      {-1.1875, 0.1875,  1,      1.0625,  -0.5625, 0.5,   0.625, -2.125,  -0.3125, 1.0625, -1.3125,
       1.0625,  -0.1875, 0.625,  -1.75,   0.8125,  0.625, 1,     -1.8125, -0.25,   0.25,   -1.5625,
       -1.625,  0.375,   2.3125, -2.0625, -1.875,  1.25,  2.125, -1.9375, -1.75,   1.375},
      DType::kFloat32, {4, 2, 4});
  expect_tensor(result_of("aten::conv2d", "",
                          {ramp({1, 2, 5, 5}), ramp({2, 1, 2, 2}, 1), Value(), int_list({1, 2}),
                           int_list({0, 0}), int_list({2, 2}), 2}),
                {-0.4375, -0.25, -0.3125, 1.9375, 1.875, 1.375, 1.9375, -0.25, -0.4375, -1.9375,
                 -0.0625, -1.5625},
                DType::kFloat32, {1, 2, 3, 2});
  expect_tensor(result_of("aten::conv2d", "",
                          {ramp({1, 2, 3, 3}), ramp({2, 2, 1, 1}, 1), Value(), int_list({1, 1}),
                           int_list({0, 0}), int_list({1, 1}), 1}),
                {1.5625, -0.5625, -1.3125, 0, -0.75, 1.9375, -0.1875, -0.9375, 1.75, -0.875, 0.3125,
                 0.8125, -0.0625, 0.4375, -1.125, 0.0625, 0.5625, -1},
                DType::kFloat32, {1, 2, 3, 3});
  expect_tensor(result_of("aten::conv2d", "",
                          {ramp({0, 2, 4, 4}), ramp({3, 2, 3, 3}), Value(), int_list({1, 1}),
                           int_list({0, 0}), int_list({1, 1}), 1}),
                {}, DType::kFloat32, {0, 3, 2, 2});
  expect_tensor(
      result_of("aten::conv2d", "",
                {ramp({1, 1, 3, 3}, 0, DType::kFloat64), ramp({1, 1, 2, 2}, 1, DType::kFloat64),
                 Value(), int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), 1}),
      {1.375, -0.25, -0.0625, -0.3125}, DType::kFloat64, {1, 1, 2, 2});
  expect_tensor(result_of("aten::conv2d", "",
                          {ints({1, 2, 3, 4}, {1, 1, 2, 2}), ints({1, -1}, {1, 1, 1, 2}), Value(),
                           int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), 1}),
                {-1, -1}, DType::kInt64, {1, 1, 2, 1});
}

// Integers have a way of their own, with strides over what is padded, windows wider than the input
// and more places than are worked on at a time; floats are exact for numbers as small as these.
TEST(Convolution, IntegersAreAsExactFloats) {
  const auto small = [](IntArray sizes, int64_t seed) {
    return result_of("aten::mul", "Scalar", {ramp(std::move(sizes), seed), 4}).to(DType::kInt64);
  };
  struct Window {
    IntArray in, kernel;
    IntArray stride, pad, dilation;
    int64_t groups = 1;
  };
  for (const auto& [in, kernel, stride, pad, dilation, groups] :
       {Window{{2, 4, 7}, {6, 2, 3}, {2}, {4}, {1}, 2}, Window{{1, 1, 2}, {1, 1, 5}, {3}, {7}, {2}},
        Window{{3, 2, 9, 8}, {2, 2, 3, 2}, {1, 1}, {1, 0}, {1, 1}},
        Window{{1, 4, 5, 11}, {4, 1, 2, 3}, {2, 3}, {2, 5}, {3, 2}, 4},
        Window{{1, 2, 100, 333}, {1, 2, 2, 2}, {1, 2}, {1, 1}, {1, 1}},
        Window{{1, 2, 4, 3, 5}, {3, 2, 2, 3, 2}, {2, 1, 2}, {1, 2, 3}, {1, 2, 1}}}) {
    for (const bool transposed : {false, true}) {
      IntArray weight = kernel;
      if (transposed) {
        weight[0] = in[1];
        weight[1] = 3;
      }
      const Tensor x = small(in, 1), w = small(weight, 2);
      const Tensor bias = small({transposed ? 3 * groups : weight[0]}, 3);
      const auto answer = [&](DType dtype) {
        return result_of(
            "aten::convolution", "",
            {x.to(dtype), w.to(dtype), bias.to(dtype), make_int_list(stride),
             make_int_list(transposed ? IntArray(pad.size(), 1) : pad), make_int_list(dilation),
             transposed, make_int_list(IntArray(stride.size(), 0)), groups});
      };
      const Tensor expected = answer(DType::kFloat32);
      expect_tensor(answer(DType::kInt64), elements_of(expected), DType::kInt64, expected.sizes());
    }
  }
}

TEST(Convolution, OneAndThreeDimensions) {
  expect_tensor(result_of("aten::conv1d", "",
                          {ramp({1, 2, 6}), ramp({2, 2, 3}, 1), ramp({2}, 2), int_list({2}),
                           int_list({1}), int_list({1}), 1}),
                {-0.1875, -1.3125, -1.0625, -1.3125, -2.8125, -2.0625}, DType::kFloat32, {1, 2, 3});
  expect_tensor(result_of("aten::conv3d", "",
                          {ramp({1, 1, 2, 3, 3}), ramp({2, 1, 2, 2, 2}, 1), Value(),
                           int_list({1, 1, 1}), int_list({0, 0, 1}), int_list({1, 1, 1}), 1}),
                {-2.125, 1.25, 0.9375, -2.4375, 1, -0.375, 0.6875, 0.375, 1.625, 0.1875, 2, -2.75,
                 -1.6875, -0.5625, 2.625, 0.5},
                DType::kFloat32, {1, 2, 1, 2, 4});
  expect_tensor(result_of("aten::conv3d", "",
                          {ramp({1, 1, 2, 3, 3}, 0, DType::kFloat64),
                           ramp({2, 1, 2, 2, 2}, 1, DType::kFloat64), Value(), int_list({1, 1, 1}),
                           int_list({0, 0, 1}), int_list({1, 1, 1}), 1}),
                {-2.125, 1.25, 0.9375, -2.4375, 1, -0.375, 0.6875, 0.375, 1.625, 0.1875, 2, -2.75,
                 -1.6875, -0.5625, 2.625, 0.5},
                DType::kFloat64, {1, 2, 1, 2, 4});
  expect_tensor(
      result_of("aten::conv_tbc", "", {ramp({4, 1, 2}), ramp({2, 2, 3}, 1), ramp({3}, 2), 1}),
      {0.875, -1.4375, 1.0625, -0.5625, -1.5625, 0.1875, 0.25, -0.3125, 1.1875, -0.3125, -0.4375,
       0.8125, -0.25, 0.5, 1.25},
      DType::kFloat32, {5, 1, 3});
}

TEST(Convolution, StringPadding) {
  expect_tensor(result_of("aten::conv2d", "padding",
                          {ramp({1, 1, 3, 3}), ramp({1, 1, 2, 3}, 1), Value(), int_list({1, 1}),
                           "same", int_list({1, 1}), 1}),
                {-0.1875, 0.4375, -1.8125, 2.625, -1.25, -2.0625, 1.25, -0.75, -1.25},
                DType::kFloat32, {1, 1, 3, 3});
  expect_tensor(result_of("aten::conv1d", "padding",
                          {ramp({1, 4}), ramp({1, 1, 2}, 1), Value(), int_list({1}), "same",
                           int_list({3}), 1}),
                {-0.625, 2.1875, -0.25, 0.25}, DType::kFloat32, {1, 4});
  expect_tensor(result_of("aten::_convolution_mode", "",
                          {ramp({1, 1, 3, 3}), ramp({1, 1, 2, 2}, 1), Value(), int_list({1, 1}),
                           "valid", int_list({1, 1}), 1}),
                {1.375, -0.25, -0.0625, -0.3125}, DType::kFloat32, {1, 1, 2, 2});
  EXPECT_THROW(call_op("aten::conv1d", "padding",
                       {ramp({1, 1, 4}), ramp({1, 1, 2}, 1), Value(), int_list({2}), "same",
                        int_list({1}), 1}),
               Error);
}

TEST(Convolution, Transposed) {
  expect_tensor(
      result_of("aten::conv_transpose2d", "input",
                {ramp({1, 2, 2, 3}), ramp({2, 1, 2, 2}, 1), ramp({1}, 2), int_list({2, 1}),
                 int_list({0, 1}), int_list({1, 0}), 1, int_list({1, 1})}),
      {-1.5625, 0.125, 2.0625, 0.75, 1.4375, -0.3125, 0.1875, 0.9375, 0.25, 0.25}, DType::kFloat32,
      {1, 1, 5, 2});
  expect_tensor(
      result_of("aten::conv_transpose2d", "input",
                {ramp({1, 2, 2, 2}), ramp({2, 2, 2, 2}, 1), Value(), int_list({1, 1}),
                 int_list({0, 0}), int_list({0, 0}), 2, int_list({2, 2})}),
      {0.625,  -0.25,   -1.5625, 0.625, 0.25,    -0.625,  -0.625, 1.5625,  -0.3125, 0.125,  0.9375,
       -0.375, -0.125,  0.3125,  0.375, -0.9375, -1.25,   0.5,    0,       0,       -0.5,   1.25,
       0,      0,       1.25,    -0.5,  -0.9375, 0.375,   0.5,    -1.25,   -0.375,  0.9375, -0.0625,
       0.1875, -0.3125, 0.9375,  -0.25, 0,       -1.25,   0,      0.125,   -0.375,  -0.125, 0.375,
       0.5,    0,       -0.5,    0,     0.3125,  -0.9375, 0.0625, -0.1875, 1.25,    0,      0.25,
       0,      -0.1875, 0.5625,  0.25,  -0.75,   -0.75,   0,      1,       0},
      DType::kFloat32, {1, 4, 4, 4});
  expect_tensor(result_of("aten::conv_transpose1d", "",
                          {ramp({1, 2, 3}), ramp({2, 2, 2}, 1), Value(), int_list({2}),
                           int_list({0}), int_list({1}), 1, int_list({1})}),
                {1.875, -1.5625, 0, 0.625, -0.5, -0.625, 0, -1.5625, 1.875, -0.125, -0.1875, 0.625,
                 -0.1875, 0},
                DType::kFloat32, {1, 2, 7});
  expect_tensor(
      result_of("aten::conv_transpose3d", "input",
                {ramp({1, 1, 2, 2, 2}), ramp({1, 1, 1, 2, 2}, 1), Value(), int_list({1, 1, 1}),
                 int_list({0, 0, 0}), int_list({0, 0, 0}), 1, int_list({1, 1, 1})}),
      {0.625, -1.8125, 0.625, -0.0625, -0.1875, 1.1875, -0.125, 0.6875, -0.9375, -0.125, 0.6875,
       -0.9375, -0.4375, 0.875, 0.5625, 0.25, -0.75, 0},
      DType::kFloat32, {1, 1, 2, 3, 3});
  expect_tensor(result_of("aten::conv_transpose2d", "input",
                          {ramp({1, 1, 2, 2}, 0, DType::kFloat64),
                           ramp({1, 1, 2, 2}, 1, DType::kFloat64), Value(), int_list({2, 2}),
                           int_list({0, 0}), int_list({0, 0}), 1, int_list({1, 1})}),
                {0.625, -1.5625, -0.25, 0.625, -0.3125, 0.9375, 0.125, -0.375, 0.25, -0.625, -0.625,
                 1.5625, -0.125, 0.375, 0.3125, -0.9375},
                DType::kFloat64, {1, 1, 4, 4});
  EXPECT_THROW(call_op("aten::conv_transpose2d", "input",
                       {ramp({1, 2, 2, 3}), ramp({2, 1, 2, 2}, 1), Value(), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 0}), 1, int_list({1, 1})}),
               Error);
}

TEST(Convolution, WrongShapes) {
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 2, 8, 8}), ramp({4, 3, 3, 3}), Value(), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 3, 2, 2}), ramp({4, 3, 3, 3}), Value(), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({3, 2}), ramp({4, 3, 3, 3}), Value(), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 3, 8, 8}), ramp({4, 3, 3, 3}), ramp({3}), int_list({1, 1}),
                        int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 3, 8, 8}), ramp({4, 3, 3, 3}), Value(), int_list({0, 1}),
                        int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 3, 8, 8}), ramp({4, 3, 3, 3}), Value(), int_list({1, 1}),
                        int_list({-1, 0}), int_list({1, 1}), 1}),
               Error);
  EXPECT_THROW(call_op("aten::conv2d", "",
                       {ramp({1, 3, 8, 8}), ramp({4, 3, 3, 3}, 0, DType::kFloat64), Value(),
                        int_list({1, 1}), int_list({0, 0}), int_list({1, 1}), 1}),
               Error);
}

// Many taps for few channels, which have a way of their own in float32.
TEST(Convolution, LargeWindows) {
  const auto expect_near = [](const char* op, const Tensor& x, const Tensor& w, const Tensor& b,
                              IntArray stride, IntArray padding, IntArray dilation) {
    const auto run = [&](DType dtype) {
      return result_of(op, "",
                       {x.to(dtype), w.to(dtype), b.to(dtype), int_list(stride), int_list(padding),
                        int_list(dilation), int64_t{1}});
    };
    const Tensor expected = run(DType::kFloat64);
    const Tensor got = run(DType::kFloat32).to(DType::kFloat64);
    ASSERT_TRUE(std::ranges::equal(got.sizes(), expected.sizes()));
    for (int64_t i = 0; i < got.numel(); ++i) {
      ASSERT_NEAR(got.data_ptr<double>()[i], expected.data_ptr<double>()[i], 2e-3) << i;
    }
  };
  const Tensor bias = ramp({3}), picture = ramp({2, 5, 20, 27}), volume = ramp({2, 2, 9, 10, 13});
  expect_near("aten::conv2d", picture, ramp({3, 5, 8, 9}, 1), bias, {1, 1}, {0, 3}, {1, 1});
  expect_near("aten::conv2d", picture, ramp({3, 5, 9, 8}, 2), bias, {2, 1}, {4, 1}, {1, 2});
  expect_near("aten::conv3d", volume, ramp({3, 2, 4, 4, 5}, 3), bias, {1, 1, 1}, {1, 0, 2},
              {1, 1, 1});
  expect_near("aten::conv3d", volume, ramp({3, 2, 4, 5, 4}, 4), bias, {2, 1, 1}, {0, 2, 1},
              {1, 2, 1});
  // Windows whose weights are taken some planes at a time.
  const Tensor deep = ramp({2, 8, 12, 14, 15}), narrow_deep = ramp({1, 20, 9, 16, 17});
  expect_near("aten::conv3d", deep, ramp({12, 8, 10, 12, 12}, 5), ramp({12}), {1, 1, 1}, {2, 1, 0},
              {1, 1, 1});
  expect_near("aten::conv3d", narrow_deep, ramp({3, 20, 10, 12, 12}, 6), bias, {2, 1, 1}, {9, 0, 1},
              {2, 1, 1});
}

// Most taps see the padding alone. They are not left out where the padding is part of the input.
TEST(Convolution, WindowsBeyondTheInput) {
  struct Case {
    IntArray kernel, stride, padding, dilation;
  };
  const Case cases[] = {{{9, 11}, {1, 1}, {4, 5}, {1, 1}}, {{9, 8}, {2, 3}, {7, 6}, {1, 1}},
                        {{5, 5}, {1, 2}, {9, 9}, {4, 5}},  {{12, 3}, {5, 1}, {11, 0}, {1, 1}},
                        {{4, 9}, {9, 9}, {9, 9}, {5, 1}},  {{1, 40}, {1, 1}, {0, 30}, {1, 1}},
                        {{4, 40}, {1, 1}, {9, 30}, {6, 1}}};  // no tap sees a line
  for (const Case& c : cases) {
    const Tensor x = ramp({2, 4, 3, 4}), bias = ramp({6}, 2);
    const IntArray around{c.padding[1], c.padding[1], c.padding[0], c.padding[0]};
    const Tensor padded = result_of("aten::constant_pad_nd", "", {x, int_list(around), 0.0});
    for (const int64_t groups : {1, 2, 4}) {
      const int64_t outputs = groups == 4 ? 4 : 6;
      const Tensor weight = ramp({outputs, 4 / groups, c.kernel[0], c.kernel[1]}, 1);
      const Value rest = narrow(bias, 0, 0, outputs);
      const auto convolved = [&](const Tensor& input, const IntArray& padding) {
        return result_of("aten::conv2d", "",
                         {input, weight, rest, int_list(c.stride), int_list(padding),
                          int_list(c.dilation), groups});
      };
      const Tensor got = convolved(x, c.padding), expected = convolved(padded, {0, 0});
      ASSERT_TRUE(std::ranges::equal(got.sizes(), expected.sizes()));
      for (int64_t i = 0; i < got.numel(); ++i) {
        ASSERT_NEAR(got.data_ptr<float>()[i], expected.data_ptr<float>()[i], 1e-4) << i;
      }
    }
  }
}

// As planes, and by the kernel of plans for what has many pixels.
TEST(Convolution, ChannelsLast) {
  constexpr MemoryFormat kLast = MemoryFormat::kChannelsLast;
  for (const int64_t channels : {2, 3, 17}) {
    for (const int64_t size : {2, 3}) {
      const Tensor x = ramp({2, channels, 33, 31}), bias = ramp({5}, 2);
      const Tensor weight = ramp({5, channels, size, 3}, 1);
      const auto convolved = [&](const Tensor& input, const Tensor& w) {
        return result_of("aten::conv2d", "",
                         {input, w, bias, int_list({1, 1}), int_list({1, 2}), int_list({1, 2}), 1});
      };
      const Tensor expected = convolved(x, weight);
      for (const bool input_is_last : {true, false}) {
        const Tensor got = input_is_last ? convolved(x.contiguous(kLast), weight)
                                         : convolved(x, weight.contiguous(kLast));
        ASSERT_EQ(got.suggest_memory_format(), kLast);
        const Tensor planes = got.contiguous();
        ASSERT_TRUE(std::ranges::equal(planes.sizes(), expected.sizes()));
        for (int64_t i = 0; i < planes.numel(); ++i) {
          ASSERT_NEAR(planes.data_ptr<float>()[i], expected.data_ptr<float>()[i], 1e-4) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace torchlet::ops
