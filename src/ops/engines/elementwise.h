// The engine under all element-by-element operators. Operands of any dtype and strides are read in
// blocks of a few wide compute types (float for the 16-bit floats and float32, double, int64,
// complex), so that an operator is compiled for those only, and contiguous operands of that type
// are used in place.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <span>

#include "base/function_ref.h"
#include "base/selection.h"
#include "kernels/simd/isa.h"
#include "ops/core/common.h"

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
void elementwise(const Tensor& out, std::span<const Tensor* const> inputs, DType out_dtype,
                 DType in_dtype, BlockFn fn);

// Memory for the result of an operator on these (broadcast) inputs: dense strides of the first
// input that has the full shape, as PyTorch keeps channels_last.
Tensor empty_result(std::span<const Tensor> inputs, DType dtype);
Tensor empty_result(std::span<const Tensor* const> inputs, DType dtype);

// N operands by reference, for as long as the call that they are arguments of.
template <size_t N>
class Operands {
 public:
  template <typename... T>
  requires(sizeof...(T) == N) Operands(const T&... tensors)
      : pointers_{&static_cast<const Tensor&>(tensors)...} {}
  operator std::span<const Tensor* const>() const { return pointers_; }

 private:
  std::array<const Tensor*, N> pointers_;
};

namespace detail {
// A block function of any operator: `f` is its generic lambda.
using BlockBody = void (*)(const void* f, void* out, const void* const* in, int64_t count);

template <typename Out, typename In, size_t N, typename F>
void map_block(const void* state, void* o, const void* const* in, int64_t count) {
  const F& f = *static_cast<const F*>(state);
  Out* to = static_cast<Out*>(o);
  const In* a = static_cast<const In*>(in[0]);
  if constexpr (N == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i]));
  } else if constexpr (N == 2) {
    const In* b = static_cast<const In*>(in[1]);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i], b[i]));
  } else {
    static_assert(N == 3);
    const In* b = static_cast<const In*>(in[1]);
    const In* c = static_cast<const In*>(in[2]);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(f(a[i], b[i], c[i]));
  }
}

// The same for counts of whole steps, of which compilers make vectors; of numbers that are worth
// it. Where vectors have four lanes, which GCC does not fill by itself, these are doubles, too, for
// arithmetic of one or two operands.
#if defined(__x86_64__) && !defined(__clang__)
constexpr bool kStepsDoubles = selection::kHasConversions;
#else
constexpr bool kStepsDoubles = false;
#endif
template <typename C>
constexpr bool is_stepped = std::is_same_v<C, int64_t> || std::is_same_v<C, float>;
template <typename Out, typename C, size_t N>
constexpr bool is_stepped_map = is_stepped<C> || (kStepsDoubles && std::is_same_v<C, double> &&
                                                  std::is_same_v<Out, double> && N < 3);
constexpr int64_t kStep = 32;
#if defined(__clang__)
#define TORCHLET_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
// It warns of loops that stay as they are: those that call functions, and all under sanitizers.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#else
// Twice, so that it matters less where a loop of few instructions lies.
#define TORCHLET_INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 2")
#endif
template <typename Out, typename In, size_t N, typename F>
[[gnu::always_inline]] inline void run_map_steps(const F& f, Out* to, const void* const* in,
                                                 int64_t count) {
  const In* a = static_cast<const In*>(in[0]);
  const In* b = static_cast<const In*>(in[N > 1 ? 1 : 0]);
  const In* c = static_cast<const In*>(in[N > 2 ? 2 : 0]);
  for (const Out* end = to + count; to != end; to += kStep, a += kStep, b += kStep, c += kStep) {
    TORCHLET_INDEPENDENT  // `to` may be an input, but not overlap it otherwise
        for (int64_t k = 0; k < kStep; ++k) {
      if constexpr (N == 1) to[k] = static_cast<Out>(f(a[k]));
      if constexpr (N == 2) to[k] = static_cast<Out>(f(a[k], b[k]));
      if constexpr (N == 3) to[k] = static_cast<Out>(f(a[k], b[k], c[k]));
    }
  }
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// The library is compiled for any x86-64, whose vectors are short and know few operations of
// int64; so these loops are there for AVX2, too.
#if defined(__x86_64__)
constexpr bool kHasWideSteps = selection::kHasConversions;
#define TORCHLET_WIDE_STEPS [[gnu::target("avx2")]]
#else
constexpr bool kHasWideSteps = false;
#define TORCHLET_WIDE_STEPS
#endif
template <typename Out, typename In, size_t N, typename F>
TORCHLET_WIDE_STEPS void map_wide_steps(const void* f, void* out, const void* const* in,
                                        int64_t count) {
  run_map_steps<Out, In, N>(*static_cast<const F*>(f), static_cast<Out*>(out), in, count);
}
template <typename Out, typename In, size_t N, typename F>
void map_steps(const void* f, void* out, const void* const* in, int64_t count) {
  if constexpr (kHasWideSteps) {
    if (kernels::has(kernels::Isa::kAvx2)) return map_wide_steps<Out, In, N, F>(f, out, in, count);
    // Two doubles at a time are not worth more code.
    if constexpr (std::is_same_v<In, double>) return map_block<Out, In, N, F>(f, out, in, count);
  }
  run_map_steps<Out, In, N>(*static_cast<const F*>(f), static_cast<Out*>(out), in, count);
}

// A body of whole steps on any number of elements.
void run_steps(BlockBody body, const void* f, size_t operands, void* out, int64_t out_width,
               const void* const* in, int64_t in_width, int64_t count);
// A new tensor of `result` from a block function, or `into`.
Tensor map_blocks(std::span<const Tensor* const> inputs, DType result, DType out_dtype,
                  DType in_dtype, BlockBody body, bool in_steps, const void* f,
                  const Tensor* into = nullptr);
// The same with the body for the compute type of `dtype`; an Error names the dtype if it is null.
// A result of `dtype`, or of bool; into `out` if there is one, which may be an input; of the
// others, none may share its memory.
Tensor map_compute(std::span<const Tensor* const> inputs, DType dtype, bool to_bool,
                   const BlockBody (&bodies)[4], bool in_steps, const void* f,
                   const Tensor* out = nullptr);
[[noreturn]] void fail_not_implemented(DType dtype, const char* op = nullptr);
}  // namespace detail

// The compute types that a generic lambda can be compiled for. Of these, small builds may lack
// double and complex numbers.
enum MapTypes {
  kMapReal = 1,
  kMapInt = 2,
  kMapComplex = 4,
  kMapAll = 7,
  // Real numbers as double throughout: for what only compares and moves them, which is exact.
  kMapWideReal = 8,
  // Real numbers as double alone: kernels take the floats.
  kMapDouble = 16,
  // f is a few instructions that processors have for vectors. It may be called more often than
  // there are elements, for one of them again.
  kMapSteps = 32,
};

template <typename C>
constexpr bool is_compiled(int types) {
  if (std::is_same_v<C, int64_t>) return types & kMapInt;
  if (std::is_same_v<C, std::complex<double>>) return types & kMapComplex && selection::kHasComplex;
  if (std::is_same_v<C, double>) return types & (kMapReal | kMapDouble) && selection::kHasFloat64;
  return types & kMapReal;
}

// Returns f(C()) for the compute type C of `dtype`: int64_t, float, double or std::complex<double>.
// `Types` says for which f compiles; an Error names the dtype otherwise.
template <int Types, typename F>
auto visit_compute(DType dtype, F f) {
  switch (compute_kind(dtype)) {
    case Compute::kInt:
      if constexpr (Types & kMapInt) return f(int64_t());
      break;
    case Compute::kFloat:
      if constexpr (Types & kMapReal) {
        return f(float());
      } else if constexpr (Types & kMapWideReal) {
        return f(double());
      }
      break;
    case Compute::kDouble:
      if constexpr (Types & kMapWideReal || is_compiled<double>(Types)) return f(double());
      break;
    case Compute::kComplex:
      if constexpr (is_compiled<std::complex<double>>(Types)) return f(std::complex<double>());
      break;
  }
  detail::fail_not_implemented(dtype);
}

namespace detail {
// One body for each compute type, in the order of Compute.
template <int Types, bool kToBool, size_t N, typename F>
struct Bodies {
  template <typename C>
  static constexpr BlockBody body() {
    using Out = std::conditional_t<kToBool, bool, C>;
    if constexpr (is_compiled<C>(Types) && Types & kMapSteps && is_stepped_map<Out, C, N>) {
      return &map_steps<Out, C, N, F>;
    } else if constexpr (is_compiled<C>(Types)) {
      return &map_block<Out, C, N, F>;
    } else {
      return nullptr;
    }
  }
  static constexpr BlockBody kBodies[4] = {body<int64_t>(), body<float>(), body<double>(),
                                           body<std::complex<double>>()};
};
}  // namespace detail

// c ? a : b of values that both exist already: in steps, compilers make vectors of this.
template <typename T>
T choose(bool c, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    const Bits mask = -static_cast<Bits>(c);
    return std::bit_cast<T>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
  } else {
    return c ? a : b;
  }
}

// out = f(inputs...) with the inputs converted to `dtype` and a result of `dtype`; f is a generic
// lambda of compute types.
template <int Types, size_t N, typename F>
Tensor map(const Operands<N>& inputs, DType dtype, const F& f) {
  return detail::map_compute(inputs, dtype, false, detail::Bodies<Types, false, N, F>::kBodies,
                             Types & kMapSteps, &f);
}

// The same with a bool result (comparisons, isnan).
template <int Types, size_t N, typename F>
Tensor map_bool(const Operands<N>& inputs, DType dtype, const F& f) {
  return detail::map_compute(inputs, dtype, true, detail::Bodies<Types, true, N, F>::kBodies,
                             Types & kMapSteps, &f);
}

}  // namespace torchlet::ops
