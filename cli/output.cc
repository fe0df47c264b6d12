#include "cli/output.h"

#include <torchlet/save.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/files.h"

namespace torchlet::cli {
namespace {

FileContainer container_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending == ".ptl") return FileContainer::kLite;
  if (ending == ".ff") return FileContainer::kFlatbuffer;
  return FileContainer::kTorchScript;
}

}  // namespace

void OutputOptions::add_to(CLI::App& command, bool required) {
  command
      .add_option("-o,--output", path_,
                  "Where to write: .ptl is a Lite Interpreter file, .ff one in a flatbuffer, and "
                  "anything else TorchScript")
      ->required(required)
      ->type_name("FILE.{pt,ptl,ff}");
  command
      .add_option(
          "--bytecode-version", bytecode_version_,
          "Of a .ptl or .ff, 4 to 8: a lower one for apps with an older PyTorch (default 8)")
      ->check(CLI::Range(4, 8))
      ->type_name("N");
  command.add_option("--extra-file", extra_files_, "Add the file at PATH as extra/NAME")
      ->type_name("NAME=PATH");
  command.add_flag("--no-debug", no_debug_,
                   "Leave out which lines of Python the program comes from; errors then name none");
}

void OutputOptions::save(const Module& module, const std::string& model,
                         const std::map<std::string, std::string>& more) const {
  SaveOptions options;
  options.container = container_of(path_);
  if (bytecode_version_) {
    if (options.container == FileContainer::kTorchScript) {
      throw CLI::ValidationError("--bytecode-version",
                                 "only .ptl and .ff hold bytecode, not '" + path_ + "'");
    }
    options.bytecode_version = *bytecode_version_;
  }
  options.debug_info = !no_debug_;
  options.extra_files = read_extra_files(model);
  for (const auto& [name, content] : more) options.extra_files[name] = content;
  for (const std::string& extra : extra_files_) {
    const size_t equals = extra.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw CLI::ValidationError("--extra-file", "expected NAME=PATH, got '" + extra + "'");
    }
    options.extra_files[extra.substr(0, equals)] = read_file(extra.substr(equals + 1));
  }
  torchlet::save(module, path_, options);
}

}  // namespace torchlet::cli
