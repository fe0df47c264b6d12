// Discrete Fourier transforms of any length in double precision.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace torchlet::kernels {

// out[k] = sum over j of in[j] * exp(-+2 pi i j k / n), - if forward; not scaled. O(n log n) for
// every n: mixed radix (Cooley and Tukey 1965) for lengths with small prime factors, Bluestein's
// convolution (1970) for the others. A plan may be used from several threads at once.
class Fft {
 public:
  Fft(int64_t n, bool forward);
  int64_t size() const { return n_; }
  // In place; `data` holds n values.
  void transform(std::complex<double>* data) const;

 private:
  using Complex = std::complex<double>;
  void mixed_radix(const Complex* in, int64_t stride, Complex* out, int64_t n, size_t factor) const;
  void bluestein(Complex* data) const;

  int64_t n_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;   // exp(-+2 pi i k / n)
  std::vector<Fft> inner_;       // Bluestein: forward and backward transforms of a power of two
  std::vector<Complex> chirp_;   // exp(-+pi i k^2 / n)
  std::vector<Complex> filter_;  // the transformed conjugate chirp
};

}  // namespace torchlet::kernels
