#include "neuralnetworks/operators/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace torchlet::nn {
namespace {

constexpr uint64_t kFirst = 0xc3a5c85c97cb3127, kSecond = 0xb492b66fbe98f273,
                   kThird = 0x9ae16a3b2f90404f;

template <typename T = uint64_t>
uint64_t load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

uint64_t fold(uint64_t x) { return x ^ (x >> 47); }

uint64_t mix(uint64_t a, uint64_t b, uint64_t factor) {
  const uint64_t half = fold((a ^ b) * factor);
  return fold((b ^ half) * factor) * factor;
}

uint64_t of_at_most_16(const std::byte* s, size_t n) {
  const uint64_t factor = kThird + n * 2;
  if (n >= 8) {
    const uint64_t a = load(s) + kThird, b = load(s + n - 8);
    return mix(std::rotr(b, 37) * factor + a, (std::rotr(a, 25) + b) * factor, factor);
  }
  if (n >= 4) return mix(n + (load<uint32_t>(s) << 3), load<uint32_t>(s + n - 4), factor);
  if (n == 0) return kThird;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(s[i]); };
  const uint64_t y = byte(0) + (byte(n / 2) << 8), z = n + (byte(n - 1) << 2);
  return fold(y * kThird ^ z * kFirst) * kThird;
}

uint64_t of_at_most_32(const std::byte* s, size_t n) {
  const uint64_t factor = kThird + n * 2;
  const uint64_t a = load(s) * kSecond, b = load(s + 8);
  const uint64_t c = load(s + n - 8) * factor, d = load(s + n - 16) * kThird;
  return mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kThird, 18) + c,
             factor);
}

uint64_t of_at_most_64(const std::byte* s, size_t n) {
  const uint64_t factor = kThird + n * 2;
  const uint64_t a = load(s) * kThird, b = load(s + 8);
  const uint64_t c = load(s + n - 8) * factor, d = load(s + n - 16) * kThird;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = mix(y, a + std::rotr(b + kThird, 18) + c, factor);
  const uint64_t e = load(s + 16) * factor, f = load(s + 24);
  const uint64_t g = (y + load(s + n - 32)) * factor, h = (z + load(s + n - 24)) * factor;
  return mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, factor);
}

// What has been seen of longer inputs.
struct State {
  using Pair = std::pair<uint64_t, uint64_t>;
  uint64_t x = 0, y = 0, z = 0;
  Pair v{0, 0}, w{0, 0};

  static Pair mix_block(const std::byte* s, uint64_t a, uint64_t b) {
    const uint64_t first = load(s), last = load(s + 24);
    a += first;
    b = std::rotr(b + a + last, 21);
    const uint64_t sum = a + load(s + 8) + load(s + 16);
    return {sum + last, b + std::rotr(sum, 44) + a};
  }

  // 64 bytes; the last ones count more.
  void take(const std::byte* s, uint64_t factor, uint64_t weight) {
    x = std::rotr(x + y + v.first + load(s + 8), 37) * factor;
    y = std::rotr(y + v.second + load(s + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + load(s + 40);
    z = std::rotr(z + w.first, 33) * factor;
    v = mix_block(s, v.second * factor, x + w.first);
    w = mix_block(s + 32, z + w.second, y + load(s + 16));
    std::swap(z, x);
  }
};

uint64_t of_long(const std::byte* s, size_t n) {
  constexpr uint64_t kSeed = 81;
  State state;
  state.x = kSeed * kThird + load(s);
  state.y = kSeed * kSecond + 113;
  state.z = fold(state.y * kThird + 113) * kThird;
  const std::byte* const last = s + n - 64;
  for (size_t blocks = (n - 1) / 64; blocks > 0; --blocks, s += 64) state.take(s, kSecond, 1);
  const uint64_t factor = kSecond + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) % 64;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(last, factor, 9);
  return mix(mix(state.v.first, state.w.first, factor) + fold(state.y) * kFirst + state.z,
             mix(state.v.second, state.w.second, factor) + state.x, factor);
}

}  // namespace

uint64_t fingerprint(std::span<const std::byte> bytes) {
  const std::byte* s = bytes.data();
  const size_t n = bytes.size();
  return n <= 16   ? of_at_most_16(s, n)
         : n <= 32 ? of_at_most_32(s, n)
         : n <= 64 ? of_at_most_64(s, n)
                   : of_long(s, n);
}

}  // namespace torchlet::nn
