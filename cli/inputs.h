// The options that commands share.
#pragma once

#include <torchlet/image.h>
#include <torchlet/options.h>
#include <torchlet/value.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"

namespace torchlet::cli {

class InputOptions {
 public:
  // Adds the options (and positional .npy files) to a command.
  void add_to(CommandLine& line);

  // The values in the order in which the command line names them; empty if it names none.
  std::vector<Value> values() const;
  bool has_image() const;

 private:
  enum class Kind { kFile, kImage, kShape, kText, kLiteral };

  CommandLine::Setter keep(Kind kind);
  Value filled(const std::string& shape) const;

  std::vector<std::pair<Kind, std::string>> given_;
  std::string dtype_ = "float32";
  ImageOptions image_options_;
};

// The first argument that is no option.
void add_model(CommandLine& line, std::string& path);
// --device and --precision.
class DeviceOptions {
 public:
  void add_to(CommandLine& line);
  // Says on standard error if the processor lacks the precision.
  Options options() const;
  bool wants_float16() const { return precision_ == "fp16"; }

 private:
  std::vector<std::string> devices_ = Options().devices;
  std::string precision_ = "fp32";
};

// --memory-limit and --time-limit.
class LimitOptions {
 public:
  void add_to(CommandLine& line);
  void apply(Options& options) const;

 private:
  size_t memory_ = 0;
  double seconds_ = 0;
};

// --threads: a number, or "auto" for all processors, which sets `threads` to 0.
void add_threads_option(CommandLine& line, int& threads);

// The value as a program's argument: "3", "2.5", "true", "null", "\"text\"", "[1, 2]",
// "{\"a\": 1}".
Value parse_literal(const std::string& text);

}  // namespace torchlet::cli
