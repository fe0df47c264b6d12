#include "lite/flatbuffer.h"

#include <algorithm>

#include "base/error.h"
#include "lite/flat_schema.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

using archive::ObjectFactory;

// PyTorch writes 9; files from before its release tell the version of the pickled form that they
// were made of.
constexpr uint32_t kMinBytecodeVersion = 3, kMaxBytecodeVersion = 9;
constexpr uint32_t kMaxOperatorVersion = 10;

// After the offset of the root.
void check_identifier(FlatBytes file) {
  constexpr std::string_view kIdentifier = "PTMF";
  if (file.size() >= 8 && std::memcmp(file.data() + 4, kIdentifier.data(), 4) == 0) return;
  fail(ErrorCode::kFileFormat, "this is no flatbuffer of the Lite Interpreter");
}

FlatTable open_module(FlatBytes file) {
  check_identifier(file);
  return FlatTable::root(file);
}

}  // namespace

FlatbufferReader::FlatbufferReader(std::span<std::byte> bytes, std::shared_ptr<void> keep_alive)
    : module_(open_module(bytes)), values_(bytes, std::move(keep_alive), module_) {
  const auto bytecode = module_.number<uint32_t>(flat::module::kBytecodeVersion);
  if (bytecode < kMinBytecodeVersion || bytecode > kMaxBytecodeVersion) {
    fail(ErrorCode::kUnsupported, "the bytecode is of version %u; Torchlet reads %u to %u",
         unsigned{bytecode}, unsigned{kMinBytecodeVersion}, unsigned{kMaxBytecodeVersion});
  }
  bytecode_version_ = bytecode;
  const auto operators = module_.number<uint32_t>(flat::module::kOperatorVersion);
  if (operators > kMaxOperatorVersion) {
    fail(ErrorCode::kUnsupported,
         "the operators are of version %u, newer than the versions 1 to %u that Torchlet reads; "
         "save the model with an older PyTorch",
         unsigned{operators}, unsigned{kMaxOperatorVersion});
  }
  operator_version_ = std::max<uint32_t>(operators, 1);
}

std::map<std::string, std::string> FlatbufferReader::texts(unsigned field) {
  std::map<std::string, std::string> result;
  const FlatVector files = module_.vector(field, sizeof(uint32_t));
  for (size_t i = 0; i < files.size(); ++i) {
    const FlatTable file = files.table(i);
    const std::string_view name = file.text(flat::extra_file::kName);
    const std::string_view content = file.text(flat::extra_file::kContent);
    values_.charge(archive::kObjectCost + name.size() + content.size());
    result.emplace(name, content);
  }
  return result;
}

std::map<std::string, std::string> FlatbufferReader::extra_files() {
  return texts(flat::module::kExtraFiles);
}

std::map<std::string, std::string> FlatbufferReader::sources() {
  return texts(flat::module::kSources);
}

std::vector<Value> FlatbufferReader::read_constants(ObjectFactory& factory) {
  const FlatVector indices = module_.vector(flat::module::kConstants, sizeof(uint32_t));
  values_.charge(indices.size() * sizeof(Value));
  std::vector<Value> result;
  for (size_t i = 0; i < indices.size(); ++i) {
    result.push_back(values_.value(indices.number<uint32_t>(i), values_.size(), factory));
  }
  return result;
}

Value FlatbufferReader::read_module(ObjectFactory& factory) {
  Value root =
      values_.value(module_.number<uint32_t>(flat::module::kStateObject), values_.size(), factory);
  if (!root.is_object()) {
    fail(ErrorCode::kFileFormat, "the flatbuffer holds %s instead of a module", root.kind_name());
  }
  return root;
}

Bytecode FlatbufferReader::read_bytecode(ObjectFactory& factory) {
  Bytecode result;
  result.version = bytecode_version_;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::optional<FlatTable> function = values_.find_function(i);
    if (function) result.functions.push_back(read_function(i, *function, factory));
  }
  return result;
}

BytecodeFunction FlatbufferReader::read_function(size_t index, const FlatTable& table,
                                                 ObjectFactory& factory) {
  namespace fields = flat::function;
  BytecodeFunction result;
  result.name = table.text(fields::kName);
  values_.charge(archive::kObjectCost + result.name.size());
  result.instructions =
      read_instructions(table.vector(fields::kInstructions, flat::instruction::kSize));
  result.operators = read_operators(table.vector(fields::kOperators, sizeof(uint32_t)));
  const FlatVector constants = table.vector(fields::kConstants, sizeof(uint32_t));
  values_.charge(constants.size() * sizeof(Value));
  for (size_t i = 0; i < constants.size(); ++i) {
    result.constants.push_back(values_.value(constants.number<uint32_t>(i), index, factory));
  }
  const FlatVector types = table.vector(fields::kTypes, sizeof(uint32_t));
  values_.charge(types.size() * sizeof(TypePtr));
  for (size_t i = 0; i < types.size(); ++i) {
    result.types.push_back(values_.type(types.text(i), factory));
  }
  result.register_size = table.number<int32_t>(fields::kRegisterSize);
  if (const std::optional<FlatTable> schema = table.find_table(fields::kSchema)) {
    result.schema.emplace().name = result.name;
    result.schema->arguments =
        read_arguments(index, schema->vector(flat::schema::kArguments, sizeof(uint32_t)), factory);
    result.schema->returns =
        read_arguments(index, schema->vector(flat::schema::kReturns, sizeof(uint32_t)), factory);
  }
  return result;
}

std::vector<Instruction> FlatbufferReader::read_instructions(const FlatVector& vector) {
  namespace layout = flat::instruction;
  values_.charge(vector.size() * sizeof(Instruction));
  std::vector<Instruction> result;
  result.reserve(vector.size());
  for (size_t i = 0; i < vector.size(); ++i) {
    const FlatBytes bytes = vector.item(i, layout::kSize);
    const int number = flat_number<int8_t>(bytes.subspan(layout::kOpcode));
    const std::optional<Opcode> opcode = opcode_of_number(number);
    if (!opcode) {
      fail(ErrorCode::kFileFormat, "the flatbuffer is malformed: there is no instruction %d",
           number);
    }
    result.push_back({*opcode, flat_number<int32_t>(bytes.subspan(layout::kX)),
                      flat_number<uint16_t>(bytes.subspan(layout::kN))});
  }
  return result;
}

std::vector<OperatorName> FlatbufferReader::read_operators(const FlatVector& vector) {
  std::vector<OperatorName> result;
  for (size_t i = 0; i < vector.size(); ++i) {
    const FlatTable table = vector.table(i);
    OperatorName op{std::string(table.text(flat::op::kName)),
                    std::string(table.text(flat::op::kOverload)),
                    number_of_arguments(table.number<int32_t>(flat::op::kNumArgs, -1))};
    values_.charge(sizeof(OperatorName) + op.name.size() + op.overload.size());
    result.push_back(std::move(op));
  }
  return result;
}

std::vector<Argument> FlatbufferReader::read_arguments(size_t index, const FlatVector& vector,
                                                       ObjectFactory& factory) {
  std::vector<Argument> result;
  for (size_t i = 0; i < vector.size(); ++i) {
    const FlatTable table = vector.table(i);
    const std::string_view name = table.text(flat::argument::kName);
    values_.charge(sizeof(Argument) + name.size());
    result.push_back(make_argument(
        std::string(name), values_.type(table.text(flat::argument::kType), factory),
        values_.value(table.number<uint32_t>(flat::argument::kDefault), index, factory)));
  }
  return result;
}

}  // namespace torchlet::lite
