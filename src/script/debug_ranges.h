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
  // Its sources have `most_text` bytes at most: few lines may spell many.
  explicit DebugRanges(std::function<Value()> load, size_t most_text = kMostText)
      : load_(std::move(load)), text_left_(most_text) {}

  SourceRange original(size_t offset) const override;

  // The places that are known, by the tags under which the debug information of bytecode speaks of
  // them; a tag that is in `places` stays what it is. Gives how much of `most_text` is left.
  size_t add_tagged(std::unordered_map<int64_t, SourceRange>& places) const;

  static constexpr size_t kMostText = size_t{64} << 20;

 private:
  struct Entry {
    int64_t offset;
    Value range;
    int64_t tag;  // kNoTag: none
  };
  void load() const;
  SourceRange place(const Value& range) const;
  void read_records(const Value& pickled) const;
  std::shared_ptr<const Source> source_of(const Value& fields) const;

  mutable std::once_flag once_;
  mutable std::function<Value()> load_;
  mutable Value strings_;
  mutable std::vector<Entry> entries_;  // ascending offsets
  mutable std::mutex mutex_;            // of what follows
  mutable std::unordered_map<const void*, std::shared_ptr<const Source>> sources_;
  mutable size_t text_left_;
};

// The record for a text with these marks, with a table of strings; None if no place is known.
Value debug_record(const std::vector<Mark>& marks);
// The record of places that are asked for by their tags: their numbers in the list. Places may be
// empty.
Value tagged_debug_record(const std::vector<SourceRange>& places);

}  // namespace torchlet::script
