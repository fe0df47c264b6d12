// The one exception type of Torchlet.
#pragma once

#include <torchlet/export.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

enum class ErrorCode {
  kInvalidArgument,  // the caller passed something that cannot be right
  kFileFormat,       // a model file is damaged, hostile or of another kind
  kIo,               // the operating system refused a file
  kNotFound,         // no such method, attribute, record, ...
  kUnsupported,      // valid, but Torchlet does not do it
  kRuntime,          // the model itself failed while running
  kOutOfMemory,      // a request beyond the memory there is
  kMemoryLimit,      // a request beyond Options::memory_limit
  kTimeLimit,        // the program ran for Options::time_limit
  kCancelled,        // Options::cancel became true
  kInternal,         // a bug in Torchlet
};

// Thrown by everything in the public API. `what()` is one readable text: the message, then the
// context from the innermost outwards ("... \n  in model.py:57, in features.3.conv").
class TORCHLET_API Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  ErrorCode code() const noexcept { return code_; }
  // What went wrong, without the context.
  const std::string& message() const noexcept { return message_; }
  // Where it went wrong, innermost first.
  const std::vector<std::string>& context() const noexcept { return context_; }
  const char* what() const noexcept override { return what_.c_str(); }

  // The Python class of an exception that the model raised ("builtins.ValueError"), else empty.
  const std::string& python_class() const noexcept { return python_class_; }
  Error& set_python_class(std::string name);

  // Adds one place to the chain; used on the way up: catch (Error& e) { e.add_context(..); throw; }
  Error& add_context(std::string place);

 private:
  void render();

  ErrorCode code_;
  std::string message_;
  std::vector<std::string> context_;
  std::string python_class_;
  std::string what_;
};

}  // namespace torchlet
