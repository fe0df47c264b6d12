// A model as PyTorch's converter writes it into a tensor, 32-bit words, little-endian
// (torch/backends/_nnapi/serializer.py, aten/src/ATen/nnapi/nnapi_model_loader.cpp):
//
//   version = 1, counts of operands, values, operations, inputs, outputs
//   operands:   type, number of dimensions, scale, zero point
//   values:     operand, source, bytes
//   operations: code, number of inputs, number of outputs
//   dimensions of all operands; bytes of all values, each padded to a word; inputs and outputs of
//   all operations; inputs of the model; outputs of the model
//
// The bytes of a value are the value itself (source 0), or where it is (source 2): number of a
// buffer, offset, length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace torchlet::nnapi {

struct SerializedModel {
  struct Operand {
    int32_t type;
    std::span<const uint32_t> dims;
    float scale;
    int32_t zero_point;
  };
  struct Value {
    uint32_t operand;
    std::span<const std::byte> bytes;
  };
  struct Operation {
    int32_t code;
    std::span<const uint32_t> inputs, outputs;
  };
  std::vector<Operand> operands;
  std::vector<Value> values;
  std::vector<Operation> operations;
  std::span<const uint32_t> inputs, outputs;
};

// `words` and `buffers` are pointed into, and have to outlive the result. Error kFileFormat, saying
// what is wrong, for anything that is not such a model; that its operands and operations are right
// is for NNAPI to say.
SerializedModel parse_serialized_model(std::span<const uint32_t> words,
                                       std::span<const std::span<const std::byte>> buffers);

}  // namespace torchlet::nnapi
