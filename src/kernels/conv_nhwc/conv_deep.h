#pragma once

#include "kernels/conv_nhwc/conv_runs.h"
#include "kernels/nhwc.h"

namespace torchlet::kernels {

// Convolutions of windows, pointwise ones and so linear layers of channels, that have more elements
// than the caches have room for beside a panel of weights: some elements at a time, with sums that
// wait in the second level.
template <typename T>
bool suits_conv_deep(const ConvRuns& runs);

// Of float or Float16. The parameters are those of conv_nhwc_f32; one group.
template <typename T>
void conv_deep(const ConvRuns& runs, const T* input, Panels<T> packed, const Epilogue<T>& epilogue,
               T* output, int64_t output_stride);

}  // namespace torchlet::kernels
