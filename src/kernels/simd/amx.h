#pragma once

namespace torchlet::kernels {

// Whether this processor multiplies matrices of bytes in tiles (AMX-INT8 of x86) and the system
// lets this process do so, which the first call asks for.
bool has_amx_int8();
// For tests: false makes the function above say no.
void allow_amx(bool is_allowed);

}  // namespace torchlet::kernels
