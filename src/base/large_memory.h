// Memory for weights and activations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchlet {

// 64-byte aligned and charged as counted_new()'s, for who is going to write to all of it. A large
// block is the system's own and goes back to it at once; an allocator would keep what was freed, in
// holes that the next blocks do not fit into. The pages of the first `taken` bytes are taken at
// once, which costs less than one by one. They are the system's usual ones. Pages of 2 MB gained 1
// to 4 % where weights are read once, but a system that has given such blocks away, as a virtual
// machine does to its host, takes many times as long to find them again (docs/performance.md).
// Error kMemoryLimit or kOutOfMemory.
void* large_new(size_t nbytes, size_t taken = SIZE_MAX);
// With the `nbytes` that it was asked for with.
void large_delete(void* memory, size_t nbytes) noexcept;

}  // namespace torchlet
