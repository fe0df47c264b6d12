// How an operation is declared: once, in the file of its family.
//
//   NNAPI_OPERATION(FLOOR, floor, "T in TENSOR_FLOAT32 TENSOR_FLOAT16: (T input) -> (T)");
//
// and one line in operation_list.inc: NNAPI_OPERATION_ENTRY(FLOOR). The signatures say what it may
// take; the function adds the nodes to a graph that compute it. What PyTorch has is computed by
// PyTorch's operators, so that passes, plans and kernels are those of every other model; for the
// rest there are operators of our own (neuralnetworks/operators/).
#pragma once

#include <span>

#include "neuralnetworks/operations/signature.h"

namespace torchlet::nn {

class Call;
class Emitter;

struct OperationDef {
  int32_t code;
  const char* name;  // "CONV_2D"
  // Adds nodes that give each output of the call (Emitter::give).
  void (*translate)(Emitter& emit, const Call& call);
  std::span<const char* const> signatures;  // the first that fits counts
};

// Null if there is no such operation.
const OperationDef* find_operation(int32_t code);
// All there are.
std::span<const OperationDef* const> all_operations();
// The signature that the operation's operands fit, or null. The reference lives as long as the
// process. Thread-safe.
const Signature* find_signature(const OperationDef& def, const Model& model,
                                const Operation& operation);

}  // namespace torchlet::nn

#define NNAPI_OPERATION(name, function, ...)                                                      \
  static constexpr const char* signatures_##name[] = {__VA_ARGS__};                               \
  extern const ::torchlet::nn::OperationDef operation_##name;                                     \
  constinit const ::torchlet::nn::OperationDef operation_##name = {ANEURALNETWORKS_##name, #name, \
                                                                   function, signatures_##name}
