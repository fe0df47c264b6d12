#include "ops/core/testing.h"
#include "tensor/tensor_impl.h"

// Expected integers are those of PyTorch 1.13 with the QNNPACK engine.
namespace torchlet::ops {
namespace {

constexpr double kInputScale = 0.028230609372258186;

Tensor quantized(double integer, DType dtype, double scale) {
  const Tensor tensor = empty_quantized(IntArray{1, 1}, dtype, per_tensor_quantizer(scale, 0));
  tensor.copy_(make({integer}, dtype == DType::kQUInt8 ? DType::kUInt8 : DType::kInt8, {1, 1}));
  return tensor;
}

// The integer that a layer with one weight gives.
int linear_of_one(double input, double weight, double weight_scale, const Value& bias) {
  const Value packed = call_op("quantized::linear_prepack", "",
                               {quantized(weight, DType::kQInt8, weight_scale), bias});
  const Tensor result =
      result_of("quantized::linear", "",
                {quantized(input, DType::kQUInt8, kInputScale), packed, 0.012438741512596607, 65});
  return *static_cast<const uint8_t*>(result.raw_data());
}

TEST(QuantizedLinear, TiesDependOnTheLastBitOfTheMultiplier) {
  EXPECT_EQ(linear_of_one(67, -105, 0.002160783391445875, Value()), 31);
  EXPECT_EQ(linear_of_one(67, 105, 0.002160783391445875, Value()), 99);
}

TEST(QuantizedLinear, ABiasBeyond32BitsIsClampedAndTheSumWrapsAround) {
  constexpr double kTiny = 1.1920928955078125e-07;
  const Value plus(make({20})), minus(make({-20})), almost(make({7}));
  EXPECT_EQ(linear_of_one(0, 1, kTiny, plus), 255);
  EXPECT_EQ(linear_of_one(1, 1, kTiny, plus), 0);
  EXPECT_EQ(linear_of_one(1, -1, kTiny, plus), 255);
  EXPECT_EQ(linear_of_one(0, 1, kTiny, minus), 0);
  EXPECT_EQ(linear_of_one(1, -1, kTiny, minus), 255);
  EXPECT_EQ(linear_of_one(100, 100, kTiny, almost), 255);
}

// Other engines than QNNPACK compute otherwise with a reduced range.
TEST(CellParams, KeepWhetherTheRangeIsReduced) {
  const Value packed =
      call_op("quantized::linear_prepack", "", {quantized(1, DType::kQInt8, 0.5), Value()});
  const Tensor bias = make({0});
  for (const bool reduced : {false, true}) {
    const Value cell = call_op("quantized::make_quantized_cell_params_dynamic", "",
                               {packed, packed, bias, bias, reduced});
    const std::vector<Value> state = cell.custom_ref().get_state().to_tuple();
    EXPECT_EQ(state.at(0).to_string(), "quantized_dynamic");
    EXPECT_EQ(state.at(3).to_list().at(0).to_int(), reduced);
  }
}

}  // namespace
}  // namespace torchlet::ops
