// A model of NNAPI as plain data: what is compiled here, or written into a file.
#pragma once

#include <android/NeuralNetworks.h>
#include <torchlet/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torchlet::nnapi {

using OperandId = uint32_t;  // a place in Model::operands

struct Operand {
  int32_t code = ANEURALNETWORKS_TENSOR_FLOAT32;  // OperandCode
  std::vector<uint32_t> sizes;                    // of a tensor, none of them 0
  float scale = 0;
  int32_t zero_point = 0;
  // Of TENSOR_QUANT8_SYMM_PER_CHANNEL, along `channel_dim`.
  std::vector<float> channel_scales;
  uint32_t channel_dim = 0;
  // The value of a constant, if it is one: bytes for what is small, else the elements of a
  // contiguous tensor, whose dtype does not count.
  std::vector<std::byte> bytes;
  Tensor tensor;

  bool is_constant() const { return !bytes.empty() || tensor.defined(); }
};

struct Operation {
  int32_t code;  // OperationCode
  std::vector<OperandId> inputs, outputs;
};

struct Model {
  std::vector<Operand> operands;
  std::vector<Operation> operations;
  std::vector<OperandId> inputs, outputs;
};

// How many bytes a value of that operand has.
size_t byte_size(const Operand& operand);

// The least feature level (ANEURALNETWORKS_FEATURE_LEVEL_...) whose operation or operand this is.
int64_t level_of_operation(int32_t code);
int64_t level_of_operand(int32_t code);

}  // namespace torchlet::nnapi
