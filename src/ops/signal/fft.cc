#include "ops/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "kernels/signal/fft.h"

namespace torchlet::ops {
namespace {

using Complex = std::complex<double>;

DType complex_of(DType dtype) {
  TORCHLET_CHECK(dtype != DType::kFloat16 && dtype != DType::kBFloat16,
                 "Unsupported dtype %s for an FFT", dtype_name(dtype).data());
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128
                                                                 : DType::kComplex64;
}

// Transforms every line along `dim` of a contiguous complex128 tensor, in place.
void transform_dim(const Tensor& data, int64_t dim, bool forward) {
  const int64_t n = data.size(dim), stride = data.stride(dim);
  if (data.numel() == 0 || n == 1) return;
  const kernels::Fft plan(n, forward);
  Complex* values = data.data_ptr<Complex>();
  const int64_t lines = data.numel() / n;
  parallel_for(lines, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    CountedVector<Complex> line(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      Complex* first = values + i / stride * stride * n + i % stride;
      for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = first[k * stride];
      plan.transform(line.data());
      for (int64_t k = 0; k < n; ++k) first[k * stride] = line[static_cast<size_t>(k)];
    }
  });
}

void scale_by(const Tensor& data, FftScale scale, int64_t n) {
  if (scale == FftScale::kNone) return;
  const double count = static_cast<double>(n);
  const double factor = scale == FftScale::kN ? 1 / count : 1 / std::sqrt(count);
  Complex* values = data.data_ptr<Complex>();
  for (int64_t i = 0; i < data.numel(); ++i) values[i] *= factor;
}

// A contiguous complex128 copy to work in.
Tensor workspace(const Tensor& self) {
  const Tensor copy = empty(self.sizes(), DType::kComplex128);
  copy.copy_(self);
  return copy;
}

int64_t points(const Tensor& self, IntSpan dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= self.size(dim);
  return n;
}

}  // namespace

Tensor fft_c2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward) {
  const DType result = complex_of(self.dtype());
  const Tensor work = workspace(self);
  for (const int64_t dim : dims) transform_dim(work, dim, forward);
  scale_by(work, scale, points(self, dims));
  return work.to(result);
}

Tensor fft_r2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward, bool onesided) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "expects a real input tensor, but got %s",
                 dtype_name(self.dtype()).data());
  const Tensor full = fft_c2c(self, dims, scale, forward);
  if (!onesided || dims.empty()) return full;
  return narrow(full, dims.back(), 0, self.size(dims.back()) / 2 + 1).contiguous();
}

Tensor fft_c2r(const Tensor& self, IntSpan dims, FftScale scale, bool forward, int64_t last_size) {
  const DType result =
      complex_of(self.dtype()) == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
  const int64_t last = dims.back();
  Tensor half = workspace(self);
  for (const int64_t dim : dims.first(dims.size() - 1)) transform_dim(half, dim, forward);
  // The second half mirrors the first, x[n - k] = conj(x[k]); so x[0] and x[n / 2] are real.
  IntArray shape(half.sizes());
  shape[static_cast<size_t>(wrap_dim(last, self.dim()))] = last_size;
  const Tensor whole = empty(shape, DType::kComplex128);
  for (int64_t k = 0; k < last_size; ++k) {
    const int64_t from = std::min(k, last_size - k);
    const Tensor target = select(whole, last, k);
    target.copy_(select(half, last, from));
    const bool mirrored = k != from, real = k == 0 || 2 * k == last_size;
    if (!mirrored && !real) continue;
    const Tensor dense = target.contiguous();
    Complex* values = dense.data_ptr<Complex>();
    for (int64_t i = 0; i < dense.numel(); ++i) {
      values[i] = mirrored ? std::conj(values[i]) : Complex(values[i].real());
    }
    target.copy_(dense);
  }
  transform_dim(whole, last, forward);
  scale_by(whole, scale, points(whole, dims));
  return whole.to(result);
}

}  // namespace torchlet::ops
