#include "kernels/checksum/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

uint32_t zlib_crc(std::span<const std::byte> data) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

TEST(Crc32, IsTheOneOfZip) {
  const std::string_view text = "123456789";  // the check value of the CRC catalogue
  EXPECT_EQ(crc32(std::as_bytes(std::span(text))), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(Crc32, EverySizeAndAlignment) {
  const auto bytes = random_bytes(1200);
  for_each_target([&] {
    for (size_t offset : {0, 1, 7, 13}) {
      for (size_t size = 0; size + offset <= bytes.size(); ++size) {
        const auto data = std::span(bytes).subspan(offset, size);
        ASSERT_EQ(crc32(data), zlib_crc(data)) << offset << " " << size;
      }
    }
  });
}

}  // namespace
}  // namespace torchlet::kernels
