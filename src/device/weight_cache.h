// Packed weights in files, so that the next process need not pack them: Options::cache_dir.
//
// A file holds what one segment packed and is written whole or not at all:
// DIR/MODEL-PROCESSOR-SET.weights: hashes of the model's file and of what is inside, and a number of
// the instruction set that kernels use. Another build of Torchlet packs otherwise, so a file of
// one is deleted, and a damaged file is: what they held is packed and written anew. Files are
// mapped, so that all processes share their memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace torchlet::device {

// Thread-safe.
class WeightCache {
 public:
  // Maps what the folder has for the model, whose file has so many bytes. The folder is made if
  // there is none: Error kIo if it cannot be. `processor` and `build` tell what they are; where
  // `build` is 0, as nobody knows, nothing is read or written.
  WeightCache(std::string folder, uint64_t model, size_t model_bytes, uint64_t processor,
              uint64_t build);
  // Where this process runs.
  WeightCache(std::string folder, uint64_t model, size_t model_bytes);

  // What add() once got by this key, 64-byte aligned; null if that is not here.
  std::shared_ptr<const void> find(uint64_t key, size_t nbytes) const;
  // For the next write().
  void add(uint64_t key, std::shared_ptr<const void> packed, size_t nbytes);
  // Writes what was added, if there is something. A model's files together take no more than
  // kMostTimes its own size (at least kFloor): what goes beyond is left out. What fails is told on
  // standard error, once, and nothing is written after it.
  void write();
  static constexpr uint64_t kMostTimes = 8, kFloor = uint64_t{64} << 20;

 private:
  struct Added {
    uint64_t key;
    std::shared_ptr<const void> packed;
    size_t nbytes;
  };
  void read(const std::string& path);
  void write_file(const std::vector<Added>& entries);

  const std::string folder_, prefix_;  // "MODEL-PROCESSOR-"
  const uint64_t build_;
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, size_t>, std::shared_ptr<const void>> found_;
  std::vector<Added> added_;
  uint64_t bytes_left_;
};

}  // namespace torchlet::device
