#include "kernels/signal/fft.h"

#include <cmath>

namespace torchlet::kernels {
namespace {

// Above this a prime factor costs more than a detour over powers of two.
constexpr int64_t kMaxRadix = 31;

std::complex<double> root(int64_t k, int64_t n, bool forward) {
  const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

}  // namespace

Fft::Fft(int64_t n, bool forward) : n_(n) {
  int64_t rest = n;
  for (int64_t radix = 2; radix <= kMaxRadix && rest > 1; ++radix) {
    for (; rest % radix == 0; rest /= radix) factors_.push_back(radix);
  }
  if (rest <= 1) {
    roots_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) roots_[static_cast<size_t>(k)] = root(k, n, forward);
    return;
  }
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  inner_.emplace_back(size, true);
  inner_.emplace_back(size, false);
  chirp_.resize(static_cast<size_t>(n));
  filter_.resize(static_cast<size_t>(size));
  int64_t square = 0;  // k^2 modulo 2n, which keeps the angle small, and so exact
  for (int64_t k = 0; k < n; ++k) {
    const Complex value = root(square, 2 * n, forward);
    chirp_[static_cast<size_t>(k)] = value;
    filter_[static_cast<size_t>(k)] = std::conj(value);
    if (k > 0) filter_[static_cast<size_t>(size - k)] = std::conj(value);
    square = (square + 2 * k + 1) % (2 * n);
  }
  inner_[0].transform(filter_.data());
}

void Fft::transform(Complex* data) const {
  if (n_ <= 1) return;
  if (!inner_.empty()) return bluestein(data);
  const std::vector<Complex> in(data, data + n_);
  mixed_radix(in.data(), 1, data, n_, 0);
}

// Splits n = radix * m: radix transforms of every radix-th value, then one butterfly for each k <
// m.
void Fft::mixed_radix(const Complex* in, int64_t stride, Complex* out, int64_t n,
                      size_t factor) const {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t radix = factors_[factor], m = n / radix;
  for (int64_t r = 0; r < radix; ++r) {
    mixed_radix(in + r * stride, stride * radix, out + r * m, m, factor + 1);
  }
  const int64_t step = n_ / n;  // roots_ of n_, read as those of n
  Complex part[kMaxRadix];
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t r = 0; r < radix; ++r) {
      part[r] = out[r * m + k] * roots_[static_cast<size_t>(r * k * step)];
    }
    for (int64_t q = 0; q < radix; ++q) {
      Complex sum = part[0];
      for (int64_t r = 1; r < radix; ++r) {
        sum += part[r] * roots_[static_cast<size_t>(r * q % radix * m * step)];
      }
      out[q * m + k] = sum;
    }
  }
}

void Fft::bluestein(Complex* data) const {
  const size_t n = static_cast<size_t>(n_), size = filter_.size();
  std::vector<Complex> work(size);
  for (size_t k = 0; k < n; ++k) work[k] = data[k] * chirp_[k];
  inner_[0].transform(work.data());
  for (size_t k = 0; k < size; ++k) work[k] *= filter_[k];
  inner_[1].transform(work.data());
  const double scale = 1.0 / static_cast<double>(size);
  for (size_t k = 0; k < n; ++k) data[k] = work[k] * chirp_[k] * scale;
}

}  // namespace torchlet::kernels
