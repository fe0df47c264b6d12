#include "lite/flat_table.h"

#include <algorithm>

#include "base/error.h"

namespace torchlet::lite {
namespace {

FlatBytes part(FlatBytes whole, size_t position, size_t size) {
  if (position > whole.size() || size > whole.size() - position) {
    fail(ErrorCode::kFileFormat,
         "the flatbuffer is damaged, so save or download it again: there are no %zu bytes at byte "
         "%zu of the %zu that they belong to",
         size, position, whole.size());
  }
  return whole.subspan(position, size);
}

// Offsets count from where they stand.
size_t follow(FlatBytes file, size_t position) {
  const auto offset = flat_number<uint32_t>(part(file, position, sizeof(uint32_t)));
  part(file, position, offset);
  return position + offset;
}

std::string_view text_at(FlatBytes file, size_t position) {
  const auto size = flat_number<uint32_t>(part(file, position, sizeof(uint32_t)));
  const FlatBytes text = part(file, position + sizeof(uint32_t), size);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

}  // namespace

FlatTable FlatTable::root(FlatBytes file) { return FlatTable(file, follow(file, 0)); }

// A table begins with the way back to its vtable, which holds the size of itself, that of the table
// and, for each field, where in the table it lies.
FlatTable::FlatTable(FlatBytes file, size_t position) : file_(file) {
  const int64_t vtable =
      static_cast<int64_t>(position) - flat_number<int32_t>(part(file, position, sizeof(int32_t)));
  if (vtable < 0 || vtable > static_cast<int64_t>(file.size())) {
    fail(ErrorCode::kFileFormat,
         "the table at byte %zu of the flatbuffer has its fields listed outside of it", position);
  }
  const auto start = static_cast<size_t>(vtable);
  const FlatBytes sizes = part(file, start, 2 * sizeof(uint16_t));
  vtable_ = part(file, start, std::max<size_t>(sizes.size(), flat_number<uint16_t>(sizes)));
  table_ = part(file, position, flat_number<uint16_t>(sizes.subspan(sizeof(uint16_t))));
}

FlatBytes FlatTable::find(unsigned field, size_t size) const {
  const size_t entry = (2 + field) * sizeof(uint16_t);
  if (entry + sizeof(uint16_t) > vtable_.size()) return {};
  const auto offset = flat_number<uint16_t>(vtable_.subspan(entry));
  return offset == 0 ? FlatBytes() : part(table_, offset, size);
}

size_t FlatTable::target(unsigned field) const {
  const FlatBytes found = find(field, sizeof(uint32_t));
  if (found.empty()) return 0;
  return follow(file_, static_cast<size_t>(found.data() - file_.data()));
}

size_t FlatTable::required_target(unsigned field) const {
  const size_t position = target(field);
  if (position == 0)
    fail(ErrorCode::kFileFormat, "a table of the flatbuffer has no field %u", field);
  return position;
}

std::string_view FlatTable::text(unsigned field) const {
  const size_t position = target(field);
  return position == 0 ? std::string_view() : text_at(file_, position);
}

FlatVector FlatTable::vector(unsigned field, size_t item_size) const {
  const size_t position = target(field);
  return position == 0 ? FlatVector() : FlatVector(file_, position, item_size);
}

std::optional<FlatTable> FlatTable::find_table(unsigned field) const {
  const size_t position = target(field);
  if (position == 0) return std::nullopt;
  return FlatTable(file_, position);
}

FlatTable FlatTable::table(unsigned field) const {
  return FlatTable(file_, required_target(field));
}

FlatBytes FlatTable::structure(unsigned field, size_t size) const {
  return part(file_, required_target(field), size);
}

FlatVector::FlatVector(FlatBytes file, size_t position, size_t item_size)
    : file_(file),
      size_(flat_number<uint32_t>(part(file, position, sizeof(uint32_t)))),
      item_size_(item_size) {
  if (size_ > file.size() / item_size) {
    fail(ErrorCode::kFileFormat, "a vector of %zu items in a flatbuffer of %zu bytes", size_,
         file.size());
  }
  items_ = part(file, position + sizeof(uint32_t), size_ * item_size);
}

FlatBytes FlatVector::item(size_t i, size_t size) const {
  return part(items_, i * item_size_, size);
}

size_t FlatVector::target(size_t i) const {
  const FlatBytes offset = item(i, sizeof(uint32_t));
  return follow(file_, static_cast<size_t>(offset.data() - file_.data()));
}

FlatTable FlatVector::table(size_t i) const { return FlatTable(file_, target(i)); }
std::string_view FlatVector::text(size_t i) const { return text_at(file_, target(i)); }

}  // namespace torchlet::lite
