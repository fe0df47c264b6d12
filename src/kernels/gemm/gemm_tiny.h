#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace torchlet::kernels {

// Many products of so few numbers that none of them fills a vector: C_i[m, n] = A_i[m, k] B_i[k, n]
// for i < count. Matrices of one kind lie one after the other without gaps, those of C in row-major
// order, those of A and B in that or its transposed one.
struct TinyProducts {
  int64_t count, m, n, k;
};

// Whether this is the better way: the matrices are turned, so that those of a vector lie side by
// side.
bool suits_tiny(const TinyProducts& p);

// `a` and `b` are the first matrices. Runs on the threads of base/thread_pool.
void gemm_tiny(const TinyProducts& p, ConstMatrix<float> a, ConstMatrix<float> b, float* c);
void gemm_tiny(const TinyProducts& p, ConstMatrix<double> a, ConstMatrix<double> b, double* c);

}  // namespace torchlet::kernels
