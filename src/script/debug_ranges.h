// The `.debug_pkl` beside a record of code/: which place of the original Python made which part of
// the record (torch/csrc/jit/serialization/source_range_serialization.cpp).
#pragma once

#include <torchlet/value.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "graph/source_range.h"
#include "script/marked_text.h"

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
  std::shared_ptr<const Source> source_of(const Value& fields) const;

  mutable std::once_flag once_;
  mutable std::function<Value()> load_;
  mutable Value strings_;
  mutable std::vector<Entry> entries_;  // ascending offsets
  mutable std::mutex mutex_;            // of what follows
  mutable std::unordered_map<const void*, std::shared_ptr<const Source>> sources_;
  mutable size_t text_left_ = size_t{64} << 20;  // of all sources: few lines may spell many
};

// The record for a text with these marks, with a table of strings; None if no place is known.
Value debug_record(const std::vector<Mark>& marks);

}  // namespace torchlet::script
