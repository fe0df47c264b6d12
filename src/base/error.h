// How the inside of the house throws: fail() and check(), with printf-style texts.
#pragma once

#include <torchlet/error.h>

#include <string>

namespace torchlet {

// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* fmt, ...);

[[noreturn]] void fail(ErrorCode code, std::string message);
// The same with a printf-style text: fail(code, "no %s", name). Made out of line, since what can
// go wrong takes more room in a program than what it does.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail(ErrorCode code, const char* fmt, ...);
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fail_check(const char* fmt, ...);
[[noreturn, gnu::cold]] void fail_assert(const char* condition, const char* file, int line);

}  // namespace torchlet

// TORCHLET_CHECK(condition, "expected %d dimensions, got %d", a, b): throws kRuntime. The text is
// made only when the condition fails.
#define TORCHLET_CHECK(condition, ...)     \
  do {                                     \
    if (!(condition)) [[unlikely]]         \
      ::torchlet::fail_check(__VA_ARGS__); \
  } while (false)

// For what can only fail by a bug of our own.
#define TORCHLET_ASSERT(condition)                             \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::torchlet::fail_assert(#condition, __FILE__, __LINE__); \
  } while (false)
