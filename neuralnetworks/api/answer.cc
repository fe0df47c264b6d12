#include "neuralnetworks/api/answer.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "base/error.h"

namespace torchlet::nn {
namespace {

bool is_logging() noexcept {
  static const bool logging = [] {
    const char* value = std::getenv("TORCHLET_NNAPI_LOG");
    return value && *value && *value != '0';
  }();
  return logging;
}

const char* name_of(int code) noexcept {
  static constexpr const char* kNames[] = {
      "NO_ERROR",
      "OUT_OF_MEMORY",
      "INCOMPLETE",
      "UNEXPECTED_NULL",
      "BAD_DATA",
      "OP_FAILED",
      "BAD_STATE",
      "UNMAPPABLE",
      "OUTPUT_INSUFFICIENT_SIZE",
      "UNAVAILABLE_DEVICE",
      "MISSED_DEADLINE_TRANSIENT",
      "MISSED_DEADLINE_PERSISTENT",
      "RESOURCE_EXHAUSTED_TRANSIENT",
      "RESOURCE_EXHAUSTED_PERSISTENT",
      "DEAD_OBJECT",
  };
  return kNames[code];
}

int code_of(ErrorCode code, Phase phase) noexcept {
  switch (code) {
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kMemoryLimit:
      return ANEURALNETWORKS_OUT_OF_MEMORY;
    case ErrorCode::kTimeLimit:
    case ErrorCode::kCancelled:
      return ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT;
    case ErrorCode::kInternal:
      return ANEURALNETWORKS_OP_FAILED;
    default:
      return phase == Phase::kRun ? ANEURALNETWORKS_OP_FAILED : ANEURALNETWORKS_BAD_DATA;
  }
}

int logged(const char* function, int code, const char* message) noexcept {
  log("%s: %s: %s", function, name_of(code), message);
  return code;
}

}  // namespace

void refuse(int code, const char* fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  throw Refusal{code, text};
}

void log(const char* fmt, ...) noexcept {
  if (!is_logging()) return;
  char text[2048];
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  std::fprintf(stderr, "nnapi: %s\n", text);
}

int code_of_exception(const char* function, Phase phase) noexcept {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return logged(function, refusal.code, refusal.message.c_str());
  } catch (const Error& error) {
    return logged(function, code_of(error.code(), phase), error.what());
  } catch (const std::bad_alloc&) {
    return logged(function, ANEURALNETWORKS_OUT_OF_MEMORY, "no memory");
  } catch (const std::system_error& error) {  // no thread
    return logged(function, ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT, error.what());
  } catch (const std::exception& error) {
    return logged(function, ANEURALNETWORKS_OP_FAILED, error.what());
  }
}

}  // namespace torchlet::nn
