#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace torchlet::kernels {

// C[m, n] = A[m, k] B[k, n] of unsigned by signed bytes, exact in int32 for k < 66000. Zero points
// are the caller's business: with a zero point z of A, subtract z times the column sums of B.
//
// B is read in a packed form that belongs to the processor: pack it on the machine that uses it.

// Bytes that pack_b writes.
int64_t gemm_u8i8_packed_b_size(int64_t k, int64_t n);
void gemm_u8i8_pack_b(int64_t k, int64_t n, ConstMatrix<int8_t> b, int8_t* packed);

// C has unit column stride. Runs on the threads of base/thread_pool.
void gemm_u8i8_packed(int64_t m, int64_t n, int64_t k, ConstMatrix<uint8_t> a,
                      const int8_t* packed_b, int32_t* c, int64_t c_stride);
void gemm_u8i8(int64_t m, int64_t n, int64_t k, ConstMatrix<uint8_t> a, ConstMatrix<int8_t> b,
               int32_t* c, int64_t c_stride);

}  // namespace torchlet::kernels
