// A model of the Neural Networks API, as plain data: what the C functions fill, what the validation
// checks and what the translation reads.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace torchlet::nn {

struct Model;

// Of TENSOR_QUANT8_SYMM_PER_CHANNEL: the scale of each index along dimension `dim`.
struct ChannelScales {
  uint32_t dim = 0;
  std::vector<float> scales;
};

// Where the value of an operand comes from.
enum class Lifetime : uint8_t {
  kTemporary,  // an operation gives it
  kInput,      // of the model
  kOutput,     // of the model; an operation gives it
  kConstant,   // `value`
  kOmitted,    // an optional argument that is not given
  kModel,      // `model`: a branch or the body of a loop
};

struct Operand {
  int32_t type = ANEURALNETWORKS_FLOAT32;  // an OperandCode
  // Of a tensor; a 0 is a size that is not known before the execution. Empty if the rank is not
  // known either. Always empty for a scalar.
  std::vector<uint32_t> dims;
  float scale = 0;
  int32_t zero_point = 0;
  std::optional<ChannelScales> channel_scales;

  Lifetime lifetime = Lifetime::kTemporary;
  // Dense, in the operand's own type. The bytes stay where they are as long as `keep_alive` and,
  // where the API leaves them with the application, as long as that keeps its word.
  std::span<const std::byte> value;
  std::shared_ptr<const void> keep_alive;
  std::shared_ptr<const Model> model;
};

struct Operation {
  int32_t code = 0;                       // an OperationCode
  std::vector<uint32_t> inputs, outputs;  // indices of operands
};

// Finished: every temporary and output is given once, no operation reads what a later one gives
// (finishing sorts them), every operation fits a signature (operations/signature.h).
struct Model {
  std::vector<Operand> operands;
  std::vector<Operation> operations;
  std::vector<uint32_t> inputs, outputs;  // indices of operands
  bool relaxed_float32 = false;  // float32 may be computed with the range and precision of float16
};

// What an OperandCode means.
bool is_scalar(int32_t type);
bool is_tensor(int32_t type);
// Of one element, or of the scalar; 0 for MODEL.
size_t element_size(int32_t type);

}  // namespace torchlet::nn
