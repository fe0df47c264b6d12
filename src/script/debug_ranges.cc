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

// What has no number of its own in the debug information of bytecode.
constexpr int64_t kNoTag = -1;

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

// A text that is written out, or as indices of its lines; no longer than `most`.
std::string text_of(const Value& value, const Value& strings, size_t most) {
  std::string text;
  if (value.is_string() && value.to_string().size() <= most) text = value.to_string();
  for (const Value& line : items_of(value)) {
    const std::string* part = string_of(line, strings);
    if (!part || part->size() > most - text.size()) break;
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
      const bool has_tag = fields.size() >= 3 && fields[2].is_int();
      entries_.push_back({fields[0].to_int(), fields[1], has_tag ? fields[2].to_int() : kNoTag});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
}

void DebugRanges::load() const {
  std::call_once(once_, [this] {
    try {
      read_records(load_());
    } catch (const Error&) {
      entries_.clear();
    }
    load_ = nullptr;
  });
}

SourceRange DebugRanges::original(size_t offset) const {
  load();
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), static_cast<int64_t>(offset),
                       [](int64_t wanted, const Entry& entry) { return wanted < entry.offset; });
  if (after == entries_.begin()) return {};
  return place((after - 1)->range);
}

size_t DebugRanges::add_tagged(std::unordered_map<int64_t, SourceRange>& places) const {
  load();
  for (const Entry& entry : entries_) {
    if (entry.tag == kNoTag || places.contains(entry.tag)) continue;
    SourceRange known = place(entry.range);
    if (!known.empty()) places.emplace(entry.tag, std::move(known));
  }
  const std::lock_guard lock(mutex_);
  return text_left_;
}

SourceRange DebugRanges::place(const Value& value) const {
  const std::span<const Value> range = items_of(value);
  if (range.size() < 3) return {};
  std::shared_ptr<const Source> source = source_of(range[0]);
  if (!source) return {};
  return {std::move(source), offset_of(range[1]), offset_of(range[2])};
}

// Null if it has no file.
std::shared_ptr<const Source> DebugRanges::source_of(const Value& value) const {
  const std::span<const Value> fields = items_of(value);
  if (fields.size() < 3) return nullptr;
  const std::string* file = string_of(fields[1], strings_);
  if (!file || file->empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Source>& known = sources_[fields.data()];
  if (known) return known;
  auto source = std::make_shared<Source>();
  source->name = *file;
  source->text = text_of(fields[0], strings_, text_left_);
  text_left_ -= source->text.size();
  constexpr uint32_t kLastLine = 1 << 30;
  source->first_line = static_cast<int>(std::min(offset_of(fields[2]), kLastLine));
  known = std::move(source);
  return known;
}

namespace {

// As SourceRangeSerializer in source_range_serialization.cpp.
class RecordWriter {
 public:
  Value write(const std::vector<Mark>& marks) {
    std::vector<Value> records;
    bool is_known = false;
    for (size_t i = 0; i < marks.size(); ++i) {
      const auto& [offset, place] = marks[i];
      if (i + 1 < marks.size() && marks[i + 1].offset == offset) continue;
      is_known |= !place.empty();
      records.push_back(Value::tuple({static_cast<int64_t>(offset), range(place), kNoTag}));
    }
    return is_known ? record(std::move(records)) : Value();
  }

  Value write_tagged(const std::vector<SourceRange>& places) {
    std::vector<Value> records;
    for (const SourceRange& place : places) {
      const auto tag = static_cast<int64_t>(records.size());
      records.push_back(Value::tuple({tag, range(place), tag}));
    }
    return record(std::move(records));
  }

 private:
  Value range(const SourceRange& place) {
    return Value::tuple({source(place.source.get()), int64_t{place.begin}, int64_t{place.end}});
  }

  Value record(std::vector<Value> records) {
    return Value::tuple({"FORMAT_WITH_STRING_TABLE", Value::tuple(std::move(strings_)),
                         Value::tuple(std::move(records))});
  }

  // Sources of the same content are one.
  const Value& source(const Source* source) {
    Value& known = by_address_[source];
    if (!known.is_none()) return known;
    std::vector<Value> lines;
    int64_t file = 0, first_line = 0;
    if (source) {
      for (size_t begin = 0; begin < source->text.size();) {
        const size_t end = std::min(source->text.find('\n', begin), source->text.size() - 1) + 1;
        lines.emplace_back(string(source->text.substr(begin, end - begin)));
        begin = end;
      }
      file = string(source->name);
      first_line = source->first_line;
    }
    std::string content;
    for (const Value& line : lines) content += std::to_string(line.to_int()) + ",";
    content += std::to_string(file) + ":" + std::to_string(first_line);
    Value& same = by_content_[content];
    if (same.is_none()) {
      const auto list = make_ref<List>(types::integer(), std::move(lines));
      same = Value::tuple({Value(list), file, first_line});
    }
    return known = same;
  }

  int64_t string(const std::string& text) {
    const auto [found, is_new] = indices_.emplace(text, strings_.size());
    if (is_new) strings_.emplace_back(text);
    return static_cast<int64_t>(found->second);
  }

  std::vector<Value> strings_ = {""};
  std::unordered_map<std::string, size_t> indices_ = {{"", 0}};
  std::unordered_map<const Source*, Value> by_address_;
  std::unordered_map<std::string, Value> by_content_;
};

}  // namespace

Value debug_record(const std::vector<Mark>& marks) { return RecordWriter().write(marks); }

Value tagged_debug_record(const std::vector<SourceRange>& places) {
  return RecordWriter().write_tagged(places);
}

}  // namespace torchlet::script
