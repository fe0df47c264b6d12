#include "kernels/simd/isa.h"

#include <cstdint>

#define HWY_WANT_AVX3_DL  // to tell it from AVX3
#include "kernels/simd/simd_targets.h"
// After the line above.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/isa.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {

Isa target_isa() {
#if !HWY_ARCH_X86
  return Isa::kNeon;
#elif HWY_TARGET <= HWY_AVX3_DL
  return Isa::kAvx512Vnni;
#elif HWY_TARGET <= HWY_AVX3
  return Isa::kAvx512;
#elif HWY_TARGET <= HWY_AVX2
  return Isa::kAvx2;
#else
  return Isa::kSse4;
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/selection.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace torchlet::kernels {

HWY_EXPORT(target_isa);

namespace {

constexpr const char* kNames[] = {"sse4",        "avx2",        "avx_vnni",    "avx512",
                                  "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx",
                                  "neon",        "fp16",        "dotprod",     "i8mm"};
constexpr Isa kLeast = HWY_ARCH_X86 ? Isa::kSse4 : Isa::kNeon;
constexpr Isa kMost = HWY_ARCH_X86 ? Isa::kAmx : Isa::kI8mm;

constexpr Isa next(Isa isa, int step) { return static_cast<Isa>(static_cast<int>(isa) + step); }

std::atomic<Isa> limit{kMost};

// Whether TORCHLET_ISA, if it is there, became the limit.
bool read_environment() {
  const char* named = std::getenv("TORCHLET_ISA");
  if (named == nullptr || *named == 0) return true;
  for (Isa isa = kLeast; isa <= kMost; isa = next(isa, 1)) {
    if (isa_name(isa) != std::string_view(named)) continue;
    limit_isa(isa);
    return true;
  }
  return false;
}

// When the library is loaded, because kernels run before models do. Small builds do not ask.
const bool is_limit_known = !selection::kIsWhole || read_environment();

#if defined(__x86_64__)
bool ask_cpuid(unsigned bits) {
  unsigned eax, ebx, ecx, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & bits) == bits;
}
#elif defined(__aarch64__) && defined(__APPLE__)
bool ask_system(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
#endif

bool has_float16_vectors() {
#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
  return true;
#elif defined(__x86_64__)
  // A system that saves the registers of AVX-512 for one extension does so for all.
  return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         ask_cpuid(1u << 23);
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kHalfPrecisionVectors = 1ul << 10;  // HWCAP_ASIMDHP
  return (getauxval(AT_HWCAP) & kHalfPrecisionVectors) != 0;
#else
  return false;
#endif
}

#if defined(__x86_64__)
bool ask_cpuid_more(unsigned bit) {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & bit) != 0;
}
#endif

bool has_avx_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && ask_cpuid_more(1u << 4);
#else
  return false;
#endif
}

bool has_bfloat16_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         ask_cpuid_more(1u << 5);
#else
  return false;
#endif
}

bool has_amx() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  if (!ask_cpuid(kTile | kInt8)) return false;
  // The system saves the tiles of threads that asked for them (arch/x86/kernel/fpu/xstate.c).
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_dot_product() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kDotProd = 1ul << 20;  // arch/arm64/include/uapi/asm/hwcap.h
  return (getauxval(AT_HWCAP) & kDotProd) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  return ask_system("hw.optional.arm.FEAT_DotProd");
#else
  return false;
#endif
}

bool has_matrix_product() {
#if defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long k2I8mm = 1ul << 13;  // the same
  return has_dot_product() && (getauxval(AT_HWCAP2) & k2I8mm) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  return has_dot_product() && ask_system("hw.optional.arm.FEAT_I8MM");
#else
  return false;
#endif
}

}  // namespace

bool divides_fast() {
#if defined(__x86_64__)
  static const bool answer = __builtin_cpu_is("amd") && has_avx_vnni();  // which Zen 4 lacks
  return answer;
#else
  return false;
#endif
}

bool has(Isa isa) {
  if (isa < kLeast || isa > limit.load(std::memory_order_relaxed)) return false;
  switch (isa) {
    case Isa::kAvxVnni: {
      static const bool answer = has_avx_vnni();
      return answer;
    }
    case Isa::kAvx512Bf16: {
      static const bool answer = has_bfloat16_products();
      return answer;
    }
    case Isa::kAvx512Fp16:
    case Isa::kFp16: {
      static const bool answer = has_float16_vectors();
      return answer;
    }
    case Isa::kAmx: {
      static const bool answer = has_amx();
      return answer;
    }
    case Isa::kDotProd: {
      static const bool answer = has_dot_product();
      return answer;
    }
    case Isa::kI8mm: {
      static const bool answer = has_matrix_product();
      return answer;
    }
    default:
      return isa <= HWY_DYNAMIC_DISPATCH(target_isa)();
  }
}

Isa best_isa() {
  Isa isa = limit.load(std::memory_order_relaxed);
  while (isa != kLeast && !has(isa)) isa = next(isa, -1);
  return isa;
}

const char* isa_name(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa limit_isa(Isa most) {
#if HWY_ARCH_X86
  // Of Highway's targets the better ones are the lower bits.
  const int64_t least = most < Isa::kAvx2         ? HWY_SSE4
                        : most < Isa::kAvx512     ? HWY_AVX2
                        : most < Isa::kAvx512Vnni ? HWY_AVX3
                                                  : 1;
  hwy::DisableTargets(least - 1);
#endif
  return limit.exchange(most, std::memory_order_relaxed);
}

void check_isa_limit() {
  if (!selection::kIsWhole || is_limit_known) return;
  std::string names;
  for (Isa isa = kLeast; isa <= kMost; isa = next(isa, 1)) {
    if (isa != kLeast) names += ", ";
    names += isa_name(isa);
  }
  fail(ErrorCode::kInvalidArgument,
       "there is no instruction set '%s' (TORCHLET_ISA); there are: %s",
       std::getenv("TORCHLET_ISA"), names.c_str());
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
