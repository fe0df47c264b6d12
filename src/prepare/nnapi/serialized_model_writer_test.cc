#include "prepare/nnapi/serialized_model_writer.h"

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include "nnapi/serialized_model.h"
#include "prepare/nnapi/testing.h"
#include "tensor/storage.h"

namespace torchlet::prepare {
namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.impl()->data(),
          static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype())};
}

nnapi::SerializedModel read_back(const Tensor& words, const std::vector<Tensor>& weights) {
  std::vector<std::span<const std::byte>> buffers;
  for (const Tensor& weight : weights) buffers.push_back(bytes_of(weight));
  return nnapi::parse_serialized_model(
      {reinterpret_cast<const uint32_t*>(words.raw_data()), static_cast<size_t>(words.numel())},
      buffers);
}

// What PyTorch's loader would make of it is what was written.
void expect_round_trip(const nnapi::Model& model, const WrittenNnapiModel& written) {
  for (const Tensor& weight : written.weights) {
    EXPECT_TRUE(weight.is_contiguous());
    EXPECT_FALSE(weight.is_quantized());
  }
  const auto* words = reinterpret_cast<const uint32_t*>(written.words.raw_data());
  const nnapi::SerializedModel read = read_back(written.words, written.weights);

  ASSERT_EQ(read.operands.size(), model.operands.size());
  size_t value = 0;
  for (size_t i = 0; i < model.operands.size(); ++i) {
    SCOPED_TRACE(i);
    const nnapi::Operand& operand = model.operands[i];
    EXPECT_EQ(read.operands[i].type, operand.code);
    EXPECT_EQ(read.operands[i].scale, operand.scale);
    EXPECT_EQ(read.operands[i].zero_point, operand.zero_point);
    EXPECT_TRUE(std::ranges::equal(read.operands[i].dims, operand.sizes));
    EXPECT_EQ(read.operands[i].dims.data(), words + written.sizes_of[i]);
    if (!operand.is_constant()) continue;
    ASSERT_LT(value, read.values.size());
    EXPECT_EQ(read.values[value].operand, i);
    const std::span<const std::byte> wanted =
        operand.tensor.defined() ? bytes_of(operand.tensor) : std::span(operand.bytes);
    EXPECT_TRUE(std::ranges::equal(read.values[value++].bytes, wanted));
  }
  EXPECT_EQ(read.values.size(), value);
  ASSERT_EQ(read.operations.size(), model.operations.size());
  for (size_t i = 0; i < model.operations.size(); ++i) {
    EXPECT_EQ(read.operations[i].code, model.operations[i].code);
    EXPECT_TRUE(std::ranges::equal(read.operations[i].inputs, model.operations[i].inputs));
    EXPECT_TRUE(std::ranges::equal(read.operations[i].outputs, model.operations[i].outputs));
  }
  EXPECT_TRUE(std::ranges::equal(read.inputs, model.inputs));
  EXPECT_TRUE(std::ranges::equal(read.outputs, model.outputs));
}

TEST(SerializedModelWriter, WhatIsReadIsWhatWasWritten) {
  HandMade made;
  const auto x = made.image({1, 2, 2, 3});
  const auto w = made.weight(ramp(IntArray{4, 1, 1, 3}));
  const auto b = made.weight(ramp(IntArray{4}));
  const auto zero = made.scalar(0), one = made.scalar(1), nchw = made.scalar(false);
  const auto y = made.image({1, 2, 2, 4}), z = made.image({1, 4, 2, 2});
  made.add(ANEURALNETWORKS_CONV_2D, {x, w, b, zero, zero, zero, zero, one, one, zero, nchw}, {y});
  const auto order = made.bytes<int32_t>(ANEURALNETWORKS_TENSOR_INT32, {0, 3, 1, 2}, {4});
  made.add(ANEURALNETWORKS_TRANSPOSE, {y, order}, {z});
  const nnapi::Model model = made.finish({x}, {z, y});
  const WrittenNnapiModel written = write_serialized_model(model);
  expect_round_trip(model, written);
  EXPECT_EQ(written.words.dtype(), DType::kInt32);
  EXPECT_EQ(written.weights.size(), 2u);
}

TEST(SerializedModelWriter, OperandsKeepTheirQuantization) {
  HandMade made;
  const auto x = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {1, 3}, 0.5f, 127);
  const auto w =
      made.weight(made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2, 3}, 0.25f, 131),
                  tensor_of<uint8_t>(DType::kUInt8, IntArray{2, 3}, {1, 2, 3, 4, 5, 255}));
  const auto b = made.weight(made.tensor(ANEURALNETWORKS_TENSOR_INT32, {2}, 0.125f),
                             tensor_of<int32_t>(DType::kInt32, IntArray{2}, {-7, 1 << 30}));
  const auto none = made.scalar(0);
  const auto y = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {1, 2}, 1.5f, 3);
  made.add(ANEURALNETWORKS_FULLY_CONNECTED, {x, w, b, none}, {y});
  const nnapi::Model model = made.finish({x}, {y});
  expect_round_trip(model, write_serialized_model(model));
}

TEST(SerializedModelWriter, ValuesBelowAWordArePadded) {
  HandMade made;
  const auto x = made.image({5});
  for (size_t length = 1; length <= 5; ++length) {
    made.bytes<uint8_t>(ANEURALNETWORKS_TENSOR_BOOL8, std::vector<uint8_t>(length, 1),
                        {static_cast<uint32_t>(length)});
  }
  const nnapi::Model model = made.finish({x}, {x});
  expect_round_trip(model, write_serialized_model(model));
}

TEST(SerializedModelWriter, SharedMemoryIsOneWeight) {
  const Tensor all = ramp(IntArray{8});
  const auto half = [&](int64_t offset) {
    return make_view(all, IntArray{4}, IntArray{1}, offset);
  };
  HandMade made;
  const auto x = made.image({4}), y = made.image({4});
  const auto none = made.scalar(0);
  const auto first = made.weight(half(0)), same = made.weight(half(0)),
             second = made.weight(half(4));
  made.add(ANEURALNETWORKS_ADD, {x, first, none}, {y});
  const nnapi::Model model = made.finish({x, same, second}, {y});
  const WrittenNnapiModel written = write_serialized_model(model);
  ASSERT_EQ(written.weights.size(), 2u);
  for (const Tensor& weight : written.weights) {
    EXPECT_EQ(weight.impl()->storage->nbytes(), 16u);  // a file holds no more than is used
  }
  expect_round_trip(model, written);
}

nnapi::Model model_of(const nnapi::SerializedModel& read) {
  nnapi::Model model;
  for (const auto& operand : read.operands) {
    nnapi::Operand& made = model.operands.emplace_back();
    made.code = operand.type;
    made.sizes.assign(operand.dims.begin(), operand.dims.end());
    made.scale = operand.scale;
    made.zero_point = operand.zero_point;
  }
  for (const auto& operation : read.operations) {
    model.operations.push_back({operation.code,
                                {operation.inputs.begin(), operation.inputs.end()},
                                {operation.outputs.begin(), operation.outputs.end()}});
  }
  model.inputs.assign(read.inputs.begin(), read.inputs.end());
  model.outputs.assign(read.outputs.begin(), read.outputs.end());
  return model;
}

// Models that PyTorch's converter wrote, word for word.
TEST(SerializedModelWriter, WritesAsPyTorchDoes) {
  for (const char* name : {"float", "quantized"}) {
    SCOPED_TRACE(name);
    const Module written =
        load(std::string("tests/fixtures/nnapi_") + name + ".pt").submodule("mod");
    const Tensor words = written.attr("ser_model").to_tensor();
    std::vector<Tensor> weights;
    for (const Value& weight : written.attr("weights").to_list()) {
      weights.push_back(weight.to_tensor().contiguous());
    }
    const nnapi::SerializedModel read = read_back(words, weights);
    nnapi::Model model = model_of(read);
    for (const auto& value : read.values) {
      const auto weight = std::ranges::find(weights, value.bytes.data(), [](const Tensor& tensor) {
        return static_cast<const std::byte*>(tensor.impl()->data());
      });
      nnapi::Operand& operand = model.operands[value.operand];
      if (weight != weights.end()) {
        operand.tensor = *weight;
      } else {
        operand.bytes.assign(value.bytes.begin(), value.bytes.end());
      }
    }
    const WrittenNnapiModel again = write_serialized_model(model);
    ASSERT_EQ(again.words.numel(), words.numel());
    for (int64_t i = 0; i < words.numel(); ++i) {
      ASSERT_EQ(again.words.data_ptr<int32_t>()[i], words.data_ptr<int32_t>()[i]) << i;
    }
    ASSERT_EQ(again.weights.size(), weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(bytes_of(again.weights[i]), bytes_of(weights[i]))) << i;
    }
  }
}

TEST(SerializedModelWriter, RefusesScalesPerChannel) {
  HandMade made;
  made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 2});
  try {
    write_serialized_model(made.finish({}, {}));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(error.message().find("operand 0 "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace torchlet::prepare
