#include <cmath>

#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY, kNan = NAN;

TEST(Losses, Pointwise) {
  expect_tensor(result_of("aten::mse_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 1}), {1.13541663},
                DType::kFloat32, {});
  expect_tensor(result_of("aten::l1_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 0}),
                {0.75, 0.75, 0.75, 2, 0.75, 0.75}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::smooth_l1_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 0, 0.5}),
                {0.5, 0.5, 0.5, 1.75, 0.5, 0.5}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::smooth_l1_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 2, 0.0}),
                {5.75}, DType::kFloat32, {});
  expect_tensor(result_of("aten::huber_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 0, 0.75}),
                {0.28125, 0.28125, 0.28125, 1.21875, 0.28125, 0.28125}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::kl_div", "",
                          {ramp({2, 3}), make({0.5, 0.25, 0.25, 0, 1, 0}, DType::kFloat32, {2, 3}),
                           0, false}),
                {0.278426409, -0.471573591, -0.221573591, 0, -0.25, 0}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::kl_div", "", {ramp({2, 3}), ramp({2, 3}, 1), 2, true}),
                {5.8796525}, DType::kFloat32, {});
  expect_tensor(
      result_of(
          "aten::binary_cross_entropy", "",
          {make({0.5, 0.25, 0.25, 0, 1, 0}, DType::kFloat32, {2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           0}),
      {0.0693147182, 0.101480916, 0.739697516, 9.00000095, 21, 16}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of(
          "aten::binary_cross_entropy_with_logits", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           Value(), make({1, 2, 3}), 0}),
      {0.376929045, 0.968892455, 2.18778467, 1.12692904, 0.923721254, 1.5963676}, DType::kFloat32,
      {2, 3});
  expect_tensor(result_of("aten::poisson_nll_loss", "",
                          {ramp({2, 3}), make({0, 1, 2, 3, 4, 5}, DType::kFloat32, {2, 3}), true,
                           true, 1e-08, 0}),
                {0.286504805, 1.14872122, 2.25833702, 1.50442469, 3.44128871, 8.99321365},
                DType::kFloat32, {2, 3});
  for (const double wrong : {-0.25, 1.5, kNan}) {
    EXPECT_THROW(call_op("aten::binary_cross_entropy", "", {make({0.5, wrong}), make({0, 1})}),
                 Error);
  }
  expect_tensor(result_of("aten::soft_margin_loss", "", {ramp({2, 3}), ramp({2, 3}, 1), 1}),
                {0.692007542}, DType::kFloat32, {});
  expect_tensor(result_of("aten::hinge_embedding_loss", "",
                          {ramp({2, 3}), ints({1, -1, 0, 1, 1, -1}, {2, 3}), 0.5, 0}),
                {-1.25, 0, 0.5, 1.25, 0.25, 1.25}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of("aten::margin_ranking_loss", "",
                {ramp({2, 3}), ramp({2, 3}, 1), ints({1, -1, 1, 1, 1, -1}, {2, 3}), 0.1, 0}),
      {0.850000024, 0, 0.850000024, 0, 0.850000024, 0}, DType::kFloat32, {2, 3});
  expect_tensor(result_of("aten::cosine_embedding_loss", "",
                          {ramp({2, 3}), ramp({2, 3}, 1), ints({1, -1}), 0.1, 0}),
                {0.427922428, 0}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::triplet_margin_loss", "",
                {ramp({2, 3}), ramp({2, 3}, 1), ramp({2, 3}, 2), 1.0, 2.0, 1e-06, true, 0}),
      {0.0351901054, 1}, DType::kFloat32, {2});
  EXPECT_THROW(
      call_op("aten::binary_cross_entropy", "",
              {ramp({2, 3}),
               make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                    DType::kFloat32, {2, 3}),
               Value(), 1}),
      Error);
  EXPECT_THROW(call_op("aten::mse_loss", "", {ramp({2}), ramp({3}), 1}), Error);
}

TEST(Losses, Classes) {
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 0, -100}),
      {0.5, 0}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 0, -100}, 1),
      {0}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), Value(), 0, -100, 0.1}),
                {1.42452204, 0}, DType::kFloat32, {2});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           Value(), 0, -100, 0.1}),
      {1.31202221, 1.4976058}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 1, -100}),
      {0.5}, DType::kFloat32, {});
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 1, -100}, 1),
      {1}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), Value(), 1, -100, 0.1}),
                {1.42452204}, DType::kFloat32, {});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           Value(), 1, -100, 0.1}),
      {1.404814}, DType::kFloat32, {});
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 2, -100}),
      {0.5}, DType::kFloat32, {});
  expect_tensor(
      result_of("aten::nll_loss_forward", "", {ramp({2, 3}), ints({2, -100}), Value(), 2, -100}, 1),
      {1}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), Value(), 2, -100, 0.1}),
                {1.42452204}, DType::kFloat32, {});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           Value(), 2, -100, 0.1}),
      {2.80962801}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 0, -100}),
                {1.5, 0}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 0, -100}, 1),
                {0}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 0, -100, 0.1}),
                {4.11361408, 0}, DType::kFloat32, {2});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           make({1, 2, 3}), 0, -100, 0.1}),
      {3.30528641, 3.81856298}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 1, -100}),
                {0.5}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 1, -100}, 1),
                {3}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 1, -100, 0.1}),
                {1.37120461}, DType::kFloat32, {});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           make({1, 2, 3}), 1, -100, 0.1}),
      {3.5619247}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 2, -100}),
                {1.5}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss_forward", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 2, -100}, 1),
                {3}, DType::kFloat32, {});
  expect_tensor(result_of("aten::cross_entropy_loss", "",
                          {ramp({2, 3}), ints({2, -100}), make({1, 2, 3}), 2, -100, 0.1}),
                {4.11361408}, DType::kFloat32, {});
  expect_tensor(
      result_of(
          "aten::cross_entropy_loss", "",
          {ramp({2, 3}),
           make({0.100000001, 0.200000003, 0.699999988, 0.300000012, 0.300000012, 0.400000006},
                DType::kFloat32, {2, 3}),
           make({1, 2, 3}), 2, -100, 0.1}),
      {7.12384939}, DType::kFloat32, {});
  expect_tensor(
      result_of("aten::cross_entropy_loss", "", {ramp({3}), ints({1}, {}), Value(), 1, -100, 0.0}),
      {0.432855487}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss_nd", "",
                          {ramp({1, 2, 2, 2}), ints({0, 1, 1, -100}, {1, 2, 2}), Value(), 1, -100}),
                {0.333333343}, DType::kFloat32, {});
  expect_tensor(result_of("aten::nll_loss", "", {ramp({0, 3}), ints({}), Value(), 1, -100}), {kNan},
                DType::kFloat32, {});
  expect_tensor(result_of("aten::multi_margin_loss", "",
                          {ramp({2, 3}), ints({1, 2}), 2, 1, make({1, 2, 3}), 0}),
                {0, 13}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::multi_margin_loss", "", {ramp({3}), ints({1}, {}), 1, 1, Value(), 0}), {0},
      DType::kFloat32, {});
  expect_tensor(result_of("aten::multilabel_margin_loss_forward", "",
                          {ramp({2, 3}), ints({1, -1, 0, 0, 2, -1}, {2, 3}), 0}),
                {0, 0.666666687}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::multilabel_margin_loss_forward", "",
                          {ramp({2, 3}), ints({1, -1, 0, 0, 2, -1}, {2, 3}), 0}, 1),
                {0, 1, 0, 1, 0, 1}, DType::kFloat32, {2, 3});
  EXPECT_THROW(call_op("aten::nll_loss", "", {ramp({2, 3}), ints({1, 5}), Value(), 1, -100}),
               Error);
  EXPECT_THROW(call_op("aten::nll_loss", "", {ramp({2, 3}), ints({1}), Value(), 1, -100}), Error);
}

TEST(Losses, Ctc) {
  expect_tensor(
      result_of(
          "aten::ctc_loss", "IntList",
          {make({-2.1875,  -0.4375,  -1.4375,  -0.40625, -1.40625, -2.40625, -0.40625, -1.40625,
                 -2.40625, -0.40625, -1.40625, -2.40625, -1.25,    -2.25,    -0.5,     -1.25,
                 -2.25,    -0.5,     -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5},
                DType::kFloat32, {4, 2, 3}),
           ints({1, 2, 2, 2}, {2, 2}), int_list({4, 3}), int_list({2, 2}), 0, 0, false}),
      {0.706180573, 3.3125}, DType::kFloat32, {2});
  expect_tensor(result_of("aten::ctc_loss", "IntList",
                          {make({-2.1875,  -0.4375,  -1.4375,  -0.40625, -1.40625, -2.40625,
                                 -0.40625, -1.40625, -2.40625, -0.40625, -1.40625, -2.40625,
                                 -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5,
                                 -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5},
                                DType::kFloat32, {4, 2, 3}),
                           ints({1, 2, 1}), int_list({4, 1}), int_list({1, 2}), 0, 1, true}),
                {1.37785041}, DType::kFloat32, {});
  expect_tensor(result_of("aten::ctc_loss", "Tensor",
                          {make({-2.1875, -0.4375, -1.4375, -0.40625, -1.40625, -2.40625, -1.25,
                                 -2.25, -0.5, -1.25, -2.25, -0.5},
                                DType::kFloat32, {4, 3}),
                           ints({1}), ints({4}, {}), ints({1}, {}), 0, 2, false}),
                {2.75570083}, DType::kFloat32, {});
  expect_tensor(result_of("aten::ctc_loss", "IntList",
                          {make({-2.1875,  -0.4375,  -1.4375,  -0.40625, -1.40625, -2.40625,
                                 -0.40625, -1.40625, -2.40625, -0.40625, -1.40625, -2.40625,
                                 -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5,
                                 -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5},
                                DType::kFloat32, {4, 2, 3}),
                           ints({1, 1}, {2, 1}), int_list({4, 4}), int_list({1, 0}), 0, 0, false}),
                {2.75570083, 3.3125}, DType::kFloat32, {2});
  EXPECT_THROW(
      call_op("aten::ctc_loss", "IntList",
              {make({-2.1875,  -0.4375,  -1.4375,  -0.40625, -1.40625, -2.40625, -0.40625, -1.40625,
                     -2.40625, -0.40625, -1.40625, -2.40625, -1.25,    -2.25,    -0.5,     -1.25,
                     -2.25,    -0.5,     -1.25,    -2.25,    -0.5,     -1.25,    -2.25,    -0.5},
                    DType::kFloat32, {4, 2, 3}),
               ints({1, 1}, {2, 1}), int_list({5, 4}), int_list({1, 1}), 0, 0, false}),
      Error);
}

TEST(Distances, Pairs) {
  expect_tensor(result_of("aten::cdist", "", {ramp({2, 3}), ramp({2, 3}, 1), 0.0, Value()}),
                {3, 3, 3, 3}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::pdist", "", {ramp({3, 2}), 0.0}), {2, 2, 2}, DType::kFloat32, {3});
  expect_tensor(result_of("aten::cdist", "", {ramp({2, 3}), ramp({2, 3}, 1), 1.0, Value()}),
                {2.25, 1.5, 3.75, 3.5}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::pdist", "", {ramp({3, 2}), 1.0}), {1.5, 2.75, 2.75},
                DType::kFloat32, {3});
  expect_tensor(result_of("aten::cdist", "", {ramp({2, 3}), ramp({2, 3}, 1), 2.0, Value()}),
                {1.29903805, 0.866025388, 2.25, 2.2638464}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::pdist", "", {ramp({3, 2}), 2.0}),
                {1.06066012, 1.95256245, 2.13600087}, DType::kFloat32, {3});
  expect_tensor(result_of("aten::cdist", "", {ramp({2, 3}), ramp({2, 3}, 1), 3.0, Value()}),
                {1.08168721, 0.721124768, 1.9451226, 2.067976}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::pdist", "", {ramp({3, 2}), 3.0}),
                {0.944940805, 1.74659204, 2.03455567}, DType::kFloat32, {3});
  expect_tensor(result_of("aten::cdist", "", {ramp({2, 3}), ramp({2, 3}, 1), kInf, Value()}),
                {0.75, 0.5, 1.75, 2}, DType::kFloat32, {2, 2});
  expect_tensor(result_of("aten::pdist", "", {ramp({3, 2}), kInf}), {0.75, 1.5, 2}, DType::kFloat32,
                {3});
  expect_tensor(result_of("aten::cosine_similarity", "", {ramp({2, 3}), ramp({3}, 1), 1, 1e-08}),
                {0.572077513, -0.246885344}, DType::kFloat32, {2});
  expect_tensor(
      result_of("aten::pairwise_distance", "", {ramp({2, 3}), ramp({2, 3}, 1), 2.0, 1e-06, true}),
      {1.29903638, 2.2638464}, DType::kFloat32, {2, 1});
  EXPECT_THROW(call_op("aten::cdist", "", {ramp({2, 3}), ramp({2, 2}), 2.0, Value()}), Error);
  EXPECT_THROW(call_op("aten::cosine_similarity", "", {ints({1}), ints({1}), 0, 1e-08}), Error);
}

// Many rows: of few columns one column after the other, of more by a product.
TEST(Distances, PairsOfManyRows) {
  for (const int64_t columns : {1, 3, 16, 20}) {
    const Tensor a = ramp({2, 30, columns}), b = ramp({2, 70, columns}, 1);
    const std::vector<double> x = elements_of(a), y = elements_of(b);
    std::vector<double> expected;
    for (int64_t i = 0; i < 60; ++i) {
      for (int64_t j = i / 30 * 70; j < (i / 30 + 1) * 70; ++j) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c) {
          const double d =
              x[static_cast<size_t>(i * columns + c)] - y[static_cast<size_t>(j * columns + c)];
          sum += d * d;
        }
        expected.push_back(std::sqrt(sum));
      }
    }
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      expect_tensor(result_of("aten::cdist", "", {a.to(dtype), b.to(dtype), 2.0, Value()}),
                    expected, dtype, {2, 30, 70});
    }
  }
}

}  // namespace
}  // namespace torchlet::ops
