#include <torchlet/module.h>
#include <torchlet/preprocess.h>

#include "base/error.h"
#include "image/lines.h"

namespace torchlet {
namespace {

std::optional<std::string> extra_file(const Module& module, const char* name) {
  auto files = module.extra_files();
  const auto found = files.find(name);
  if (found == files.end()) return std::nullopt;
  return std::move(found->second);
}

}  // namespace

std::optional<Preprocess> preprocess_of(const Module& module) {
  const std::optional<std::string> record = extra_file(module, kPreprocessFile);
  if (!record) return std::nullopt;
  try {
    return parse_preprocess(*record);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    Error damaged(ErrorCode::kFileFormat, error.message());
    damaged.add_context("in the record 'extra/" + std::string(kPreprocessFile) + "' of '" +
                        module.info().file + "'");
    throw damaged;
  }
}

std::vector<std::string> labels_of(const Module& module) {
  return image::lines_of(extra_file(module, kLabelsFile).value_or(""));
}

}  // namespace torchlet
