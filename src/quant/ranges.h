// Ranges that leave out rare values, so that the others get finer steps: how much is left out is
// what the methods differ in.
#pragma once

#include "quant/histogram.h"
#include "quant/qparams.h"

namespace torchlet::quant {

// The search of PyTorch's HistogramObserver: narrows the range by quantiles of 1e-5 from the side
// that gives up more bins, as long as the expected squared error, with values even in each bin,
// falls.
Range histogram_range(const Histogram& histogram);
// The least expected squared error of all ranges [low * i / 128, high * j / 128] of a full range,
// taking into account that zero has no error.
Range least_squares_range(const Histogram& histogram, Range full);
// Leaves out a part of 1e-5 on either side.
Range percentile_range(const Histogram& histogram);
// The least Kullback-Leibler divergence of the distribution from the one that 256 steps can tell
// apart, where values outside count as the range's ends (Migacz, "8-bit Inference with TensorRT",
// 2017; there for magnitudes, here for both ends at once). Exact zeros do not count.
Range entropy_range(const Histogram& histogram, Range full);

}  // namespace torchlet::quant
