// Where in a program something stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace torchlet {

struct SourceRange;

// The model's original Python places, from the archive's debug records.
class SourceMap {
 public:
  virtual ~SourceMap() = default;
  // The original place of a byte of the archive's source; an empty range if it is not known.
  virtual SourceRange original(size_t offset) const = 0;
};

struct Source {
  std::string name;  // "code/__torch__/m.py" of an archive, or the file of the original program
  std::string text;
  int first_line = 1;
  std::shared_ptr<const SourceMap> origin;
};

struct SourceRange {
  std::shared_ptr<const Source> source;
  uint32_t begin = 0, end = 0;  // bytes of source->text

  bool empty() const { return !source; }
  int line() const;
  // "mobilenet.py:57": the original place if it is known, else that of the archive's source.
  std::string where() const;
  // The original place; empty if it is not known.
  SourceRange original() const;
  // The original place if it is known, else this one.
  SourceRange origin() const;
};

}  // namespace torchlet
