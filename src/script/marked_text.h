// Text with what each part of it was made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "graph/source_range.h"

namespace torchlet::script {

// From this byte to the next mark: the place in the original Python, empty if it is not known.
struct Mark {
  size_t offset;
  SourceRange place;
};

// The places of a text whose marks are known.
class MarkedPlaces : public SourceMap {
 public:
  explicit MarkedPlaces(std::vector<Mark> marks) : marks_(std::move(marks)) {}

  SourceRange original(size_t offset) const override {
    const auto after =
        std::upper_bound(marks_.begin(), marks_.end(), offset,
                         [](size_t wanted, const Mark& mark) { return wanted < mark.offset; });
    return after == marks_.begin() ? SourceRange() : (after - 1)->place;
  }

 private:
  const std::vector<Mark> marks_;  // ascending
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
