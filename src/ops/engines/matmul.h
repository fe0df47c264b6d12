// Matrix products for the operators that are made of them. Operands may have any strides; their
// dtypes must be the same, which is also the dtype of the result.
#pragma once

#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "ops/core/common.h"

namespace torchlet::ops {

// C[m, n] = A[m, k] B[k, n] (+ C if `accumulate`) (+ col_bias[n] if given), for the four compute
// types of elementwise.h.
template <typename T>
void gemm(int64_t m, int64_t n, int64_t k, kernels::ConstMatrix<T> a, kernels::ConstMatrix<T> b,
          T* c, int64_t c_stride, bool accumulate = false, const T* col_bias = nullptr);

// [m, k] x [k, n] -> [m, n]
Tensor mm(const Tensor& self, const Tensor& mat2);
// [b, m, k] x [b, k, n] -> [b, m, n]
Tensor bmm(const Tensor& self, const Tensor& mat2);
// numpy's matmul: vectors and broadcast batches.
Tensor matmul(const Tensor& self, const Tensor& other);
// [..., k] x [n, k] (+ [n]) -> [..., n]; `bias` may be undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// Sums over pairs of dimensions: those of `self` that are left, then those of `other`.
Tensor tensordot(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other);
// The product of all matrices, in the order that needs the fewest multiplications. The first and
// the last may be vectors (torch.linalg.multi_dot).
Tensor multi_dot(const std::vector<Tensor>& tensors);
// Subscripts as numpy.einsum, with "..." and the implicit output.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

}  // namespace torchlet::ops
