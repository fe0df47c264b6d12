// Discrete Fourier transforms of any length, many at once.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace torchlet::kernels {

// out[k] = sum over j of in[j] * exp(-+2 pi i j k / n), - if forward; not scaled. O(n log n) for
// every n: mixed radix for lengths with small prime factors, in Stockham's order, which needs no
// permutation (Cochran et al., "What is the fast Fourier transform?", 1967), Bluestein's
// convolution (1970) for the others. T is float or double. A plan may be used from several threads
// at once.
template <typename T>
class Fft {
 public:
  Fft(int64_t n, bool forward);
  int64_t size() const { return n_; }

  // In place: `lanes` transforms of data [n, lanes], whose real and imaginary parts lie apart.
  void transform(T* re, T* im, int64_t lanes) const;

 private:
  void bluestein(T* re, T* im, int64_t lanes) const;

  // exp(-+2 pi i k / n), or other factors of rows.
  struct Factors {
    std::vector<T> re, im;
    void resize(size_t size);
    void set(size_t i, std::complex<double> value);
  };

  int64_t n_;
  bool forward_;
  std::vector<int64_t> radices_;
  Factors roots_;
  std::vector<Fft> inner_;  // Bluestein: forward and backward transforms of a power of two
  Factors chirp_;           // exp(-+pi i k^2 / n)
  Factors filter_;          // the transformed conjugate chirp, divided by its length
};

// A plan that was made before, if it was lately; thread safe.
template <typename T>
std::shared_ptr<const Fft<T>> fft_plan(int64_t n, bool forward);

}  // namespace torchlet::kernels
