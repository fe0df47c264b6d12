#include "ops/random/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

struct Generator {
  std::mutex mutex;
  MersenneTwister engine{static_cast<uint32_t>(67280421310721)};  // c10::detail's default seed
  std::optional<double> spare_normal;
};

Generator& generator() {
  static auto* const generator = new Generator;
  return *generator;
}

// Sixteen uniform numbers become sixteen normal ones: the first eight give radii, the others angles
// (at::native::normal_fill_16). So many groups of sixteen, by the kernels of whole vectors.
void to_normal(float* data, int64_t groups, float mean, float std) {
  constexpr int64_t kHalf = 8, kMost = 64;
  float radii[kHalf * kMost], sines[kHalf * kMost], cosines[kHalf * kMost];
  const auto in_place = [](kernels::MatrixUnaryOp op, float* x, int64_t n) {
    kernels::unary_rows_f32(op, 1, n, x, n, x, n);
  };
  for (; groups > 0; groups -= kMost, data += 2 * kHalf * kMost) {
    const int64_t n = kHalf * std::min(groups, kMost);
    for (int64_t i = 0; i < n; ++i) {
      const float* from = data + i / kHalf * 2 * kHalf + i % kHalf;
      radii[i] = 1 - from[0];
      sines[i] = cosines[i] = 2 * std::numbers::pi_v<float> * from[kHalf];
    }
    in_place(kernels::MatrixUnaryOp::kLog, radii, n);
    in_place(kernels::MatrixUnaryOp::kSin, sines, n);
    in_place(kernels::MatrixUnaryOp::kCos, cosines, n);
    for (int64_t i = 0; i < n; ++i) {
      float* to = data + i / kHalf * 2 * kHalf + i % kHalf;
      const float radius = std::sqrt(-2 * radii[i]);
      to[0] = radius * cosines[i] * std + mean;
      to[kHalf] = radius * sines[i] * std + mean;
    }
  }
}

// Real parts and imaginary parts are drawn alike.
Tensor as_real(const Tensor& self) {
  if (is_complex(self.dtype())) return view_as_real(self);
  TORCHLET_CHECK(is_floating_point(self.dtype()),
                 "random real numbers need a floating point dtype, "
                 "got %s",
                 dtype_name(self.dtype()).data());
  return self;
}

}  // namespace

void MersenneTwister::seed(uint32_t value) {
  for (size_t i = 0; i < kSize; ++i) {
    state_[i] = value;
    value = 1812433253u * (value ^ value >> 30) + static_cast<uint32_t>(i + 1);
  }
  next_ = kSize;
}

void MersenneTwister::refill() {
  const auto twist = [&](size_t i, size_t next, size_t middle) {
    const uint32_t y = (state_[i] & 0x80000000u) | (state_[next] & 0x7fffffffu);
    state_[i] = state_[middle] ^ y >> 1 ^ ((0 - (y & 1)) & 0x9908b0dfu);
  };
  size_t i = 0;
  for (; i < kSize - kMiddle; ++i) twist(i, i + 1, i + kMiddle);
  for (; i + 1 < kSize; ++i) twist(i, i + 1, i + kMiddle - kSize);
  twist(i, 0, kMiddle - 1);
  next_ = 0;
}

void seed_random(uint64_t seed) {
  Generator& source = generator();
  const std::lock_guard lock(source.mutex);
  source.engine.seed(static_cast<uint32_t>(seed));
  source.spare_normal.reset();
}

Random::Random() : lock_(generator().mutex), engine_(generator().engine) {}

uint64_t Random::next64() {
  const uint64_t high = next32();
  return high << 32 | next32();
}

double Random::normal() {
  std::optional<double>& spare = generator().spare_normal;
  if (spare) {
    const double value = *spare;
    spare.reset();
    return value;
  }
  const double angle = 2 * std::numbers::pi * uniform();
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  spare = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void fill_uniform(const Tensor& self, double from, double to) {
  const Tensor target = as_real(self);
  Random random;
  if (target.dtype() == DTypeOf<double>::value) {
    const Tensor dense = empty(target.sizes(), DTypeOf<double>::value);
    double* data = dense.data_ptr<double>();
    for (int64_t i = 0; i < dense.numel(); ++i) data[i] = random.uniform() * (to - from) + from;
    target.copy_(dense);
    return;
  }
  const Tensor dense = empty(target.sizes(), DType::kFloat32);
  float* data = dense.data_ptr<float>();
  const auto low = static_cast<float>(from), width = static_cast<float>(to - from);
  const int bits = target.dtype() == DType::kFloat16    ? 11
                   : target.dtype() == DType::kBFloat16 ? 8
                                                        : 24;
  for (int64_t i = 0; i < dense.numel(); ++i) data[i] = random.uniform_float(bits) * width + low;
  target.copy_(dense);
}

void fill_normal(const Tensor& self, double mean, double std) {
  const Tensor target = as_real(self);
  if (is_complex(self.dtype())) {  // the variance is that of both parts together
    fill_normal(target, 0, std / std::numbers::sqrt2);
    const Tensor real = select(target, -1, 0);
    real.copy_(add(real, scalar_tensor(mean, real.dtype())));
    return;
  }
  Random random;
  const int64_t numel = target.numel();
  if (target.dtype() == DType::kFloat32 && numel >= 16) {
    const Tensor dense = empty(target.sizes(), DType::kFloat32);
    float* data = dense.data_ptr<float>();
    const auto m = static_cast<float>(mean), s = static_cast<float>(std);
    for (int64_t i = 0; i < numel; ++i) data[i] = random.uniform_float();
    to_normal(data, numel / 16, m, s);
    if (numel % 16 != 0) {  // the last sixteen are drawn again
      float* tail = data + numel - 16;
      for (int i = 0; i < 16; ++i) tail[i] = random.uniform_float();
      to_normal(tail, 1, m, s);
    }
    target.copy_(dense);
    return;
  }
  const Tensor dense = empty(target.sizes(), DTypeOf<double>::value);
  double* data = dense.data_ptr<double>();
  for (int64_t i = 0; i < numel; ++i) data[i] = random.normal() * std + mean;
  target.copy_(dense);
}

void fill_bernoulli(const Tensor& self, double p) {
  TORCHLET_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
  const Tensor dense = empty(self.sizes(), DType::kBool);
  bool* data = dense.data_ptr<bool>();
  Random random;
  for (int64_t i = 0; i < dense.numel(); ++i) data[i] = random.uniform() < p;
  self.copy_(dense);
}

}  // namespace torchlet::ops
