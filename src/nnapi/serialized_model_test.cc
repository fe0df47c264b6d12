#include "nnapi/serialized_model.h"

#include <android/NeuralNetworks.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace torchlet::nnapi {
namespace {

// y = x + w with activation 0: x, y [2], w [2] in buffer 0 at byte 4.
const std::vector<uint32_t> kWords = {
    1, 4, 2,          1, 1, 1,                    // version and counts
    3, 1, 0x3f000000, 7, 3, 1, 0, 0, 3, 1, 0, 0,  // x, w, y: float32 tensors of one dimension
    1, 0, 0,          0,                          // the activation: int32
    1, 2, 12,         3, 0, 4,                    // w from a buffer, the activation immediate
    0, 3, 1,                                      // ADD
    2, 2, 2,                                      // dimensions
    0, 4, 8,          0,                          // values
    0, 1, 3,          2,                          // inputs and outputs of ADD
    0, 2};                                        // inputs and outputs of the model
const std::vector<std::byte> kWeights(12, std::byte{9});

SerializedModel parse(std::span<const uint32_t> words) {
  const std::span<const std::byte> buffers[] = {kWeights};
  return parse_serialized_model(words, buffers);
}

TEST(SerializedModel, IsReadWhole) {
  const SerializedModel model = parse(kWords);
  ASSERT_EQ(model.operands.size(), 4u);
  EXPECT_EQ(model.operands[0].type, ANEURALNETWORKS_TENSOR_FLOAT32);
  EXPECT_EQ(model.operands[0].scale, 0.5f);
  EXPECT_EQ(model.operands[0].zero_point, 7);
  EXPECT_EQ(model.operands[2].dims.size(), 1u);
  EXPECT_EQ(model.operands[2].dims[0], 2u);
  EXPECT_TRUE(model.operands[3].dims.empty());
  ASSERT_EQ(model.values.size(), 2u);
  EXPECT_EQ(model.values[0].operand, 1u);
  EXPECT_EQ(model.values[0].bytes.data(), kWeights.data() + 4);
  EXPECT_EQ(model.values[0].bytes.size(), 8u);
  EXPECT_EQ(model.values[1].bytes.size(), 4u);
  ASSERT_EQ(model.operations.size(), 1u);
  EXPECT_EQ(model.operations[0].code, ANEURALNETWORKS_ADD);
  EXPECT_EQ(model.operations[0].inputs.size(), 3u);
  EXPECT_EQ(model.operations[0].outputs[0], 2u);
  EXPECT_EQ(model.inputs[0], 0u);
  EXPECT_EQ(model.outputs[0], 2u);
}

TEST(SerializedModel, EveryTruncationIsAnError) {
  for (size_t length = 0; length < kWords.size(); ++length) {
    EXPECT_THROW(parse(std::span(kWords).first(length)), Error) << length;
  }
  std::vector<uint32_t> longer = kWords;
  longer.push_back(0);
  EXPECT_THROW(parse(longer), Error);
}

// Any word may be any number: what is read stays within the words and the buffers.
TEST(SerializedModel, SenselessNumbersAreErrorsOrStayInside) {
  for (size_t i = 0; i < kWords.size(); ++i) {
    for (const uint32_t number : {0u, 1u, 5u, 13u, 0x7fffffffu, 0x80000000u, 0xfffffffcu, ~0u}) {
      std::vector<uint32_t> words = kWords;
      words[i] = number;
      try {
        const SerializedModel model = parse(words);
        uint64_t sum = model.inputs.size() + model.outputs.size();
        for (const auto& operand : model.operands) {
          for (const uint32_t size : operand.dims) sum += size;
        }
        for (const auto& value : model.values) {
          for (const std::byte byte : value.bytes) sum += static_cast<uint64_t>(byte);
        }
        for (const auto& operation : model.operations) {
          for (const uint32_t operand : operation.inputs) sum += operand;
          for (const uint32_t operand : operation.outputs) sum += operand;
        }
        EXPECT_GT(sum, 0u);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kFileFormat) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace torchlet::nnapi
