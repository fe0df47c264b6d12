#include "base/content_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace torchlet {
namespace {

TEST(ContentHash, ChangesWithEachByteAndTheLength) {
  std::vector<std::byte> bytes(100);
  const uint64_t zeros = content_hash(bytes);
  for (std::byte& byte : bytes) {
    byte = std::byte{1};
    EXPECT_NE(content_hash(bytes), zeros);
    byte = std::byte{0};
  }
  EXPECT_NE(content_hash(std::span(bytes).first(99)), zeros);
}

TEST(ContentHash, TellsWhereOnePartEnds) {
  const std::vector<std::byte> bytes(16);
  const auto of_parts = [&](size_t first) {
    ContentHash hash;
    hash.add(std::span(bytes).first(first));
    hash.add(std::span(bytes).subspan(first));
    return hash.value();
  };
  EXPECT_NE(of_parts(4), of_parts(8));
  ContentHash words, swapped;
  words.add(1);
  words.add(2);
  swapped.add(2);
  swapped.add(1);
  EXPECT_NE(words.value(), swapped.value());
}

}  // namespace
}  // namespace torchlet
