// FarmHash's 64-bit fingerprint of bytes, which stays the same for ever
// (github.com/google/farmhash, Fingerprint64).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace torchlet::nn {

uint64_t fingerprint(std::span<const std::byte> bytes);

}  // namespace torchlet::nn
