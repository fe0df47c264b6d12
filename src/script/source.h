// Places in a piece of TorchScript.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/source_range.h"

namespace torchlet::script {

// Byte offsets [begin, end) into the text of a Source.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

inline std::string_view text_of(const Source& source, Span span) {
  return std::string_view(source.text).substr(span.begin, span.end - span.begin);
}

// Throws kFileFormat: "code/__torch__.py:12: <message>"; the context is the offending line and, if
// it is known, the place in the original Python.
[[noreturn]] void fail_at(const Source& source, Span span, const std::string& message);

}  // namespace torchlet::script
