// To be included after <hwy/foreach_target.h> by kernels that take dot products of bytes. On 64-bit
// Arm it compiles the kernel again as if Highway had more targets: NEON with the dot product, in
// namespace N_NEON_DOT, where TORCHLET_ARM_DOT is 1; and with the matrix product, if the kernel
// defines TORCHLET_WANT_ARM_MATRIX, in N_NEON_MATRIX, where it is 2. HWY_TARGET is HWY_NEON there,
// and so are the operations of Highway; only dot-inl.h and dot_sums-inl.h know the difference.
//
// TORCHLET_DOT_DISPATCH is HWY_DYNAMIC_DISPATCH that knows of them.

#ifndef TORCHLET_KERNELS_FOREACH_ARM_DOT_H_
#define TORCHLET_KERNELS_FOREACH_ARM_DOT_H_

#if defined(__aarch64__)

#include <hwy/highway.h>

#include "kernels/simd/isa.h"

namespace hwy {
namespace N_NEON_DOT = N_NEON;
namespace N_NEON_MATRIX = N_NEON;
}  // namespace hwy

// As in foreach_target.h, HWY_TARGET_TOGGLE lets headers be included once more. Highway's own
// header skips what it has done already as long as HWY_HIGHWAY_PER_TARGET is its opposite.
#if defined(HWY_TARGET_TOGGLE) || !defined(HWY_HIGHWAY_PER_TARGET)
#error "Include foreach_arm_dot.h right after hwy/foreach_target.h"
#endif
#undef HWY_ONCE
#define HWY_ONCE 0

// Highway sets attributes for GCC alone.
#ifdef __clang__
#undef HWY_AFTER_NAMESPACE
#define HWY_AFTER_NAMESPACE() HWY_POP_ATTRIBUTES static_assert(true)
#endif
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_NEON_DOT
#ifdef HWY_TARGET_STR
#undef HWY_TARGET_STR
#define HWY_TARGET_STR "arch=armv8.2-a+crypto+dotprod"
#endif
#define TORCHLET_ARM_DOT 1
#ifdef __clang__
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES("dotprod") static_assert(true)
#endif
#include HWY_TARGET_INCLUDE
#undef TORCHLET_ARM_DOT
#define HWY_TARGET_TOGGLE
#undef HWY_HIGHWAY_PER_TARGET

#ifdef TORCHLET_WANT_ARM_MATRIX
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_NEON_MATRIX
#ifdef HWY_TARGET_STR
#undef HWY_TARGET_STR
#define HWY_TARGET_STR "arch=armv8.2-a+crypto+dotprod+i8mm"
#endif
#define TORCHLET_ARM_DOT 2
#ifdef __clang__
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES("dotprod,i8mm") static_assert(true)
#endif
#include HWY_TARGET_INCLUDE
#undef TORCHLET_ARM_DOT
#undef HWY_TARGET_TOGGLE
#define HWY_HIGHWAY_PER_TARGET
#define TORCHLET_MATRIX_OR_DOT(FUNCTION) \
  (has(Isa::kI8mm) ? &N_NEON_MATRIX::FUNCTION : &N_NEON_DOT::FUNCTION)
#else
#define TORCHLET_MATRIX_OR_DOT(FUNCTION) &N_NEON_DOT::FUNCTION
#endif

#define TORCHLET_DOT_DISPATCH(FUNCTION) \
  (*(has(Isa::kDotProd) ? TORCHLET_MATRIX_OR_DOT(FUNCTION) : &N_NEON::FUNCTION))

// Now NEON alone.
#include <hwy/ops/set_macros-inl.h>
#undef HWY_ONCE
#define HWY_ONCE 1

#else
#define TORCHLET_DOT_DISPATCH(FUNCTION) HWY_DYNAMIC_DISPATCH(FUNCTION)
#endif

#define TORCHLET_ARM_DOT 0

#endif  // TORCHLET_KERNELS_FOREACH_ARM_DOT_H_
