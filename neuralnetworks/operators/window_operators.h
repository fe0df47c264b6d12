// Arithmetic of windows that slide over images.
#pragma once

#include <cstdint>
#include <utility>

namespace torchlet::nn {

// Elements before and after `size` of them for PADDING_SAME: there are as many windows as the
// stride goes into `size`, and what is odd goes behind. Error unless all are positive.
std::pair<int64_t, int64_t> same_padding(int64_t size, int64_t window, int64_t stride,
                                         int64_t dilation);

// The same of a transposed convolution that gives `size` elements, of which each step of the input
// makes a stride: `after` is negative if the last window ends before `size`.
std::pair<int64_t, int64_t> transposed_same_padding(int64_t size, int64_t window, int64_t stride);

}  // namespace torchlet::nn
