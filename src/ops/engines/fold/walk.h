// How memory is walked to fold some of its dimensions.
#pragma once

#include <utility>
#include <vector>

#include "ops/core/common.h"

namespace torchlet::ops::folding {

// Runs below kShortRun are read across, not along, if there are kAcross; else those below that.
inline constexpr int64_t kShortRun = 512, kAcross = 16;
inline constexpr int64_t kLeastRun = 16;   // floats of a result that are folded along
inline constexpr int64_t kMostRun = 4096;  // at once, or else in chunks

inline constexpr int64_t kParallelGrain = 32768;  // elements

// A dimension of `self`.
struct Dim {
  int64_t size, stride;
  int64_t output_stride;  // of a kept one
  bool is_reduced;
};

// For each index of `kept` and each column, the elements at each index of `reduced`, of which the
// last are the rows of a matrix.
struct Walk {
  std::vector<Dim> kept, reduced;
  Dim columns{1, 1, 0, false};
  bool is_short = false;  // columns are runs of the last reduced dimension
  // Contiguous, one for each result, or for those of all columns, which lie side by side.
  bool is_runs = false;

  // Runs may have at most so many columns; 0: there are to be none.
  Walk(const Tensor& self, const IntArray& dims, int64_t most_run_columns);

  // Where the elements of the column at an index of the kept dimensions begin, and its result.
  std::pair<int64_t, int64_t> place_of(int64_t index, int64_t column) const;

  // Whether the last of several reduced dimensions is one that can be read along.
  bool ends_with_run() const;
};

}  // namespace torchlet::ops::folding
