#pragma once

#include <cstdint>

namespace torchlet::kernels {

// The first place from `begin` on where x is not on this side of `limit`: not x <= limit if
// `upwards`, else not x >= limit, so that NaN is found, too. `n` if there is none.
int64_t find_beyond(const float* x, int64_t begin, int64_t n, float limit, bool upwards);

}  // namespace torchlet::kernels
