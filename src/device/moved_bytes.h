// What goes into segments and comes out of them, for events.
#pragma once

#include <torchlet/value.h>

#include <span>

namespace torchlet::device {

// That the elements of the tensors take, those in lists among them.
size_t bytes_of(std::span<const Value> values);

}  // namespace torchlet::device
