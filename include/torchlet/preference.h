// What those devices aim for that can choose.
#pragma once

#include <torchlet/export.h>

#include <string_view>

namespace torchlet {

// What drivers are told, NNAPI's for one. The processor computes the same way for all.
enum class Preference {
  kLowPower,   // as little of the battery as possible: for what runs now and then, and may wait
  kFast,       // a single answer as soon as possible
  kSustained,  // many answers one after the other, such as of a camera's pictures
};
// From "low-power", "fast" or "sustained"; Error kInvalidArgument naming these for another word.
TORCHLET_API Preference parse_preference(std::string_view name);

}  // namespace torchlet
