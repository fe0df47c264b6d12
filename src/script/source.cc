#include "script/source.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace torchlet::script {

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  if (text_.size() >= std::numeric_limits<uint32_t>::max()) {
    torchlet::fail(ErrorCode::kFileFormat, name_ + ": the source is longer than 4 GiB");
  }
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

int Source::line(size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<int>(after - line_starts_.begin());
}

void Source::fail(Span span, const std::string& message) const {
  const int number = line(span.begin);
  Error error(ErrorCode::kFileFormat, name_ + ":" + std::to_string(number) + ": " + message);
  std::string_view excerpt = text().substr(line_starts_[static_cast<size_t>(number) - 1]);
  excerpt = excerpt.substr(0, excerpt.find('\n'));
  excerpt.remove_prefix(std::min(excerpt.size(), excerpt.find_first_not_of(' ')));
  constexpr size_t kLongestExcerpt = 120;
  if (!excerpt.empty()) {
    const bool cut = excerpt.size() > kLongestExcerpt;
    error.add_context(std::string(excerpt.substr(0, kLongestExcerpt)) + (cut ? "..." : ""));
  }
  throw error;
}

}  // namespace torchlet::script
