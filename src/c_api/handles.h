// What stands behind the handles of <torchlet/c_api.h>, and the doors that no exception passes.
#pragma once

#include <torchlet/c_api.h>
#include <torchlet/module.h>
#include <torchlet/options.h>
#include <torchlet/preprocess.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/selection.h"

struct torchlet_options {
  torchlet::Options options;
};

struct torchlet_module {
  torchlet_module(torchlet::Module m, std::shared_ptr<std::atomic<bool>> c);

  const torchlet::Module module;
  const std::shared_ptr<std::atomic<bool>> cancelled;  // shared with copies
  const std::string type_name;
  std::vector<std::string> methods;
};

struct torchlet_value {
  explicit torchlet_value(torchlet::Value v);

  const torchlet::Value value;
  // Of a dict, which has no places of its own.
  const std::vector<std::pair<torchlet::Value, torchlet::Value>> items;
};

struct torchlet_tensor {
  const torchlet::Tensor tensor;
};

struct torchlet_image {
  const torchlet::Image image;
};

struct torchlet_preprocess {
  const torchlet::Preprocess steps;
};

namespace torchlet::c_api {

// Keeps the exception that is being handled as the last error of this thread, and gives its status.
torchlet_status caught() noexcept;

// Runs the body of a function that gives a status.
template <typename Body>
torchlet_status guarded(const Body& body) noexcept {
  try {
    body();
    return TORCHLET_OK;
  } catch (...) {
    return caught();
  }
}

// What of the C API a build may lack (TORCHLET_FEATURES).
template <bool kIsHere>
struct Feature {
  const char* name;
};
inline constexpr Feature<selection::kHasPictures> kPictures{"pictures"};
inline constexpr Feature<selection::kHasReports> kReports{"reports"};

[[noreturn]] void fail_left_out(const char* feature);

// The body of a function that stands in all builds and tells Error kUnsupported where it is left
// out.
template <bool kIsHere, typename Body>
torchlet_status guarded(const Feature<kIsHere>& feature, const Body& body) noexcept {
  if constexpr (kIsHere) {
    return guarded(body);
  } else {
    return guarded([&] { fail_left_out(feature.name); });
  }
}

// Runs the body of a function that answers directly; what fails is answered by 0 or null.
template <typename Body>
auto answered(const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    caught();
    return {};
  }
}

[[noreturn]] void fail_null(const char* name);

// What an argument of the caller points to; Error kInvalidArgument with its name if it is null.
template <typename T>
T& given(T* argument, const char* name) {
  if (!argument) fail_null(name);
  return *argument;
}
inline const char* given_text(const char* argument, const char* name) {
  return &given(argument, name);
}

// The same text in UTF-8: what is none becomes U+FFFD, the replacement character.
std::string utf8(std::string_view text);
// A copy in UTF-8 for the caller, to be freed by torchlet_text_free().
char* new_text(std::string_view text);
// The same of bytes as they are, with a null character behind them.
char* new_bytes(std::string_view bytes);

// Copies of the values behind an array of the caller's handles.
std::vector<Value> values_of(const torchlet_value* const* handles, size_t count, const char* name);
// A list of the type that all items have in common.
Value list_of(std::vector<Value> items);

DType dtype_of(torchlet_dtype dtype);
// Error kInvalidArgument unless tensors of so many dimensions have that format.
MemoryFormat format_of(torchlet_memory_format format, size_t dims);

}  // namespace torchlet::c_api
