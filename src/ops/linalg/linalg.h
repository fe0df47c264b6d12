// Dense linear algebra over batches of matrices [..., m, n]: spectra in double or complex double
// whatever the dtype, factorisations and what is solved with them of floats in float. Results come
// back in the dtype of the input. Decompositions follow LAPACK's conventions, which are PyTorch's.
#pragma once

#include <complex>

#include "graph/operator.h"
#include "ops/core/common.h"
#include "ops/engines/dense_matrix.h"

namespace torchlet::ops::linalg {

// float32, float64, complex64 or complex128, else an Error that names the operator.
void check_dtype(const Tensor& a, const char* name);
// Any float or complex dtype: what needs no decomposition takes the 16-bit floats too.
void check_inexact(const Tensor& a, const char* name);
void check_matrix(const Tensor& a, const char* name);  // and at least two dimensions
void check_square(const Tensor& a, const char* name);

// Calls f with a T() of the type that spectra of `dtype` are computed in: double or
// std::complex<double>.
template <typename F>
auto with_wide_type(DType dtype, F f) {
  return is_complex(dtype) ? f(std::complex<double>()) : f(double());
}
// The same with float for float32 and the 16-bit floats: where rounding to float at each step is as
// good as LAPACK.
template <typename F>
auto with_type(DType dtype, F f) {
  if (is_complex(dtype)) return f(std::complex<double>());
  return dtype == DType::kFloat64 ? f(double()) : f(float());
}
DType real_dtype(DType dtype);  // of the absolute value

// A contiguous batch of matrices of the compute type.
template <typename T>
class Batch {
 public:
  // A copy of `a` [..., m, n].
  explicit Batch(const Tensor& a) : Batch(a.sizes()) { data_.copy_(a); }
  // Uninitialised, [..., m, n].
  explicit Batch(IntSpan sizes) : data_(empty(sizes, DTypeOf<T>::value)) {}
  // batch... x m x n
  Batch(IntSpan batch, int64_t m, int64_t n) : Batch(joined(batch, m, n)) {}

  int64_t rows() const { return data_.size(-2); }
  int64_t cols() const { return data_.size(-1); }
  int64_t count() const {
    int64_t n = 1;
    for (const int64_t size : batch_sizes()) n *= size;
    return n;
  }
  IntSpan batch_sizes() const { return data_.sizes().first(data_.sizes().size() - 2); }
  View<T> operator[](int64_t i) const {
    const int64_t m = rows(), n = cols();
    return {static_cast<T*>(data_.raw_data()) + i * m * n, m, n, n, 1};
  }
  Tensor to(DType dtype) const { return data_.to(dtype); }
  const Tensor& tensor() const { return data_; }

 private:
  static IntArray joined(IntSpan batch, int64_t m, int64_t n) {
    IntArray sizes(batch);
    sizes.push_back(m);
    sizes.push_back(n);
    return sizes;
  }
  Tensor data_;
};

// A batch of matrices to be read: where they are, if they are of the compute type.
template <typename T>
class Given {
 public:
  explicit Given(const Tensor& a) : data_(a.to(DTypeOf<T>::value)) {}

  View<T> operator[](int64_t i) const {
    int64_t offset = 0;
    for (int64_t d = data_.dim() - 3; d >= 0; i /= data_.size(d--)) {
      offset += i % data_.size(d) * data_.stride(d);
    }
    return {static_cast<T*>(data_.raw_data()) + offset, data_.size(-2), data_.size(-1),
            data_.stride(-2), data_.stride(-1)};
  }

 private:
  Tensor data_;
};

// The batch dimensions of both, broadcast; and a matrix tensor brought to them.
IntArray batch_of(const Tensor& a, const Tensor& b);
Tensor expand_batch(const Tensor& a, IntSpan batch);

Tensor adjoint(const Tensor& a);  // conjugate transpose of [..., m, n]
// The first result of another operator.
Tensor call(const char* name, const char* overload, std::vector<Value> args);

// ---- decompositions of one dtype, used by more than one file ----

struct Svd {
  Tensor u, s, vh;  // u and vh undefined unless asked for; s real, descending
};
Svd svd(const Tensor& a, bool full_matrices, bool compute_uv);
struct Eigh {
  Tensor values, vectors;  // ascending
};
Eigh eigh(const Tensor& a, bool lower, bool compute_vectors);
struct Inverse {
  Tensor inverse;  // inf and NaN where a matrix is singular
  Tensor info;     // int32: 0, or the one-based place of a zero on the diagonal of U
};
Inverse inverse(const Tensor& a);

}  // namespace torchlet::ops::linalg
