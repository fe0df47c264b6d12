// How many bytes the process holds for what, for those who ask where memory goes: notes that the
// places leave which hold much. Small builds take none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/selection.h"

namespace torchlet {

enum class MemoryUse {
  kTensors,        // memory of their own; what lies in a model's file is not among it
  kIdleBlocks,     // kept for the next tensors
  kPackedWeights,  // which plans share
  kArenas,         // activations of plans, also those that do not run now
  kCount
};

namespace memory_use {
void note(MemoryUse use, ptrdiff_t change) noexcept;
}  // namespace memory_use

// So many bytes more, or less. Thread-safe.
inline void note_memory([[maybe_unused]] MemoryUse use, [[maybe_unused]] size_t more,
                        [[maybe_unused]] size_t less = 0) noexcept {
  if constexpr (selection::kIsWhole) {
    memory_use::note(use, static_cast<ptrdiff_t>(more) - static_cast<ptrdiff_t>(less));
  }
}

int64_t noted_memory(MemoryUse use) noexcept;

// What the activations of a plan take, and the most of them that live at the same time: no plan of
// the same steps takes less.
struct PlannedMemory {
  int64_t arena = 0, live = 0;
};
// Of a plan that was made. Thread-safe.
void note_plan(const PlannedMemory& plan) noexcept;
// Of the plan that takes the most, of all that were made.
PlannedMemory largest_plan() noexcept;

}  // namespace torchlet
