// Memory for tensors. A network asks for blocks of the same few sizes over and over; giving each
// back to the system would cost a page fault for every 4 KiB that the next one touches. So blocks
// of 64 KiB and more wait here for the next tensor of about their size, 32 MiB of them at most.
#pragma once

#include <cstddef>

namespace torchlet {

// Error kOutOfMemory if the machine cannot have so much.
void check_block_size(size_t nbytes);
// At least `nbytes` bytes, 64-byte aligned and with any content; null for 0 bytes. Error
// kOutOfMemory if the machine has not that much. Thread-safe.
std::byte* allocate_block(size_t nbytes);
// Takes back a block with the `nbytes` that it was asked for with. Thread-safe.
void free_block(std::byte* block, size_t nbytes);

}  // namespace torchlet
