// One operation of a model with its arguments by name.
#pragma once

#include <string_view>
#include <vector>

#include "neuralnetworks/operations/operation.h"

namespace torchlet::nn {

class Call {
 public:
  // Error kUnsupported if there is no such operation, kInvalidArgument if it fits no signature. The
  // model outlives the call.
  Call(const Model& model, const Operation& operation);

  const OperationDef& def() const { return *def_; }
  const Model& model() const { return model_; }

  // Is the argument given? Not if it was omitted, left to its default, or is none of this
  // signature.
  bool has(std::string_view name) const;
  // Is there an argument of that name in this signature?
  bool takes(std::string_view name) const { return find(name) != nullptr; }
  // Which operand it is. kInternal if it is not given.
  uint32_t index(std::string_view name) const;
  const Operand& operand(std::string_view name) const { return model_.operands[index(name)]; }
  // Of a variadic argument.
  std::span<const uint32_t> indices(std::string_view name) const;

  // Scalars, or their defaults. Error kUnsupported if the value is only known in an execution.
  int64_t integer(std::string_view name) const;  // INT32, UINT32, BOOL
  bool boolean(std::string_view name) const { return integer(name) != 0; }
  double real(std::string_view name) const;  // FLOAT32, FLOAT16

  size_t num_outputs() const { return operation_.outputs.size(); }
  uint32_t output_index(size_t i = 0) const { return operation_.outputs[i]; }
  const Operand& output(size_t i = 0) const { return model_.operands[output_index(i)]; }

 private:
  const Argument* find(std::string_view name) const;
  std::span<const uint32_t> given(const Argument& argument) const;

  const Model& model_;
  const Operation& operation_;
  const OperationDef* def_;
  const Signature* signature_;
};

// Is it INT32 or the like, given where the model was built? Then its value as a number.
double scalar_value(const Operand& operand);

bool is_quantized(int32_t type);  // of 8 bits

}  // namespace torchlet::nn
