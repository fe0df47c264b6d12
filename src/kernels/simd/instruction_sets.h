#pragma once

#include <cstdint>

namespace torchlet::kernels {

// A number for what kernels may choose by: the instruction sets that this process uses, which is
// the same in each process on a processor of this kind. Forms of packed weights depend on them.
uint64_t instruction_sets();

}  // namespace torchlet::kernels
