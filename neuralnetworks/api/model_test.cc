#include <cmath>
#include <limits>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kAsymm = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
constexpr int32_t kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
constexpr int32_t kPerChannel = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;

// ---- create, addOperand ----

TEST(ModelOperands, Null) {
  const Model model = new_model();
  const auto type = operand_type(ANEURALNETWORKS_INT32);
  EXPECT_EQ(ANeuralNetworksModel_create(nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksModel_addOperand(nullptr, &type), kNull);
  EXPECT_EQ(ANeuralNetworksModel_addOperand(model, nullptr), kNull);
}

TEST(ModelOperands, OfAllTypes) {
  const Model model = new_model();
  for (const int32_t scalar :
       {ANEURALNETWORKS_FLOAT32, ANEURALNETWORKS_INT32, ANEURALNETWORKS_UINT32,
        ANEURALNETWORKS_BOOL, ANEURALNETWORKS_FLOAT16, ANEURALNETWORKS_MODEL}) {
    EXPECT_EQ(add_operand(model, scalar), kOk) << scalar;
    EXPECT_EQ(add_operand(model, scalar, {1}), kBadData) << scalar;
    EXPECT_EQ(add_operand(model, scalar, {}, 1), kBadData) << scalar;
    EXPECT_EQ(add_operand(model, scalar, {}, 0, 1), kBadData) << scalar;
  }
  for (const int32_t plain : {kFloat, int32_t{ANEURALNETWORKS_TENSOR_FLOAT16},
                              int32_t{ANEURALNETWORKS_TENSOR_BOOL8}, kPerChannel}) {
    EXPECT_EQ(add_operand(model, plain, {1, 2}), kOk) << plain;
    EXPECT_EQ(add_operand(model, plain), kOk) << plain << " of unknown rank";
    EXPECT_EQ(add_operand(model, plain, {0, 2}), kOk) << plain << " of an unknown size";
    EXPECT_EQ(add_operand(model, plain, {1}, 1), kBadData) << plain;
    EXPECT_EQ(add_operand(model, plain, {1}, 0, 1), kBadData) << plain;
  }
  for (const int32_t code : {-1, 16, 10000, 10001, 1 << 16, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(add_operand(model, code), kBadData) << code;
  }
}

TEST(ModelOperands, ScalesAndZeroPoints) {
  const Model model = new_model();
  const struct {
    int32_t code, least, most;
  } cases[] = {
      {kAsymm, 0, 255},
      {kSigned, -128, 127},
      {ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 0, 0},
      {ANEURALNETWORKS_TENSOR_QUANT16_SYMM, 0, 0},
      {ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, 0, 65535},
  };
  for (const auto& [code, least, most] : cases) {
    SCOPED_TRACE(code);
    EXPECT_EQ(add_operand(model, code, {1}, 0.5F, least), kOk);
    EXPECT_EQ(add_operand(model, code, {1}, 0.5F, most), kOk);
    EXPECT_EQ(add_operand(model, code, {1}, 0.5F, least - 1), kBadData);
    EXPECT_EQ(add_operand(model, code, {1}, 0.5F, most + 1), kBadData);
    for (const float scale : {0.0F, -1.0F, std::nanf(""), INFINITY}) {
      EXPECT_EQ(add_operand(model, code, {1}, scale, least), kBadData) << scale;
    }
  }
  EXPECT_EQ(add_operand(model, ANEURALNETWORKS_TENSOR_INT32, {1}, 0.5F), kOk);
  EXPECT_EQ(add_operand(model, ANEURALNETWORKS_TENSOR_INT32, {1}, 0), kOk);
  EXPECT_EQ(add_operand(model, ANEURALNETWORKS_TENSOR_INT32, {1}, -1), kBadData);
  EXPECT_EQ(add_operand(model, ANEURALNETWORKS_TENSOR_INT32, {1}, 0.5F, 1), kBadData);
}

TEST(ModelOperands, DimensionsAndTheirCountBelongTogether) {
  const Model model = new_model();
  const uint32_t size = 1;
  ANeuralNetworksOperandType type = {kFloat, 1, nullptr, 0, 0};
  EXPECT_EQ(ANeuralNetworksModel_addOperand(model, &type), kBadData);
  type = {kFloat, 0, &size, 0, 0};
  EXPECT_EQ(ANeuralNetworksModel_addOperand(model, &type), kBadData);
  type = {kFloat, UINT32_MAX, &size, 0, 0};
  EXPECT_EQ(ANeuralNetworksModel_addOperand(model, &type), kBadData);
}

TEST(ModelOperands, FitInto32Bits) {
  const Model model = new_model();
  EXPECT_EQ(add_operand(model, kFloat, {5, 4, 4, 786433, 5, 3, 16777216, 4, 5}), kBadData);
  EXPECT_EQ(add_operand(model, kFloat, {1 << 15, 1 << 15}), kBadData);
  EXPECT_EQ(add_operand(model, kFloat, {1 << 15, (1 << 15) - 1}), kOk);
  EXPECT_EQ(add_operand(model, kFloat, {UINT32_MAX, 0, UINT32_MAX}), kOk) << "not known yet";
}

// ---- values ----

TEST(ModelValues, HaveTheLengthOfTheirOperand) {
  const Model model = new_model();
  ASSERT_EQ(add_operand(model, kFloat, {2, 3}), kOk);
  const float values[6] = {};
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(nullptr, 0, values, 24), kNull);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 0, nullptr, 24), kNull);
  for (const size_t length : {size_t{0}, size_t{23}, size_t{25}, SIZE_MAX}) {
    EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 0, values, length), kBadData) << length;
  }
  for (const int32_t index : {-1, 1, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, index, values, 24), kBadData) << index;
  }
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 0, values, 24), kOk);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 0, values, 24), kOk) << "another value";
}

TEST(ModelValues, NeedKnownSizes) {
  const Model model = new_model();
  ASSERT_EQ(add_operand(model, kFloat, {0, 3}), kOk);
  ASSERT_EQ(add_operand(model, kFloat), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_MODEL), kOk);
  const float values[3] = {};
  const SharedFile file(64);
  for (const int32_t index : {0, 1, 2}) {
    EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, index, values, 12), kBadData) << index;
    EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, index, nullptr, 0), kOk) << index;
  }
}

TEST(ModelValues, OfInputsAndOutputsAreRefused) {
  const Model model = add_model();
  const float values[2] = {};
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 0, values, 8), kBadData);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 3, nullptr, 0), kBadData);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kOk);
}

TEST(ModelValues, SmallOnesAreCopiedLargeOnesAreNot) {
  constexpr size_t kSmall = ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES / sizeof(float);
  for (const size_t count : {kSmall, kSmall + 1}) {
    const Dims dims = {static_cast<uint32_t>(count)};
    const Model model = new_model();
    for (int i = 0; i < 2; ++i) ASSERT_EQ(add_operand(model, kFloat, dims), kOk);
    ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
    ASSERT_EQ(add_operand(model, kFloat, dims), kOk);
    std::vector<float> constant(count, 1);
    ASSERT_EQ(ANeuralNetworksModel_setOperandValue(model, 1, constant.data(), count * 4), kOk);
    ASSERT_EQ(set_int(model, 2, 0), kOk);
    std::ranges::fill(constant, 100.0F);
    ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
    ASSERT_EQ(identify(model, {0}, {3}), kOk);
    ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
    const Compilation compilation = compiled(model);
    const Execution execution = new_execution(compilation);
    const std::vector<float> input(count, 5);
    std::vector<float> sum(count);
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, input.data(), count * 4),
              kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum.data(), count * 4),
              kOk);
    ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
    EXPECT_EQ(sum, std::vector<float>(count, count == kSmall ? 6 : 105));
  }
}

TEST(ModelValues, FromMemory) {
  SharedFile file(20);
  SharedFile write_only(20, PROT_WRITE);
  const Model model = new_model();
  ASSERT_EQ(add_operand(model, kFloat, {1}), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {0}), kOk);
  const auto set = [&](int32_t index, ANeuralNetworksMemory* memory, size_t offset, size_t length) {
    return ANeuralNetworksModel_setOperandValueFromMemory(model, index, memory, offset, length);
  };
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromMemory(nullptr, 0, file.memory(), 0, 4), kNull);
  EXPECT_EQ(set(0, nullptr, 0, 4), kNull);
  EXPECT_EQ(set(-1, file.memory(), 0, 4), kBadData);
  EXPECT_EQ(set(2, file.memory(), 0, 4), kBadData);
  EXPECT_EQ(set(1, file.memory(), 0, 4), kBadData) << "size not known";
  EXPECT_EQ(set(0, file.memory(), 0, 20), kBadData);
  EXPECT_EQ(set(0, file.memory(), 0, 0), kBadData);
  EXPECT_EQ(set(0, file.memory(), 21, 4), kBadData);
  EXPECT_EQ(set(0, file.memory(), 17, 4), kBadData);
  EXPECT_EQ(set(0, file.memory(), SIZE_MAX, 4), kBadData);
  EXPECT_EQ(set(0, write_only.memory(), 0, 4), kBadData);
  EXPECT_EQ(set(0, file.memory(), 16, 4), kOk);
}

TEST(ModelValues, FromMemoryThatIsFreed) {
  const Model model = new_model();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(add_operand(model, kFloat, {64}), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {64}), kOk);
  ASSERT_EQ(set_int(model, 2, 0), kOk);
  {
    SharedFile file(512);
    const std::vector<float> constant(64, 3);
    file.write(constant.data(), 256, 130);  // no multiple of a float's size
    ASSERT_EQ(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, file.memory(), 130, 256),
              kOk);
  }
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(identify(model, {0}, {3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const Execution execution = new_execution(compilation);
  const std::vector<float> input(64, 4);
  std::vector<float> sum(64);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, input.data(), 256), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum.data(), 256), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(sum, std::vector<float>(64, 7));
}

TEST(ModelValues, FromModels) {
  const Model model = new_model();
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_MODEL), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  const Model value = add_model();
  const auto set = [&](int32_t index) {
    return ANeuralNetworksModel_setOperandValueFromModel(model, index, value);
  };
  EXPECT_EQ(set(0), kBadState) << "not finished";
  ASSERT_EQ(ANeuralNetworksModel_finish(value), kOk);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromModel(nullptr, 0, value), kNull);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromModel(model, 0, nullptr), kNull);
  EXPECT_EQ(set(-1), kBadData);
  EXPECT_EQ(set(2), kBadData);
  EXPECT_EQ(set(1), kBadData) << "no model";
  EXPECT_EQ(set(0), kOk);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromModel(model, 0, model), kBadState);

  Model failed = new_model();
  ASSERT_EQ(ANeuralNetworksModel_finish(failed), kBadData);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromModel(model, 0, failed), kBadState);
}

TEST(ModelValues, ModelsInModelsAreBounded) {
  Model inner = finished_add_model();
  int depth = 0;
  for (; depth < 100; ++depth) {
    Model outer = add_model();
    ASSERT_EQ(add_operand(outer, ANEURALNETWORKS_MODEL), kOk);
    const int code = ANeuralNetworksModel_setOperandValueFromModel(outer, 4, inner);
    if (code != kOk) {
      EXPECT_EQ(code, kBadData);
      break;
    }
    ASSERT_EQ(ANeuralNetworksModel_finish(outer), kOk);
    inner = std::move(outer);
  }
  EXPECT_EQ(depth, 32);
}

TEST(ModelValues, ScalesOfChannels) {
  const Model model = new_model();
  ASSERT_EQ(add_operand(model, kPerChannel, {2, 3}), kOk);
  ASSERT_EQ(add_operand(model, kAsymm, {2, 3}, 1), kOk);
  ASSERT_EQ(add_operand(model, kPerChannel), kOk);
  const float scales[3] = {1, 2, 3};
  const auto set = [&](int32_t index, uint32_t dim, uint32_t count, const float* values) {
    const ANeuralNetworksSymmPerChannelQuantParams params = {dim, count, values};
    return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, index, &params);
  };
  const ANeuralNetworksSymmPerChannelQuantParams params = {0, 2, scales};
  EXPECT_EQ(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(nullptr, 0, &params), kNull);
  EXPECT_EQ(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, nullptr), kNull);
  EXPECT_EQ(set(3, 0, 2, scales), kBadData);
  EXPECT_EQ(set(-1, 0, 2, scales), kBadData);
  EXPECT_EQ(set(1, 0, 2, scales), kBadData) << "another type";
  EXPECT_EQ(set(2, 0, 2, scales), kBadData) << "unknown rank";
  EXPECT_EQ(set(0, 2, 2, scales), kBadData) << "no such dimension";
  EXPECT_EQ(set(0, 0, 3, scales), kBadData) << "too many";
  EXPECT_EQ(set(0, 0, 0, nullptr), kBadData);
  EXPECT_EQ(set(0, 0, 2, nullptr), kBadData);
  EXPECT_EQ(set(0, 0, 0, scales), kBadData);
  const float zero[2] = {1, 0};
  EXPECT_EQ(set(0, 0, 2, zero), kBadData);
  EXPECT_EQ(set(0, 0, 2, scales), kOk);
  EXPECT_EQ(set(0, 1, 3, scales), kOk);

  ASSERT_EQ(add_operand(model, kPerChannel, {0, 2}), kOk);
  EXPECT_EQ(set(3, 0, 3, scales), kOk) << "tells the size";
  EXPECT_EQ(set(3, 0, 2, scales), kBadData);
  const int8_t values[6] = {};
  EXPECT_EQ(ANeuralNetworksModel_setOperandValue(model, 3, values, 6), kOk);
}

// ---- operations ----

TEST(ModelOperations, Null) {
  const Model model = add_model();
  const uint32_t index = 0;
  EXPECT_EQ(ANeuralNetworksModel_addOperation(nullptr, 0, 1, &index, 1, &index), kNull);
  EXPECT_EQ(ANeuralNetworksModel_addOperation(model, 0, 0, nullptr, 1, &index), kNull);
  EXPECT_EQ(ANeuralNetworksModel_addOperation(model, 0, 1, &index, 0, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksModel_addOperation(model, 0, 0, &index, 1, &index), kBadData);
  EXPECT_EQ(ANeuralNetworksModel_addOperation(model, 0, 1, &index, 0, &index), kBadData);
}

TEST(ModelOperations, TakeWhatTheirSignaturesSay) {
  const Model model = new_model();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(add_operand(model, kAsymm, {2}, 1), kOk);
  constexpr int32_t kAdd = ANEURALNETWORKS_ADD;
  for (const int32_t code : {-1, 106, 10000, 1 << 16, INT32_MAX}) {
    EXPECT_EQ(add_operation(model, code, {0, 1, 2}, {3}), kBadData) << code;
  }
  EXPECT_EQ(add_operation(model, kAdd, {0, 1}, {3}), kBadData) << "too few";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 2, 2}, {3}), kBadData) << "too many";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 2}, {3, 3}), kBadData) << "too many results";
  EXPECT_EQ(add_operation(model, kAdd, {0, 4, 2}, {3}), kBadData) << "two types";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 2}, {4}), kBadData) << "another type of result";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 5}, {3}), kBadData) << "no such operand";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, UINT32_MAX}, {3}), kBadData) << "no such operand";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 2}, {5}), kBadData) << "no such operand";
  EXPECT_EQ(add_operation(model, kAdd, {0, 1, 2}, {3}), kOk);
}

// ---- identifyInputsAndOutputs ----

TEST(ModelInputs, AreThereAndOnce) {
  const Model model = new_model();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_MODEL), kOk);
  ASSERT_EQ(set_int(model, 2, 0), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  const uint32_t index = 0;
  EXPECT_EQ(ANeuralNetworksModel_identifyInputsAndOutputs(nullptr, 1, &index, 1, &index), kNull);
  EXPECT_EQ(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, nullptr, 1, &index), kNull);
  EXPECT_EQ(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &index, 0, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, &index, 1, &index), kBadData);
  EXPECT_EQ(identify(model, {0, 1}, {3, 0}), kBadData) << "an input as output";
  EXPECT_EQ(identify(model, {0, 1, 0}, {3}), kBadData) << "an input twice";
  EXPECT_EQ(identify(model, {0, 1}, {3, 3}), kBadData) << "an output twice";
  EXPECT_EQ(identify(model, {0, 1, 2}, {3}), kBadData) << "a constant";
  EXPECT_EQ(identify(model, {0, 1, 4}, {3}), kBadData) << "a model";
  EXPECT_EQ(identify(model, {0, 1}, {5}), kBadData) << "no operand";
  EXPECT_EQ(identify(model, {0, 1}, {3}), kOk) << "what failed changed nothing";
  EXPECT_EQ(identify(model, {0, 1}, {3}), kBadData) << "again";
}

// ---- finish ----

TEST(ModelFinish, Null) { EXPECT_EQ(ANeuralNetworksModel_finish(nullptr), kNull); }

TEST(ModelFinish, NothingChangesAfterwards) {
  for (const bool is_valid : {true, false}) {
    SCOPED_TRACE(is_valid);
    const Model value = finished_add_model();
    SharedFile file(64);
    const Model model = add_model();
    if (!is_valid) {
      ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
    }
    EXPECT_EQ(ANeuralNetworksModel_finish(model), is_valid ? kOk : kBadData);
    EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadState);
    EXPECT_EQ(add_operand(model, kFloat, {2}), kBadState);
    EXPECT_EQ(set_int(model, 2, 0), kBadState);
    EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, file.memory(), 0, 8),
              kBadState);
    EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromModel(model, 0, value), kBadState);
    const float scale = 1;
    const ANeuralNetworksSymmPerChannelQuantParams params = {0, 1, &scale};
    EXPECT_EQ(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, &params),
              kBadState);
    EXPECT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kBadState);
    EXPECT_EQ(identify(model, {0, 1}, {3}), kBadState);
    EXPECT_EQ(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, true), kBadState);
    Compilation compilation;
    EXPECT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()),
              is_valid ? kOk : kBadState);
  }
}

TEST(ModelFinish, EmptyModels) {
  EXPECT_EQ(ANeuralNetworksModel_finish(new_model()), kBadData);
  Model model = new_model();
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  ASSERT_EQ(identify(model, {0}, {1}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "no operations";
}

// Tensors of [2] and, at index 0, a constant 0.
Model with_operands(size_t count) {
  Model model = new_model();
  EXPECT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  EXPECT_EQ(set_int(model, 0, 0), kOk);
  for (size_t i = 1; i < count; ++i) EXPECT_EQ(add_operand(model, kFloat, {2}), kOk);
  return model;
}

TEST(ModelFinish, WithoutInputsAndOutputs) {
  Model model = with_operands(4);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData);
}

TEST(ModelFinish, WhatNobodyGives) {
  Model model = with_operands(5);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(identify(model, {1}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "read";

  model = with_operands(5);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "read by nobody";

  model = with_operands(5);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {3, 4}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "an output";
}

TEST(ModelFinish, WhatIsGivenTwice) {
  Model model = with_operands(4);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  }
  ASSERT_EQ(identify(model, {1, 2}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData);

  model = with_operands(4);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 1, 0}, {2}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "an input";
}

TEST(ModelFinish, Cycles) {
  Model model = with_operands(6);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 4, 0}, {3}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {2, 3, 0}, {4}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {4, 1, 0}, {5}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {5}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData);

  model = with_operands(4);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 3, 0}, {3}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData) << "of one operation";
}

TEST(ModelFinish, OperationsComeInAnyOrder) {
  Model model = with_operands(6);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {4, 3, 0}, {5}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {3, 1, 0}, {4}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {5}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const Execution execution = new_execution(compilation);
  AddBuffers buffers;
  buffers.set(execution);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(buffers.sum[0], 23);  // 11 + (11 + 1)
  EXPECT_EQ(buffers.sum[1], 46);
}

TEST(ModelFinish, OmittedArgumentsThatAreNeeded) {
  Model model = with_operands(4);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_setOperandValue(model, 2, nullptr, 0), kOk);
  EXPECT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 0}, {3}), kBadData);
  ASSERT_EQ(identify(model, {1}, {3}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData);
}

TEST(ModelFinish, ScalesOfChannelsAreThere) {
  const Model model = add_model();
  ASSERT_EQ(add_operand(model, kPerChannel, {1}), kOk);
  const int8_t value = 1;
  ASSERT_EQ(ANeuralNetworksModel_setOperandValue(model, 4, &value, 1), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kBadData);
}

TEST(ModelFinish, ConstantsThatNobodyReadsAreFine) {
  const Model model = add_model();
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  const float values[2] = {};
  ASSERT_EQ(ANeuralNetworksModel_setOperandValue(model, 4, values, 8), kOk);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kOk);
}

TEST(ModelRelax, Null) {
  EXPECT_EQ(ANeuralNetworksModel_relaxComputationFloat32toFloat16(nullptr, true), kNull);
  EXPECT_EQ(ANeuralNetworksModel_relaxComputationFloat32toFloat16(new_model(), true), kOk);
}

// ---- getSupportedOperationsForDevices ----

TEST(ModelSupport, Arguments) {
  ANeuralNetworksDevice* devices[2] = {};
  ASSERT_EQ(ANeuralNetworks_getDevice(0, &devices[0]), kOk);
  ASSERT_EQ(ANeuralNetworks_getDevice(1, &devices[1]), kOk);
  bool supported[1] = {};
  const auto ask = ANeuralNetworksModel_getSupportedOperationsForDevices;
  const Model open = add_model();
  EXPECT_EQ(ask(open, devices, 1, supported), kBadState);
  const Model model = finished_add_model();
  EXPECT_EQ(ask(nullptr, devices, 1, supported), kNull);
  EXPECT_EQ(ask(model, nullptr, 1, supported), kNull);
  EXPECT_EQ(ask(model, devices, 1, nullptr), kNull);
  EXPECT_EQ(ask(model, devices, 0, supported), kBadData);
  EXPECT_EQ(ask(model, devices, 2, supported), kOk);
  EXPECT_TRUE(supported[0]);
  const ANeuralNetworksDevice* twice[2] = {devices[0], devices[0]};
  EXPECT_EQ(ask(model, twice, 2, supported), kBadData);
  twice[1] = nullptr;
  EXPECT_EQ(ask(model, twice, 2, supported), kNull);
}

TEST(ModelSupport, IsToldInTheOrderOfAddition) {
  ANeuralNetworksDevice* device = nullptr;
  ASSERT_EQ(ANeuralNetworks_getDevice(0, &device), kOk);
  // The first operation reads what the second gives; the activation of the second is none.
  Model model = with_operands(5);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  ASSERT_EQ(set_int(model, 5, 999), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {3, 2, 0}, {4}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {1, 2, 5}, {3}), kOk);
  ASSERT_EQ(identify(model, {1, 2}, {4}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  bool supported[2] = {};
  ASSERT_EQ(ANeuralNetworksModel_getSupportedOperationsForDevices(model, &device, 1, supported),
            kOk);
  EXPECT_TRUE(supported[0]);
  EXPECT_FALSE(supported[1]);
}

}  // namespace
}  // namespace torchlet::nn
