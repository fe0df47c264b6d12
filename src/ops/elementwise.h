// The engine under all element-by-element operators. Operands of any dtype and strides are read in
// blocks of a few wide compute types (float for the 16-bit floats and float32, double, int64,
// complex), so that an operator is compiled for those only, and contiguous operands of that type
// are used in place.
#pragma once

#include <array>
#include <complex>
#include <span>

#include "base/function_ref.h"
#include "ops/common.h"

namespace torchlet::ops {

// What a dtype is computed in.
enum class Compute { kInt, kFloat, kDouble, kComplex };
Compute compute_kind(DType dtype);  // integers and bool -> kInt

// A run of `count` elements: out[i] = f(in[0][i], in[1][i], ...). Pointers are to the compute
// types.
using BlockFn = FunctionRef<void(void* out, const void* const* in, int64_t count)>;

// For every element of `out`: the inputs are broadcast to its shape, read as `in_dtype` and what
// the block function gives as `out_dtype` is converted to out's dtype. Runs on the thread pool if
// large.
void elementwise(const Tensor& out, std::span<const Tensor> inputs, DType out_dtype, DType in_dtype,
                 BlockFn fn);

// Memory for the result of an operator on these (broadcast) inputs: dense strides of the first
// input that has the full shape, as PyTorch keeps channels_last.
Tensor empty_result(std::span<const Tensor> inputs, DType dtype);

namespace detail {
template <typename Out, typename In, size_t N, typename F>
Tensor map_as(std::array<Tensor, N> inputs, DType result, F f) {
  const Tensor out = empty_result(inputs, result);
  elementwise(out, inputs, DTypeOf<Out>::value, DTypeOf<In>::value,
              [&](void* o, const void* const* in, int64_t count) {
                Out* to = static_cast<Out*>(o);
                if constexpr (N == 1) {
                  const In* a = static_cast<const In*>(in[0]);
                  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i]));
                } else if constexpr (N == 2) {
                  const In* a = static_cast<const In*>(in[0]);
                  const In* b = static_cast<const In*>(in[1]);
                  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i], b[i]));
                } else {
                  static_assert(N == 3);
                  const In* a = static_cast<const In*>(in[0]);
                  const In* b = static_cast<const In*>(in[1]);
                  const In* c = static_cast<const In*>(in[2]);
                  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i], b[i], c[i]));
                }
              });
  return out;
}
}  // namespace detail

// The compute types that a generic lambda can be compiled for.
enum MapTypes { kMapReal = 1, kMapInt = 2, kMapComplex = 4, kMapAll = 7 };

// Returns f(C()) for the compute type C of `dtype`: int64_t, float, double or std::complex<double>.
// `Types` says for which f compiles; an Error names the dtype otherwise.
template <int Types, typename F>
auto visit_compute(DType dtype, F f) {
  switch (compute_kind(dtype)) {
    case Compute::kInt:
      if constexpr (Types & kMapInt) return f(int64_t());
      break;
    case Compute::kFloat:
      if constexpr (Types & kMapReal) return f(float());
      break;
    case Compute::kDouble:
      if constexpr (Types & kMapReal) return f(double());
      break;
    case Compute::kComplex:
      if constexpr (Types & kMapComplex) return f(std::complex<double>());
      break;
  }
  fail(ErrorCode::kRuntime,
       format("not implemented for '%s'", std::string(dtype_name(dtype)).c_str()));
}

// out = f(inputs...) with the inputs converted to `dtype` and a result of `dtype`; f is a generic
// lambda of compute types.
template <int Types, size_t N, typename F>
Tensor map(std::array<Tensor, N> inputs, DType dtype, F f) {
  return visit_compute<Types>(dtype, [&](auto zero) {
    using C = decltype(zero);
    return detail::map_as<C, C>(inputs, dtype, f);
  });
}

// The same with a bool result (comparisons, isnan).
template <int Types, size_t N, typename F>
Tensor map_bool(std::array<Tensor, N> inputs, DType dtype, F f) {
  return visit_compute<Types>(dtype, [&](auto zero) {
    return detail::map_as<bool, decltype(zero)>(inputs, DType::kBool, f);
  });
}

}  // namespace torchlet::ops
