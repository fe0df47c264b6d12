// The options that `run` and `bench` share.
#pragma once

#include <torchlet/image.h>
#include <torchlet/value.h>

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace torchlet::cli {

class InputOptions {
 public:
  // Adds the options (and positional .npy files) to a command.
  void add_to(CLI::App& command);

  // The values in the order in which the command line names them; empty if it names none.
  std::vector<Value> values() const;
  bool has_image() const { return !images_.empty(); }

 private:
  Value filled(const std::string& shape) const;

  const CLI::App* command_ = nullptr;
  CLI::Option* files_option_ = nullptr;
  CLI::Option* images_option_ = nullptr;
  CLI::Option* shapes_option_ = nullptr;
  CLI::Option* texts_option_ = nullptr;
  CLI::Option* literals_option_ = nullptr;
  std::vector<std::string> files_, images_, shapes_, texts_, literals_;
  std::string dtype_ = "float32";
  ImageOptions image_options_;
};

// --threads: a number, or "auto" for all processors, which sets `threads` to 0.
void add_threads_option(CLI::App& command, int& threads);

// The value as a program's argument: "3", "2.5", "true", "null", "\"text\"", "[1, 2]",
// "{\"a\": 1}".
Value parse_literal(const std::string& text);

}  // namespace torchlet::cli
