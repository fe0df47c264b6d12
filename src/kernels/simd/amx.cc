#include "kernels/simd/amx.h"

#include <atomic>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace torchlet::kernels {
namespace {

std::atomic<bool> allowed{true};

bool ask_system() {
#if defined(__x86_64__) && defined(__linux__)
  unsigned eax, ebx, ecx, edx = 0;
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if ((edx & (kTile | kInt8)) != (kTile | kInt8)) return false;
  // The system saves the tiles of threads that asked for them (arch/x86/kernel/fpu/xstate.c).
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

bool has_amx_int8() {
  static const bool has = ask_system();
  return has && allowed.load(std::memory_order_relaxed);
}

void allow_amx(bool is_allowed) { allowed.store(is_allowed, std::memory_order_relaxed); }

}  // namespace torchlet::kernels
