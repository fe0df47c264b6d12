#pragma once

#include <cstdint>

namespace torchlet::kernels {

// What kernels keep in the second-level cache is measured for one of 1 MB or more, `bytes` of it.
// Of a smaller one, if the system reports it, this is the same share. Any other unit will do, too.
int64_t cached(int64_t bytes);
// For tests: its size in bytes, 0 for one that nobody knows. Not while kernels run.
void set_cache(int64_t size);

}  // namespace torchlet::kernels
