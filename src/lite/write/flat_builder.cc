#include "lite/write/flat_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace torchlet::lite {
namespace {

constexpr size_t kMaxSize = std::numeric_limits<int32_t>::max();

}  // namespace

std::byte* FlatBuilder::grow(size_t count) {
  if (count > kMaxSize - size()) {
    fail(ErrorCode::kUnsupported, "a flatbuffer holds no more than 2 GiB; write a .ptl instead");
  }
  if (begin_ < count) {
    std::vector<std::byte> larger(std::max(2 * buffer_.size(), size() + count + 1024));
    const size_t begin = larger.size() - size();
    if (size()) std::memcpy(larger.data() + begin, buffer_.data() + begin_, size());
    buffer_ = std::move(larger);
    begin_ = begin;
  }
  begin_ -= count;
  return buffer_.data() + begin_;
}

void FlatBuilder::align(size_t count, size_t alignment) {
  alignment_ = std::max(alignment_, alignment);
  const size_t padding = (alignment - (size() + count) % alignment) % alignment;
  std::fill_n(grow(padding), padding, std::byte{0});
}

FlatBuilder::Offset FlatBuilder::length_prefix(size_t length) {
  put(static_cast<uint32_t>(length));
  return here();
}

FlatBuilder::Offset FlatBuilder::text(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  align(text.size() + 1, sizeof(uint32_t));
  put('\0');
  if (!text.empty()) std::memcpy(grow(text.size()), text.data(), text.size());
  const Offset result = length_prefix(text.size());
  texts_.emplace(text, result);
  return result;
}

FlatBuilder::Offset FlatBuilder::vector(std::span<const std::byte> items, size_t item_size,
                                        size_t alignment) {
  align(items.size(), sizeof(uint32_t));
  align(items.size(), alignment);
  if (!items.empty()) std::memcpy(grow(items.size()), items.data(), items.size());
  return length_prefix(items.size() / item_size);
}

FlatBuilder::Offset FlatBuilder::offsets(const std::vector<Offset>& items) {
  align(0, sizeof(uint32_t));
  for (auto item = items.rbegin(); item != items.rend(); ++item) put_offset(*item);
  return length_prefix(items.size());
}

// From the place of the offset itself.
void FlatBuilder::put_offset(Offset target) {
  const size_t place = size() + sizeof(uint32_t);
  put(static_cast<uint32_t>(place - target.from_end));
}

FlatBuilder::Offset FlatBuilder::structure(std::span<const std::byte> bytes, size_t alignment) {
  align(bytes.size(), alignment);
  std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
  return here();
}

// A table begins with where its layout is: (bytes of the layout, bytes of the table, the place of
// each field in the table or 0). The largest fields come last, so that none needs padding.
FlatBuilder::Offset FlatBuilder::table(Table table) {
  std::ranges::stable_sort(table.fields_, std::less<>(), &Table::Field::size);
  std::ranges::reverse(table.fields_);
  unsigned num_fields = 0;
  for (const Table::Field& field : table.fields_)
    num_fields = std::max(num_fields, field.number + 1);
  std::vector<uint16_t> layout(num_fields + 2, 0);
  std::vector<size_t> end_of_field(num_fields, 0);  // counted from the end of the buffer
  const size_t end = size();
  for (const Table::Field& field : table.fields_) {
    align(field.size, field.size);
    if (field.target.from_end) {
      put_offset(field.target);
    } else {
      std::memcpy(grow(field.size), &field.bits, field.size);
    }
    end_of_field[field.number] = size();
  }
  align(sizeof(int32_t), sizeof(int32_t));
  const size_t begin = size() + sizeof(int32_t);
  for (size_t i = 0; i < num_fields; ++i) {
    if (end_of_field[i]) layout[i + 2] = static_cast<uint16_t>(begin - end_of_field[i]);
  }
  layout[0] = static_cast<uint16_t>(layout.size() * sizeof(uint16_t));
  layout[1] = static_cast<uint16_t>(begin - end);

  const auto known = layouts_.find(layout);
  if (known != layouts_.end()) {
    put(static_cast<int32_t>(known->second.from_end) - static_cast<int32_t>(begin));
    return here();
  }
  put(static_cast<int32_t>(layout[0]));  // right in front of the table
  const Offset result = here();
  std::memcpy(grow(layout[0]), layout.data(), layout[0]);
  layouts_.emplace(std::move(layout), here());
  return result;
}

std::span<const std::byte> FlatBuilder::finish(Offset root, std::string_view identifier) {
  align(sizeof(uint32_t) + identifier.size(), alignment_);
  std::memcpy(grow(identifier.size()), identifier.data(), identifier.size());
  put_offset(root);
  return {buffer_.data() + begin_, size()};
}

}  // namespace torchlet::lite
