// Where the memory of this process went, as far as Torchlet took it.
#pragma once

#include <torchlet/export.h>

#include <cstdint>

namespace torchlet {

// Bytes of all models of the process, now. Address space: pages that nobody has touched yet are
// among them. What programs, operators and plans themselves take, some megabytes, is not.
struct MemoryFigures {
  int64_t tensors = 0;         // with memory of their own, so not those that lie in a mapped file
  int64_t idle = 0;            // of former tensors, kept for the next ones
  int64_t packed_weights = 0;  // in the order in which kernels read them
  int64_t activations = 0;     // of plans, also of those that do not run now
  // Of the plan that takes the most for its activations, of all that were made: what it takes, and
  // the most of it that is alive at the same time, below which no order of memory gets.
  int64_t largest_plan = 0, largest_plan_alive = 0;
};
// Zeros in a build for certain models. Thread-safe.
TORCHLET_API MemoryFigures memory_figures();

}  // namespace torchlet
