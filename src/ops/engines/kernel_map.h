// The float32 micro-kernels as block functions of the elementwise engine: any strides, broadcasting
// and the 16-bit floats come with it.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "base/function_ref.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/elementwise/functions_f64.h"
#include "ops/engines/elementwise.h"
#include "tensor/meta.h"

namespace torchlet::ops {

// Does compute_kind() say float, so that the functions below may be used?
inline bool has_kernel(DType dtype) { return compute_kind(dtype) == Compute::kFloat; }

inline Tensor kernel_map(kernels::UnaryFunction* kernel, const Tensor& self, DType dtype,
                         float alpha = 0, float beta = 0) {
  const Tensor out = empty_like(self, dtype);
  elementwise(out, {&self, 1}, DType::kFloat32, DType::kFloat32,
              [=](void* y, const void* const* in, int64_t count) {
                kernel(static_cast<const float*>(in[0]), static_cast<float*>(y), count, alpha,
                       beta);
              });
  return out;
}

// alpha, beta and gamma of unary_rows_f32().
struct UnaryParameters {
  float alpha = 0, beta = 0, gamma = 1;
};
inline Tensor kernel_map(kernels::MatrixUnaryOp op, const Tensor& self, DType dtype,
                         const UnaryParameters& p = {}) {
  const Tensor out = empty_like(self, dtype);
  elementwise(out, {&self, 1}, DType::kFloat32, DType::kFloat32,
              [op, p](void* y, const void* const* in, int64_t count) {
                kernels::unary_rows_f32(op, 1, count, static_cast<const float*>(in[0]), count,
                                        static_cast<float*>(y), count, p.alpha, p.beta, p.gamma);
              });
  return out;
}

// Columns of a dense matrix whose rows have a number each in `other`, and whose result is `out`; 0
// if the tensors are no such, or the rows so short that one at a time is slower.
inline int64_t columns_of_numbers(const Tensor& self, const Tensor& other, const Tensor& out) {
  constexpr int64_t kLeastColumns = 16;
  for (const Tensor* x : {&self, &other, &out}) {
    if (x->dtype() != DType::kFloat32 || is_meta(*x) || !x->is_contiguous()) return 0;
  }
  if (other.dim() != self.dim() || self.numel() == 0 || self.numel() != out.numel()) return 0;
  int64_t columns = 1;
  size_t d = self.sizes().size();
  for (; d > 0 && other.sizes()[d - 1] == 1; --d) columns *= self.sizes()[d - 1];
  const bool is_number_a_row = columns * other.numel() == self.numel();
  return is_number_a_row && columns >= kLeastColumns ? columns : 0;
}

inline Tensor kernel_map(kernels::MatrixBinaryOp op, const Tensor& self, const Tensor& other,
                         DType dtype, const kernels::Activation& activation = {}) {
  if (selection::kHasConversions && other.dim() == 0 && !is_meta(other)) {  // a number
    const float number = [&] {
      const MetaScope with_memory(false);
      return other.to(DType::kFloat32).item<float>();
    }();
    const Tensor out = empty_like(self, dtype);
    elementwise(out, {&self, 1}, DType::kFloat32, DType::kFloat32,
                [=, &number](void* y, const void* const* in, int64_t count) {
                  kernels::binary_rows_f32(op, 1, count, static_cast<const float*>(in[0]), count,
                                           {.data = &number, .spread = kernels::Spread::kScalar},
                                           activation, static_cast<float*>(y), count);
                });
    return out;
  }
  const Tensor inputs[] = {self, other};
  const Tensor out = empty_result(inputs, dtype);
  if (const int64_t columns = columns_of_numbers(self, other, out)) {
    kernels::binary_rows_f32(
        op, self.numel() / columns, columns, self.data_ptr<float>(), columns,
        {.data = other.data_ptr<float>(), .spread = kernels::Spread::kRows, .stride = 1},
        activation, out.data_ptr<float>(), columns);
    return out;
  }
  elementwise(out, inputs, DType::kFloat32, DType::kFloat32,
              [=](void* y, const void* const* in, int64_t count) {
                kernels::binary_rows_f32(
                    op, 1, count, static_cast<const float*>(in[0]), count,
                    {.data = static_cast<const float*>(in[1]), .stride = count}, activation,
                    static_cast<float*>(y), count);
              });
  return out;
}

inline Tensor kernel_map(kernels::DoubleFunction function, const Tensor& self) {
  constexpr DType kDouble = DTypeOf<double>::value;
  const Tensor out = empty_like(self, kDouble);
  elementwise(out, {&self, 1}, kDouble, kDouble,
              [=](void* y, const void* const* in, int64_t count) {
                kernels::function_f64(function, static_cast<const double*>(in[0]),
                                      static_cast<double*>(y), count);
              });
  return out;
}

// A kernel for floats, a function or an operation of matrices, and perhaps one for doubles.
struct FloatKernel {
  using DoubleFunction = kernels::DoubleFunction;
  FloatKernel(kernels::UnaryFunction* f, DoubleFunction w = DoubleFunction::kNone)
      : function(f), wide(w) {}
  FloatKernel(kernels::MatrixUnaryOp o, DoubleFunction w = DoubleFunction::kNone)
      : op(o), wide(w) {}
  void operator()(const float* x, float* y, int64_t count) const {
    if (function) return function(x, y, count, 0, 0);
    kernels::unary_rows_f32(op, 1, count, x, count, y, count);
  }
  kernels::UnaryFunction* function = nullptr;
  kernels::MatrixUnaryOp op{};
  DoubleFunction wide;
};

namespace detail {
// finish(in..., kernel(prepare(in...))) in floats or doubles: `kernel` changes so many elements in
// place, the others take whole steps.
inline Tensor composed_of(DType compute, FunctionRef<void(void*, int64_t)> kernel,
                          std::span<const Tensor* const> inputs, DType dtype, BlockBody prepare,
                          const void* p, BlockBody finish, const void* f) {
  const auto width = static_cast<int64_t>(element_size(compute));
  const Tensor out = empty_result(inputs, dtype);
  elementwise(out, inputs, compute, compute,
              [=, operands = inputs.size()](void* y, const void* const* in, int64_t count) {
                constexpr int64_t kPiece = 1024;  // stays in the first-level cache
                alignas(64) std::byte inner[kPiece * sizeof(double)];
                for (int64_t at = 0; at < count; at += kPiece) {
                  const int64_t n = std::min(kPiece, count - at);
                  const void* pieces[3];
                  for (size_t k = 0; k < operands; ++k) {
                    pieces[k] = static_cast<const std::byte*>(in[k]) + at * width;
                  }
                  run_steps(prepare, p, operands, inner, width, pieces, width, n);
                  kernel(inner, n);
                  pieces[operands] = inner;
                  run_steps(finish, f, operands + 1, static_cast<std::byte*>(y) + at * width, width,
                            pieces, width, n);
                }
              });
  return out;
}
template <typename T, size_t N, typename Prepare, typename Finish>
Tensor composed_in(DType compute, FunctionRef<void(void*, int64_t)> kernel,
                   const Operands<N>& inputs, DType dtype, const Prepare& prepare,
                   const Finish& finish) {
  return composed_of(compute, kernel, inputs, dtype, &map_steps<T, T, N, Prepare>, &prepare,
                     &map_steps<T, T, N + 1, Finish>, &finish);
}
}  // namespace detail

// A kernel between two generic lambdas of a few instructions (kMapSteps), of one or two operands:
// finish(in..., kernel(prepare(in...))) with a result of `dtype`, of which has_kernel() is true.
template <size_t N, typename Prepare, typename Finish>
Tensor composed_floats(FloatKernel kernel, const Operands<N>& inputs, DType dtype,
                       const Prepare& prepare, const Finish& finish) {
  const auto apply = [=](void* data, int64_t count) {
    kernel(static_cast<const float*>(data), static_cast<float*>(data), count);
  };
  return detail::composed_in<float>(DType::kFloat32, apply, inputs, dtype, prepare, finish);
}
// The same of doubles, with one function after the other for the kernel.
template <size_t N, typename Prepare, typename Finish>
Tensor composed_doubles(std::initializer_list<kernels::DoubleFunction> functions,
                        const Operands<N>& inputs, const Prepare& prepare, const Finish& finish) {
  constexpr DType kDouble = DTypeOf<double>::value;
  const auto apply = [=](void* data, int64_t count) {
    auto* const y = static_cast<double*>(data);
    for (const auto function : functions) kernels::function_f64(function, y, y, count);
  };
  return detail::composed_in<double>(kDouble, apply, inputs, kDouble, prepare, finish);
}
// Of both, where `function` stands for a kernel without one for doubles.
template <size_t N, typename Prepare, typename Function, typename Finish>
Tensor composed(FloatKernel kernel, const Operands<N>& inputs, DType dtype, const Prepare& prepare,
                const Function& function, const Finish& finish) {
  if (has_kernel(dtype)) return composed_floats<N>(kernel, inputs, dtype, prepare, finish);
  return map<kMapDouble, N>(inputs, dtype,
                            [&](auto... x) { return finish(x..., function(prepare(x...))); });
}

}  // namespace torchlet::ops
