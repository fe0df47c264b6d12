#include "script/compilation_unit.h"

#include "base/error.h"
#include "base/selection.h"
#include "script/class_importer.h"
#include "script/constants.h"
#include "script/emitter.h"
#include "script/parser.h"
#include "script/type_parser.h"

namespace torchlet::script {
namespace {

constexpr std::string_view kCustomClasses = "__torch__.torch.classes.";

// What they take of the stack, in levels of expressions.
constexpr int kLevelsOfClass = 6, kLevelsOfFunction = 12;

// "__torch__.m.Net" -> "__torch__.m", "Net".
std::pair<std::string, std::string> split_name(const std::string& qualified_name) {
  const size_t dot = qualified_name.rfind('.');
  if (dot == std::string::npos) return {"", qualified_name};
  return {qualified_name.substr(0, dot), qualified_name.substr(dot + 1)};
}

}  // namespace

bool is_custom_class(const Type& type) {
  return type.is(TypeKind::kClass) && type.name().starts_with(kCustomClasses);
}

void CompilationUnit::load_package(const std::string& package) {
  if constexpr (!selection::kHasCompiler) return;
  if (!program_.find_source || package.empty() || !loaded_packages_.insert(package).second) return;
  std::shared_ptr<const Source> source = program_.find_source(package);
  if (!source) return;
  SourceUnit parsed = parse_unit(*source, tokens_left_);
  for (ClassDef& def : parsed.classes) {
    const std::string name = package + "." + def.name;
    pending_classes_.insert_or_assign(name, PendingClass{source, std::move(def)});
  }
  for (FunctionDef& def : parsed.functions) {
    const std::string name = package + "." + def.name;
    free_functions_[name] = add_function(std::make_unique<ScriptFunction>(
        *this, name, source, std::move(def), nullptr, /*bodiless=*/false));
  }
}

ScriptFunction* CompilationUnit::add_function(std::unique_ptr<ScriptFunction> function) {
  ScriptFunction* added = function.get();
  functions_.push_back(std::move(function));
  return added;
}

TypePtr CompilationUnit::find_type(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  const auto known = types_.find(qualified_name);
  if (known != types_.end()) return known->second;
  if (qualified_name.starts_with(kCustomClasses)) {
    // Only the classes themselves, __torch__.torch.classes.<namespace>.<class>.
    if (qualified_name.find('.', kCustomClasses.size()) == std::string::npos) return nullptr;
    TypePtr& type = types_[qualified_name];
    type = std::make_shared<ClassType>(TypeKind::kClass, qualified_name, /*is_module=*/false);
    return type;
  }
  load_package(split_name(qualified_name).first);
  const auto pending = pending_classes_.find(qualified_name);
  if (!selection::kHasCompiler || pending == pending_classes_.end()) {
    // A class that is being imported is not there either: it cannot contain itself.
    return program_.find_class ? program_.find_class(qualified_name) : nullptr;
  }
  PendingClass found = std::move(pending->second);
  pending_classes_.erase(pending);
  const Nested nested(*this, *found.source, found.def.span, kLevelsOfClass);
  ClassImporter(*this, qualified_name, found.source, std::move(found.def)).run();
  return types_.at(qualified_name);
}

void CompilationUnit::count_parts(const Source& source, Span span, size_t count) {
  if (count > parts_left_) fail_at(source, span, "the program is too large");
  parts_left_ -= count;
}

CompilationUnit::Nested::Nested(CompilationUnit& unit, const Source& source, Span span, int levels)
    : unit_(unit), levels_(levels) {
  if (unit.nesting_ + levels > kMaxNesting) {
    fail_at(source, span,
            "the program is nested over " + std::to_string(kMaxNesting) + " levels deep");
  }
  unit.nesting_ += levels;
}

Function* CompilationUnit::find_function(const std::string& qualified_name) {
  const std::lock_guard lock(mutex_);
  load_package(split_name(qualified_name).first);
  const auto found = free_functions_.find(qualified_name);
  return found == free_functions_.end() ? nullptr : found->second;
}

TypePtr CompilationUnit::parse_type(const std::string& where, const std::string& text) {
  return script::parse_type(where, text,
                            [this](const std::string& name) { return find_type(name); });
}

// Functions.

ScriptFunction::ScriptFunction(CompilationUnit& unit, std::string qualified_name,
                               std::shared_ptr<const Source> source, FunctionDef def,
                               TypePtr self_type, bool bodiless)
    : unit_(unit),
      qualified_name_(std::move(qualified_name)),
      source_(std::move(source)),
      def_(std::move(def)),
      self_type_(self_type.get()),
      bodiless_(bodiless) {}

ScriptFunction::~ScriptFunction() = default;

const Schema& ScriptFunction::schema() {
  if (const Schema* ready = schema_) return *ready;
  const std::lock_guard lock(unit_.mutex());
  if (!own_schema_) own_schema_ = std::make_unique<Schema>(make_schema());
  // What an unannotated function returns is known when its body has been compiled.
  if (!def_.return_type && !bodiless_ && !was_compiled_) graph();
  schema_ = own_schema_.get();
  return *own_schema_;
}

Schema ScriptFunction::make_schema() {
  const auto find_type = [this](const std::string& name) { return unit_.find_type(name); };
  Schema schema;
  schema.name = def_.name;
  for (const Parameter& parameter : def_.parameters) {
    Argument& argument = schema.arguments.emplace_back();
    argument.name = parameter.name;
    argument.keyword_only = parameter.keyword_only;
    const bool is_self = self_type_ && schema.arguments.size() == 1;
    if (is_self) {
      argument.type = unit_.find_type(self_type_->name());
    } else {
      argument.type = parameter.type ? script::parse_type(*source_, *parameter.type, find_type)
                                     : types::tensor();
    }
    if (parameter.default_value) {
      argument.default_value =
          evaluate_constant(unit_, *source_, *parameter.default_value, argument.type);
    }
  }
  Argument& result = schema.returns.emplace_back();
  result.type = def_.return_type ? script::parse_type(*source_, *def_.return_type, find_type)
                                 : types::unknown();
  return schema;
}

const Graph& ScriptFunction::graph() {
  if (const Graph* ready = graph_) return *ready;
  const std::lock_guard lock(unit_.mutex());
  if (!own_graph_) own_graph_ = body();
  graph_ = own_graph_.get();
  return *own_graph_;
}

std::shared_ptr<const Graph> ScriptFunction::body() {
  const std::lock_guard lock(unit_.mutex());
  std::shared_ptr<const Graph> body = held_graph_.lock();
  if (!body) held_graph_ = body = compile();
  return body;
}

std::shared_ptr<const Graph> ScriptFunction::compile() {
  if (bodiless_) {
    fail(ErrorCode::kInvalidArgument, qualified_name_ + " belongs to an interface; it has no body");
  }
  if (compiling_) {
    fail_at(*source_, def_.span, "a recursive function needs a return annotation");
  }
  const CompilationUnit::Nested nested(unit_, *source_, def_.span, kLevelsOfFunction);
  if (!own_schema_) own_schema_ = std::make_unique<Schema>(make_schema());
  compiling_ = true;
  auto graph = std::make_shared<Graph>();
  try {
    if (was_compiled_) {
      // Others may be reading the schema, and the program was counted.
      const CompilationUnit::Uncounted uncounted(unit_);
      Schema schema = *own_schema_;
      Emitter(unit_, *graph, source_).emit_function(parse_function(*source_, def_.text), schema);
    } else {
      Emitter(unit_, *graph, source_).emit_function(def_, *own_schema_);
    }
    graph->verify();
  } catch (Error& error) {
    compiling_ = false;
    throw error.add_context("in " + qualified_name_);
  }
  compiling_ = false;
  was_compiled_ = true;
  def_.parameters.clear();
  def_.body = Body();
  return graph;
}

}  // namespace torchlet::script
