// The `.debug_pkl` beside a record of code/: which place of the original Python made which part of
// the record (torch/csrc/jit/serialization/source_range_serialization.cpp).
#pragma once

#include <torchlet/value.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "graph/source_range.h"

namespace torchlet::script {

// Places are a comfort: a record that is missing or malformed makes them unknown, never an error.
// Thread-safe.
class DebugRanges : public SourceMap {
 public:
  // `load` unpickles the record, on the first question. It may throw. The formats since 2019:
  //   ("FORMAT_WITH_STRING_TABLE", strings, (record...)), where a source is (line indices, file
  //   index, first line), or (record...), where a source is (text, file, first line); a record is
  //   (byte offset, (source, start, end)[, tag]).
  explicit DebugRanges(std::function<Value()> load) : load_(std::move(load)) {}

  SourceRange original(size_t offset) const override;

 private:
  struct Entry {
    int64_t offset;
    Value range;
  };
  void read_records(const Value& pickled) const;

  mutable std::once_flag once_;
  mutable std::function<Value()> load_;
  mutable Value strings_;
  mutable std::vector<Entry> entries_;  // ascending offsets
};

}  // namespace torchlet::script
