#include "base/error.h"

#include "base/checked.h"

#include <cstdarg>
#include <cstdio>

namespace torchlet {
namespace {

// Names and texts of a model may hold null characters, where what() and C's strings would end.
std::string without_nulls(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\0");
  }
  return text;
}

}  // namespace

Error::Error(ErrorCode code, std::string message)
    : code_(code), message_(without_nulls(std::move(message))) {
  render();
}

Error& Error::set_python_class(std::string name) {
  python_class_ = without_nulls(std::move(name));
  return *this;
}

Error& Error::add_context(std::string place) {
  context_.push_back(without_nulls(std::move(place)));
  render();
  return *this;
}

void Error::render() {
  what_ = message_;
  for (const std::string& place : context_) {
    what_ += "\n  ";
    what_ += place;
  }
}

namespace {

std::string format_list(const char* fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, fmt, args);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, fmt, again);
  va_end(again);
  return text;
}

}  // namespace

std::string format(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::string text = format_list(fmt, args);
  va_end(args);
  return text;
}

void fail(ErrorCode code, std::string message) { throw Error(code, std::move(message)); }

void fail(ErrorCode code, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::string text = format_list(fmt, args);
  va_end(args);
  throw Error(code, std::move(text));
}

void fail_check(const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  std::string text = format_list(fmt, args);
  va_end(args);
  throw Error(ErrorCode::kRuntime, std::move(text));
}

void fail_overflow(int64_t a, const char* operation, int64_t b) {
  fail(ErrorCode::kInvalidArgument, "integer overflow: %lld %s %lld is no size",
       static_cast<long long>(a), operation, static_cast<long long>(b));
}

void fail_assert(const char* condition, const char* file, int line) {
  fail(ErrorCode::kInternal, "internal error at %s:%d: %s", file, line, condition);
}

}  // namespace torchlet
