#pragma once

#include <cstdint>
#include <span>

#include "base/function_ref.h"

namespace torchlet {

// std::stable_sort of numbers that stand for something: dimensions, positions, rows. One copy of it
// serves all of them, which is what it is for: every copy takes 3 KB.
void stable_sort(std::span<int64_t> places, FunctionRef<bool(int64_t, int64_t)> before);

}  // namespace torchlet
