// Text with what each part of it was made of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/source_range.h"

namespace torchlet::script {

// From this byte to the next mark: the place in the original Python, empty if it is not known.
struct Mark {
  size_t offset;
  SourceRange place;
};

struct MarkedText {
  std::string text;
  std::vector<Mark> marks;  // ascending

  // What follows comes from `place`.
  void mark(SourceRange place) { marks.push_back({text.size(), std::move(place)}); }
  void append(const MarkedText& other) {
    for (const Mark& mark : other.marks) marks.push_back({text.size() + mark.offset, mark.place});
    text += other.text;
  }
};

}  // namespace torchlet::script
