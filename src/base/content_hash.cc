#include "base/content_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace torchlet {
namespace {

constexpr uint64_t kPrime = 0x100000001b3;  // of FNV-1a

}  // namespace

// Multiplications and rotations by words, after which every bit depends on each before it.
void ContentHash::add(uint64_t word) { hash_ = std::rotl((hash_ ^ word) * kPrime, 29); }

void ContentHash::add(std::span<const std::byte> bytes) {
  add(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    add(word);
  }
}

uint64_t ContentHash::value() const { return hash_ * kPrime; }

uint64_t content_hash(std::span<const std::byte> bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace torchlet
