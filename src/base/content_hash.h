// 64 bits that tell contents apart. Nobody is kept from making two contents with the same hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchlet {

class ContentHash {
 public:
  void add(uint64_t word);
  // The bytes and how many there are.
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace torchlet
