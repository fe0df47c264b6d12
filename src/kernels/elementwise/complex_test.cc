#include "kernels/elementwise/complex.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

using Numbers = std::vector<std::complex<float>>;

const float* parts(const Numbers& numbers) {
  return reinterpret_cast<const float*>(numbers.data());
}
float* parts(Numbers& numbers) { return reinterpret_cast<float*>(numbers.data()); }

TEST(Complex, EveryTail) {
  for_each_target([] {
    for (int64_t count = 0; count < 40; ++count) {
      SCOPED_TRACE(count);
      Numbers a, b;
      for (int64_t i = 0; i <= count; ++i) {
        a.emplace_back(static_cast<float>(i % 7 - 3), static_cast<float>(i % 5 - 2));
        b.emplace_back(static_cast<float>(1 << i % 3), 0.0f);
        if (i % 2 == 1) b.back() *= std::complex<float>(0, i % 4 == 1 ? 1.0f : -1.0f);
      }
      const std::complex<float> untouched(99, 98);
      Numbers product = b, quotient(b.size(), untouched), conjugate = quotient;
      multiply_complex(parts(a), parts(product), parts(product), count);  // in place
      divide_complex(parts(a), parts(b), parts(quotient), count);
      conjugate_complex(parts(a), parts(conjugate), count);
      std::vector<float> sizes(a.size(), 97);
      absolute_complex(parts(a), sizes.data(), count);
      EXPECT_EQ(sizes.back(), 97);
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {  // all of it exact
        EXPECT_EQ(product[i], a[i] * b[i]);
        EXPECT_EQ(quotient[i], a[i] / b[i]);
        EXPECT_EQ(conjugate[i], std::conj(a[i]));
        const std::complex<double> wide = a[i];
        EXPECT_EQ(sizes[i], static_cast<float>(std::sqrt(std::norm(wide))));
      }
      EXPECT_EQ(product.back(), b.back());
      EXPECT_EQ(quotient.back(), untouched);
      EXPECT_EQ(conjugate.back(), untouched);
    }
  });
}

TEST(Complex, NumbersOfAllSizes) {
  for_each_target([] {
    const Numbers a = {{1e38f, 2e37f}, {1e-38f, 2e-38f}, {1, 2}, {0.1f, -0.7f}, {1, 1}};
    Numbers quotient(a.size()),
        b = {{2e38f, 1e38f}, {1e-38f, 1e-38f}, {3, -4}, {0.1f, -0.7f}, {0, 0}};
    divide_complex(parts(a), parts(b), parts(quotient), 5);
    for (size_t i = 0; i < 4; ++i) {
      const std::complex<double> expected = std::complex<double>(a[i]) / std::complex<double>(b[i]);
      EXPECT_LE(std::abs(std::complex<double>(quotient[i]) - expected), 3e-7 * std::abs(expected));
    }
    const float inf = std::numeric_limits<float>::infinity(), nan = NAN;
    Numbers special;
    for (int i = 0; i < 8; ++i) special.insert(special.end(), {{inf, nan}, {nan, -inf}, {nan, 1}});
    std::vector<float> sizes(special.size());
    absolute_complex(parts(special), sizes.data(), std::ssize(special));
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(i % 3 == 2 ? std::isnan(sizes[i]) : sizes[i] == inf);
    }
    EXPECT_TRUE(std::isnan(quotient[4].real()) && std::isnan(quotient[4].imag()));
    // Exactly real.
    Numbers conjugate(a.size()), square(a.size());
    conjugate_complex(parts(a), parts(conjugate), 5);
    multiply_complex(parts(a), parts(conjugate), parts(square), 5);
    for (size_t i = 1; i < 5; ++i) EXPECT_EQ(square[i].imag(), 0.0f);
  });
}

}  // namespace
}  // namespace torchlet::kernels
