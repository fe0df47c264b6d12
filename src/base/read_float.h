#pragma once

#include <optional>
#include <string>

namespace torchlet {

// The number that the whole text is, whatever the locale; infinite or 0 if it is out of range, and
// errno is ERANGE then (std::from_chars does not tell which of the two).
std::optional<double> read_float(std::string text);

}  // namespace torchlet
