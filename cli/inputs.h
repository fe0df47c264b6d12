// The options that commands share.
#pragma once

#include <torchlet/module.h>
#include <torchlet/options.h>
#include <torchlet/preprocess.h>
#include <torchlet/value.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace torchlet::cli {

// --preprocess, --resize and --crop.
class PictureOptions {
 public:
  void add_to(CLI::App& command);
  // Of --preprocess alone, if it is given.
  const std::optional<Preprocess>& given() const { return given_; }
  // What the options say, else the model's own, else those of ImageNet's models.
  Preprocess steps(const Module& module) const;

 private:
  std::optional<Preprocess> given_;
  std::optional<int64_t> resize_, crop_;
};

class InputOptions {
 public:
  enum class Kind { kFile, kImage, kShape, kZeros, kText, kLiteral, kBundled, kNext };
  struct Named {
    Kind kind;
    std::string text;
  };

  // Adds the options to a command, and .npy files as arguments that are no options, unless these
  // are the command's own.
  void add_to(CLI::App& command, bool positional = true);
  // --next, which begins the inputs of another call. After add_to().
  void add_next_to(CLI::App& command);

  // The values in the order in which the command line names them; empty if it names none. Those of
  // --bundled are the model's own for that method.
  std::vector<Value> values(const Module& module, const std::string& method) const;
  bool has_image() const;
  const PictureOptions& pictures() const { return pictures_; }

  // What the command line names, in that order, and what one of it stands for.
  std::vector<Named> named() const;
  std::vector<Value> values_of(const Named& named, const Module& module,
                               const std::string& method) const;
  // Of the tensor that --shape makes.
  static std::vector<int64_t> shape_of(const Named& named);
  DType dtype() const;

 private:
  Value filled(const std::string& shape) const;

  const CLI::App* command_ = nullptr;
  std::map<const CLI::Option*, Kind> kinds_;
  std::string dtype_ = "float32";
  PictureOptions pictures_;
};

// The first argument that is no option.
void add_model(CLI::App& command, std::string& path);
// --device and --precision.
class DeviceOptions {
 public:
  // `suffix` goes to the options' names: --device-a. `otherwise` is what the help says of no
  // --device.
  void add_to(CLI::App& command, const std::string& suffix = "",
              const std::string& otherwise = "auto");
  // --memory fast|lean.
  CLI::Option* add_footprint_to(CLI::App& command);
  // --cache DIR.
  void add_cache_to(CLI::App& command);
  // If the command line names none.
  void set_default(std::vector<std::string> devices);
  // Says on standard error if the processor lacks the precision.
  Options options() const;
  bool is_rounded() const { return precision_ != "fp32"; }

 private:
  std::vector<std::string> devices_ = {"auto"};
  bool is_given_ = false;
  std::string precision_ = "fp32", preference_ = "sustained", footprint_ = "fast", cache_;
};

// --memory-limit and --time-limit.
class LimitOptions {
 public:
  void add_to(CLI::App& command);
  void apply(Options& options) const;

 private:
  size_t memory_ = 0;
  double seconds_ = 0;
};

// Checks of an option's value, which CLI11 has, too, but with messages that name the largest
// double.
CLI::Validator not_negative();  // of a whole number
CLI::Validator above_zero();
// --threads: a number, or "auto" for all processors, which sets `threads` to 0.
void add_threads_option(CLI::App& command, int& threads);

// The value as a program's argument: "3", "2.5", "true", "null", "\"text\"", "[1, 2]",
// "{\"a\": 1}".
Value parse_literal(const std::string& text);

}  // namespace torchlet::cli
