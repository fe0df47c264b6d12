#include "script/source.h"

#include <algorithm>

#include "base/error.h"

namespace torchlet::script {

void fail_at(const Source& source, Span span, const std::string& message) {
  const std::string_view text = source.text;
  const std::string_view before = text.substr(0, std::min<size_t>(span.begin, text.size()));
  const auto line = source.first_line + std::count(before.begin(), before.end(), '\n');
  constexpr size_t kLongestMessage = 300;  // names and types may be of any length
  const bool is_long = message.size() > kLongestMessage;
  Error error(ErrorCode::kFileFormat, source.name + ":" + std::to_string(line) + ": " +
                                          message.substr(0, kLongestMessage) +
                                          (is_long ? "..." : ""));

  const size_t line_break = before.rfind('\n');
  std::string_view excerpt = text.substr(line_break == std::string_view::npos ? 0 : line_break + 1);
  excerpt = excerpt.substr(0, excerpt.find('\n'));
  excerpt.remove_prefix(std::min(excerpt.size(), excerpt.find_first_not_of(' ')));
  constexpr size_t kLongestExcerpt = 120;
  if (!excerpt.empty()) {
    const bool cut = excerpt.size() > kLongestExcerpt;
    error.add_context(std::string(excerpt.substr(0, kLongestExcerpt)) + (cut ? "..." : ""));
  }
  if (source.origin) {
    const SourceRange written = source.origin->original(span.begin);
    if (!written.empty()) {
      const std::string& file = written.source->name;
      error.add_context("written in " + file.substr(file.rfind('/') + 1) + ":" +
                        std::to_string(written.line()));
    }
  }
  throw error;
}

}  // namespace torchlet::script
