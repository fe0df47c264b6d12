// The options of commands that write a model.
#pragma once

#include <torchlet/module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace torchlet::cli {

class OutputOptions {
 public:
  // -o, --bytecode-version, --extra-file and --no-debug.
  void add_to(CLI::App& command, bool required = true);
  const std::string& path() const { return path_; }  // empty if it was not given
  // Writes the module, which was made of the file `model`, with that file's extra files: .ptl as a
  // Lite Interpreter file, .ff as one in a flatbuffer, anything else as TorchScript. `more` are
  // extra files besides, by name.
  void save(const Module& module, const std::string& model,
            const std::map<std::string, std::string>& more = {}) const;

 private:
  std::string path_;
  std::vector<std::string> extra_files_;
  std::optional<int> bytecode_version_;
  bool no_debug_ = false;
};

}  // namespace torchlet::cli
