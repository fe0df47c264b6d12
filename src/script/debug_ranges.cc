#include "script/debug_ranges.h"

#include <torchlet/error.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "tensor/containers.h"

namespace torchlet::script {
namespace {

std::span<const Value> items_of(const Value& value) {
  if (value.is_tuple()) return value.tuple_ref().items;
  if (value.is_list()) return value.list_ref().items;
  return {};
}

// A string that is written out, or as its index in the table of strings.
const std::string* string_of(const Value& value, const Value& strings) {
  if (value.is_string()) return &value.to_string();
  if (!value.is_int()) return nullptr;
  const std::span<const Value> table = items_of(strings);
  const int64_t index = value.to_int();
  if (index < 0 || index >= static_cast<int64_t>(table.size())) return nullptr;
  const Value& text = table[static_cast<size_t>(index)];
  return text.is_string() ? &text.to_string() : nullptr;
}

// A text that is written out, or as indices of its lines.
std::string text_of(const Value& value, const Value& strings) {
  if (value.is_string()) return value.to_string();
  constexpr size_t kLongestText = size_t{16} << 20;  // the same huge line may be listed many times
  std::string text;
  for (const Value& line : items_of(value)) {
    const std::string* part = string_of(line, strings);
    if (!part || text.size() + part->size() > kLongestText) break;
    text += *part;
  }
  return text;
}

uint32_t offset_of(const Value& value) {
  if (!value.is_int()) return 0;
  return static_cast<uint32_t>(
      std::clamp<int64_t>(value.to_int(), 0, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

void DebugRanges::read_records(const Value& pickled) const {
  std::span<const Value> records = items_of(pickled);
  if (records.size() >= 3 && records[0].is_string()) {
    strings_ = records[1];
    records = items_of(records[2]);
  }
  for (const Value& record : records) {
    const std::span<const Value> fields = items_of(record);
    if (fields.size() >= 2 && fields[0].is_int()) {
      entries_.push_back({fields[0].to_int(), fields[1]});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
}

SourceRange DebugRanges::original(size_t offset) const {
  std::call_once(once_, [this] {
    try {
      read_records(load_());
    } catch (const Error&) {
      entries_.clear();
    }
    load_ = nullptr;
  });
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), static_cast<int64_t>(offset),
                       [](int64_t wanted, const Entry& entry) { return wanted < entry.offset; });
  if (after == entries_.begin()) return {};
  const std::span<const Value> range = items_of((after - 1)->range);
  if (range.size() < 3) return {};
  const std::span<const Value> fields = items_of(range[0]);
  if (fields.size() < 3) return {};
  const std::string* file = string_of(fields[1], strings_);
  if (!file || file->empty()) return {};

  auto source = std::make_shared<Source>();
  source->name = *file;
  source->text = text_of(fields[0], strings_);
  constexpr uint32_t kLastLine = 1 << 30;
  source->first_line = static_cast<int>(std::min(offset_of(fields[2]), kLastLine));
  return {std::move(source), offset_of(range[1]), offset_of(range[2])};
}

}  // namespace torchlet::script
