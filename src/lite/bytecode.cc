#include "lite/bytecode.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

constexpr std::pair<std::string_view, Opcode> kNames[] = {
    {"OP", Opcode::kOp},
    {"OPN", Opcode::kOpN},
    {"LOAD", Opcode::kLoad},
    {"MOVE", Opcode::kMove},
    {"STOREN", Opcode::kStoreN},
    {"STORE", Opcode::kStore},
    {"DROP", Opcode::kDrop},
    {"DROPR", Opcode::kDropR},
    {"LOADC", Opcode::kLoadC},
    {"JF", Opcode::kJF},
    {"JMP", Opcode::kJmp},
    {"LOOP", Opcode::kLoop},
    {"RET", Opcode::kRet},
    {"WAIT", Opcode::kWait},
    {"CALL", Opcode::kCall},
    {"INTERFACE_CALL", Opcode::kInterfaceCall},
    {"GET_ATTR", Opcode::kGetAttr},
    {"SET_ATTR", Opcode::kSetAttr},
    {"LIST_UNPACK", Opcode::kListUnpack},
    {"TUPLE_CONSTRUCT", Opcode::kTupleConstruct},
    {"NAMED_TUPLE_CONSTRUCT", Opcode::kNamedTupleConstruct},
    {"LIST_CONSTRUCT", Opcode::kListConstruct},
    {"DICT_CONSTRUCT", Opcode::kDictConstruct},
    {"CREATE_OBJECT", Opcode::kCreateObject},
    {"ISINSTANCE", Opcode::kIsInstance},
    {"TUPLE_SLICE", Opcode::kTupleSlice},
    {"TUPLE_INDEX", Opcode::kTupleIndex},
    {"RAISE_EXCEPTION", Opcode::kRaiseException},
    {"DICT_INDEX", Opcode::kDictIndex},
    {"UNCHECKED_CAST", Opcode::kUncheckedCast},
    {"__IS__", Opcode::kIs},
    {"UN_INITIALIZED", Opcode::kUnInitialized},
    {"__ISNOT__", Opcode::kIsNot},
    {"FORMAT", Opcode::kFormat},
    {"DEVICE", Opcode::kDevice},
    {"DTYPE", Opcode::kDType},
    {"DIM", Opcode::kDim},
    {"__NOT__", Opcode::kNot},
    {"TO_LIST", Opcode::kToList},
    {"NUM_TO_TENSOR", Opcode::kNumToTensor},
    {"IS_CUDA", Opcode::kIsCuda},
    {"FORK", Opcode::kFork},
    {"WARN", Opcode::kWarn},
    {"ENTER", Opcode::kEnter},
    {"EXIT", Opcode::kExit},
};

[[noreturn]] void malformed(const std::string& what) {
  fail(ErrorCode::kFileFormat, "bytecode.pkl is malformed: " + what);
}

const std::vector<Value>& tuple_items(const Value& value, const char* what) {
  if (!value.is_tuple()) malformed(std::string(what) + " is " + value.kind_name() + ", no tuple");
  return value.tuple_ref().items;
}

int64_t integer(const Value& value, const char* what) {
  if (!value.is_int()) malformed(std::string(what) + " is " + value.kind_name() + ", no int");
  return value.to_int();
}

const std::string& text(const Value& value, const char* what) {
  if (!value.is_string()) malformed(std::string(what) + " is " + value.kind_name() + ", no str");
  return value.to_string();
}

// The value beside `key` in ((key, value), ...); null if there is none.
const Value* find_field(const Value& table, std::string_view key) {
  for (const Value& field : tuple_items(table, "a table")) {
    const std::vector<Value>& pair = tuple_items(field, "a field of a table");
    if (pair.size() != 2) malformed("a field of a table has no key and value");
    if (text(pair[0], "a key") == key) return &pair[1];
  }
  return nullptr;
}

const Value& field(const Value& table, const char* key) {
  const Value* value = find_field(table, key);
  if (!value) malformed(std::string("a table has no '") + key + "'");
  return *value;
}

Instruction parse_instruction(const Value& value) {
  const std::vector<Value>& parts = tuple_items(value, "an instruction");
  if (parts.size() != 3) malformed("an instruction has not three parts");
  const std::string& name = text(parts[0], "an opcode");
  for (const auto& [known, opcode] : kNames) {
    if (known == name) {
      return {opcode, integer(parts[1], "an operand"), integer(parts[2], "an operand")};
    }
  }
  malformed("there is no instruction '" + name.substr(0, 50) + "'");
}

OperatorName parse_operator(const Value& value) {
  const std::vector<Value>& parts = tuple_items(value, "an operator");
  if (parts.size() != 2 && parts.size() != 3) malformed("an operator has no name and overload");
  return {text(parts[0], "an operator's name"), text(parts[1], "an overload"),
          parts.size() == 3 ? number_of_arguments(integer(parts[2], "a number of arguments"))
                            : std::nullopt};
}

// The arguments or the returns of a schema.
std::vector<Argument> parse_arguments(const Value& schema, const char* key,
                                      const TypeParser& parse_type) {
  std::vector<Argument> result;
  for (const Value& item : tuple_items(field(schema, key), key)) {
    const Value* default_value = find_field(item, "default_value");
    result.push_back(make_argument(text(field(item, "name"), "an argument's name"),
                                   parse_type(text(field(item, "type"), "an argument's type")),
                                   default_value ? *default_value : Value()));
  }
  return result;
}

BytecodeFunction parse_function(const Value& value, const TypeParser& parse_type) {
  const std::vector<Value>& parts = tuple_items(value, "a function");
  if (parts.size() != 2 && parts.size() != 3) malformed("a function has not two or three parts");
  BytecodeFunction result;
  result.name = text(parts[0], "a function's name");
  const Value& table = parts[1];
  for (const Value& item : tuple_items(field(table, "instructions"), "the instructions")) {
    result.instructions.push_back(parse_instruction(item));
  }
  for (const Value& item : tuple_items(field(table, "operators"), "the operators")) {
    result.operators.push_back(parse_operator(item));
  }
  result.constants = tuple_items(field(table, "constants"), "the constants");
  for (const Value& item : tuple_items(field(table, "types"), "the types")) {
    result.types.push_back(parse_type(text(item, "a type")));
  }
  result.register_size = integer(field(table, "register_size"), "register_size");
  if (parts.size() == 3) {
    Schema& schema = result.schema.emplace();
    schema.name = result.name;
    schema.arguments = parse_arguments(parts[2], "arguments", parse_type);
    schema.returns = parse_arguments(parts[2], "returns", parse_type);
  }
  return result;
}

}  // namespace

std::string_view name_of(Opcode opcode) {
  for (const auto& [name, known] : kNames) {
    if (known == opcode) return name;
  }
  return "?";
}

std::optional<Opcode> opcode_of_number(int64_t number) {
  for (const auto& [name, opcode] : kNames) {
    if (static_cast<int64_t>(opcode) == number) return opcode;
  }
  return std::nullopt;
}

std::optional<int64_t> number_of_arguments(int64_t number) {
  return number == kAnyNumberOfArguments ? std::nullopt : std::optional(number);
}

Argument make_argument(std::string name, TypePtr type, const Value& default_value) {
  Argument argument;
  argument.name = std::move(name);
  argument.type = std::move(type);
  if (!default_value.is_none() || is_subtype(types::none(), argument.type)) {
    argument.default_value = default_value;
  }
  return argument;
}

Bytecode parse_bytecode(const Value& pickled, const TypeParser& parse_type) {
  const std::vector<Value>& items = tuple_items(pickled, "it");
  if (items.empty()) malformed("it is empty");
  Bytecode result;
  const bool has_version = items[0].is_int();  // version 3 files begin with their first function
  if (has_version) result.version = items[0].to_int();
  if (result.version < 3 || result.version > 9) {
    fail(ErrorCode::kUnsupported, "the bytecode is of version %lld; Torchlet reads 3 to 9",
         static_cast<long long>(result.version));
  }
  for (size_t i = has_version ? 1 : 0; i < items.size(); ++i) {
    result.functions.push_back(parse_function(items[i], parse_type));
  }
  return result;
}

}  // namespace torchlet::lite
