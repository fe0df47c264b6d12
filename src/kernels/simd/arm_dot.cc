#include "kernels/simd/arm_dot.h"

#include <algorithm>
#include <atomic>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace torchlet::kernels {
namespace {

std::atomic<ArmDot> limit{ArmDot::kMatrix};

ArmDot ask_system() {
#if defined(__aarch64__) && defined(__linux__)
  // arch/arm64/include/uapi/asm/hwcap.h
  constexpr unsigned long kHwcapDotProd = 1ul << 20, kHwcap2I8mm = 1ul << 13;
  const bool has_product = getauxval(AT_HWCAP) & kHwcapDotProd;
  const bool has_matrix = getauxval(AT_HWCAP2) & kHwcap2I8mm;
#elif defined(__aarch64__) && defined(__APPLE__)
  const auto has = [](const char* name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  const bool has_product = has("hw.optional.arm.FEAT_DotProd");
  const bool has_matrix = has("hw.optional.arm.FEAT_I8MM");
#else
  constexpr bool has_product = false, has_matrix = false;
#endif
  if (!has_product) return ArmDot::kNone;
  return has_matrix ? ArmDot::kMatrix : ArmDot::kProduct;
}

}  // namespace

ArmDot arm_dot() {
  static const ArmDot has = ask_system();
  return std::min(has, limit.load(std::memory_order_relaxed));
}

void limit_arm_dot(ArmDot most) { limit.store(most, std::memory_order_relaxed); }

}  // namespace torchlet::kernels
