// What an expression stands for, as PyTorch's SugaredValue: a value of the running program, or one
// of the things that are none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "script/ast.h"

namespace torchlet::script {

// The returns of an operator that has several: a tuple that is made only if somebody wants one.
struct Several {
  std::vector<SsaValue*> values;
};

// `torch` is the namespace "aten", `ops.quantized` is "quantized", `ops` itself is "".
struct OperatorNamespace {
  std::string name;
};

// torch.add, or x.add with a self.
struct OperatorRef {
  Symbol name;
  SsaValue* self = nullptr;
};

// `__torch__.torch.nn`: leads to classes and functions.
struct PackageRef {
  std::string path;
};

// A class, NamedTuple or enum as such.
struct ClassRef {
  TypePtr type;
};

struct FunctionValue {
  Function* function;
};

struct MethodRef {
  SsaValue* self;
  std::string name;
};

// CONSTANTS
struct ConstantTable {};

// A function inside a function, as fork() gets it; its body sees the variables around its call.
struct ClosureRef {
  const FunctionDef* def;
};

// ValueError or ValueError("message")
struct ExceptionRef {
  std::string class_name;
  SsaValue* message = nullptr;
};

// Names that take their arguments in their own way.
enum class SpecialForm {
  kAnnotate,
  kUncheckedCast,
  kUncheckedUnwrapOptional,
  kUninitialized,
  kIsInstance,
  kHasAttr,
  kGetAttr,
  kFork,
  kPrint,
  kRaiseException,
  kTuple,
  kRange,
  kZip,
  kEnumerate,
  kFloat,
  kInt,
  kBool,
  kStr,
};

// x.tolist; x.__new__
struct ToListRef {
  SsaValue* tensor;
};
struct NewRef {
  TypePtr type;
};

struct Iterable;

using SugaredValue =
    std::variant<SsaValue*, Several, OperatorNamespace, OperatorRef, PackageRef, ClassRef,
                 FunctionValue, MethodRef, ConstantTable, ClosureRef, ExceptionRef, SpecialForm,
                 ToListRef, NewRef, std::shared_ptr<Iterable>>;

// What a `for` runs over.
struct Iterable {
  // Known lengths (tuples) are unrolled, as their items have types of their own.
  std::optional<size_t> static_length;
  // Both make nodes; the length is asked for before the loop, items inside.
  std::function<SsaValue*()> length;
  std::function<SugaredValue(SsaValue* index)> item;
  std::function<SugaredValue(size_t index)> static_item;
};

}  // namespace torchlet::script
