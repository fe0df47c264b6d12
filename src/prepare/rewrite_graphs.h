// A model optimised, and its methods changed before they are written.
#pragma once

#include <torchlet/optimize.h>

#include <functional>
#include <string>

#include "prepare/draft.h"

namespace torchlet::prepare {

// Changes a method's graph when all passes have run. What it adds to the model it gives the draft;
// what it calls of that must live until the model has been written.
using GraphRewrite = std::function<void(const std::string& method, Graph& graph, Draft& draft)>;

// As optimize(), but that the answers are not compared and that `eval` counts for nothing.
OptimizedModule optimize_and_rewrite(const Module& module, const OptimizeOptions& options,
                                     const GraphRewrite& rewrite);

}  // namespace torchlet::prepare
