// To be included after <hwy/foreach_target.h> by kernels that take dot products of bytes. It
// compiles the kernel again as if Highway had more targets, for forms that its targets leave out:
//
//   N_AVX2_VNNI    TORCHLET_AVX_VNNI  x86-64's AVX2 with AVX-VNNI, of processors without AVX-512
//   N_NEON_DOT     TORCHLET_ARM_DOT 1 64-bit Arm's NEON with the dot product
//   N_NEON_MATRIX  TORCHLET_ARM_DOT 2 and with the matrix product, if the kernel defines
//                                     TORCHLET_WANT_ARM_MATRIX
//
// HWY_TARGET is HWY_AVX2 or HWY_NEON there, and so are the operations of Highway; only dot-inl.h
// and dot_sums-inl.h know the difference. TORCHLET_DOT_DISPATCH is HWY_DYNAMIC_DISPATCH that knows
// of them.

// Not while foreach_target.h compiles the kernel, which includes this each time.
#if HWY_ONCE && !defined(TORCHLET_KERNELS_FOREACH_DOT_H_)
#define TORCHLET_KERNELS_FOREACH_DOT_H_

#define TORCHLET_AVX_VNNI 0
#define TORCHLET_ARM_DOT 0

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
#error "Include foreach_dot.h right after hwy/foreach_target.h"
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
#undef TORCHLET_ARM_DOT
#define TORCHLET_ARM_DOT 1
#ifdef __clang__
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES("dotprod") static_assert(true)
#endif
#include HWY_TARGET_INCLUDE
#undef TORCHLET_ARM_DOT
#define TORCHLET_ARM_DOT 0
#define HWY_TARGET_TOGGLE
#undef HWY_HIGHWAY_PER_TARGET

#ifdef TORCHLET_WANT_ARM_MATRIX
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_NEON_MATRIX
#ifdef HWY_TARGET_STR
#undef HWY_TARGET_STR
#define HWY_TARGET_STR "arch=armv8.2-a+crypto+dotprod+i8mm"
#endif
#undef TORCHLET_ARM_DOT
#define TORCHLET_ARM_DOT 2
#ifdef __clang__
#undef HWY_BEFORE_NAMESPACE
#define HWY_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES("dotprod,i8mm") static_assert(true)
#endif
#include HWY_TARGET_INCLUDE
#undef TORCHLET_ARM_DOT
#define TORCHLET_ARM_DOT 0
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

#elif defined(__x86_64__) && (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2

#include <hwy/highway.h>

#include "kernels/simd/isa.h"

namespace hwy {
namespace N_AVX2_VNNI = N_AVX2;
}

// The operations of the last target are there now, so that this pass and that one skip them.
#undef HWY_ONCE
#define HWY_ONCE 0
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include <hwy/ops/set_macros-inl.h>
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_AVX2_VNNI
#undef TORCHLET_AVX_VNNI
#define TORCHLET_AVX_VNNI 1
#include HWY_TARGET_INCLUDE
#undef TORCHLET_AVX_VNNI
#define TORCHLET_AVX_VNNI 0
#ifdef HWY_TARGET_TOGGLE
#undef HWY_TARGET_TOGGLE
#else
#define HWY_TARGET_TOGGLE
#endif
#ifdef HWY_HIGHWAY_PER_TARGET
#undef HWY_HIGHWAY_PER_TARGET
#else
#define HWY_HIGHWAY_PER_TARGET
#endif

#define TORCHLET_DOT_DISPATCH(FUNCTION)                             \
  (has(Isa::kAvxVnni) && !has(Isa::kAvx512) ? N_AVX2_VNNI::FUNCTION \
                                            : HWY_DYNAMIC_DISPATCH(FUNCTION))

// Now the last target.
#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include <hwy/ops/set_macros-inl.h>
#undef HWY_ONCE
#define HWY_ONCE 1

#else
#define TORCHLET_DOT_DISPATCH(FUNCTION) HWY_DYNAMIC_DISPATCH(FUNCTION)
#endif

#endif  // TORCHLET_KERNELS_FOREACH_DOT_H_
