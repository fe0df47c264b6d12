// Cuts a program that fails down to the few steps that it fails with.
#pragma once

#include "base/function_ref.h"
#include "evaluator.h"

namespace torchlet::random_graphs {

// The smallest program found for which `fails` is true still, as it is for `program`. What is cut
// off becomes inputs that hold what was computed.
Program shrunk(Program program, Expressions& expressions, FunctionRef<bool(const Program&)> fails);

}  // namespace torchlet::random_graphs
