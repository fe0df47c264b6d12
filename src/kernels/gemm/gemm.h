#pragma once

#include <cstdint>
#include <limits>

namespace torchlet::kernels {

// A matrix that is read: element (i, j) is data[i * row_stride + j * col_stride]. Any strides do,
// so a transposed matrix is the same data with its strides swapped.
template <typename T>
struct ConstMatrix {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;
};

// What happens to each element of a product before it is stored, in this order. Integers are not
// clamped.
template <typename T>
struct GemmEpilogue {
  bool accumulate = false;                      // add what C held
  const T* row_bias = nullptr;                  // [m], added to each row
  const T* col_bias = nullptr;                  // [n], added to each column
  T min = -std::numeric_limits<T>::infinity();  // clamp; NaN stays NaN
  T max = std::numeric_limits<T>::infinity();
};

// C[m, n] = A[m, k] B[k, n], then the epilogue. C has unit column stride and row stride `c_stride`,
// and must not overlap A or B. k may be 0: the product is then zero. Runs on the threads of
// base/thread_pool. The result does not depend on the number of threads.
void gemm_f32(int64_t m, int64_t n, int64_t k, ConstMatrix<float> a, ConstMatrix<float> b, float* c,
              int64_t c_stride, const GemmEpilogue<float>& epilogue = {});
void gemm_f64(int64_t m, int64_t n, int64_t k, ConstMatrix<double> a, ConstMatrix<double> b,
              double* c, int64_t c_stride, const GemmEpilogue<double>& epilogue = {});
// Modulo 2^64, so of signed numbers, too.
void gemm_u64(int64_t m, int64_t n, int64_t k, ConstMatrix<uint64_t> a, ConstMatrix<uint64_t> b,
              uint64_t* c, int64_t c_stride, const GemmEpilogue<uint64_t>& epilogue = {});

}  // namespace torchlet::kernels
