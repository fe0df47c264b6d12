// The last error of each thread.
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "c_api/handles.h"
#include "device/device.h"

using namespace torchlet;
using namespace torchlet::c_api;

static_assert(static_cast<int>(ErrorCode::kInvalidArgument) + 1 == TORCHLET_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorCode::kFileFormat) + 1 == TORCHLET_FILE_FORMAT);
static_assert(static_cast<int>(ErrorCode::kIo) + 1 == TORCHLET_IO);
static_assert(static_cast<int>(ErrorCode::kNotFound) + 1 == TORCHLET_NOT_FOUND);
static_assert(static_cast<int>(ErrorCode::kUnsupported) + 1 == TORCHLET_UNSUPPORTED);
static_assert(static_cast<int>(ErrorCode::kRuntime) + 1 == TORCHLET_RUNTIME);
static_assert(static_cast<int>(ErrorCode::kOutOfMemory) + 1 == TORCHLET_OUT_OF_MEMORY);
static_assert(static_cast<int>(ErrorCode::kMemoryLimit) + 1 == TORCHLET_MEMORY_LIMIT);
static_assert(static_cast<int>(ErrorCode::kTimeLimit) + 1 == TORCHLET_TIME_LIMIT);
static_assert(static_cast<int>(ErrorCode::kCancelled) + 1 == TORCHLET_CANCELLED);
static_assert(static_cast<int>(ErrorCode::kInternal) + 1 == TORCHLET_INTERNAL);

namespace {

struct LastError {
  torchlet_status status = TORCHLET_OK;
  // Nothing if there was not even the memory to keep it: `status` has to do.
  std::optional<Error> error;
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

torchlet_status status_of(ErrorCode code) {
  return static_cast<torchlet_status>(static_cast<int>(code) + 1);
}

torchlet_status keep(ErrorCode code, const char* message, const Error* origin = nullptr) noexcept {
  LastError& last = last_error();
  last.status = status_of(code);
  last.error.reset();
  try {
    Error error(code, utf8(message));
    if (origin) {
      for (const std::string& place : origin->context()) error.add_context(utf8(place));
      error.set_python_class(utf8(origin->python_class()));
    }
    last.error = std::move(error);
  } catch (...) {
    last.status = TORCHLET_OUT_OF_MEMORY;
  }
  return last.status;
}

// Text of the last error by `part`, or what can be said without it.
template <typename Part>
const char* text_of_last(const Part& part) noexcept {
  const LastError& last = last_error();
  if (last.error) return part(*last.error);
  return last.status == TORCHLET_OUT_OF_MEMORY ? "out of memory" : "";
}

// Bytes of the UTF-8 character that `text` begins with (Unicode 15, table 3-7); 0 if it is none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xc2   ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) < (i == 1 ? least : 0x80) || byte(i) > (i == 1 ? most : 0xbf)) return 0;
  }
  return length;
}

}  // namespace

namespace torchlet::c_api {

torchlet_status caught() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return keep(error.code(), error.message().c_str(), &error);
  } catch (const device::DeviceFailure& failure) {
    return keep(ErrorCode::kUnsupported, failure.why.c_str());
  } catch (const std::bad_alloc&) {
    return keep(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::length_error&) {
    return keep(ErrorCode::kOutOfMemory, "out of memory: more was asked for than can be addressed");
  } catch (const std::exception& error) {
    return keep(ErrorCode::kInternal, error.what());
  } catch (...) {
    return keep(ErrorCode::kInternal, "an exception of an unknown kind");
  }
}

void fail_left_out(const char* feature) {
  fail(ErrorCode::kUnsupported,
       "this libtorchlet was built without %s; build with TORCHLET_FEATURES=%s", feature, feature);
}

void fail_null(const char* name) { fail(ErrorCode::kInvalidArgument, "%s is NULL", name); }

std::string utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = character_length(text);
    result += length ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length ? length : 1);
  }
  return result;
}

char* new_text(std::string_view text) { return new_bytes(utf8(text)); }

char* new_bytes(std::string_view bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

}  // namespace torchlet::c_api

const char* torchlet_last_error(void) {
  return text_of_last([](const Error& error) { return error.what(); });
}

torchlet_status torchlet_last_error_status(void) { return last_error().status; }

const char* torchlet_last_error_message(void) {
  return text_of_last([](const Error& error) { return error.message().c_str(); });
}

const char* torchlet_last_error_place(size_t index) {
  const LastError& last = last_error();
  if (!last.error || index >= last.error->context().size()) return nullptr;
  return last.error->context()[index].c_str();
}

const char* torchlet_last_error_python_class(void) {
  const LastError& last = last_error();
  return last.error ? last.error->python_class().c_str() : "";
}

void torchlet_text_free(char* text) { std::free(text); }
