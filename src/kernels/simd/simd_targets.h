#pragma once

// The instruction sets that every kernel is compiled for; the best one that the processor has is
// taken at run time. Include this before any header of Highway. Each target costs its share of the
// binary, so the list is short: on x86-64 SSE4 (the least that the library asks for), AVX2 with
// FMA, and AVX-512; on Arm NEON. A kernel that plans do not run, or that waits for memory anyway,
// defines TORCHLET_NO_AVX3 before this and does without the last one.

#if defined(__x86_64__) || defined(__i386__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#if defined(TORCHLET_NO_AVX3)
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)
#endif
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
