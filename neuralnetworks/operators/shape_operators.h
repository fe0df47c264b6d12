// Arithmetic of sizes and positions, for operations that move elements. What does not fit is Error
// kInvalidArgument.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/common.h"

namespace torchlet::nn {

// `count` elements of a dimension: begin, begin + stride, ...; the stride may be negative.
struct Range {
  int64_t begin = 0, count = 0, stride = 1;
};

// SLICE: a size of -1 reaches to the end.
std::vector<Range> slice_ranges(IntSpan sizes, IntSpan begin, IntSpan size);

// STRIDED_SLICE: bit i of a mask is about dimension i, negative positions count from the end, and
// those beyond the ends are clamped.
std::vector<Range> strided_ranges(IntSpan sizes, IntSpan begins, IntSpan ends, IntSpan strides,
                                  int64_t begin_mask, int64_t end_mask, int64_t shrink_mask);

// The sizes without the dimensions of the mask, all of which are 1; [1] if none is left.
IntArray shrunk_sizes(IntSpan sizes, int64_t mask);

// The mask of the dimensions that SQUEEZE removes.
int64_t squeeze_mask(IntSpan sizes, IntSpan dims);
// The same without a list: of all sizes of 1.
int64_t squeeze_mask(IntSpan sizes);

}  // namespace torchlet::nn
