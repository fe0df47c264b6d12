#include "prepare/saved_model.h"

#include <algorithm>

#include "lite/write/code_emitter.h"
#include "prepare/export_bytecode.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

// The program as whoever reads the file will compile it: the bytecode beside source is that
// source's.
std::unique_ptr<script::CompilationUnit> compile(const script::PrintedProgram& printed) {
  script::Program program;
  program.find_source = [&](const std::string& package) -> std::shared_ptr<const Source> {
    const auto file =
        std::ranges::find(printed.files, package, &script::PrintedProgram::File::package);
    if (file == printed.files.end()) return nullptr;
    auto source = std::make_shared<Source>();
    source->name = package;
    source->text = file->source.text;
    source->origin = std::make_shared<script::MarkedPlaces>(file->source.marks);
    return source;
  };
  program.constants = printed.constants;
  program.operator_version = printed.operator_version;
  return std::make_unique<script::CompilationUnit>(std::move(program));
}

lite::Bytecode bytecode_of(SavedModel& model, int version) {
  try {
    return export_bytecode(model.root, model.unit.get(), version, &model.debug);
  } catch (const Error&) {
    // The program that was read tells the same with the lines of its own source.
    export_bytecode(model.root, nullptr, version, nullptr);
    throw;
  }
}

SavedModel objects_of(const LoadedProgram& program, const Value& root) {
  SavedModel model;
  model.root = root;
  model.state_of = [&](const Value& object) {
    if (object.is_custom()) return object.custom_ref().get_state();
    return program.interpreter.run(*object.object_ref().type->find_method("__getstate__"),
                                   {object});
  };
  return model;
}

}  // namespace

SavedModel model_with_source(const LoadedProgram& program, const Value& root,
                             const std::string& methods) {
  SavedModel model = objects_of(program, root);
  model.program = script::print_program(root, methods);
  model.operator_version = model.program.operator_version;
  return model;
}

SavedModel model_with_bytecode(const LoadedProgram& program, const Value& root, int version) {
  SavedModel model;
  if (program.bytecode) {
    model = objects_of(program, root);
    constexpr int kOldestVersion = 3;  // that writes the types of containers
    model.operator_version = kOldestVersion;
  } else {
    model = model_with_source(program, root);
    model.unit = compile(model.program);
  }
  model.bytecode = bytecode_of(model, version);
  model.operator_version =
      std::max(model.operator_version, lite::version_of_operators(*model.bytecode));
  return model;
}

void drop_debug_info(SavedModel& model) {
  for (script::PrintedProgram::File& file : model.program.files) file.source.marks.clear();
  model.debug = {};
}

}  // namespace torchlet::prepare
