// An operator: its schema and its reference implementation. The operators themselves live in
// src/ops; this is all that the compiler, the interpreter and the passes know of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "graph/facts.h"
#include "graph/schema.h"
#include "graph/symbol.h"

namespace torchlet {

struct Operator;
inline constexpr Facts kNoFacts;

// Runs an operator: `args` in the order of the schema, all present (defaults filled in; any number
// for vararg schemas); writes one Value for each return of the schema. May move from args. Throws
// Error.
using OperatorFn = void (*)(const Operator& op, std::span<Value> args, std::span<Value> results);

// A C++ function of typed arguments behind an OperatorFn; src/ops/core/op.h knows its signature.
namespace ops {
struct Signature;
struct TypedFunction {
  const Signature* signature;
};
}  // namespace ops

struct Operator {
  Symbol name;  // "aten::add"
  Schema schema;
  OperatorFn fn = nullptr;
  const Operator* base = nullptr;  // the functional operator of a derived in-place or out variant
  const ops::TypedFunction* typed = nullptr;  // what fn calls, if it is ops::call_typed
  const Facts* facts = &kNoFacts;

  void call(std::span<Value> args, std::span<Value> results) const {
    poll();
    fn(*this, args, results);
  }
};

// All overloads of a name in the order in which overload resolution tries them; empty if there is
// none. The operators live for the whole process. Thread-safe.
std::span<const Operator* const> find_operators(Symbol name);
// The operator "aten::add" with overload "Tensor", or null.
const Operator* find_operator(std::string_view name, std::string_view overload);
// Every operator in the house, sorted by full name.
std::vector<const Operator*> all_operators();

// A C++ class that TorchScript knows by name (torch.classes.*): how it is made from its pickled
// state and which methods a program may call on it.
struct CustomMethod {
  Schema schema;  // name "unpack", first argument self
  OperatorFn fn;
  const ops::TypedFunction* typed;
};
struct CustomClass {
  std::string_view name;  // "__torch__.torch.classes.quantized.Conv2dPackedParamsBase"
  // What __getstate__ returned -> the object. Error kFileFormat if the state is not of this class.
  Value (*set_state)(const Value& state);
  std::vector<CustomMethod> methods;
};
// Null if Torchlet does not have that class.
const CustomClass* find_custom_class(std::string_view name);

}  // namespace torchlet
