#include "kernels/signal/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "kernels/signal/fft_stages.h"
#include "kernels/simd/target_test.h"

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

// Each lane has an input of its own.
template <typename T>
void expect_transform(int64_t n, bool forward, double precision) {
  for (const int64_t lanes :
       n <= 70 ? std::vector<int64_t>{1, 3, 16, 19} : std::vector<int64_t>{3}) {
    std::vector<T> re, im;
    const std::vector<Complex> values = samples(n + lanes);
    for (int64_t i = 0; i < n * lanes; ++i) {
      const Complex value = values[static_cast<size_t>(i / lanes + i % lanes)];
      re.push_back(static_cast<T>(value.real()));
      im.push_back(static_cast<T>(value.imag()));
    }
    const Fft<T> plan(n, forward);
    EXPECT_EQ(plan.size(), n);
    plan.transform(re.data(), im.data(), lanes);
    for (int64_t l = 0; l < lanes; ++l) {
      const std::vector<Complex> expected =
          naive({values.begin() + l, values.begin() + l + n}, forward);
      for (int64_t k = 0; k < n; ++k) {
        const auto at = static_cast<size_t>(k * lanes + l);
        const Complex got(re[at], im[at]);
        ASSERT_LT(std::abs(got - expected[static_cast<size_t>(k)]),
                  precision * static_cast<double>(n))
            << "n = " << n << ", k = " << k << ", lane " << l << " of " << lanes;
      }
    }
  }
}

void expect_transforms(int64_t n, bool forward) {
  expect_transform<double>(n, forward, 8e-13);
  expect_transform<float>(n, forward, 2e-6);
}

// Every small length: all mixes of small factors, and the first primes of Bluestein's way (37 on).
TEST(Fft, AllLengthsToSeventy) {
  for_each_target([] {
    for (int64_t n = 1; n <= 70; ++n) {
      expect_transforms(n, true);
      expect_transforms(n, false);
    }
  });
}

TEST(Fft, PowersPrimesAndProducts) {
  for (const int64_t n : {128, 243, 256, 512, 625, 1000, 1024}) expect_transforms(n, true);
  for (const int64_t n : {31 * 31, 31 * 37, 97, 127, 257, 509, 1021}) expect_transforms(n, false);
}

TEST(Fft, AnImpulseGivesExactOnes) {
  std::vector<float> re(12), im(12);
  re[0] = 1;
  Fft<float>(12, true).transform(re.data(), im.data(), 1);
  for (size_t i = 0; i < re.size(); ++i) EXPECT_EQ(Complex(re[i], im[i]), Complex(1));
}

// Small integers, so that all is exact. What lies between the lines is not written.
TEST(Fft, PairsOfRealLinesApart) {
  for_each_target([] {
    for (const int64_t n : {1, 2, 3, 8, 9, 31, 40}) {
      for (const int64_t count : {n, n / 2 + 1}) {
        SCOPED_TRACE(testing::Message() << count << " of " << n);
        constexpr int64_t kLines = 2;
        const int64_t step = 2 * count + 1;
        const std::vector<Complex> z = samples(kLines * n);
        std::vector<float> re, im, to(static_cast<size_t>(2 * kLines * step), -99), expected = to;
        for (const Complex& value : z) {
          re.push_back(static_cast<float>(value.real()));
          im.push_back(static_cast<float>(value.imag()));
        }
        for (int64_t l = 0; l < kLines; ++l) {
          for (int64_t k = 0; k < count; ++k) {
            const Complex here = z[static_cast<size_t>(l * n + k)];
            const Complex mirrored = std::conj(z[static_cast<size_t>(l * n + (n - k) % n)]);
            const Complex pair[2] = {here + mirrored, Complex(0, -1) * (here - mirrored)};
            for (int64_t i = 0; i < 2; ++i) {
              float* const place = expected.data() + (2 * l + i) * step + 2 * k;
              place[0] = static_cast<float>(pair[i].real() / 2);
              place[1] = static_cast<float>(pair[i].imag() / 2);
            }
          }
        }
        split_pairs({re.data(), im.data(), kLines, n, count, 0.5F, to.data(), step});
        EXPECT_EQ(to, expected);
      }
    }
  });
}

TEST(Fft, PlansAreKept) {
  const auto plan = fft_plan<float>(60, true);
  EXPECT_EQ(fft_plan<float>(60, true), plan);
  EXPECT_NE(fft_plan<float>(60, false), plan);
  for (int64_t n = 61; n < 80; ++n) EXPECT_EQ(fft_plan<float>(n, true)->size(), n);
  EXPECT_NE(fft_plan<float>(60, true), plan);
}

}  // namespace
}  // namespace torchlet::kernels
