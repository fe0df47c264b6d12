#include <torchlet/memory.h>

#include "base/memory_use.h"

namespace torchlet {

MemoryFigures memory_figures() {
  const PlannedMemory largest = largest_plan();
  return {.tensors = noted_memory(MemoryUse::kTensors),
          .idle = noted_memory(MemoryUse::kIdleBlocks),
          .packed_weights = noted_memory(MemoryUse::kPackedWeights),
          .activations = noted_memory(MemoryUse::kArenas),
          .largest_plan = largest.arena,
          .largest_plan_alive = largest.live};
}

}  // namespace torchlet
