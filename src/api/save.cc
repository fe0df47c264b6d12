#include <torchlet/save.h>

#include <filesystem>

#include "api/torchscript_file.h"
#include "archive/reader.h"
#include "base/atomic_file.h"
#include "base/error.h"

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
  AtomicFile file(path);
  api::write_torchscript(program, LoadedModel::object_of(module), file, options.extra_files);
  file.commit();
}

std::map<std::string, std::string> read_extra_files(const std::string& path) {
  return archive::ArchiveReader::open(path).extra_files();
}

}  // namespace torchlet
