#include <torchlet/preprocess.h>
#include <torchlet/save.h>

#include <filesystem>

#include "archive/reader.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "lite/flatbuffer.h"
#include "prepare/saved_model.h"

namespace torchlet {
namespace {

void refuse_own_file(const Module& module, const std::string& path) {
  std::error_code none;
  if (!std::filesystem::equivalent(path, module.info().file, none)) return;
  fail(ErrorCode::kInvalidArgument,
       "'" + path + "' is the file that the model was loaded from; save it under another name");
}

}  // namespace

void save(const Module& module, const std::string& path, const SaveOptions& options) {
  refuse_own_file(module, path);
  const LoadedProgram& program = *LoadedModel::of(module).program;
  const LimitScope scope = program.limits->scope();
  const Value& root = LoadedModel::object_of(module);
  const bool is_lite = options.container != FileContainer::kTorchScript;
  prepare::SavedModel model =
      is_lite ? prepare::model_with_bytecode(program, root, options.bytecode_version)
              : prepare::model_with_source(program, root);
  model.extra_files = options.extra_files;
  for (auto& [name, content] : module.extra_files()) {
    if (name == kPreprocessFile || name == kLabelsFile) model.extra_files.emplace(name, content);
  }
  if (!options.debug_info) prepare::drop_debug_info(model);
  AtomicFile file(path);
  if (options.container == FileContainer::kFlatbuffer) {
    prepare::write_flatbuffer(model, file);
  } else {
    prepare::write_archive(model, file);
  }
  file.commit();
}

std::map<std::string, std::string> read_extra_files(const std::string& path) {
  archive::ArchiveReader file = archive::ArchiveReader::open(path);
  if (file.container() != archive::Container::kFlatbuffer) return file.extra_files();
  return lite::FlatbufferReader(file.bytes(), file.owner()).extra_files();
}

}  // namespace torchlet
