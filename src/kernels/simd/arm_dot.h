#pragma once

namespace torchlet::kernels {

// What 64-bit Arm has for products of bytes beside plain NEON; each has those before it.
enum class ArmDot {
  kNone,
  kProduct,  // sdot, udot (FEAT_DotProd)
  kMatrix,   // usmmla (FEAT_I8MM)
};
// Of this processor.
ArmDot arm_dot();
// For tests: the function above does not answer more than this.
void limit_arm_dot(ArmDot most);

}  // namespace torchlet::kernels
