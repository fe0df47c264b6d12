#include "lite/program.h"

#include "base/error.h"
#include "lite/infer_schema.h"
#include "lite/translate.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

constexpr std::string_view kPrefix = "__torch__.";
// Real classes have some hundreds.
constexpr int64_t kMostAttributes = 10'000;

// Of an attribute that nothing was seen of but its number. Told from other unknown types by
// address.
const TypePtr& not_seen() {
  static const TypePtr type = std::make_shared<Type>(TypeKind::kUnknown, std::vector<TypePtr>());
  return type;
}

}  // namespace

class BytecodeProgram::Method final : public Function {
 public:
  Method(BytecodeProgram& program, BytecodeFunction function, const TypePtr& self_type)
      : program_(program),
        name_(function.name),
        schema_(schema_of(function, self_type)),
        function_(std::move(function)) {}

  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override {
    if (!graph_) graph_ = translate(*function_, schema_, program_);
    return *graph_;
  }
  // Makes the graph for the last time.
  void finish() {
    if (infer_schema(schema_, graph())) {
      // Code of the first graph may have run, and be kept.
      first_graph_ = std::exchange(graph_, translate(*function_, schema_, program_));
      infer_schema(schema_, *graph_);
    }
    function_.reset();
  }

 private:
  BytecodeProgram& program_;
  const std::string name_;
  Schema schema_;
  std::optional<BytecodeFunction> function_;  // until finish()
  std::unique_ptr<const Graph> first_graph_, graph_;
};

class BytecodeProgram::InlinedFunction final : public Function {
 public:
  InlinedFunction(const std::string& name, bool is_method) : name_(name) {
    schema_.name = name_.substr(name_.rfind('.') + 1);
    if (!is_method) return;
    schema_.arguments.emplace_back().name = "self";
    schema_.arguments[0].type = types::unknown();
  }

  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override {
    fail(ErrorCode::kInternal, "%s was inlined and is not there", name_.c_str());
  }

 private:
  const std::string name_;
  Schema schema_;
};

BytecodeProgram::BytecodeProgram(script::CompilationUnit& unit) : unit_(unit) {}

BytecodeProgram::~BytecodeProgram() {
  // Types own each other, and objects may hold each other in a circle.
  for (const auto& [name, type] : classes_) {
    for (size_t slot = 0; slot < type->attributes().size(); ++slot) {
      type->set_attribute_type(slot, types::unknown());
    }
  }
}

TypePtr BytecodeProgram::find_class(const std::string& qualified_name) {
  if (!qualified_name.starts_with(kPrefix)) return nullptr;
  std::shared_ptr<ClassType>& type = classes_[qualified_name];
  // Whether it is a module is not said; modules are what models are made of.
  if (!type) {
    type = std::make_shared<ClassType>(TypeKind::kClass, qualified_name, /*is_module=*/true);
  }
  return type;
}

void BytecodeProgram::add_functions(Bytecode bytecode) {
  debug_ = std::move(bytecode.debug);
  for (BytecodeFunction& function : bytecode.functions) {
    const size_t dot = function.name.rfind('.');
    if (dot == std::string::npos || function.instructions.empty() || function.register_size < 0 ||
        function.register_size > kMaxStack) {
      fail(ErrorCode::kFileFormat,
           "bytecode.pkl is malformed: the function " + function.name.substr(0, 200) +
               " has no class, no instructions or no sensible register_size");
    }
    const TypePtr self_type = unit_.find_type(function.name.substr(0, dot));
    if (!self_type || !self_type->is(TypeKind::kClass)) {
      fail(ErrorCode::kFileFormat,
           "bytecode.pkl is malformed: there is no class for " + function.name.substr(0, 200));
    }
    const std::string name = function.name.substr(dot + 1);
    methods_.push_back(std::make_unique<Method>(*this, std::move(function), self_type));
    class_of(*self_type->as_class()).add_method(name, methods_.back().get());
  }
}

ClassType& BytecodeProgram::class_of(const ClassType& type) {
  const auto found = classes_.find(type.name());
  if (found == classes_.end() || found->second.get() != &type) {
    fail(ErrorCode::kFileFormat, "the bytecode uses " + type.name().substr(0, 200) +
                                     ", a C++ class, as if it were one of its own");
  }
  return *found->second;
}

void BytecodeProgram::learn_attributes(const ClassType& type, const Value& state) {
  if (!state.is_dict()) {
    fail(ErrorCode::kFileFormat, "the state of a %s is %s and not a dict", type.name().c_str(),
         state.kind_name());
  }
  ClassType& known = class_of(type);
  const bool is_first = known.attributes().empty();
  size_t slot = 0;
  for (const auto& [key, value] : state.dict_ref().items()) {
    const auto kind = value.is_tensor() ? ClassType::AttributeKind::kParameter
                                        : ClassType::AttributeKind::kRegular;
    if (is_first && key.is_string() && slot < static_cast<size_t>(kMostAttributes)) {
      known.add_attribute({key.to_string(), type_of(value), kind});
    }
    if (slot >= known.attributes().size() || !key.is_string() ||
        known.attributes()[slot].name != key.to_string()) {
      fail(ErrorCode::kFileFormat,
           "two objects of " + type.name().substr(0, 200) + " have different attributes");
    }
    widen_attribute(type, static_cast<int64_t>(slot++), type_of(value));
  }
}

void BytecodeProgram::finish() {
  for (const std::unique_ptr<Method>& method : methods_) method->finish();
  debug_.reset();
}

Function* BytecodeProgram::inlined_function(const std::string& qualified_name, bool is_method) {
  std::unique_ptr<Function>& function = inlined_functions_[{qualified_name, is_method}];
  if (!function) function = std::make_unique<InlinedFunction>(qualified_name, is_method);
  return function.get();
}

const ClassType::Attribute& BytecodeProgram::attribute(const ClassType& type, int64_t slot) {
  if (slot < 0 || slot >= kMostAttributes) {
    fail(ErrorCode::kFileFormat, type.name().substr(0, 200) + " has no attribute " +
                                     std::to_string(slot) + "; the bytecode is malformed");
  }
  ClassType& known = class_of(type);
  while (known.attributes().size() <= static_cast<size_t>(slot)) {
    known.add_attribute({"attribute_" + std::to_string(known.attributes().size()), not_seen()});
  }
  return known.attributes()[static_cast<size_t>(slot)];
}

void BytecodeProgram::widen_attribute(const ClassType& type, int64_t slot, const TypePtr& value) {
  const TypePtr& held = attribute(type, slot).type;
  if (held != not_seen() && is_subtype(value, held)) return;
  const TypePtr both = held == not_seen() ? value : unify(held, value);
  class_of(type).set_attribute_type(static_cast<size_t>(slot), both ? both : types::any());
}

}  // namespace torchlet::lite
