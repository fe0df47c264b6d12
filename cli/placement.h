// `torchlet inspect --placement`: what runs where, and why.
#pragma once

#include <torchlet/module.h>

#include "cli/json_values.h"

namespace torchlet::cli {

// Of the methods that have been called.
void print_placement(const Module& module);
// The operators that the reference implementation runs, and why; nothing if there are none.
void print_reference(const Module& module);
Json placement_json(const Module& module);

}  // namespace torchlet::cli
