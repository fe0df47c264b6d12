// Dense linear algebra over batches of matrices [..., m, n]: of floats in float, of all complex
// numbers in complex double. Results come back in the dtype of the input. Decompositions follow
// LAPACK's conventions, which are PyTorch's.
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

// Calls f with a T() of double or std::complex<double>.
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

// Where the matrices [..., m, n] of a tensor are.
class Places {
 public:
  explicit Places(const Tensor& matrices);
  int64_t offset_of(int64_t i) const;  // in elements; polls

  void* data;
  int64_t count = 1, rows, cols, row_step, col_step;

 private:
  IntArray sizes_, strides_;  // of the batch
  bool is_even_;              // `step_` from each matrix to the next
  int64_t step_;
};
Tensor copied_batch(const Tensor& a, DType dtype);
Tensor empty_batch(IntSpan batch, int64_t m, int64_t n, DType dtype);

// A batch of matrices to be read: where they are, if they are of the compute type.
template <typename T>
class Given {
 public:
  explicit Given(const Tensor& a) : Given(Whole(), a.to(DTypeOf<T>::value)) {}

  View<T> operator[](int64_t i) const {
    return {static_cast<T*>(places_.data) + places_.offset_of(i), places_.rows, places_.cols,
            places_.row_step, places_.col_step};
  }

 protected:
  struct Whole {};
  Given(Whole, Tensor data) : data_(std::move(data)), places_(data_) {}
  Tensor data_;
  Places places_;
};

// A contiguous batch of matrices of the compute type.
template <typename T>
class Batch : public Given<T> {
  using Whole = typename Given<T>::Whole;

 public:
  // A copy of `a` [..., m, n].
  explicit Batch(const Tensor& a) : Given<T>(Whole(), copied_batch(a, DTypeOf<T>::value)) {}
  // Uninitialised, [..., m, n].
  explicit Batch(IntSpan sizes) : Given<T>(Whole(), empty(sizes, DTypeOf<T>::value)) {}
  // batch... x m x n
  Batch(IntSpan batch, int64_t m, int64_t n)
      : Given<T>(Whole(), empty_batch(batch, m, n, DTypeOf<T>::value)) {}

  int64_t rows() const { return this->places_.rows; }
  int64_t cols() const { return this->places_.cols; }
  int64_t count() const { return this->places_.count; }
  IntSpan batch_sizes() const { return this->data_.sizes().first(this->data_.sizes().size() - 2); }
  Tensor to(DType dtype) const { return this->data_.to(dtype); }
  const Tensor& tensor() const { return this->data_; }
};

// The batch dimensions of both, broadcast; and a matrix tensor brought to them.
IntArray batch_of(const Tensor& a, const Tensor& b);
Tensor expand_batch(const Tensor& a, IntSpan batch);

Tensor adjoint(const Tensor& a);  // conjugate transpose of [..., m, n]
// The first result of another operator.
Tensor call(const char* name, const char* overload, std::vector<Value> args);

// ---- what factorisations share ----

// An int32 tensor over the batch of `a`, with `extra` more dimensions, zero.
Tensor int_batch(const Tensor& a, IntSpan extra = {});
// An Error that begins with `message` if an element of `info` is not 0.
void check_info(const Tensor& info, const char* message);
inline constexpr char kSingular[] =
    "The diagonal element is zero: the matrix is singular and cannot be solved or inverted";
// Pivots of LAPACK, which a program may have made: dense, [batch..., count], from 1 to `rows`. With
// `blocks`, two negative ones stand for a block of two rows.
Tensor checked_pivots(const Tensor& pivots, IntArray sizes, int64_t count, int64_t rows,
                      bool blocks, const char* what);

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
