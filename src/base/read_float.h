#pragma once

#include <optional>
#include <string>

namespace torchlet {

// The number that the whole text is, whatever the locale; infinite or 0 if it is out of range, and
// errno is ERANGE then. Small: std::from_chars has 24 KB, and the C library's locales follow it.
std::optional<double> read_float(std::string text);

}  // namespace torchlet
