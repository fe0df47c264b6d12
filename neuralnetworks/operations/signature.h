// What an operation takes and gives, as text:
//
//   "T in FLOAT QUANT8: (T input, FILTER(T) filter, BIAS(T)? bias, INT32 stride, BOOL nchw = 0) ->
//   (T)"
//
// Types are OperandCodes without "ANEURALNETWORKS_", or groups of them: FLOAT is TENSOR_FLOAT32 and
// TENSOR_FLOAT16, QUANT8 is TENSOR_QUANT8_ASYMM and TENSOR_QUANT8_ASYMM_SIGNED, ANY is each of
// them. "A|B" is either. T and U are type variables, each of one type in one operation; a type may
// be a function of one: BIAS(T) is TENSOR_INT32 if T is quantized and T otherwise, FILTER(T) is T,
// or per channel too if T is quantized, SCALAR(T) is FLOAT32, FLOAT16 or INT32 as T is. "T? name"
// may be omitted, "T... name" stands for any number of operands, and arguments with a default may
// be left out together with all after them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

struct TypeRule {
  enum class Function : uint8_t { kSame, kBias, kFilter, kScalar };
  std::vector<int32_t> types;      // any of these,
  std::optional<size_t> variable;  // or what follows from a variable
  Function function = Function::kSame;
};

struct Argument {
  std::string name;  // empty for outputs
  TypeRule type;
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
  std::vector<Argument> inputs, outputs;  // at most one of each is variadic
};

// Error kInternal if the text is not of this form.
Signature parse_signature(std::string_view text);

// Whether the operands of `operation`, whose indices are right, are as the signature says.
bool fits(const Signature& signature, const Model& model, const Operation& operation);

// The operands among `given` that `arguments[which]` stands for: none for a default, some for what
// is variadic.
std::span<const uint32_t> operands_of(std::span<const Argument> arguments, size_t which,
                                      std::span<const uint32_t> given);

}  // namespace torchlet::nn
