// What the processor may take of the memory to be fast.
#pragma once

#include <torchlet/export.h>

#include <string_view>

namespace torchlet {

enum class Footprint {
  kFast,  // as fast as can be
  // Weights in forms that take more memory than they have only where that gains much:
  // ResNet-50 takes a fifth less memory, and 5 % more time.
  kLean,
};
// From "fast" or "lean"; Error kInvalidArgument naming these for another word.
TORCHLET_API Footprint parse_footprint(std::string_view name);

}  // namespace torchlet
