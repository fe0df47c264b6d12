#include "ops/core/testing.h"
#include "ops/shape/shape.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

TEST(Normalisation, Batch) {
  expect_tensor(result_of("aten::batch_norm", "",
                          {ramp({2, 2, 3}), ramp({2}, 1), ramp({2}, 2), ramp({2}, 3),
                           make({0.5, 2}), false, 0.1, 1e-05, false}),
                {1.84097433, 0.603549838, 1.31064951, 0.354851514, -0.529029727, -1.41291094, 0.25,
                 0.957099676, 1.66419935, -0.0870890915, -0.970970273, -1.85485148},
                DType::kFloat32, {2, 2, 3});
  expect_tensor(result_of("aten::native_batch_norm", "",
                          {ramp({2, 2, 2}), Value(), Value(), Value(), Value(), true, 0.1, 1e-05}),
                {-1.3105433, 1.13580418, -1.3105433, 1.13580418, 0.786325991, -0.611586869,
                 0.786325991, -0.611586869},
                DType::kFloat32, {2, 2, 2});
  expect_tensor(
      result_of("aten::native_batch_norm", "",
                {ramp({2, 2, 2}), Value(), Value(), Value(), Value(), true, 0.1, 1e-05}, 1),
      {-0.3125, 0.4375}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::native_batch_norm", "",
                {ramp({2, 2, 2}), Value(), Value(), Value(), Value(), true, 0.1, 1e-05}, 2),
      {1.39791286, 1.39791286}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::batch_norm", "",
                          {ramp({2, 2, 1}, 0, DType::kFloat64), Value(), Value(),
                           ramp({2}, 3, DType::kFloat64), make({0.5, 2}, DType::kFloat64), false,
                           0.1, 1e-05, false}),
                {-3.1819487, 0.353552507, -2.12129913, 0.883881267}, DType::kFloat64, {2, 2, 1});
  EXPECT_THROW(
      call_op("aten::batch_norm", "",
              {ramp({2, 2}), Value(), Value(), Value(), Value(), false, 0.1, 1e-05, false}),
      Error);
  EXPECT_THROW(
      call_op("aten::batch_norm", "",
              {ramp({2, 2}), ramp({3}), Value(), ramp({2}), ramp({2}), false, 0.1, 1e-05, false}),
      Error);
}

TEST(Normalisation, TrainingUpdatesTheRunningStatistics) {
  for (const char* name : {"aten::batch_norm", "aten::instance_norm"}) {
    const Tensor mean = make({1, 2}), variance = make({3, 4});
    const bool batch = std::string(name) == "aten::batch_norm";
    call_op(name, "", {ramp({2, 2, 3}), Value(), Value(), mean, variance, true, 0.25, 1e-5, false});
    expect_tensor(mean, batch ? std::vector<double>{0.697916687, 1.5}
                              : std::vector<double>{0.697916627, 1.5});
    expect_tensor(variance, batch ? std::vector<double>{2.44010425, 3.21875}
                                  : std::vector<double>{2.47135401, 3.25});
  }
}

TEST(Normalisation, InstanceLayerGroup) {
  expect_tensor(result_of("aten::instance_norm", "",
                          {ramp({2, 2, 3}), ramp({2}, 1), ramp({2}, 2), Value(), Value(), true, 0.1,
                           1e-05, false}),
                {0.831232548, -0.389355808, 0.308123261, 0.780919552, -0.75, -2.28091955,
                 -0.362367809, 0.25, 0.862367809, 0.780919552, -0.75, -2.28091955},
                DType::kFloat32, {2, 2, 3});
  expect_tensor(result_of("aten::layer_norm", "",
                          {ramp({2, 2, 3}), int_list({2, 3}), ramp({2, 3}, 1), ramp({2, 3}, 2),
                           1e-05, false}),
                {0.946521044, 0.120651379, 0.875621259, -1.19403613, -0.601987958, 0.75,
                 -0.430979967, -0.560838878, 0.735174477, -0.794476569, -1.15132892, 0.75},
                DType::kFloat32, {2, 2, 3});
  expect_tensor(result_of("aten::layer_norm", "",
                          {ramp({1, 20}), int_list({20}), ramp({20}, 1), Value(), 1e-05, false}),
                {0.756440938,
                 0.810472429,
                 -0.146656916,
                 -1.18097413,
                 0.339626551,
                 0,
                 -1.26588082,
                 0.0231563598,
                 0.301032603,
                 -1.19641173,
                 -0.138938129,
                 0.756440938,
                 0.810472429,
                 -0.146656916,
                 -1.18097413,
                 0.339626551,
                 0,
                 -1.26588082,
                 0.0231563598,
                 0.301032603},
                DType::kFloat32, {1, 20});
  expect_tensor(
      result_of("aten::native_layer_norm", "",
                {ramp({2, 3}, 0, DType::kFloat64), int_list({3}), Value(), Value(), 1e-05}),
      {-1.16246508, 1.27871158, -0.116246508, 1.22473569, 0, -1.22473569}, DType::kFloat64, {2, 3});
  expect_tensor(
      result_of("aten::native_layer_norm", "",
                {ramp({2, 3}, 0, DType::kFloat64), int_list({3}), Value(), Value(), 1e-05}, 1),
      {-0.416666667, 0.25}, DType::kFloat64, {2, 1});
  expect_tensor(
      result_of("aten::native_layer_norm", "",
                {ramp({2, 3}, 0, DType::kFloat64), int_list({3}), Value(), Value(), 1e-05}, 2),
      {1.39495809, 1.22473569}, DType::kFloat64, {2, 1});
  expect_tensor(result_of("aten::group_norm", "",
                          {ramp({2, 4, 2}), 2, ramp({4}, 1), ramp({4}, 2), 1e-05, false}),
                {0.906528533, -0.012611419, -1.40652847, 0.891321301, 1.04999936, 0.650004506,
                 -1.04998648, 0.149998054, 0.611445665, -0.513052046, -0.448795259, -2.0552206,
                 1.04999936, 0.650004506, -1.04998648, 0.149998069},
                DType::kFloat32, {2, 4, 2});
  expect_tensor(result_of("aten::native_group_norm", "",
                          {ramp({1, 2, 2, 2}), Value(), Value(), 1, 2, 4, 2, 1e-05}),
                {-1.31305707, 0.525222838, -0.525222838, 1.31305707, 0.199997425, -1.39998198,
                 1.39998198, -0.19999741},
                DType::kFloat32, {1, 2, 2, 2});
  expect_tensor(result_of("aten::native_group_norm", "",
                          {ramp({1, 2, 2, 2}), Value(), Value(), 1, 2, 4, 2, 1e-05}, 1),
                {0, 0.124999993}, DType::kFloat32, {1, 2});
  expect_tensor(result_of("aten::native_group_norm", "",
                          {ramp({1, 2, 2, 2}), Value(), Value(), 1, 2, 4, 2, 1e-05}, 2),
                {1.05044568, 1.5999794}, DType::kFloat32, {1, 2});
  EXPECT_THROW(call_op("aten::layer_norm", "",
                       {ramp({2, 3}), int_list({2}), Value(), Value(), 1e-05, false}),
               Error);
  EXPECT_THROW(
      call_op("aten::group_norm", "", {ramp({2, 3, 2}), 2, Value(), Value(), 1e-05, false}), Error);
}

// A group of more numbers than are summed in float32 at once, far from zero.
TEST(Norm, LongGroupsAreAsExactAsDoubles) {
  const int64_t length = (1 << 16) + (1 << 14) + 7;
  const Tensor x = empty(IntArray{1, 2, length}, DType::kFloat32);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data_ptr<float>()[i] = 100 + static_cast<float>(i % 1013) / 512;
  }
  const auto normalized = [](const Tensor& input, size_t result) {
    return result_of("aten::native_group_norm", "",
                     {input, Value(), Value(), 1, 2, input.size(2), 2, 1e-05}, result)
        .to(DType::kFloat64);
  };
  for (size_t result = 0; result < 3; ++result) {
    const Tensor want = normalized(x.to(DType::kFloat64), result), got = normalized(x, result);
    for (int64_t i = 0; i < want.numel(); ++i) {
      ASSERT_NEAR(got.data_ptr<double>()[i], want.data_ptr<double>()[i], 2e-4) << result;
    }
  }
}

TEST(Embedding, Rows) {
  expect_tensor(
      result_of("aten::embedding", "", {ramp({4, 3}), ints({3, 0}, {1, 2}), -1, false, false}),
      {0.75, -0.25, -1.25, -1.25, 0.5, -0.5}, DType::kFloat32, {1, 2, 3});
  expect_tensor(result_of("aten::embedding", "",
                          {ints({1, 2, 3, 4}, {2, 2}), ints({1}, {}), -1, false, false}),
                {3, 4}, DType::kInt64, {2});
  expect_tensor(
      result_of("aten::embedding", "",
                {transpose(ints({1, 2, 3, 4}, {2, 2}), 0, 1), ints({1, 0}), -1, false, false}),
      {2, 4, 1, 3}, DType::kInt64, {2, 2});
  EXPECT_THROW(call_op("aten::embedding", "", {ramp({4, 3}), ints({4}), -1, false, false}), Error);
  EXPECT_THROW(call_op("aten::embedding", "", {ramp({4, 3}), ints({-1}), -1, false, false}), Error);
  EXPECT_THROW(call_op("aten::embedding", "", {ramp({3}), ints({0}), -1, false, false}), Error);
}

TEST(Embedding, Bags) {
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, 3}),
                {-0.125, 0.25, -0.75, 0, 0, 0, 1.25, 0.25, -0.75}, DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, 3},
                          1),
                {0, 0, 2, 2, 2}, DType::kInt64, {5});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, 3},
                          2),
                {2, 0, 1}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, 3},
                          3),
                {2, 0, 1}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, Value()}),
                {-0.125, 0.25, -0.75, 0, 0, 0, 0.916666687, -0.0833333358, -1.08333337},
                DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, Value()},
                          1),
                {0, 0, 2, 2, 2}, DType::kInt64, {5});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, Value()},
                          2),
                {2, 0, 3}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 1, false,
                           Value(), false, Value()},
                          3),
                {2, 0, 3}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, 3}),
                {1, 0.5, -0.5, 0, 0, 0, 1.25, 0.25, -0.75}, DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, 3},
                          1),
                {0, 0, 2, 2, 2}, DType::kInt64, {5});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, 3},
                          2),
                {2, 0, 1}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, 3},
                          3),
                {2, 0, 0, 0, 0, 0, 1, 1, 1}, DType::kInt64, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, Value()}),
                {1, 0.5, -0.5, 0, 0, 0, 1.25, 0.25, -0.75}, DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, Value()},
                          1),
                {0, 0, 2, 2, 2}, DType::kInt64, {5});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, Value()},
                          2),
                {2, 0, 3}, DType::kInt64, {3});
  expect_tensor(result_of("aten::embedding_bag", "padding_idx",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 2, false,
                           Value(), false, Value()},
                          3),
                {2, 0, 0, 0, 0, 0, 1, 1, 1}, DType::kInt64, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2}), false, 0, false,
                           make({1, 2, 3, 4, 5}), false}),
                {0.75, 0.5, -2.5, 0, 0, 0, 10.5, -1.5, -13.5}, DType::kFloat32, {3, 3});
  expect_tensor(result_of("aten::embedding_bag", "",
                          {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 2, 2, 5}), false, 0, false,
                           Value(), true}),
                {-0.25, 0.5, -1.5, 0, 0, 0, 2.75, -0.25, -3.25}, DType::kFloat32, {3, 3});
  EXPECT_THROW(
      call_op("aten::embedding_bag", "",
              {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({1, 2}), false, 0, false, Value(), false}),
      Error);
  EXPECT_THROW(
      call_op("aten::embedding_bag", "",
              {ramp({4, 3}), ints({0, 2, 1, 3, 3}), ints({0, 7}), false, 0, false, Value(), false}),
      Error);
}

}  // namespace
}  // namespace torchlet::ops
