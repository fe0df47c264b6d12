#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/checksum/crc32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
#include <zlib.h>

#include "kernels/checksum/crc32.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kStep = 64;

uint32_t crc32_plain(uint32_t crc, const uint8_t* data, size_t size) {
  return static_cast<uint32_t>(::crc32_z(crc, data, size));
}

// Folding by carry-less multiplication: V. Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel 2009. Four blocks of 128 bits are folded over the
// data; what is left is congruent to the data modulo the polynomial, so the CRC of those 64 bytes
// is its CRC.
uint32_t crc32_folded(const uint8_t* data, size_t size) {
#if HWY_ARCH_X86 || HWY_ARCH_ARM_A64
  if (size < 4 * kStep) return crc32_plain(0, data, size);
  const hn::FixedTag<uint64_t, 2> d;
  const hn::Repartition<uint8_t, decltype(d)> d8;
  // x^(512 + 32) and x^(512 - 32) modulo the polynomial, bits reflected: how far 64 bytes carry.
  alignas(16) constexpr uint64_t kFold[2] = {0x154442bd4, 0x1c6e41596};
  const auto fold = hn::Load(d, kFold);
  const auto load = [&](size_t offset)
                        HWY_ATTR { return hn::BitCast(d, hn::LoadU(d8, data + offset)); };
  const auto carried = [&](decltype(hn::Zero(d)) block) HWY_ATTR {
    return hn::Xor(hn::CLMulLower(block, fold), hn::CLMulUpper(block, fold));
  };
  // The register begins with all ones, which is as if they were added to the first 32 bits.
  alignas(16) constexpr uint64_t kBegin[2] = {0xffffffff, 0};
  auto a = hn::Xor(load(0), hn::Load(d, kBegin)), b = load(16), c = load(32), e = load(48);
  size_t at = kStep;
  for (; at + kStep <= size; at += kStep) {
    a = hn::Xor(carried(a), load(at));
    b = hn::Xor(carried(b), load(at + 16));
    c = hn::Xor(carried(c), load(at + 32));
    e = hn::Xor(carried(e), load(at + 48));
  }
  alignas(16) uint64_t rest[8];
  hn::Store(a, d, rest);
  hn::Store(b, d, rest + 2);
  hn::Store(c, d, rest + 4);
  hn::Store(e, d, rest + 6);
  // zlib inverts the register on the way in and out: this begins with zeros.
  const uint32_t crc = crc32_plain(0xffffffff, reinterpret_cast<const uint8_t*>(rest), sizeof rest);
  return crc32_plain(crc, data + at, size - at);
#else
  return crc32_plain(0, data, size);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(crc32_folded);

uint32_t crc32(std::span<const std::byte> data) {
  return HWY_DYNAMIC_DISPATCH(crc32_folded)(reinterpret_cast<const uint8_t*>(data.data()),
                                            data.size());
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
