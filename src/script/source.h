// A piece of TorchScript text and places in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet::script {

// Byte offsets [begin, end) into a Source.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// One record of `code/` (or TorchScript of our own, such as the operator upgraders). Immutable.
class Source {
 public:
  // Throws kFileFormat when `text` is longer than 32-bit offsets can reach.
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const {
    return std::string_view(text_).substr(span.begin, span.end - span.begin);
  }
  // 1-based.
  int line(size_t offset) const;

  // Throws kFileFormat: "code/__torch__.py:12: <message>", with the offending line as context.
  [[noreturn]] void fail(Span span, const std::string& message) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace torchlet::script
