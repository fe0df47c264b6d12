#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY, kNan = NAN;

TEST(Attention, ScaledDotProduct) {
  expect_tensor(result_of("aten::_scaled_dot_product_attention", "",
                          {ramp({1, 2, 4}), ramp({1, 3, 4}, 1), ramp({1, 3, 2}, 2),
                           make({1, 0, 1, 1, 1, 1}, DType::kBool, {2, 3}), 0.0, true, false}),
                {-0.168236807, -0.248115867, -0.339573443, 0.296796799}, DType::kFloat32,
                {1, 2, 2});
  expect_tensor(result_of("aten::_scaled_dot_product_attention", "",
                          {ramp({1, 2, 4}), ramp({1, 3, 4}, 1), ramp({1, 3, 2}, 2),
                           make({1, 0, 1, 1, 1, 1}, DType::kBool, {2, 3}), 0.0, true, false},
                          1),
                {0.665410578, 0, 0.334589452, 0.199314684, 0.205641612, 0.595043719},
                DType::kFloat32, {1, 2, 3});
  expect_tensor(result_of("aten::_scaled_dot_product_attention", "",
                          {ramp({1, 2, 4}), ramp({1, 2, 4}, 1), ramp({1, 2, 2}, 2), Value(), 0.0,
                           true, true}),
                {0.25, -0.75, 0.630858898, -0.369141072}, DType::kFloat32, {1, 2, 2});
  expect_tensor(
      result_of("aten::_scaled_dot_product_attention", "",
                {ramp({1, 2, 4}), ramp({1, 2, 4}, 1), ramp({1, 2, 2}, 2), Value(), 0.0, true, true},
                1),
      {1, 0, 0.492188096, 0.507811844}, DType::kFloat32, {1, 2, 2});
}

TEST(Attention, MultiHead) {
  expect_tensor(
      result_of("aten::_native_multi_head_attention", "",
                {ramp({1, 2, 4}), ramp({1, 2, 4}), ramp({1, 2, 4}), 4, 2, ramp({12, 4}, 1),
                 ramp({12}, 2), ramp({4, 4}, 3), ramp({4}, 4), Value(), true, true, Value()}),
      {0.0785421133, 2.43231988, 1.28306365, 0.886841536, 0.400510073, 2.44161344, 1.3015132,
       0.592616439},
      DType::kFloat32, {1, 2, 4});
  expect_tensor(
      result_of("aten::_native_multi_head_attention", "",
                {ramp({1, 2, 4}), ramp({1, 2, 4}), ramp({1, 2, 4}), 4, 2, ramp({12, 4}, 1),
                 ramp({12}, 2), ramp({4, 4}, 3), ramp({4}, 4), Value(), true, true, Value()},
                1),
      {0.345914125, 0.654085875, 0.0112292962, 0.988770723}, DType::kFloat32, {1, 2, 2});
  expect_tensor(result_of("aten::_transformer_encoder_layer_fwd", "",
                          {ramp({1, 2, 4}),
                           4,
                           2,
                           ramp({12, 4}, 1),
                           ramp({12}, 2),
                           ramp({4, 4}, 3),
                           ramp({4}, 4),
                           true,
                           false,
                           1e-05,
                           ramp({4}, 5),
                           ramp({4}, 6),
                           ramp({4}, 7),
                           ramp({4}, 8),
                           ramp({6, 4}, 9),
                           ramp({6}, 10),
                           ramp({4, 6}, 1),
                           ramp({4}, 2),
                           Value(),
                           Value()}),
                {-0.249382794, 0.637093306, -0.970246553, -1.24252927, -0.132856607, 0.661233425,
                 -0.983065248, -1.44940209},
                DType::kFloat32, {1, 2, 4});
  expect_tensor(result_of("aten::_transformer_encoder_layer_fwd", "",
                          {ramp({1, 2, 4}),
                           4,
                           2,
                           ramp({12, 4}, 1),
                           ramp({12}, 2),
                           ramp({4, 4}, 3),
                           ramp({4}, 4),
                           false,
                           true,
                           1e-05,
                           ramp({4}, 5),
                           ramp({4}, 6),
                           ramp({4}, 7),
                           ramp({4}, 8),
                           ramp({6, 4}, 9),
                           ramp({6}, 10),
                           ramp({4, 6}, 1),
                           ramp({4}, 2),
                           Value(),
                           Value()}),
                {-0.359033704, -4.42553997, 2.53154087, 9.77288723, -1.40214276, -7.8093462,
                 4.82120991, 9.1344099},
                DType::kFloat32, {1, 2, 4});
}

// Rows of floats go straight to their places, doubles by a sum: both must agree.
TEST(Attention, HeadsOfProjections) {
  for (const int64_t heads : {1, 2, 6}) {
    const Tensor rows = slice(ramp({2, 6, 54}, 3), 1, 1, 6, 2), qkv = narrow(rows, 2, 9, 36),
                 bias = ramp({36}, 5);
    for (size_t part = 0; part < 3; ++part) {
      const auto result = [&](DType dtype) {
        return result_of("aten::_transform_bias_rescale_qkv", "",
                         {qkv.to(dtype), bias.to(dtype), heads}, part);
      };
      const Tensor strided =
          result_of("aten::_transform_bias_rescale_qkv", "", {qkv, bias, heads}, part);
      expect_tensor(strided, elements_of(result(DType::kFloat64)), DType::kFloat32,
                    {2, heads, 3, 12 / heads});
      EXPECT_TRUE(strided.is_contiguous());
    }
  }
  result_of("aten::_transform_bias_rescale_qkv", "",
            {empty(IntArray{2, 3, 0}, DType::kFloat32), empty(IntArray{0}, DType::kFloat32),
             int64_t{1} << 40});
}

TEST(Attention, NestedTensors) {
  const Tensor nested =
      result_of("aten::_nested_tensor_from_mask", "",
                {ramp({2, 2, 2}), make({1, 0, 1, 1}, DType::kBool, {2, 2}), true});
  expect_tensor(result_of("aten::to_padded_tensor", "", {nested, 9.0}),
                {-1.25, 0.5, 9, 9, 0.25, -0.75, 1, 0}, DType::kFloat32, {2, 2, 2});
  EXPECT_THROW(call_op("aten::_nested_tensor_from_mask", "",
                       {ramp({2, 2, 2}), make({0, 1, 1, 1}, DType::kBool, {2, 2}), true}),
               Error);
  EXPECT_THROW(call_op("aten::linear", "", {nested, ramp({2, 2}), Value()}), Error);
}

TEST(Segments, Reduce) {
  expect_tensor(
      result_of("aten::segment_reduce", "",
                {ramp({4, 2}), "sum", ints({2, 0, 2}), Value(), Value(), 0, false, Value()}),
      {-1.75, 1.75, 0, 0, 1.25, -0.75}, DType::kFloat32, {3, 2});
  expect_tensor(result_of("aten::segment_reduce", "",
                          {ramp({2, 3}), "sum", Value(), Value(),
                           ints({0, 1, 1, 3, 0, 0, 2, 3}, {2, 4}), 1, false, 2}),
                {0.75, 2, 2, 2, 3.5, 1.25}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of("aten::segment_reduce", "",
                {ramp({4, 2}), "mean", ints({2, 0, 2}), Value(), Value(), 0, false, Value()}),
      {-0.875, 0.875, kNan, kNan, 0.625, -0.375}, DType::kFloat32, {3, 2});
  expect_tensor(result_of("aten::segment_reduce", "",
                          {ramp({2, 3}), "mean", Value(), Value(),
                           ints({0, 1, 1, 3, 0, 0, 2, 3}, {2, 4}), 1, false, 2}),
                {0.75, 2, 1, 2, 1.75, 1.25}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of("aten::segment_reduce", "",
                {ramp({4, 2}), "max", ints({2, 0, 2}), Value(), Value(), 0, false, Value()}),
      {-0.5, 1.25, -kInf, -kInf, 1, 0}, DType::kFloat32, {3, 2});
  expect_tensor(result_of("aten::segment_reduce", "",
                          {ramp({2, 3}), "max", Value(), Value(),
                           ints({0, 1, 1, 3, 0, 0, 2, 3}, {2, 4}), 1, false, 2}),
                {2, 2, 2, 2, 2, 2}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of("aten::segment_reduce", "",
                {ramp({4, 2}), "min", ints({2, 0, 2}), Value(), Value(), 0, false, Value()}),
      {-1.25, 0.5, kInf, kInf, 0.25, -0.75}, DType::kFloat32, {3, 2});
  expect_tensor(result_of("aten::segment_reduce", "",
                          {ramp({2, 3}), "min", Value(), Value(),
                           ints({0, 1, 1, 3, 0, 0, 2, 3}, {2, 4}), 1, false, 2}),
                {-1.25, 2, -0.5, 2, 0.25, -0.75}, DType::kFloat32, {2, 3});
  expect_tensor(
      result_of("aten::segment_reduce", "",
                {ramp({4, 2}), "prod", ints({2, 0, 2}), Value(), Value(), 0, false, Value()}),
      {0.625, 0.625, 1, 1, 0.25, 0}, DType::kFloat32, {3, 2});
  expect_tensor(result_of("aten::segment_reduce", "",
                          {ramp({2, 3}), "prod", Value(), Value(),
                           ints({0, 1, 1, 3, 0, 0, 2, 3}, {2, 4}), 1, false, 2}),
                {-2.5, 2, -0.5, 2, 0.625, -1.5}, DType::kFloat32, {2, 3});
  EXPECT_THROW(call_op("aten::segment_reduce", "",
                       {ramp({4, 2}), "sum", ints({2, 0, 1}), Value(), Value(), 0, false, Value()}),
               Error);
  EXPECT_THROW(call_op("aten::segment_reduce", "",
                       {ramp({4, 2}), "sum", ints({5, -1}), Value(), Value(), 0, false, Value()}),
               Error);
}

TEST(Vision, Boxes) {
  expect_tensor(result_of("torchvision::nms", "",
                          {make({0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 0, 0, 9, 10},
                                DType::kFloat32, {4, 4}),
                           make({0.5, 0.899999976, 0.100000001, 0.699999988}), 0.5}),
                {1, 2}, DType::kInt64, {2});
  expect_tensor(result_of("torchvision::roi_align", "",
                          {ramp({1, 2, 4, 5}),
                           make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2,
                           2, 2, true}),
                {0.16015625, -0.033203125, -0.2421875, -0.005859375, 0.3125, -0.50390625,
                 0.361328125, -0.283203125, -0.542724609, -0.166992188, 0.140625, -0.453125,
                 0.323974609, 0.393554688, -0.5234375, 0.515625},
                DType::kFloat32, {2, 2, 2, 2});
  expect_tensor(
      result_of(
          "torchvision::roi_align", "",
          {ramp({1, 2, 4, 5}), make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5,
           2, 2, -1, false}),
      {0.59765625, -0.5625, -0.70703125, -0.0625, 0.0625, 0.234375, 0.34765625, -0.8125,
       -0.397460938, -0.416992188, -0.0625, -0.265625, 0.0771484375, 0.5625, 0.078125, 0.5625},
      DType::kFloat32, {2, 2, 2, 2});
  expect_tensor(
      result_of("torchvision::roi_pool", "",
                {ramp({1, 2, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2}),
      {1, 0.5, 1, 1, 0.75, 1, 1.25, 0.25, 1, 1, 0.25, 1, 1.25, 1.25, 1.25, 1.25}, DType::kFloat32,
      {2, 2, 2, 2});
  expect_tensor(
      result_of("torchvision::roi_pool", "",
                {ramp({1, 2, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2},
                1),
      {6, 12, 17, 17, 11, 8, 16, 17, 6, 6, 15, 17, 5, 16, 16, 16}, DType::kInt32, {2, 2, 2, 2});
  expect_tensor(
      result_of("torchvision::ps_roi_align", "",
                {ramp({1, 4, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2, 2}),
      {0.16015625, -0.50390625, 0.083984375, 0.30078125, -0.542724609, 0.393554688, -0.857177734,
       0.046875},
      DType::kFloat32, {2, 1, 2, 2});
  expect_tensor(
      result_of("torchvision::ps_roi_align", "",
                {ramp({1, 4, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2, 2},
                1),
      {0, 1, 2, 3, 0, 1, 2, 3}, DType::kInt32, {2, 1, 2, 2});
  expect_tensor(
      result_of("torchvision::ps_roi_pool", "",
                {ramp({1, 4, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2}),
      {1, -0.75, 0, 1, -0.5, 0.5, 0, 0}, DType::kFloat32, {2, 1, 2, 2});
  expect_tensor(
      result_of("torchvision::ps_roi_pool", "",
                {ramp({1, 4, 4, 5}),
                 make({0, 1, 1, 6.5, 5, 0, 0, 2, 3, 9}, DType::kFloat32, {2, 5}), 0.5, 2, 2},
                1),
      {0, 1, 2, 3, 0, 1, 2, 3}, DType::kInt32, {2, 1, 2, 2});
  EXPECT_THROW(call_op("torchvision::nms", "",
                       {make({0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 0, 0, 9, 10},
                             DType::kFloat32, {4, 4}),
                        make({0.5}), 0.5}),
               Error);
}

TEST(Vision, DeformableConvolution) {
  expect_tensor(result_of("torchvision::deform_conv2d", "",
                          {ramp({1, 2, 3, 3}), ramp({2, 1, 2, 2}, 1), ramp({1, 8, 2, 2}, 2),
                           ramp({1, 4, 2, 2}, 3), ramp({2}, 4), 1, 1, 0, 0, 1, 1, 2, 1, true}),
                {-0.86328125, -0.657226562, -0.586914062, -1.3984375, 0.5546875, 0.8203125,
                 1.0078125, 1.02539062},
                DType::kFloat32, {1, 2, 2, 2});
  expect_tensor(
      result_of("torchvision::deform_conv2d", "",
                {ramp({1, 2, 3, 3}), ramp({2, 2, 2, 2}, 1), ramp({1, 16, 2, 2}, 2), ramp({1, 1}, 3),
                 ramp({2}, 4), 2, 2, 1, 1, 1, 1, 1, 2, false}),
      {-1.8984375, -0.3828125, -0.1328125, -0.90625, 0.4765625, 1.515625, 0.01953125, 0.84765625},
      DType::kFloat32, {1, 2, 2, 2});
}

}  // namespace
}  // namespace torchlet::ops
