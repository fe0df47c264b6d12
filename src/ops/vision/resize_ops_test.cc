#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Padding, Modes) {
  expect_tensor(
      result_of("aten::constant_pad_nd", "", {ramp({2, 3}), int_list({1, -1, 0, 1}), 2.5}),
      {2.5, -1.25, 0.5, 2.5, 1.25, 0.25, 2.5, 2.5, 2.5}, DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::pad", "", {ramp({1, 2, 3}), int_list({2, 1}), "reflect", Value()}),
                {-0.5, 0.5, -1.25, 0.5, -0.5, 0.5, -0.75, 0.25, 1.25, 0.25, -0.75, 0.25},
                DType::kFloat32, {1, 2, 6});
  expect_tensor(
      result_of("aten::pad", "", {ramp({1, 2, 3}), int_list({2, 1}), "replicate", Value()}),
      {-1.25, -1.25, -1.25, 0.5, -0.5, -0.5, 1.25, 1.25, 1.25, 0.25, -0.75, -0.75}, DType::kFloat32,
      {1, 2, 6});
  expect_tensor(
      result_of("aten::pad", "", {ramp({1, 2, 3}), int_list({3, 1}), "circular", Value()}),
      {-1.25, 0.5, -0.5, -1.25, 0.5, -0.5, -1.25, 1.25, 0.25, -0.75, 1.25, 0.25, -0.75, 1.25},
      DType::kFloat32, {1, 2, 7});
  expect_tensor(result_of("aten::pad", "",
                          {ramp({1, 1, 3, 3}), int_list({-1, 1, -2, 1}), "circular", Value()}),
                {0, -1, 0, 0, -1, 0}, DType::kFloat32, {1, 1, 2, 3});
  expect_tensor(result_of("aten::reflection_pad2d", "", {ramp({1, 3, 2}), int_list({1, 0, 2, 1})}),
                {-0.75, 0.25, -0.75, 1.25, -0.5, 1.25, 0.5, -1.25, 0.5, 1.25, -0.5, 1.25, -0.75,
                 0.25, -0.75, 1.25, -0.5, 1.25},
                DType::kFloat32, {1, 6, 3});
  expect_tensor(
      result_of("aten::replication_pad3d", "", {ramp({1, 1, 2, 2}), int_list({1, 0, 0, 1, 1, 0})}),
      {-1.25, -1.25, 0.5, -0.5, -0.5, 1.25, -0.5, -0.5, 1.25, -1.25, -1.25, 0.5, -0.5, -0.5, 1.25,
       -0.5, -0.5, 1.25},
      DType::kFloat32, {1, 2, 3, 3});
  EXPECT_THROW(call_op("aten::pad", "", {ramp({1, 2, 3}), int_list({3, 1}), "reflect", Value()}),
               Error);
  EXPECT_THROW(call_op("aten::pad", "", {ramp({1, 2, 3}), int_list({4, 1}), "circular", Value()}),
               Error);
  EXPECT_THROW(call_op("aten::constant_pad_nd", "", {ramp({2, 3}), int_list({-2, -2}), 0}), Error);
}

TEST(Padding, OfNothing) {
  for (const char* mode : {"reflect", "replicate", "circular"}) {
    SCOPED_TRACE(mode);
    const auto padded = [&](IntArray sizes, IntArray pad) {
      return result_of("aten::pad", "", {ramp(sizes), int_list(pad), mode, Value()});
    };
    expect_tensor(padded({0, 3, 4}, {1, 2}), {}, DType::kFloat32, {0, 3, 7});
    expect_tensor(padded({0, 3, 4, 5}, {1, 2, 0, 1}), {}, DType::kFloat32, {0, 3, 5, 8});
    expect_tensor(padded({0, 3, 2, 4, 5}, {1, 2, 0, 1, 1, 1}), {}, DType::kFloat32,
                  {0, 3, 4, 5, 8});
    EXPECT_THROW(padded({2, 3, 0}, {1, 1}), Error);
    if (mode == std::string("circular")) {
      expect_tensor(padded({2, 0, 4}, {1, 2}), {}, DType::kFloat32, {2, 0, 7});
    } else {
      EXPECT_THROW(padded({2, 0, 4}, {1, 2}), Error);
    }
  }
  const auto pad = [](const char* name, IntArray sizes, IntArray amounts) {
    return result_of(name, "", {ramp(sizes), int_list(amounts)});
  };
  expect_tensor(pad("aten::reflection_pad1d", {0, 4}, {1, 1}), {}, DType::kFloat32, {0, 6});
  expect_tensor(pad("aten::reflection_pad2d", {0, 4, 4}, {1, 1, 0, 0}), {}, DType::kFloat32,
                {0, 4, 6});
  EXPECT_THROW(pad("aten::reflection_pad3d", {0, 4, 4, 4}, {1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW(pad("aten::replication_pad1d", {0, 4}, {1, 1}), Error);
}

TEST(Resize, LinearWeightsHaveEveryBitOfPytorchs) {
  const Tensor pixel = make({0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, DType::kFloat32, {1, 1, 10});
  const Tensor resized = result_of("aten::upsample_linear1d", "", {pixel, int_list({7}), false});
  const float* weights = resized.data_ptr<float>();
  EXPECT_EQ(weights[2], 0.07142865657806396f);
  EXPECT_EQ(weights[3], 0.49999988079071045f);
  const Tensor ramp =
      make({0, 1000 / 7.0, 2000 / 7.0, 3000 / 7.0, 4000 / 7.0, 5000 / 7.0, 6000 / 7.0, 1000},
           DType::kFloat32, {1, 1, 8});
  const Tensor aligned = result_of("aten::upsample_linear1d", "", {ramp, int_list({7}), true});
  EXPECT_EQ(aligned.data_ptr<float>()[4], 666.6666259765625f);
  EXPECT_EQ(aligned.data_ptr<float>()[6], 999.9999389648438f);
}

TEST(Resize, LinearOfEveryWidth) {
  for (const int64_t width : {1, 7, 8, 9, 17, 40}) {
    const std::vector<Value> rest{int_list({5, 2 * width + 1}), false, Value(), Value()};
    const auto resized = [&](DType dtype) {
      std::vector<Value> args{ramp({1, 2, 3, width}).to(dtype)};
      args.insert(args.end(), rest.begin(), rest.end());
      return result_of("aten::upsample_bilinear2d", "", args).to(DType::kFloat64);
    };
    const Tensor x = resized(DType::kFloat32), y = resized(DType::kFloat64);
    for (int64_t i = 0; i < y.numel(); ++i) {
      ASSERT_NEAR(x.data_ptr<double>()[i], y.data_ptr<double>()[i], 1e-6) << width << " " << i;
    }
  }
}

TEST(Resize, Nearest) {
  expect_tensor(
      result_of("aten::upsample_nearest1d", "vec", {ramp({1, 1, 5}), int_list({7}), Value()}),
      {-1.25, -1.25, 0.5, -0.5, -0.5, 1.25, 0.25}, DType::kFloat32, {1, 1, 7});
  expect_tensor(result_of("aten::upsample_nearest2d", "vec",
                          {ramp({1, 1, 2, 3}), Value(), Value::list({1.5, 2.0})}),
                {-1.25, -1.25, 0.5, 0.5, -0.5, -0.5, -1.25, -1.25, 0.5, 0.5, -0.5, -0.5, 1.25, 1.25,
                 0.25, 0.25, -0.75, -0.75},
                DType::kFloat32, {1, 1, 3, 6});
  expect_tensor(result_of("aten::_upsample_nearest_exact1d", "vec",
                          {ramp({1, 1, 5}), int_list({7}), Value()}),
                {-1.25, 0.5, 0.5, -0.5, 1.25, 1.25, 0.25}, DType::kFloat32, {1, 1, 7});
  expect_tensor(result_of("aten::upsample_nearest3d", "",
                          {ramp({1, 1, 2, 1, 2}), int_list({3, 1, 3}), Value(), Value(), Value()}),
                {-1.25, -1.25, 0.5, -1.25, -1.25, 0.5, -0.5, -0.5, 1.25}, DType::kFloat32,
                {1, 1, 3, 1, 3});
  expect_tensor(result_of("aten::upsample_nearest1d", "",
                          {make({1, 2, 3}, DType::kUInt8, {1, 1, 3}), int_list({5}), Value()}),
                {1, 1, 2, 2, 3}, DType::kUInt8, {1, 1, 5});
  EXPECT_THROW(call_op("aten::upsample_nearest1d", "vec", {ramp({1, 1, 5}), Value(), Value()}),
               Error);
  EXPECT_THROW(
      call_op("aten::upsample_nearest1d", "vec", {ramp({1, 1, 5}), int_list({0}), Value()}), Error);
}

TEST(Resize, LinearAndCubic) {
  expect_tensor(
      result_of("aten::upsample_linear1d", "vec", {ramp({1, 1, 4}), int_list({6}), false, Value()}),
      {-1.25, -0.375, 0.333333254, -0.333333373, 0.375000179, 1.25}, DType::kFloat32, {1, 1, 6});
  expect_tensor(result_of("aten::upsample_bilinear2d", "vec",
                          {ramp({1, 1, 3, 3}), int_list({2, 5}), true, Value()}),
                {-1.25, -0.375, 0.5, 0, -0.5, 1, 0.5, 0, -0.5, -1}, DType::kFloat32, {1, 1, 2, 5});
  expect_tensor(result_of("aten::upsample_bilinear2d", "vec",
                          {ramp({1, 1, 3, 3}), Value(), false, Value::list({1.5, 0.7})}),
                {-0.875, -0.142857194, 0.0803571492, -0.267857194, 0.994047582, -0.434523851,
                 0.827380896, -0.601190507},
                DType::kFloat32, {1, 1, 4, 2});
  expect_tensor(
      result_of("aten::upsample_bilinear2d", "",
                {ramp({1, 1, 3, 3}, 0, DType::kFloat64), int_list({4, 2}), false, 1.3, Value()}),
      {-0.8125, -0.25, 0.372596154, -0.413461538, 0.894230769, -0.605769231, 0.75, -0.75},
      DType::kFloat64, {1, 1, 4, 2});
  expect_tensor(result_of("aten::upsample_trilinear3d", "vec",
                          {ramp({1, 1, 2, 2, 2}), int_list({3, 2, 3}), false, Value()}),
                {-1.25, -0.375, 0.5, -0.5, 0.375, 1.25, -0.5, -0.3125, -0.125, 0.25, 0.4375, 0.625,
                 0.25, -0.25, -0.74999994, 1, 0.5, 0},
                DType::kFloat32, {1, 1, 3, 2, 3});
  expect_tensor(result_of("aten::upsample_bicubic2d", "vec",
                          {ramp({1, 1, 3, 3}), int_list({4, 2}), false, Value()}),
                {-0.953082085, -0.187030315, 0.409696579, -0.406201363, 1.17471409, -0.686769009,
                 0.790649414, -0.826538086},
                DType::kFloat32, {1, 1, 4, 2});
  expect_tensor(result_of("aten::_upsample_bilinear2d_aa", "vec",
                          {ramp({1, 1, 5, 4}), int_list({2, 3}), false, Value()}),
                {-0.350000054, 0.125, 0.162499994, -0.0999999791, 0.375, -0.200000122},
                DType::kFloat32, {1, 1, 2, 3});
  expect_tensor(result_of("aten::_upsample_bicubic2d_aa", "vec",
                          {ramp({1, 1, 5, 4}), int_list({2, 5}), false, Value()}),
                {-0.554133594, -0.16823864, 0.142869458, 0.221796229, 0.171206981, -0.268328011,
                 0.117566921, 0.493708789, 0.215564519, -0.628551722},
                DType::kFloat32, {1, 1, 2, 5});
}

TEST(Resize, GridSampler) {
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 0, false}),
                {-0.3125, 0.712499976, -0.08124993}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 0, true}),
                {-1.25, 0.801249862, -0.787499785}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 1, false}),
                {-1.25, 0.712499976, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 1, true}),
                {-1.25, 0.801249862, -1.125}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 2, false}),
                {-1.25, 0.712499976, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           0, 2, true}),
                {-1.25, 0.801249862, -0.824999809}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 0, false}),
                {-1.25, 1, 0}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 0, true}),
                {-1.25, 1, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 1, false}),
                {-1.25, 1, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 1, true}),
                {-1.25, 1, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 2, false}),
                {-1.25, 1, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           1, 2, true}),
                {-1.25, 1, -1.25}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 0, false}),
                {-0.489013672, 0.95302552, -0.0842443183}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 0, true}),
                {-1.25, 0.958773255, -1.00717568}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 1, false}),
                {-1.57885742, 0.960543156, -1.39538288}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 1, true}),
                {-1.25, 0.959945858, -1.26823425}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 2, false}),
                {-1.95605469, 0.960543156, -1.53078103}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler", "",
                          {ramp({1, 1, 3, 4}),
                           make({-1, -1, 0.300000012, 0.100000001, 1.20000005, 0.899999976},
                                DType::kFloat32, {1, 1, 3, 2}),
                           2, 2, true}),
                {-1.25, 0.952271342, -1.10360384}, DType::kFloat32, {1, 1, 1, 3});
  expect_tensor(result_of("aten::grid_sampler_3d", "",
                          {ramp({1, 1, 2, 2, 2}),
                           make({0.100000001, -0.400000006, 0.600000024, 1.5, 0, 0},
                                DType::kFloat32, {1, 1, 1, 2, 3}),
                           0, 0, false}),
                {-0.247500002, 0}, DType::kFloat32, {1, 1, 1, 1, 2});
  expect_tensor(
      result_of(
          "aten::affine_grid_generator", "",
          {make({1, 0.5, 0, 0, 2, -1}, DType::kFloat32, {1, 2, 3}), int_list({1, 1, 2, 3}), false}),
      {-0.916666687, -2, -0.25, -2, 0.416666687, -2, -0.416666687, 0, 0.25, 0, 0.916666687, 0},
      DType::kFloat32, {1, 2, 3, 2});
  expect_tensor(
      result_of("aten::affine_grid_generator", "",
                {make({1, 0.5, 0, 1, 0, 2, -1, 0, 0, 0, 1, 0.5}, DType::kFloat32, {1, 3, 4}),
                 int_list({1, 1, 2, 1, 2}), true}),
      {0, 1, -0.5, 2, 1, -0.5, 0, -1, 1.5, 2, -1, 1.5}, DType::kFloat32, {1, 2, 1, 2, 3});
  EXPECT_THROW(
      call_op("aten::grid_sampler", "", {ramp({1, 1, 3, 4}), ramp({1, 2, 2, 3}), 0, 0, false}),
      Error);
}

}  // namespace
}  // namespace torchlet::ops
