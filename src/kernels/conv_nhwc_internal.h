#pragma once

#include <cstdint>

#include "kernels/nhwc.h"

namespace torchlet::kernels {

struct TileShape {
  int rows;   // of the micro-kernel
  int width;  // columns of a panel
  int lanes;  // columns of a vector
};

// Some pixels and some columns of one group, the first column that of a panel.
struct ConvTask {
  const float* input;   // the group's first channel
  const float* weight;  // the group's packed weights
  const EpilogueF32* epilogue;
  float* output;
  int64_t output_stride;
  int64_t channel;  // of the output, the group's first
  int64_t first_column, last_column;
  int64_t first_pixel, last_pixel;
  int64_t runs_per_block;  // fewer than all: sums wait in memory between the blocks
};

}  // namespace torchlet::kernels
