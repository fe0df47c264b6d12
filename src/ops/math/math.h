// The C++ faces of the pointwise, reduction and softmax operators that others are composed of. Each
// behaves as the PyTorch function of its name: type promotion, broadcasting, errors.
#pragma once

#include <optional>
#include <utility>

#include "ops/core/common.h"

namespace torchlet::ops {

// ---- pointwise (arithmetic_ops.cc, unary_ops.cc) ----

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Scalar& other);
Tensor pow(const Tensor& self, const Scalar& exponent);
Tensor pow(const Scalar& self, const Tensor& exponent, DType dtype);
Tensor neg(const Tensor& self);
Tensor abs(const Tensor& self);
Tensor exp(const Tensor& self);
Tensor log(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor square(const Tensor& self);
Tensor atan2(const Tensor& self, const Tensor& other);
Tensor polar(const Tensor& magnitude, const Tensor& angle);

// ---- comparison and selection (compare_ops.cc) ----

Tensor eq(const Tensor& self, const Tensor& other);
Tensor eq(const Tensor& self, const Scalar& other);
Tensor ne(const Tensor& self, const Scalar& other);
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
Tensor clamp(const Tensor& self, const std::optional<Scalar>& min,
             const std::optional<Scalar>& max);
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
bool equal(const Tensor& self, const Tensor& other);  // same sizes and elements

// ---- activations (nn/activation_ops.cc, nn/softmax_ops.cc) ----

Tensor relu(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor gelu(const Tensor& self, bool tanh_approximation = false);
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor log_sigmoid(const Tensor& self);
Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype = std::nullopt);
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype = std::nullopt);

// ---- reductions (reduce_ops.cc, minmax_ops.cc, variance_ops.cc); no dims: all of them ----

Tensor sum(const Tensor& self, IntSpan dims = {}, bool keepdim = false,
           std::optional<DType> dtype = std::nullopt);
Tensor mean(const Tensor& self, IntSpan dims = {}, bool keepdim = false,
            std::optional<DType> dtype = std::nullopt);
Tensor amax(const Tensor& self, IntSpan dims = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntSpan dims = {}, bool keepdim = false);
Tensor var(const Tensor& self, IntSpan dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim = false);
Tensor vector_norm(const Tensor& self, const Scalar& ord, IntSpan dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = std::nullopt);
bool any(const Tensor& self);
bool all(const Tensor& self);

// ---- order (sort_ops.cc): (values, int64 indices) ----

std::pair<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending);

}  // namespace torchlet::ops
