// What an operation takes and gives, as text:
//
//   "T in TENSOR_FLOAT32 TENSOR_FLOAT16 TENSOR_QUANT8_ASYMM:
//    (T input, T filter, BIAS(T)? bias, INT32 stride, BOOL nchw = 0) -> (T)"
//
// Types are OperandCodes without "ANEURALNETWORKS_"; T and U are type variables, each of one type
// in one operation. A type may be a function of a variable, such as BIAS(T), which is TENSOR_INT32
// if T is quantized and T otherwise (signature.cc has them all). "T? name" may be omitted, "T...
// name" stands for any number of operands, and arguments with a default may be left out together
// with all after them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

struct Argument {
  std::string type;      // as written: "T", "BIAS(T)", "INT32"
  std::string name;      // empty for outputs
  bool may_be_omitted = false;
  bool is_variadic = false;
  std::optional<float> default_value;  // of a scalar
};

struct Signature {
  struct Variable {
    std::string name;
    std::vector<int32_t> types;
  };
  std::vector<Variable> variables;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
};

// Error kInternal if the text is not of this form.
Signature parse_signature(std::string_view text);

// Whether the operands of `operation` are as the signature says.
bool fits(const Signature& signature, const Model& model, const Operation& operation);

}  // namespace torchlet::nn
