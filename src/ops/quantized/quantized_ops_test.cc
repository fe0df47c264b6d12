#include "ops/core/meta_call.h"
#include "ops/core/testing.h"

// Expected numbers are PyTorch 1.13's with the engine QNNPACK.
namespace torchlet::ops {
namespace {

constexpr DType kF32 = DType::kFloat32, kU8 = DType::kUInt8;

Value code(DType dtype) { return Value(static_cast<int64_t>(dtype)); }
Tensor quantized(const Tensor& x, double scale, int64_t zero_point, DType dtype = DType::kQUInt8) {
  return result_of("aten::quantize_per_tensor", "", {x, scale, zero_point, code(dtype)});
}
void expect_integers(const Tensor& q, std::vector<double> expected, IntArray sizes = {-1}) {
  expect_tensor(result_of("aten::int_repr", "", {q}), std::move(expected), kU8, sizes);
}
void expect_quantized(const Tensor& q, double scale, int64_t zero_point,
                      std::vector<double> expected) {
  EXPECT_NEAR(q.q_scale(), scale, 1e-12);
  EXPECT_EQ(q.q_zero_point(), zero_point);
  expect_integers(q, std::move(expected));
}
Tensor activation(const char* name, std::vector<Value> args) { return result_of(name, "", args); }

// What they tell of meta tensors is what they give.
TEST(Quantized, RunOnMetaTensors) {
  const Tensor real = result_of(
      "aten::reshape", "", {result_of("aten::arange", "", {192}).to(kF32), int_list({2, 4, 4, 6})});
  const Value packed = call_op(
      "quantized::conv2d_prepack", "",
      {quantized(make(std::vector<double>(36, 0.5), kF32, {1, 4, 3, 3}), 0.1, 0, DType::kQInt8),
       make({0.3}), int_list({2, 1}), int_list({1, 0}), int_list({1, 1}), 1});
  const Value linear =
      call_op("quantized::linear_prepack", "",
              {quantized(make(std::vector<double>(12, 0.5), kF32, {2, 6}), 0.1, 0, DType::kQInt8),
               make({0.3, 0.1})});
  const Value half_linear =
      call_op("quantized::linear_prepack_fp16", "",
              {make(std::vector<double>(12, 0.5), kF32, {2, 6}), make({0.3, 0.1})});
  struct Call {
    const char *name, *overload;
    std::vector<Value> others;  // behind the tensor
    bool is_of_integers = true;
  };
  const Tensor nothing = result_of("aten::narrow", "", {real, 0, 0, 0});
  for (const Tensor& x : {real, real.contiguous(MemoryFormat::kChannelsLast), nothing}) {
    const Tensor q = quantized(x, 2, 10);
    for (const Call& call : std::vector<Call>{
             {"quantized::conv2d", "new", {packed, 0.7, 20}},
             {"quantized::conv2d_relu", "new", {packed, 0.7, 20}},
             {"_quantized::conv2d", "", {packed, 0.7, 20}},
             {"quantized::linear", "", {linear, 0.7, 20}},
             {"quantized::linear_relu", "", {linear, 0.7, 20}},
             {"quantized::conv2d_dynamic", "", {packed, false}, false},
             {"quantized::linear_dynamic", "", {linear, false}, false},
             {"quantized::linear_relu_dynamic", "", {linear, false}, false},
             {"quantized::linear_dynamic_fp16", "", {half_linear}, false},
             {"quantized::add", "", {q, 0.7, 20}},
             {"quantized::mul_relu", "", {q, 0.7, 20}},
             {"quantized::hardswish", "", {0.7, 20}},
             {"quantized::leaky_relu", "", {0.1, false, 0.7, 20}},
             {"quantized::softmax", "", {1, 0.7, 20}},
             {"quantized::clamp", "", {0.5, 20.0}},
             {"aten::quantize_per_tensor", "", {0.7, 20, code(DType::kQInt8)}, false},
             {"aten::dequantize", "self", {}},
             {"aten::relu", "", {}},
             {"aten::hardsigmoid", "", {}},
             {"aten::tanh", "", {}},
             {"aten::adaptive_avg_pool2d", "", {int_list({2, 2})}},
             {"aten::adaptive_avg_pool2d", "", {int_list({3, 3})}},
             {"aten::mean", "dim", {int_list({2, 3}), true, Value()}},
             {"aten::max_pool2d",
              "",
              {int_list({2, 2}), int_list({2, 2}), int_list({0, 0}), int_list({1, 1}), false}},
             {"aten::upsample_nearest2d", "", {int_list({8, 12}), Value(), Value()}}}) {
      SCOPED_TRACE(std::string(call.name) + " " + call.overload);
      std::vector<Value> args = {Value(call.is_of_integers ? q : x)};
      args.insert(args.end(), call.others.begin(), call.others.end());
      std::vector<Value> metas;
      for (const Value& arg : args) metas.push_back(meta_value(arg));
      const auto told = call_on_meta(*find_operator(call.name, call.overload), std::move(metas));
      ASSERT_TRUE(told);
      EXPECT_EQ(description_of((*told)[0]),
                description_of(Value(result_of(call.name, call.overload, args))));
    }
    const Value list = make_tensor_list({q, q});
    const auto told = call_on_meta(*find_operator("quantized::cat", ""),
                                   {meta_value(list), Value(1), Value(0.7), Value(20)});
    ASSERT_TRUE(told);
    EXPECT_EQ(description_of((*told)[0]),
              description_of(Value(result_of("quantized::cat", "", {list, 1, 0.7, 20}))));
  }
}

TEST(Quantized, Arithmetic) {
  const Tensor a = quantized(make({0, 1, 2, 10}), 0.1, 5);
  const Tensor b = quantized(make({1, -1, 3, 10}), 0.2, 10);
  expect_quantized(result_of("quantized::add", "", {a, b, 0.15, 20}), 0.15, 20, {27, 20, 53, 153});
  expect_integers(result_of("quantized::mul", "", {a, b, 0.15, 20}), {20, 13, 60, 255});
  expect_integers(result_of("quantized::mul_relu", "", {a, b, 0.15, 20}), {20, 20, 60, 255});
  const Tensor c = quantized(make({1, -1.9, 3, 10}), 0.2, 10);
  expect_integers(result_of("quantized::add_relu", "", {a, c, 0.15, 20}), {27, 20, 53, 153});
  EXPECT_THROW(call_op("quantized::add", "", {make({1}), make({1}), 0.1, 0}), Error);
}

// The integers stay where they can; scale and zero point move.
TEST(Quantized, NumbersMoveTheScale) {
  const Tensor a = quantized(make({0, 1, 2, 10}), 0.1, 5);
  expect_quantized(result_of("quantized::add_scalar", "", {a, 0.27}), 0.1, 2, {5, 15, 25, 105});
  expect_quantized(result_of("quantized::add_scalar", "", {a, 3.0}), 0.10980392156862746, 0,
                   {27, 36, 46, 118});
  expect_quantized(result_of("quantized::mul_scalar", "", {a, -2.0}), 0.2, 250,
                   {250, 240, 230, 150});
  expect_quantized(result_of("quantized::mul_scalar", "", {a, 0.0}), 1, 0, {0, 0, 0, 0});
  const Tensor b = quantized(make({-0.5, 0, 1, 2, 10}), 0.1, 5);
  expect_quantized(result_of("quantized::mul_scalar_relu", "", {b, 2.0}), 0.2, 5,
                   {5, 5, 15, 25, 105});
}

TEST(Quantized, JoinsDifferentScales) {
  const Tensor a = quantized(make({0, 1}), 0.1, 5), b = quantized(make({1, 2}), 0.2, 10);
  const Value list = make_tensor_list({a, b});
  expect_quantized(result_of("quantized::cat", "", {list, 0, 0.15, 20}), 0.15, 20,
                   {20, 27, 27, 33});
  expect_quantized(result_of("quantized::cat", "", {list, 0, Value(), Value()}), 0.1, 5,
                   {5, 15, 15, 25});
  EXPECT_THROW(call_op("quantized::cat", "", {make_tensor_list({}), 0, 0.1, 0}), Error);
}

TEST(Quantized, Activations) {
  const Tensor x = quantized(make({-4, -1, 0, 3}), 0.1, 50);
  expect_integers(activation("quantized::hardswish", {x, 0.05, 30}), {30, 23, 30, 90});
  expect_integers(activation("quantized::elu", {x, 0.05, 30, 1.0, 1.0, 1.0}), {10, 17, 30, 90});
  expect_integers(activation("quantized::sigmoid", {x, 1.0 / 256, 0}), {5, 69, 128, 244});
  const Tensor y = quantized(make({-2, -1, 0, 3}), 0.1, 50);
  expect_integers(activation("quantized::leaky_relu", {y, 0.1, false, 0.05, 30}), {26, 28, 30, 90});
  const Tensor z = quantized(make({-1, 3, 8}), 0.1, 50);
  expect_integers(activation("quantized::relu6", {z}), {50, 80, 110});
  expect_integers(activation("quantized::threshold", {z, 2.0, 1.0}), {60, 80, 130});
  expect_integers(activation("quantized::clamp", {z, 0.0, 5.0}), {50, 80, 100});
  const Tensor row = quantized(make({-1, 0, 2}, kF32, {1, 3}), 0.1, 50);
  expect_integers(activation("quantized::softmax", {row, 1, 1.0 / 256, 0}), {11, 29, 216}, {1, 3});
}

TEST(Quantized, Normalization) {
  const Tensor x = quantized(make({1, 2, 3, -1}, kF32, {1, 2, 1, 2}), 0.1, 50);
  expect_integers(
      result_of("quantized::batch_norm", "",
                {x, make({1, 2}), make({0.5, 0}), make({1, 0}), make({1, 4}), 1e-5, 0.05, 100}),
      {110, 130, 160, 80}, {1, 2, 1, 2});
  const Tensor row = quantized(make({1, 2, 4}, kF32, {1, 3}), 0.1, 50);
  expect_integers(
      result_of("quantized::layer_norm", "",
                {row, int_list({3}), make({1, 1, 1}), make({0, 0, 0}), 1e-5, 0.05, 100}),
      {79, 95, 127}, {1, 3});
}

class PackedLinear : public testing::Test {
 protected:
  const Tensor weight_ = make({0.5, -1, 0.25, 1, 0.75, -0.5}, kF32, {2, 3});
  const Tensor real_ = make({1, -2, 0.5, 3, 0, 1}, kF32, {2, 3});
  const Tensor x_ = quantized(real_, 0.05, 60);
  const Tensor qweight_ = quantized(weight_, 0.01, 0, DType::kQInt8);
  const Value packed_ = call_op("quantized::linear_prepack", "", {qweight_, make({0.1, -0.2})});
};

TEST_F(PackedLinear, Static) {
  expect_integers(result_of("quantized::linear", "", {x_, packed_, 0.1, 50}), {77, 40, 69, 73},
                  {2, 2});
  expect_integers(result_of("quantized::linear_relu", "", {x_, packed_, 0.1, 50}), {77, 50, 69, 73},
                  {2, 2});
  const Tensor channels =
      result_of("aten::quantize_per_channel", "",
                {weight_, make({0.01, 0.02}), ints({0, 0}), 0, code(DType::kQInt8)});
  const Value packed = call_op("quantized::linear_prepack", "", {channels, make({0.1, -0.2})});
  expect_integers(result_of("quantized::linear", "", {x_, packed, 0.1, 50}), {77, 40, 69, 73},
                  {2, 2});
  EXPECT_THROW(call_op("quantized::linear", "", {real_, packed_, 0.1, 50}), Error);
  EXPECT_THROW(call_op("quantized::linear", "", {x_, Value(3), 0.1, 50}), Error);
  EXPECT_THROW(call_op("quantized::linear_prepack", "", {qweight_, make({1})}), Error);
}

TEST_F(PackedLinear, Dynamic) {
  expect_tensor(result_of("quantized::linear_dynamic", "", {real_, packed_}),
                {2.7274508476257324, -0.954901933670044, 1.850000023841858, 2.299999952316284},
                kF32, {2, 2});
  expect_tensor(result_of("quantized::linear_relu_dynamic", "", {real_, packed_}),
                {2.7274508476257324, 0, 1.850000023841858, 2.299999952316284}, kF32, {2, 2});
}

TEST_F(PackedLinear, UnpacksWhatWasPacked) {
  const Tensor weight = result_of("quantized::linear_unpack", "", {packed_});
  expect_tensor(result_of("aten::dequantize", "self", {weight}), elements_of(weight_), kF32,
                {2, 3});
  expect_tensor(result_of("quantized::linear_unpack", "", {packed_}, 1), {0.1, -0.2});
}

TEST(Quantized, Convolution) {
  const Tensor x = quantized(make({1, 2, -1, 0, 0.5, 3, 2, -2, 1}, kF32, {1, 1, 3, 3}), 0.05, 60);
  const Tensor weight = quantized(make({0.5, -1, 0.25, 1, 1, 0, 0, -0.5}, kF32, {2, 1, 2, 2}), 0.01,
                                  0, DType::kQInt8);
  auto pack = [&](IntArray stride, IntArray padding) {
    return call_op(
        "quantized::conv2d_prepack", "",
        {weight, make({0.1, -0.2}), int_list(stride), int_list(padding), int_list({1, 1}), 1});
  };
  expect_integers(result_of("quantized::conv2d", "new", {x, pack({1, 1}, {1, 0}), 0.05, 50}),
                  {97, 42, 32, 155, 12, 7, 112, 12, 26, 56, 61, 56, 66, 46, 86, 6}, {1, 2, 4, 2});
  expect_integers(result_of("quantized::conv2d_relu", "new", {x, pack({2, 1}, {0, 0}), 0.05, 50}),
                  {50, 155, 61, 56}, {1, 2, 1, 2});
}

TEST(Quantized, TransposedConvolution) {
  const Tensor x = quantized(make({1, 2, 0, 0.5}, kF32, {1, 1, 2, 2}), 0.05, 60);
  const Tensor weight =
      quantized(make({0.5, -1, 0.25, 1}, kF32, {1, 1, 2, 2}), 0.01, 0, DType::kQInt8);
  const Value packed = call_op("quantized::conv_transpose2d_prepack", "",
                               {weight, make({0.1}), int_list({2, 2}), int_list({0, 0}),
                                int_list({0, 0}), int_list({1, 1}), 1});
  expect_integers(result_of("quantized::conv_transpose2d", "", {x, packed, 0.05, 50}),
                  {62, 32, 72, 12, 57, 72, 62, 92, 52, 52, 57, 42, 52, 52, 55, 62}, {1, 1, 4, 4});
}

TEST(Quantized, Embedding) {
  const Tensor table = make({0, 1, 2, 3, -1, 0, 1, 0.5}, kF32, {2, 4});
  const Tensor bytes = result_of("quantized::embedding_bag_byte_prepack", "", {table});
  expect_tensor(narrow(bytes, 1, 0, 4), {0, 85, 170, 255, 0, 128, 255, 191}, kU8, {2, 4});
  expect_tensor(result_of("quantized::embedding_bag_byte_unpack", "", {bytes}),
                {0, 1, 2, 3, -1, 0.003921627998352051, 1, 0.49803924560546875}, kF32, {2, 4});
  const Tensor q =
      result_of("aten::quantize_per_channel", "",
                {table, make({0.0117647, 0.0078431}), make({0, 128}), 0, code(DType::kQUInt8)});
  const Value packed = call_op("quantized::embedding_bag_prepack", "", {q});
  expect_tensor(result_of("quantized::embedding_byte", "", {packed, ints({1, 0})}),
                {-1.0039167404174805, 0, 0.9960736632347107, 0.5019583702087402, 0,
                 0.999999463558197, 1.999998927116394, 2.9999983310699463},
                kF32, {2, 4});
}

TEST(Quantized, Matmul) {
  const Tensor a = quantized(make({1, 2}, kF32, {1, 2}), 0.1, 50);
  const Tensor b = quantized(make({1, 2}, kF32, {2, 1}), 0.1, 50);
  expect_integers(result_of("quantized::matmul", "", {a, b, 0.05, 10}), {110}, {1, 1});
}

TEST(Prepacked, LinearAndConvolutionAreClamped) {
  const Tensor x = make({1, 2, 3, 4}, kF32, {2, 2}), weight = make({1, -1, 0.5, 2}, kF32, {2, 2});
  const Value linear =
      call_op("prepacked::linear_clamp_prepack", "", {weight, make({0, 1}), -0.5, 8.0});
  expect_tensor(result_of("prepacked::linear_clamp_run", "", {x, linear}), {-0.5, 5.5, -0.5, 8},
                kF32, {2, 2});
  const Value conv = call_op("prepacked::conv2d_clamp_prepack", "",
                             {view(weight, IntArray{1, 1, 2, 2}), Value(), int_list({1, 1}),
                              int_list({1, 0}), int_list({1, 1}), 1, Value(), 6.0});
  expect_tensor(result_of("prepacked::conv2d_clamp_run", "", {view(x, IntArray{1, 1, 2, 2}), conv}),
                {4.5, 6, -1}, kF32, {1, 1, 3, 1});
  EXPECT_THROW(call_op("prepacked::conv2d_clamp_run", "", {x, linear}), Error);
}

}  // namespace
}  // namespace torchlet::ops
