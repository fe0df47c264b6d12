#include "image/exif.h"

#include <cstring>

namespace torchlet::image {
namespace {

constexpr uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;

// Numbers of a block; 0 where the block has ended.
class Tiff {
 public:
  explicit Tiff(std::span<const uint8_t> bytes)
      : bytes_(bytes), is_little_(bytes.size() >= 2 && bytes[0] == 'I') {}

  uint32_t number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[at + (is_little_ ? size - 1 - i : i)];
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool is_little_;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8 ||
      (std::memcmp(tiff.data(), "II*\0", 4) != 0 && std::memcmp(tiff.data(), "MM\0*", 4) != 0)) {
    return 1;
  }
  const Tiff block(tiff);
  constexpr size_t kEntry = 12;
  const size_t directory = block.number(4, 4), count = block.number(directory, 2);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntry;
    if (block.number(entry, 2) != kOrientation) continue;
    const uint32_t type = block.number(entry + 2, 2);
    if (type != kShort && type != kLong) return 1;
    const uint32_t value = block.number(entry + 8, type == kShort ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Turn turn_of_orientation(int orientation) {
  switch (orientation) {
    case 2:
      return {.columns_reversed = true, .rows_reversed = false, .exchanged = false};
    case 3:
      return turn_of(Rotation::k180);
    case 4:
      return {.columns_reversed = false, .rows_reversed = true, .exchanged = false};
    case 5:
      return {.columns_reversed = false, .rows_reversed = false, .exchanged = true};
    case 6:
      return turn_of(Rotation::k90);
    case 7:
      return {.columns_reversed = true, .rows_reversed = true, .exchanged = true};
    case 8:
      return turn_of(Rotation::k270);
    default:
      return {};
  }
}

}  // namespace torchlet::image
