// How the inside of the house throws: fail() and check(), with printf-style texts.
#pragma once

#include <torchlet/error.h>

#include <string>

namespace torchlet {

// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* fmt, ...);

[[noreturn]] void fail(ErrorCode code, std::string message);

}  // namespace torchlet

// TORCHLET_CHECK(condition, "expected %d dimensions, got %d", a, b): throws kRuntime. The text is
// made only when the condition fails.
#define TORCHLET_CHECK(condition, ...)                                                    \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::torchlet::fail(::torchlet::ErrorCode::kRuntime, ::torchlet::format(__VA_ARGS__)); \
  } while (false)

// For what can only fail by a bug of our own.
#define TORCHLET_ASSERT(condition)                                                            \
  do {                                                                                        \
    if (!(condition)) [[unlikely]]                                                            \
      ::torchlet::fail(                                                                       \
          ::torchlet::ErrorCode::kInternal,                                                   \
          ::torchlet::format("internal error at %s:%d: %s", __FILE__, __LINE__, #condition)); \
  } while (false)
