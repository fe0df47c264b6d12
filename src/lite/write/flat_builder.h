// Writes flatbuffers (google.github.io/flatbuffers): what flat_table.h reads.
//
// A flatbuffer is made from its end to its begin, since what is named must lie behind what names
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace torchlet::lite {

// Error kUnsupported when it grows past 2 GiB, which offsets cannot tell.
class FlatBuilder {
 public:
  // Where something that was written begins, counted from the end. Zero: nothing.
  struct Offset {
    uint32_t from_end = 0;
  };

  // Equal texts are written once.
  Offset text(std::string_view text);
  // A vector of numbers or of structures, which lie at a multiple of `alignment`.
  Offset vector(std::span<const std::byte> items, size_t item_size, size_t alignment);
  template <typename T>
  Offset numbers(const std::vector<T>& items) {
    return vector(std::as_bytes(std::span(items)), sizeof(T), sizeof(T));
  }
  Offset offsets(const std::vector<Offset>& items);
  // A structure that stands by itself, in a union.
  Offset structure(std::span<const std::byte> bytes, size_t alignment);

  // The fields of a table in any order; those that are not set are not there.
  class Table {
   public:
    template <typename T>
    Table& number(unsigned field, T value) {
      static_assert(std::is_arithmetic_v<T>);
      uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      fields_.push_back({field, sizeof(T), bits, {}});
      return *this;
    }
    Table& offset(unsigned field, Offset target) {
      if (target.from_end) fields_.push_back({field, sizeof(uint32_t), 0, target});
      return *this;
    }

   private:
    friend class FlatBuilder;
    struct Field {
      unsigned number;
      size_t size;
      uint64_t bits;
      Offset target;  // of an offset, else zero
    };
    std::vector<Field> fields_;
  };
  Offset table(Table table);

  // The whole file: its first four bytes lead to `root`, and `identifier` follows.
  std::span<const std::byte> finish(Offset root, std::string_view identifier);

 private:
  size_t size() const { return buffer_.size() - begin_; }
  std::byte* grow(size_t count);
  // So that after `count` more bytes the begin is a multiple of `alignment` from the end.
  void align(size_t count, size_t alignment);
  template <typename T>
  void put(T value) {
    std::memcpy(grow(sizeof(T)), &value, sizeof(T));
  }
  void put_offset(Offset target);
  Offset here() const { return {static_cast<uint32_t>(size())}; }
  Offset length_prefix(size_t length);

  std::vector<std::byte> buffer_;  // filled from the back
  size_t begin_ = 0;
  size_t alignment_ = 4;  // the strictest that was asked for
  std::map<std::string, Offset, std::less<>> texts_;
  std::map<std::vector<uint16_t>, Offset> layouts_;  // of tables
};

}  // namespace torchlet::lite
