#include "kernels/simd/instruction_sets.h"

#include "kernels/simd/amx.h"
#include "kernels/simd/arm_dot.h"
#include "kernels/simd/simd_targets.h"

#include <hwy/targets.h>

namespace torchlet::kernels {

uint64_t instruction_sets() {
  return static_cast<uint64_t>(hwy::SupportedTargets()) << 8 |
         static_cast<uint64_t>(arm_dot()) << 1 | static_cast<uint64_t>(has_amx_int8());
}

}  // namespace torchlet::kernels
