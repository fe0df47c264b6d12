// Small dense matrices of float, double or complex double and what decompositions are made of.
// Plain loops over rows; only large products of real matrices go to the GEMM kernels.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/counted_vector.h"

namespace torchlet::ops::linalg {

// Every `step`-th element of somebody else's memory.
template <typename T>
struct Vector {
  T* data;
  int64_t size, step;

  T& operator[](int64_t i) const { return data[i * step]; }
  Vector from(int64_t first) const { return {data + first * step, size - first, step}; }
  Vector head(int64_t count) const { return {data, count, step}; }
};

// A matrix in somebody else's memory, any strides.
template <typename T>
struct View {
  T* data;
  int64_t row_count, col_count, row_step, col_step;

  int64_t rows() const { return row_count; }
  int64_t cols() const { return col_count; }
  T& operator()(int64_t i, int64_t j) const { return data[i * row_step + j * col_step]; }
  Vector<T> row(int64_t i) const { return {data + i * row_step, col_count, col_step}; }
  Vector<T> col(int64_t j) const { return {data + j * col_step, row_count, row_step}; }
  View block(int64_t i, int64_t j, int64_t rows, int64_t cols) const {
    return {data + i * row_step + j * col_step, rows, cols, row_step, col_step};
  }
  View transposed() const { return {data, col_count, row_count, col_step, row_step}; }
};

// A matrix of its own, row by row; zero at first.
template <typename T>
class Matrix : public View<T> {
 public:
  Matrix(int64_t rows, int64_t cols)
      : View<T>{nullptr, rows, cols, cols, 1}, elements_(static_cast<size_t>(rows * cols)) {
    this->data = elements_.data();
  }
  Matrix(Matrix&&) noexcept = default;
  Matrix& operator=(Matrix&&) noexcept = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

 private:
  CountedVector<T> elements_;
};

// Products without the detour of C++'s complex multiplication, which repairs NaN.
inline float times(float a, float b) { return a * b; }
inline double times(double a, double b) { return a * b; }
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline float conjugate(float x) { return x; }
inline double conjugate(double x) { return x; }
inline std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }

// What floats become where much may be left out of a number.
template <typename T>
using WideOf = std::conditional_t<std::is_same_v<T, float>, double, T>;

// All for T = float, double and std::complex<double>.
template <typename T>
void add_scaled(T factor, Vector<T> x, Vector<T> y);  // y += factor x
template <typename T>
void scale(Vector<T> x, T factor);
template <typename T>
void swap(Vector<T> x, Vector<T> y);
template <typename T>
T dot(Vector<T> x, Vector<T> y);  // the sum of conj(x) y
template <typename T>
double squared_norm(Vector<T> x);
template <typename T>
double norm(Vector<T> x);
template <typename T>
double norm(const View<T>& a);  // Frobenius
template <typename T>
bool all_finite(const View<T>& a);

template <typename T>
void fill(const View<T>& a, T value);
template <typename T>
void set_identity(const View<T>& a);
template <typename T>
void copy(const View<T>& from, const View<T>& to);
template <typename T>
Matrix<T> copied(const View<T>& a);
template <typename T>
Matrix<T> adjoint_of(const View<T>& a);

// c += a b of floats or doubles, with the GEMM kernel; they may not overlap. The rows or the
// columns of c are contiguous.
template <typename T>
void add_product(const View<T>& a, const View<T>& b, const View<T>& c);
// c -= a b; they may not overlap.
template <typename T>
void subtract_product(const View<T>& a, const View<T>& b, const View<T>& c);
template <typename T>
Matrix<T> product(const View<T>& a, const View<T>& b);

// (x, y) = (c x + s y, c y - s x)
template <typename T>
void rotate(Vector<T> x, Vector<T> y, double c, double s);

// The reflection I - conj(tau) v v^H that brings `column` to (beta, 0, ..) with beta real (LAPACK's
// larfg). Returns tau and leaves beta and below it v, whose first element is 1.
template <typename T>
T make_reflection(Vector<T> column);

// a -= tau v (v^H a): the reflection I - tau v v^H from the left.
template <typename T>
void reflect_rows(const View<T>& a, Vector<T> v, T tau);

// c becomes Q c, or Q^H c if `adjoint`, where Q is the product of the reflections I - tau v v^H,
// one for each column of `packed`, whose v is what lies below its diagonal, and 1 there.
constexpr int64_t kReflections = 64;  // that are applied together
template <typename T>
void apply_reflections(const View<T>& packed, const T* tau, bool adjoint, const View<T>& c);

// QR in place, as LAPACK's geqrf: R, and below it the v of reflections of which `tau` are factors.
template <typename T>
void factor_qr(const View<T>& a, T* tau);

// The X of A X = B in the place of B, where A is triangular; its other triangle is not read, nor
// its diagonal if `unit`. Fastest if the rows of B are contiguous, or it has few columns.
template <typename T>
void solve_triangular(const View<T>& a, bool upper, bool unit, const View<T>& b);

// Gaussian elimination in place with row exchanges, as LAPACK's getrf: pivots are 1-based. Returns
// the 1-based place of the first zero on the diagonal of U, or 0.
template <typename T>
int factor_lu(const View<T>& a, int32_t* pivots, bool pivot);

// The L of A = L L^H in the place of A's lower triangle, which alone is read; the other one may
// change. Returns the 1-based place of the first pivot that is not positive, where it stops, or 0.
template <typename T>
int factor_cholesky(const View<T>& a);

}  // namespace torchlet::ops::linalg
