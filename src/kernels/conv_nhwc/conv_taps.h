#pragma once

// Inside of conv_nhwc: convolutions tap by tap, for windows of which many taps meet the padding,
// and for long lines of sums so deep that a panel of weights exceeds the cache.
//
// The sums of some pixels and columns wait in the second-level cache. To them each tap adds what it
// sees, a slice of the channels at a time: only pixels that exist are read, all in place, and they
// stay in the cache while all taps of a slice pass.

#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/conv_runs.h"

namespace torchlet::kernels {

// Whether this is the better way.
template <typename T>
bool suits_taps(const ConvRuns& runs);

template <typename T>
void conv_taps(const ConvNhwcShape& shape, const ConvRuns& runs, const T* input, Panels<T> packed,
               const Epilogue<T>& epilogue, T* output, int64_t output_stride);

}  // namespace torchlet::kernels
