#pragma once

namespace torchlet::kernels {

// The instruction sets that kernels choose between: those of x86, then those of Arm. A processor
// that has one has those before it of its family, but for kAvxVnni.
enum class Isa {
  kSse4,
  kAvx2,     // and FMA, F16C
  kAvxVnni,  // dot products of bytes in AVX2's registers; for processors without AVX-512
  kAvx512,
  kAvx512Vnni,
  kAvx512Bf16,  // dot products of bfloat16
  kAvx512Fp16,
  kAmx,  // products of matrices of bytes in tiles
  kNeon,
  kFp16,     // arithmetic of half precision (Armv8.2-A)
  kDotProd,  // sdot, udot
  kI8mm,     // usmmla
};

// Whether kernels may use it: this processor has it, no limit forbids it and, for AMX, the system
// lets this process do so, which the first call asks for.
bool has(Isa isa);
// The best of them.
Isa best_isa();
const char* isa_name(Isa isa);

// Whether dividing a vector of 16 floats costs no more than three multiply-adds do: on AMD's
// processors from Zen 5 on. Elsewhere it is 8 to 16 of them.
bool divides_fast();

// From now on no kernel uses more than this; returns the limit before. For tests: a program starts
// with the limit that the environment variable TORCHLET_ISA names, and weights are packed for one.
Isa limit_isa(Isa most);
// Throws an Error if that variable names no instruction set of this family.
void check_isa_limit();

}  // namespace torchlet::kernels
