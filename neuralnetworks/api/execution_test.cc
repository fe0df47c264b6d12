// What an execution is given, and what it tells afterwards.
#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;

class ExecutionTest : public ::testing::Test {
 protected:
  const Compilation compilation = compiled_add();
  const Execution execution = new_execution(compilation);
  AddBuffers buffers;
  float buffer[8] = {};

  int set_input(int32_t index, const ANeuralNetworksOperandType* type, const void* bytes,
                size_t length) {
    return ANeuralNetworksExecution_setInput(execution, index, type, bytes, length);
  }
  int set_output(int32_t index, const ANeuralNetworksOperandType* type, void* bytes,
                 size_t length) {
    return ANeuralNetworksExecution_setOutput(execution, index, type, bytes, length);
  }
};

TEST_F(ExecutionTest, Null) {
  EXPECT_EQ(ANeuralNetworksExecution_setInput(nullptr, 0, nullptr, buffer, 8), kNull);
  EXPECT_EQ(set_input(0, nullptr, nullptr, 8), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_setOutput(nullptr, 0, nullptr, buffer, 8), kNull);
  EXPECT_EQ(set_output(0, nullptr, nullptr, 8), kNull);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, nullptr, 0, 8),
            kNull);
  EXPECT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, nullptr, 0, 8),
            kNull);
}

TEST_F(ExecutionTest, WrongIndicesAndLengths) {
  for (const int32_t index : {-1, 2, 999, INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(set_input(index, nullptr, buffer, 8), kBadData) << index;
    EXPECT_EQ(set_output(index == 2 ? 1 : index, nullptr, buffer, 8), kBadData) << index;
  }
  for (const size_t length :
       {size_t{0}, size_t{7}, size_t{9}, size_t{32}, size_t{1} << 33, SIZE_MAX}) {
    EXPECT_EQ(set_input(0, nullptr, buffer, length), kBadData) << length;
    EXPECT_EQ(set_output(0, nullptr, buffer, length), kBadData) << length;
  }
  buffers.set(execution);
}

TEST_F(ExecutionTest, WrongTypes) {
  const Dims two = {2}, three = {3}, open = {0}, square = {2, 1};
  const uint32_t size = 2;
  const ANeuralNetworksOperandType wrong[] = {
      operand_type(kFloat, three),
      operand_type(kFloat, open),  // the model knows it
      operand_type(kFloat, square),
      operand_type(kFloat),
      operand_type(ANEURALNETWORKS_TENSOR_INT32, two),
      operand_type(ANEURALNETWORKS_TENSOR_FLOAT16, two),
      operand_type(kFloat, two, 1),
      operand_type(ANEURALNETWORKS_FLOAT32),
      operand_type(99, two),
      {kFloat, 1, nullptr, 0, 0},
      {kFloat, 0, &size, 0, 0},
  };
  for (const auto& type : wrong) {
    EXPECT_EQ(set_input(0, &type, buffer, 8), kBadData);
    EXPECT_EQ(set_output(0, &type, buffer, 8), kBadData);
  }
  const auto right = operand_type(kFloat, two);
  EXPECT_EQ(set_input(0, &right, buffer, 8), kOk);
  EXPECT_EQ(set_output(0, &right, buffer, 8), kOk);
}

TEST_F(ExecutionTest, EachArgumentIsSetOnce) {
  SharedFile file(64);
  buffers.set(execution);
  EXPECT_EQ(set_input(0, nullptr, buffer, 8), kBadState);
  EXPECT_EQ(set_output(0, nullptr, buffer, 8), kBadState);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, file.memory(), 0, 8),
            kBadState);
  EXPECT_EQ(
      ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, file.memory(), 0, 8),
      kBadState);
}

TEST_F(ExecutionTest, FromFiles) {
  SharedFile file(20);
  SharedFile read_only(20, PROT_READ);
  SharedFile write_only(20, PROT_WRITE);
  const auto input = [&](ANeuralNetworksMemory* memory, size_t offset, size_t length) {
    return ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, memory, offset,
                                                       length);
  };
  const auto output = [&](ANeuralNetworksMemory* memory, size_t offset, size_t length) {
    return ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, offset,
                                                        length);
  };
  const struct {
    size_t offset, length;
  } wrong[] = {{0, 0}, {0, 4}, {0, 20}, {21, 8}, {13, 8}, {SIZE_MAX, 8}, {8, SIZE_MAX}, {4, 0}};
  for (const auto& [offset, length] : wrong) {
    EXPECT_EQ(input(file.memory(), offset, length), kBadData) << offset << " " << length;
    EXPECT_EQ(output(file.memory(), offset, length), kBadData) << offset << " " << length;
  }
  EXPECT_EQ(input(write_only.memory(), 0, 8), kBadData);
  EXPECT_EQ(output(read_only.memory(), 0, 8), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 2, nullptr, file.memory(), 0, 8),
            kBadData);
  EXPECT_EQ(
      ANeuralNetworksExecution_setOutputFromMemory(execution, 1, nullptr, file.memory(), 0, 8),
      kBadData);
  EXPECT_EQ(input(read_only.memory(), 12, 8), kOk);
  EXPECT_EQ(output(write_only.memory(), 12, 8), kOk);
}

TEST_F(ExecutionTest, InputsAndOutputsAtOddAddresses) {
  alignas(8) char bytes[32] = {};
  std::memcpy(bytes + 1, buffers.a, 8);
  ASSERT_EQ(set_input(0, nullptr, bytes + 1, 8), kOk);
  ASSERT_EQ(set_input(1, nullptr, buffers.b, 8), kOk);
  ASSERT_EQ(set_output(0, nullptr, bytes + 11, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  std::memcpy(buffers.sum, bytes + 11, 8);
  buffers.expect_sum();
}

TEST_F(ExecutionTest, Padding) {
  ASSERT_EQ(ANeuralNetworksExecution_enableInputAndOutputPadding(nullptr, true), kNull);
  ASSERT_EQ(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), kOk);
  EXPECT_EQ(set_input(0, nullptr, buffers.a, 7), kBadData);
  EXPECT_EQ(set_output(0, nullptr, buffers.sum, 7), kBadData);
  float a[4] = {1, 2, -5, -5}, sum[4] = {-1, -1, -1, -1};
  EXPECT_EQ(set_input(0, nullptr, a, 16), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, false), kBadState);
  EXPECT_EQ(set_input(1, nullptr, buffers.b, 8), kOk);
  EXPECT_EQ(set_output(0, nullptr, sum, 16), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(sum[0], 11);
  EXPECT_EQ(sum[1], 22);
  EXPECT_EQ(sum[2], -1);
}

TEST_F(ExecutionTest, PaddingOfFiles) {
  SharedFile file(64);
  ASSERT_EQ(ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true), kOk);
  EXPECT_EQ(
      ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, file.memory(), 0, 64),
      kOk);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 1, nullptr, file.memory(), 0, 7),
            kBadData);
}

TEST_F(ExecutionTest, NeedsAllArguments) {
  ASSERT_EQ(set_input(0, nullptr, buffers.a, 8), kOk);
  ASSERT_EQ(set_output(0, nullptr, buffers.sum, 8), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kBadState) << "it has been computed";
  buffers.expect_untouched();
  const Execution other = new_execution(compilation);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(other, 0, nullptr, buffers.a, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(other, 1, nullptr, buffers.b, 8), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(other), kBadData) << "no output";
}

TEST_F(ExecutionTest, OmittedInputsThatAreNeeded) {
  ASSERT_EQ(set_input(0, nullptr, nullptr, 0), kOk);
  ASSERT_EQ(set_input(1, nullptr, buffers.b, 8), kOk);
  ASSERT_EQ(set_output(0, nullptr, buffers.sum, 8), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOpFailed);
  buffers.expect_untouched();
}

TEST_F(ExecutionTest, OmittedOutputs) {
  ASSERT_EQ(set_input(0, nullptr, buffers.a, 8), kOk);
  ASSERT_EQ(set_input(1, nullptr, buffers.b, 8), kOk);
  ASSERT_EQ(set_output(0, nullptr, nullptr, 0), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
}

TEST_F(ExecutionTest, OutputsAreToldAfterwards) {
  uint32_t rank = 99, dims[4] = {};
  const auto get_rank = ANeuralNetworksExecution_getOutputOperandRank;
  const auto get_dims = ANeuralNetworksExecution_getOutputOperandDimensions;
  EXPECT_EQ(get_rank(execution, 0, &rank), kBadState);
  EXPECT_EQ(get_dims(execution, 0, dims), kBadState);
  buffers.set(execution);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(get_rank(nullptr, 0, &rank), kNull);
  EXPECT_EQ(get_rank(execution, 0, nullptr), kNull);
  EXPECT_EQ(get_dims(nullptr, 0, dims), kNull);
  EXPECT_EQ(get_dims(execution, 0, nullptr), kNull);
  for (const int32_t index : {-1, 1, 999}) {
    EXPECT_EQ(get_rank(execution, index, &rank), kBadData);
    EXPECT_EQ(get_dims(execution, index, dims), kBadData);
  }
  EXPECT_EQ(get_rank(execution, 0, &rank), kOk);
  EXPECT_EQ(get_dims(execution, 0, dims), kOk);
  EXPECT_EQ(rank, 1U);
  EXPECT_EQ(dims[0], 2U);
}

TEST_F(ExecutionTest, OutputsOfWhatFailedAreNotTold) {
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kBadData);
  uint32_t number = 0;
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &number), kBadState);
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &number), kBadState);
}

// ---- sizes that only an execution knows ----

class LateSizes : public ::testing::Test {
 protected:
  const Compilation compilation = compiled_add({0});
  const Execution execution = new_execution(compilation);
  const Dims three = {3};
  const ANeuralNetworksOperandType type = operand_type(kFloat, three);
  const float a[3] = {1, 2, 3};
  const float b[3] = {10, 20, 30};

  void set_inputs() {
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, a, sizeof(a)), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 1, &type, b, sizeof(b)), kOk);
  }
};

TEST_F(LateSizes, OfInputsAreNeeded) {
  const Dims open = {0};
  const auto unknown = operand_type(kFloat, open);
  EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, a, 12), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &unknown, a, 12), kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, a, 8), kBadData);
  SharedFile file(64);
  EXPECT_EQ(
      ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, file.memory(), 0, 12),
      kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &type, file.memory(), 0, 12),
            kOk);
}

TEST_F(LateSizes, ThatOverflowAreRefused) {
  const Dims large = {1U << 30};
  const auto type_of_large = operand_type(kFloat, large);
  EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type_of_large, a, 12), kBadData);
  float sum[3];
  EXPECT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, &type_of_large, sum, 12), kBadData);
}

TEST_F(LateSizes, OfOutputsNeedNotBeKnown) {
  set_inputs();
  float sum[5] = {-1, -1, -1, -1, -1};
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum, sizeof(sum)), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(sum[2], 33);
  EXPECT_EQ(sum[3], -1);
  uint32_t size = 0;
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &size), kOk);
  EXPECT_EQ(size, 3U);
}

TEST_F(LateSizes, ABufferThatIsTooShort) {
  set_inputs();
  float sum[3] = {-1, -1, -1};
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum, 8), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kTooShort);
  for (const float value : sum) EXPECT_EQ(value, -1);
  uint32_t rank = 0, size = 0;
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), kTooShort);
  EXPECT_EQ(rank, 1U);
  EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &size), kTooShort);
  EXPECT_EQ(size, 3U);
}

TEST_F(LateSizes, APartOfAFileThatIsTooShort) {
  set_inputs();
  SharedFile file(64);
  ASSERT_EQ(
      ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, file.memory(), 8, 8),
      kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kTooShort);
  EXPECT_EQ(file.read<float>(16), std::vector<float>(16, 0));
}

// Of several outputs all are written, or none.
TEST(LateSizesOfTwoOutputs, OneOfWhichIsTooShort) {
  const Model model = new_model();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(add_operand(model, kFloat, {0}), kOk);
  ASSERT_EQ(add_operand(model, ANEURALNETWORKS_INT32), kOk);
  ASSERT_EQ(set_int(model, 4, 0), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 4}, {2}), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 0, 4}, {3}), kOk);
  ASSERT_EQ(identify(model, {0, 1}, {2, 3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const Dims two = {2};
  const auto type = operand_type(kFloat, two);
  for (const size_t length : {size_t{4}, size_t{8}}) {
    const Execution execution = new_execution(compilation);
    AddBuffers buffers;
    float twice[2] = {-1, -1};
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, buffers.a, 8), kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, &type, buffers.b, 8), kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffers.sum, 8), kOk);
    ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 1, nullptr, twice, length), kOk);
    if (length == 8) {
      EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
      buffers.expect_sum();
      EXPECT_EQ(twice[1], 4);
      continue;
    }
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kTooShort);
    buffers.expect_untouched();
    uint32_t size = 0;
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, &size), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 1, &size), kTooShort);
    EXPECT_EQ(size, 2U);
  }
}

TEST_F(LateSizes, OfAnOutputThatAreOthers) {
  set_inputs();
  const Dims four = {4};
  const auto other = operand_type(kFloat, four);
  float sum[4] = {-1, -1, -1, -1};
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, &other, sum, 16), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOpFailed);
  EXPECT_EQ(sum[0], -1);
}

TEST_F(LateSizes, ThatDoNotFitEachOther) {
  const Dims two = {2};
  const auto other = operand_type(kFloat, two);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, a, 12), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, &other, b, 8), kOk);
  float sum[3] = {-1, -1, -1};
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, sum, 12), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOpFailed);
  EXPECT_EQ(sum[0], -1);
}

TEST(LateRank, IsGivenWithTheSizes) {
  const Model model = new_model();
  for (const int32_t type : {kFloat, kFloat, int32_t{ANEURALNETWORKS_INT32}, kFloat}) {
    ASSERT_EQ(add_operand(model, type), kOk);
  }
  ASSERT_EQ(set_int(model, 2, 0), kOk);
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(identify(model, {0, 1}, {3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const Execution execution = new_execution(compilation);
  const Dims dims = {1, 2};
  const auto type = operand_type(kFloat, dims);
  AddBuffers buffers;
  EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffers.a, 8), kBadData);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 0, &type, buffers.a, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, &type, buffers.b, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffers.sum, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  buffers.expect_sum();
  uint32_t rank = 0;
  ASSERT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank), kOk);
  EXPECT_EQ(rank, 2U);
}

// ---- scalars as inputs ----

TEST(ScalarInputs, DecideWhatIsComputed) {
  const Model model = new_model();
  for (const int32_t type : {kFloat, kFloat, int32_t{ANEURALNETWORKS_INT32}, kFloat}) {
    const Dims dims = type == kFloat ? Dims{2} : Dims();
    ASSERT_EQ(add_operand(model, type, dims), kOk);
  }
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(identify(model, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const struct {
    int32_t activation;
    int code;
    float first;
  } cases[] = {{ANEURALNETWORKS_FUSED_NONE, kOk, 11},
               {ANEURALNETWORKS_FUSED_RELU6, kOk, 6},
               {ANEURALNETWORKS_FUSED_RELU1, kOk, 1},
               {999, kOpFailed, -1}};
  for (const auto& [activation, code, first] : cases) {
    const Execution execution = new_execution(compilation);
    AddBuffers buffers;
    buffers.set(execution);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 2, nullptr, &activation, 3), kBadData);
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 2, nullptr, &activation, 4), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution), code) << activation;
    EXPECT_EQ(buffers.sum[0], first);
  }
}

}  // namespace
}  // namespace torchlet::nn
