// The source of random numbers behind the random operators: one Mersenne twister for the process,
// seeded as PyTorch's by default, so that models behave the same from run to run.
#pragma once

#include <cmath>
#include <mutex>

#include "ops/core/common.h"

namespace torchlet::ops {

// MT19937 (Matsumoto and Nishimura 1998): the numbers of std::mt19937, without its branch at every
// other one.
class MersenneTwister {
 public:
  using result_type = uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  explicit MersenneTwister(uint32_t value) { seed(value); }
  void seed(uint32_t value);
  uint32_t operator()() {
    if (next_ == kSize) refill();
    uint32_t y = state_[next_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }

 private:
  static constexpr size_t kSize = 624, kMiddle = 397;
  void refill();
  uint32_t state_[kSize];
  size_t next_ = kSize;
};

// torch.manual_seed.
void seed_random(uint64_t seed);

// Exclusive use of the generator while it lives. The conversions to real numbers are those of
// PyTorch's CPU generator (ATen/core/TransformationHelper.h).
class Random {
 public:
  Random();

  MersenneTwister& engine() { return engine_; }
  uint32_t next32() { return engine_(); }
  uint64_t next64();
  // [0, 1) with as many bits as a float or a shorter type has, and with 53 random bits.
  float uniform_float(int bits = 24) {
    const uint32_t steps = 1u << bits;
    return static_cast<float>(next32() & (steps - 1)) * (1 / static_cast<float>(steps));
  }
  double uniform() { return static_cast<double>(next64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  // Mean 0, deviation 1 (Box and Muller).
  double normal();
  // [0, range), range > 0.
  uint64_t below(uint64_t range) {
    if (range > (uint64_t{1} << 32)) return next64() % range;
    return range >> 32 ? next32() : next32() % static_cast<uint32_t>(range);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  MersenneTwister& engine_;
};

// Fill a real or complex tensor of a floating point type.
void fill_uniform(const Tensor& self, double from, double to);
void fill_normal(const Tensor& self, double mean, double std);
// 1 with probability p, else 0; any dtype.
void fill_bernoulli(const Tensor& self, double p);

// Zeroes elements with probability p and scales the others by 1 / (1 - p); only when training.
Tensor dropout(const Tensor& input, double p, bool train);

}  // namespace torchlet::ops
