// Operators whose results depend on more than their arguments: random numbers, memory as it is
// found, addresses, the clock, the state of the thread.
#pragma once

#include "graph/operator.h"

namespace torchlet {

// Null if the results depend on the arguments alone. Else the names of arguments, separated by
// spaces: they do, too, if one of these is false or 0. Thread-safe.
const char* varies_unless(const Operator& op);

}  // namespace torchlet
