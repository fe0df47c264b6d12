// What the system is told of the pages that hold memory. Linux only: elsewhere nothing is done.
#pragma once

#include <cstddef>

namespace torchlet {

// Takes the pages of memory that was just mapped and is going to be written, all at once: one by
// one, as they are touched, they cost more.
void take_pages(void* data, size_t nbytes);

// Whether the system tells of this process's pages. Not where it runs under an emulator that places
// its memory elsewhere (QEMU's for programs of 32 bits), which shows the pages of its own.
bool system_tells_of_pages();

// Lets go of the pages inside this memory that are a file's and that nobody has written to: the
// system reads them again when somebody touches them. Others may read meanwhile, but not write.
// Nothing where the system does not tell.
void give_back_file_pages(const void* data, size_t nbytes);

// Whether this memory, of which a part at least is in a file that was mapped privately, still holds
// what the file does: nobody has written to its pages. False where the system does not tell.
bool is_as_in_file(const void* data, size_t nbytes);

// Lets go of pages that were freed and that the allocator keeps. It looks at all that it has.
// Thread-safe.
void give_back_freed();

}  // namespace torchlet
