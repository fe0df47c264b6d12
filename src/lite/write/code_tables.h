// The tables of a function in bytecode, filled while its instructions are written: each entry once,
// in the order in which the code first speaks of it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "lite/bytecode.h"

namespace torchlet::lite {

class CodeTables {
 public:
  explicit CodeTables(BytecodeFunction& function) : function_(function) {}

  // Equal plain values share an entry; lists, tensors and objects if they are the same one.
  int64_t constant(const Value& value);
  int64_t type(const TypePtr& type);
  // The first of types that stand side by side.
  int64_t types(const std::vector<TypePtr>& types);
  int64_t operation(const OperatorName& name);

 private:
  BytecodeFunction& function_;
  std::map<std::pair<ValueKind, std::string>, int64_t> plain_constants_;
  std::unordered_map<const void*, int64_t> shared_constants_;
  std::unordered_map<std::string, int64_t> types_;
  std::map<std::pair<std::string, std::string>, int64_t> operators_;
};

// A type as the mobile runtime reads it. No class is declared there, so NamedTuples have their
// fields: "__torch__.Point[NamedTuple, [[x, Tensor],[y, int]]]". Unions, which it does not know,
// and what nothing is known of are Any; futures are what they will be, since what is forked runs at
// once.
std::string type_text(const Type& type);
// The same in the schema of a function, where classes and NamedTuples stand by their names alone.
std::string schema_type_text(const Type& type);

}  // namespace torchlet::lite
