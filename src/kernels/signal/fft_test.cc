#include "kernels/signal/fft.h"

#include <gtest/gtest.h>

#include <cmath>

namespace torchlet::kernels {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> samples(int64_t n) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < n; ++i) {
    values.emplace_back(static_cast<double>(i * 7 % 11) - 5, static_cast<double>(i * 5 % 13) - 6);
  }
  return values;
}

std::vector<Complex> naive(const std::vector<Complex>& in, bool forward) {
  const size_t n = in.size();
  std::vector<Complex> out(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      const double angle = 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n);
      out[k] += in[j] * std::polar(1.0, forward ? -angle : angle);
    }
  }
  return out;
}

void expect_transform(int64_t n, bool forward) {
  std::vector<Complex> values = samples(n);
  const std::vector<Complex> expected = naive(values, forward);
  const Fft plan(n, forward);
  EXPECT_EQ(plan.size(), n);
  plan.transform(values.data());
  const double tolerance = 1e-13 * static_cast<double>(n) * 8;
  for (size_t k = 0; k < values.size(); ++k) {
    ASSERT_LT(std::abs(values[k] - expected[k]), tolerance) << "n = " << n << ", k = " << k;
  }
}

// Every small length: all mixes of small factors, and the first primes of Bluestein's way (37 on).
TEST(Fft, AllLengthsToSeventy) {
  for (int64_t n = 1; n <= 70; ++n) {
    expect_transform(n, true);
    expect_transform(n, false);
  }
}

TEST(Fft, PowersPrimesAndProducts) {
  for (const int64_t n : {128, 243, 256, 512, 625, 1000, 1024}) expect_transform(n, true);
  for (const int64_t n : {31 * 31, 31 * 37, 97, 127, 257, 509, 1021}) expect_transform(n, false);
}

TEST(Fft, ThereAndBackIsTheLengthTimesTheInput) {
  for (const int64_t n : {2048, 3000, 4099}) {
    std::vector<Complex> values = samples(n);
    Fft(n, true).transform(values.data());
    Fft(n, false).transform(values.data());
    const std::vector<Complex> expected = samples(n);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_LT(std::abs(values[i] / static_cast<double>(n) - expected[i]), 1e-12);
    }
  }
}

TEST(Fft, AnImpulseGivesExactOnes) {
  std::vector<Complex> values(12);
  values[0] = 1;
  Fft(12, true).transform(values.data());
  for (const Complex& value : values) EXPECT_EQ(value, Complex(1));
}

}  // namespace
}  // namespace torchlet::kernels
