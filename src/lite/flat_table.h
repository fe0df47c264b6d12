// The tables, vectors and texts that a flatbuffer is made of (google.github.io/flatbuffers), read
// where they lie. Nothing in a file is believed: each offset and length is checked when it is
// followed, and an Error kFileFormat ends what leads outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace torchlet::lite {

using FlatBytes = std::span<const std::byte>;

// `T` is a number that `bytes` begin with; flatbuffers are little-endian, as we are.
template <typename T>
T flat_number(FlatBytes bytes) {
  T number;
  std::memcpy(&number, bytes.data(), sizeof(T));
  return number;
}

class FlatVector;

// Fields have the numbers of their places in the schema. One that the file does not have is zero or
// empty.
class FlatTable {
 public:
  // The outermost table of a file; the bytes must outlive it and all that it gives.
  static FlatTable root(FlatBytes file);

  template <typename T>
  T number(unsigned field, T absent = T()) const {
    const FlatBytes found = find(field, sizeof(T));
    return found.empty() ? absent : flat_number<T>(found);
  }
  std::string_view text(unsigned field) const;
  FlatVector vector(unsigned field, size_t item_size) const;
  std::optional<FlatTable> find_table(unsigned field) const;
  // What a union holds; an error if it is not there.
  FlatTable table(unsigned field) const;
  FlatBytes structure(unsigned field, size_t size) const;

 private:
  friend class FlatVector;
  FlatTable(FlatBytes file, size_t position);
  FlatBytes find(unsigned field, size_t size) const;
  // Where a field's offset leads to; 0, where no table or vector can be, if it is not there.
  size_t target(unsigned field) const;
  size_t required_target(unsigned field) const;

  FlatBytes file_;
  FlatBytes table_, vtable_;
};

// Items are numbers, structures, or offsets of tables and texts.
class FlatVector {
 public:
  size_t size() const { return size_; }
  FlatBytes bytes() const { return items_; }

  template <typename T>
  T number(size_t i) const {
    return flat_number<T>(item(i, sizeof(T)));
  }
  FlatBytes item(size_t i, size_t size) const;
  FlatTable table(size_t i) const;
  std::string_view text(size_t i) const;

 private:
  friend class FlatTable;
  FlatVector() = default;
  // At `position` of the file.
  FlatVector(FlatBytes file, size_t position, size_t item_size);
  size_t target(size_t i) const;

  FlatBytes file_, items_;
  size_t size_ = 0, item_size_ = 1;
};

}  // namespace torchlet::lite
