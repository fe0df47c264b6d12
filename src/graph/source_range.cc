#include "graph/source_range.h"

#include <algorithm>

namespace torchlet {

int SourceRange::line() const {
  if (!source) return 0;
  const auto stop = source->text.begin() +
                    static_cast<std::ptrdiff_t>(std::min<size_t>(begin, source->text.size()));
  return source->first_line + static_cast<int>(std::count(source->text.begin(), stop, '\n'));
}

SourceRange SourceRange::original() const {
  return source && source->origin ? source->origin->original(begin) : SourceRange();
}

SourceRange SourceRange::origin() const {
  SourceRange range = original();
  return range.empty() ? *this : range;
}

std::string SourceRange::where() const {
  const SourceRange place = origin();
  if (place.empty()) return "?";
  const std::string& name = place.source->name;
  const size_t slash = place.source.get() == source.get() ? std::string::npos : name.rfind('/');
  return (slash == std::string::npos ? name : name.substr(slash + 1)) + ":" +
         std::to_string(place.line());
}

}  // namespace torchlet
