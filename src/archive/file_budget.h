// The memory that the values of a file may take.
#pragma once

#include <cstddef>

#include "base/error.h"

namespace torchlet::archive {

// Rough costs in bytes of what readers make.
inline constexpr size_t kContainerCost = 160;
inline constexpr size_t kDictEntryCost = 200;
inline constexpr size_t kObjectCost = 300;

// Plenty for small files, and in proportion for large ones: real ones need about 30 bytes for each
// of theirs.
class FileBudget {
 public:
  // `stored_size` is the size in the file, so that what is compressed cannot ask for more.
  explicit FileBudget(size_t stored_size) : left_(kFloor + kPerByte * stored_size) {}

  void charge(size_t cost) {
    if (cost > left_) {
      fail(ErrorCode::kFileFormat,
           "the values would need far more memory than a file of its size may ask for");
    }
    left_ -= cost;
  }

 private:
  static constexpr size_t kFloor = size_t{64} << 20;
  static constexpr size_t kPerByte = 48;
  size_t left_;
};

}  // namespace torchlet::archive
