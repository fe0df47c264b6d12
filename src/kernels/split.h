#pragma once

// Which way the kernels cut an image for several threads. All cut it the same way, so that a thread
// finds in its own cache what it wrote in the step before: a cache line that another core has
// written costs about as much as one from memory.

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace torchlet::kernels {

// Matrices of a few rows, whose layers have far more weights than pixels, are cut along their
// columns, images and other matrices along their rows: ranges of the columns of many rows would
// make the processor fetch ahead what the other thread is writing.
inline bool is_cut_by_columns(int64_t rows) { return rows < 40; }

// For parallel_for over `n` indices, `work` in all: a multiple of `unit` such that a task has at
// least about `least_work` and every thread the same number of tasks, a few.
inline int64_t even_grain(int64_t n, int64_t unit, int64_t work, int64_t least_work) {
  const int64_t threads = num_threads();
  const int64_t tasks = std::min(work / least_work, 4 * threads) / threads * threads;
  const int64_t count = std::max(tasks, work >= 2 * least_work ? int64_t{2} : int64_t{1});
  return ((n - 1) / count / unit + 1) * unit;
}

}  // namespace torchlet::kernels
