// Boxes in an order of their own, as one array for each coordinate.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

struct BoxArrays {
  const float *x1, *y1, *x2, *y2, *areas;
};

// Sets marks[i] for the boxes i of [begin, end) that share more than `most` of the union with box
// `box`: intersection / (area + area - intersection), in float.
void mark_overlapping(const BoxArrays& boxes, int64_t box, int64_t begin, int64_t end, float most,
                      uint8_t* marks);

}  // namespace torchlet::kernels
