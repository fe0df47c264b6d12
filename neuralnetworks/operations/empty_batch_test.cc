// Batches without pictures, which are what detectors give when they find nothing.
#include <gtest/gtest.h>

#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32, kHalf = ANEURALNETWORKS_TENSOR_FLOAT16,
                  kBytes = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM,
                  kInts = ANEURALNETWORKS_TENSOR_INT32;

// An operation of an image of 3 x 3 pixels with 2 channels, of which there is none at first and
// then one.
class EmptyBatch : public ::testing::TestWithParam<int32_t> {
 protected:
  float scale() const { return GetParam() == kBytes ? 0.5f : 0; }
  uint32_t image() { return model_.input(GetParam(), {0, 3, 3, 2}, scale(), zero()); }
  uint32_t weights(std::vector<uint32_t> dims) {
    size_t count = 1;
    for (const uint32_t dim : dims) count *= dim;
    if (GetParam() == kFloat) return model_.constant(kFloat, dims, std::vector<float>(count));
    if (GetParam() == kHalf) return model_.constant(kHalf, dims, std::vector<uint16_t>(count));
    return model_.constant(kBytes, dims, std::vector<uint8_t>(count, 8), 0.5f, 8);
  }
  uint32_t bias(uint32_t count) {
    return GetParam() == kBytes ? model_.constant(kInts, {count}, std::vector<int32_t>(count))
                                : weights({count});
  }
  uint32_t integer(int32_t value) { return model_.integer(value); }
  uint32_t number(float value) {
    return GetParam() == kHalf ? model_.constant<uint16_t>(ANEURALNETWORKS_FLOAT16, {}, {0x3c00})
                               : model_.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value});
  }

  // `dims` are those that one picture gives; their first is the size of the batch.
  void gives(int32_t code, std::vector<uint32_t> inputs, std::vector<uint32_t> dims) {
    const uint32_t output = model_.output(GetParam(), {}, scale(), zero());
    model_.operation(code, std::move(inputs), {output});
    for (const char* device : {"reference", "cpu"}) {
      const auto compiled = model_.compiled({device});
      for (const uint32_t batch : {0u, 1u, 0u}) {
        dims[0] = batch;
        const size_t element = element_size(GetParam());
        std::vector<uint8_t> picture(18 * element);  // null would be an input that is omitted
        picture.resize(batch * picture.size());
        const auto outputs = run(*compiled, {{batch, 3, 3, 2}}, picture);
        EXPECT_EQ(outputs[0].dims, dims) << device;
      }
    }
  }

  TestModel model_;

 private:
  int32_t zero() const { return GetParam() == kBytes ? 8 : 0; }
};

TEST_P(EmptyBatch, Conv2d) {
  gives(ANEURALNETWORKS_CONV_2D,
        {image(), weights({4, 2, 2, 2}), bias(4), integer(ANEURALNETWORKS_PADDING_SAME), integer(2),
         integer(1), integer(ANEURALNETWORKS_FUSED_RELU6)},
        {0, 3, 2, 4});
}
TEST_P(EmptyBatch, DepthwiseConv2d) {
  gives(ANEURALNETWORKS_DEPTHWISE_CONV_2D,
        {image(), weights({1, 2, 2, 4}), bias(4), integer(ANEURALNETWORKS_PADDING_VALID),
         integer(1), integer(1), integer(2), integer(ANEURALNETWORKS_FUSED_RELU)},
        {0, 2, 2, 4});
}
TEST_P(EmptyBatch, TransposeConv2d) {
  gives(ANEURALNETWORKS_TRANSPOSE_CONV_2D,
        {image(), weights({4, 3, 3, 2}), bias(4), integer(0), integer(1), integer(0), integer(1),
         integer(2), integer(2), integer(ANEURALNETWORKS_FUSED_NONE), model_.boolean(false)},
        {0, 6, 6, 4});
}
TEST_P(EmptyBatch, FullyConnected) {
  gives(ANEURALNETWORKS_FULLY_CONNECTED,
        {image(), weights({5, 18}), bias(5), integer(ANEURALNETWORKS_FUSED_NONE)}, {0, 5});
}
TEST_P(EmptyBatch, AveragePool2d) {
  for (const int32_t scheme : {ANEURALNETWORKS_PADDING_SAME, ANEURALNETWORKS_PADDING_VALID}) {
    model_ = {};
    const uint32_t size = scheme == ANEURALNETWORKS_PADDING_SAME ? 3 : 2;
    gives(ANEURALNETWORKS_AVERAGE_POOL_2D,
          {image(), integer(scheme), integer(1), integer(1), integer(2), integer(2),
           integer(ANEURALNETWORKS_FUSED_NONE)},
          {0, size, size, 2});
  }
}
TEST_P(EmptyBatch, MaxPool2d) {
  gives(ANEURALNETWORKS_MAX_POOL_2D,
        {image(), integer(ANEURALNETWORKS_PADDING_SAME), integer(1), integer(1), integer(2),
         integer(2), integer(ANEURALNETWORKS_FUSED_NONE)},
        {0, 3, 3, 2});
}
TEST_P(EmptyBatch, Arithmetic) {
  for (const int32_t code : {ANEURALNETWORKS_ADD, ANEURALNETWORKS_SUB, ANEURALNETWORKS_MUL}) {
    model_ = {};
    gives(code, {image(), weights({2}), integer(ANEURALNETWORKS_FUSED_RELU1)}, {0, 3, 3, 2});
  }
}
TEST_P(EmptyBatch, Activations) {
  for (const int32_t code :
       {ANEURALNETWORKS_RELU, ANEURALNETWORKS_RELU1, ANEURALNETWORKS_RELU6, ANEURALNETWORKS_TANH,
        ANEURALNETWORKS_LOGISTIC, ANEURALNETWORKS_HARD_SWISH}) {
    model_ = {};
    gives(code, {image()}, {0, 3, 3, 2});
  }
}
TEST_P(EmptyBatch, Normalizations) {
  gives(ANEURALNETWORKS_SOFTMAX, {image(), number(1)}, {0, 3, 3, 2});
  model_ = {};
  gives(ANEURALNETWORKS_L2_NORMALIZATION, {image(), integer(-2)}, {0, 3, 3, 2});
  if (GetParam() == kBytes) return;
  model_ = {};
  gives(ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION,
        {image(), integer(1), number(1), number(1), number(1)}, {0, 3, 3, 2});
  model_ = {};
  gives(ANEURALNETWORKS_INSTANCE_NORMALIZATION,
        {image(), number(1), number(1), number(1), model_.boolean(false)}, {0, 3, 3, 2});
}
TEST_P(EmptyBatch, Reductions) {
  const auto axes = [&] { return model_.integers({1, 2}); };
  gives(ANEURALNETWORKS_MEAN, {image(), axes(), integer(0)}, {0, 2});
  model_ = {};
  gives(ANEURALNETWORKS_REDUCE_MAX, {image(), axes(), model_.boolean(true)}, {0, 1, 1, 2});
}

INSTANTIATE_TEST_SUITE_P(Types, EmptyBatch, ::testing::Values(kFloat, kHalf, kBytes));

}  // namespace
}  // namespace torchlet::nn
