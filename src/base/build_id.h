// Which build of Torchlet this is, for what another one would misread.
#pragma once

#include <cstdint>

namespace torchlet {

// Of the program or library that this code is in: a hash of the build ID that its linker left
// (--build-id), so that no two programs have the same. 0 if there is none, and where programs are
// not in ELF.
uint64_t build_id();

// Where a function is in this program or library, the same in each process that has this build.
uint64_t place_in_build(uintptr_t function);

}  // namespace torchlet
