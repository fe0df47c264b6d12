#pragma once

#include <cstddef>

namespace torchlet {

// Asks the system to back memory that was just allocated with pages of 2 MB, where it can: weights
// and activations of many megabytes otherwise exceed what the processor remembers of small pages.
// Does nothing below 2 MB or on other systems than Linux.
void prefer_huge_pages(void* data, size_t nbytes);

}  // namespace torchlet
