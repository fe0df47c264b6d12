#include "lite/write/pickled_bytecode.h"

#include "lite/write/code_form.h"
#include "lite/write/code_tables.h"

namespace torchlet::lite {
namespace {

using Items = std::vector<Value>;

Value pair(const char* key, Value value) { return Value::tuple({Value(key), std::move(value)}); }

Value arguments(const std::vector<Argument>& arguments) {
  Items items;
  for (const Argument& argument : arguments) {
    items.push_back(Value::tuple({
        pair("name", Value(argument.name)),
        pair("type", Value(schema_type_text(*argument.type))),
        pair("default_value", argument.default_value.value_or(Value())),
    }));
  }
  return Value::tuple(std::move(items));
}

Value instructions(const BytecodeFunction& function) {
  Items items;
  for (const Instruction& in : function.instructions) {
    items.push_back(Value::tuple({Value(name_of(in.opcode)), Value(in.x), Value(in.n)}));
  }
  return Value::tuple(std::move(items));
}

Value operators(const BytecodeFunction& function, const CodeForm& form) {
  Items items;
  for (const OperatorName& op : function.operators) {
    Items parts = {Value(op.name), Value(op.overload)};
    if (form.counts_arguments) parts.emplace_back(op.num_args.value_or(kAnyNumberOfArguments));
    items.push_back(Value::tuple(std::move(parts)));
  }
  return Value::tuple(std::move(items));
}

Value types(const BytecodeFunction& function) {
  Items items;
  for (const TypePtr& type : function.types) items.emplace_back(type_text(*type));
  return Value::tuple(std::move(items));
}

Value function_value(const BytecodeFunction& function, const CodeForm& form) {
  Items parts = {Value(function.name), Value::tuple({
                                           pair("instructions", instructions(function)),
                                           pair("operators", operators(function, form)),
                                           pair("constants", Value::tuple(function.constants)),
                                           pair("types", types(function)),
                                           pair("register_size", Value(function.register_size)),
                                       })};
  if (function.schema) {
    parts.push_back(Value::tuple({pair("arguments", arguments(function.schema->arguments)),
                                  pair("returns", arguments(function.schema->returns))}));
  }
  return Value::tuple(std::move(parts));
}

}  // namespace

Value pickled_bytecode(const Bytecode& bytecode) {
  const CodeForm form(static_cast<int>(bytecode.version));
  Items items = {Value(bytecode.version)};
  for (const BytecodeFunction& function : bytecode.functions) {
    items.push_back(function_value(function, form));
  }
  return Value::tuple(std::move(items));
}

}  // namespace torchlet::lite
