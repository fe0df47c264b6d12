#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchlet::image {

// Without their ends, which are those of any system.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace torchlet::image
