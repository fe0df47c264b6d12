// Where each buffer of a plan lies in the arena.
#pragma once

#include <cstdint>
#include <span>

namespace torchlet::cpu {

struct Lifetime {
  int64_t nbytes = 0;
  int first = 0, last = 0;  // steps, both included
  int64_t offset = 0;       // result
};

// Gives buffers that live at the same time different memory; returns the size of the arena.
// Offsets are multiples of 64. Greedy by size, which is within a few percent of the best for
// networks (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
int64_t plan_memory(std::span<Lifetime> buffers);

// The most bytes that live at the same time: no arena is smaller.
int64_t most_alive(std::span<const Lifetime> buffers);

}  // namespace torchlet::cpu
