#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchlet::kernels {

// The CRC-32 of zip and gzip (polynomial 0xedb88320, reflected), as zlib's crc32(0, ...), many
// times faster where the processor multiplies without carries. Uses several threads for large data.
uint32_t crc32(std::span<const std::byte> data);

}  // namespace torchlet::kernels
