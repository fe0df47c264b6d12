#pragma once

#include "kernels/conv_runs.h"
#include "kernels/nhwc.h"

namespace torchlet::kernels {

// Pointwise convolutions, and so linear layers, of more channels than the second-level cache has
// room for beside a panel of weights: some channels at a time, with sums that wait in the cache.
bool suits_linear_deep(const ConvRuns& runs);

// The parameters are those of conv_nhwc_f32; one group.
void linear_deep_f32(const ConvRuns& runs, const float* input, const float* packed,
                     const EpilogueF32& epilogue, float* output, int64_t output_stride);

}  // namespace torchlet::kernels
