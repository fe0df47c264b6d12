#pragma once

// Which way the kernels cut an image for several threads. All cut it the same way, so that a thread
// finds in its own cache what it wrote in the step before: a cache line that another core has
// written costs about as much as one from memory.

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace torchlet::kernels {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// `count` things in equal blocks of at most `most`, each but the last a multiple of `unit`.
inline int64_t even_block(int64_t count, int64_t most, int64_t unit) {
  const int64_t blocks = ceil_div(count, std::max<int64_t>(1, most));
  return ceil_div(ceil_div(count, blocks), unit) * unit;
}

// Matrices of a few rows, whose layers have far more weights than pixels, are cut along their
// columns, images and other matrices along their rows: ranges of the columns of many rows would
// make the processor fetch ahead what the other thread is writing.
inline bool is_cut_by_columns(int64_t rows) { return rows < int64_t{20} * num_threads(); }

// Whether a matrix product of weights is cut along its columns although it has more rows: threads
// that share the rows each read all weights, which cost more than the rows where there are several
// times as many.
inline bool is_cut_by_weights(int64_t rows, int64_t columns) {
  return num_threads() > 1 && columns >= 3 * rows;
}

// Rows of a block, about `most` or fewer and a multiple of `unit`, such that every thread has the
// same number of blocks.
inline int64_t even_block_rows(int64_t rows, int64_t most, int64_t unit) {
  const int64_t threads = is_cut_by_columns(rows) ? 1 : num_threads();
  const int64_t units = ceil_div(rows, unit), of_thread = ceil_div(units, threads);
  const int64_t blocks = std::max<int64_t>(1, (of_thread * unit + most / 2) / most);
  return ceil_div(of_thread, blocks) * unit;
}

// For parallel_for over `n` indices, `work` in all: a multiple of `unit` such that a task has at
// least about `least_work` and every thread the same number of tasks, a few.
inline int64_t even_grain(int64_t n, int64_t unit, int64_t work, int64_t least_work) {
  const int64_t threads = num_threads();
  const int64_t tasks = std::min(work / least_work, 4 * threads) / threads * threads;
  const int64_t count = std::max(tasks, work >= 2 * least_work ? int64_t{2} : int64_t{1});
  return ((n - 1) / count / unit + 1) * unit;
}

}  // namespace torchlet::kernels
