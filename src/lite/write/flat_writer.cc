#include "lite/write/flat_writer.h"

#include "lite/flat_schema.h"
#include "lite/write/code_tables.h"
#include "lite/write/flat_value_writer.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

using Offset = FlatBuilder::Offset;
using Table = FlatBuilder::Table;

// Flatbuffers are version 9 whatever form their code has (caffe2/serialize/versions.h).
constexpr uint32_t kFlatbufferVersion = 9;
// So that tensors can be used in place, wherever that is a multiple of it in memory.
constexpr size_t kStorageAlignment = 64;

struct FlatInstruction {
  int8_t opcode;
  uint8_t padding;
  uint16_t n;
  int32_t x;
};
static_assert(sizeof(FlatInstruction) == flat::instruction::kSize);
static_assert(offsetof(FlatInstruction, n) == flat::instruction::kN);
static_assert(offsetof(FlatInstruction, x) == flat::instruction::kX);

class FlatWriter {
 public:
  FlatWriter(const FlatModule& module, FlatBuilder& builder)
      : module_(module), builder_(builder), values_(builder, module.state_of) {}

  std::span<const std::byte> run() {
    std::vector<uint32_t> methods;
    for (const BytecodeFunction& each : module_.bytecode.functions) {
      methods.push_back(values_.function(each.name, function(each)));
    }
    const uint32_t root = values_.value(module_.root);
    const uint32_t num_mobile = values_.count();
    std::vector<uint32_t> constants;
    for (const Value& constant : module_.constants) constants.push_back(values_.value(constant));

    const Offset extra_files = texts(module_.extra_files), sources = texts(module_.sources);
    const Offset method_numbers = builder_.numbers(methods);
    const Offset constant_numbers = builder_.numbers(constants);
    const Offset values = builder_.offsets(values_.values());
    const Offset classes = builder_.offsets(values_.classes());
    const Offset storages = this->storages();
    namespace fields = flat::module;
    const Offset whole = builder_.table(
        Table()
            .number(fields::kBytecodeVersion, kFlatbufferVersion)
            .offset(fields::kExtraFiles, extra_files)
            .offset(fields::kMethods, method_numbers)
            .number(fields::kStateObject, root)
            .offset(fields::kValues, values)
            .number(fields::kStorageCount, static_cast<int32_t>(values_.storages().size()))
            .offset(fields::kStorages, storages)
            .offset(fields::kClasses, classes)
            .offset(fields::kSources, sources)
            .offset(fields::kConstants, constant_numbers)
            .number(fields::kOperatorVersion, static_cast<uint32_t>(module_.operator_version))
            .number(fields::kMobileValueCount, num_mobile));
    return builder_.finish(whole, "PTMF");
  }

 private:
  Offset texts(const std::map<std::string, std::string>& files) {
    std::vector<Offset> tables;
    for (const auto& [name, content] : files) {
      const Offset name_text = builder_.text(name), content_text = builder_.text(content);
      tables.push_back(builder_.table(Table()
                                          .offset(flat::extra_file::kName, name_text)
                                          .offset(flat::extra_file::kContent, content_text)));
    }
    return builder_.offsets(tables);
  }

  Offset storages() {
    std::vector<Offset> tables;
    for (const Ref<Storage>& storage : values_.storages()) {
      const Offset data =
          builder_.vector({storage->data(), storage->nbytes()}, 1, kStorageAlignment);
      tables.push_back(builder_.table(Table().offset(flat::storage::kData, data)));
    }
    return builder_.offsets(tables);
  }

  // ---- functions ----

  Offset function(const BytecodeFunction& function) {
    namespace fields = flat::function;
    std::vector<uint32_t> constants;
    for (const Value& constant : function.constants) constants.push_back(values_.value(constant));
    Table table;
    if (function.schema) {
      const ClassType* self = function.schema->arguments.at(0).type->as_class();
      if (self) table.number(fields::kClass, values_.class_number(*self));
      table.offset(fields::kSchema, schema(*function.schema));
    }
    table.offset(fields::kName, builder_.text(function.name));
    table.offset(fields::kInstructions, instructions(function));
    table.offset(fields::kOperators, operators(function));
    table.offset(fields::kConstants, builder_.numbers(constants));
    table.offset(fields::kTypes, types(function));
    table.number(fields::kRegisterSize, static_cast<int32_t>(function.register_size));
    return builder_.table(std::move(table));
  }

  Offset instructions(const BytecodeFunction& function) {
    std::vector<FlatInstruction> items;
    for (const Instruction& in : function.instructions) {
      items.push_back({static_cast<int8_t>(in.opcode), 0, static_cast<uint16_t>(in.n),
                       static_cast<int32_t>(in.x)});
    }
    return builder_.vector(std::as_bytes(std::span(items)), sizeof(FlatInstruction),
                           alignof(FlatInstruction));
  }

  Offset operators(const BytecodeFunction& function) {
    std::vector<Offset> tables;
    for (const OperatorName& op : function.operators) {
      const Offset name = builder_.text(op.name), overload = builder_.text(op.overload);
      const auto num_args = static_cast<int32_t>(op.num_args.value_or(kAnyNumberOfArguments));
      tables.push_back(builder_.table(Table()
                                          .offset(flat::op::kName, name)
                                          .offset(flat::op::kOverload, overload)
                                          .number(flat::op::kNumArgs, num_args)));
    }
    return builder_.offsets(tables);
  }

  Offset types(const BytecodeFunction& function) {
    std::vector<Offset> texts;
    for (const TypePtr& type : function.types) texts.push_back(builder_.text(type_text(*type)));
    return builder_.offsets(texts);
  }

  Offset schema(const Schema& schema) {
    const Offset arguments = this->arguments(schema.arguments);
    const Offset returns = this->arguments(schema.returns);
    return builder_.table(Table()
                              .offset(flat::schema::kArguments, arguments)
                              .offset(flat::schema::kReturns, returns));
  }

  Offset arguments(const std::vector<Argument>& arguments) {
    std::vector<Offset> tables;
    for (const Argument& argument : arguments) {
      const uint32_t default_value = values_.value(argument.default_value.value_or(Value()));
      const Offset name = builder_.text(argument.name);
      const Offset type = builder_.text(schema_type_text(*argument.type));
      tables.push_back(builder_.table(Table()
                                          .offset(flat::argument::kName, name)
                                          .offset(flat::argument::kType, type)
                                          .number(flat::argument::kDefault, default_value)));
    }
    return builder_.offsets(tables);
  }

  const FlatModule& module_;
  FlatBuilder& builder_;
  FlatValueWriter values_;
};

}  // namespace

std::span<const std::byte> write_flatbuffer(const FlatModule& module, FlatBuilder& builder) {
  return FlatWriter(module, builder).run();
}

}  // namespace torchlet::lite
