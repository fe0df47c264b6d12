// The hidden variables that leaving early is turned into; no Python name has a '$'.
#pragma once

namespace torchlet::script {

inline constexpr const char* kReturned = "$returned";  // bool: a return has run
inline constexpr const char* kResult = "$result";      // what it returned
inline constexpr const char* kLeft = "$left";    // bool: this trip of the innermost loop is over
inline constexpr const char* kBroke = "$broke";  // bool: so is the loop

}  // namespace torchlet::script
