// A model -> a graph.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

// The graph takes the model's inputs as they are held (translate/representation.h), then the
// nanoseconds that each loop may take, and gives a tuple of the outputs as they are held. The model
// has no scalar inputs (runtime/compiled_model.cc makes constants of them) and its values outlive
// the graph. Error kInvalidArgument or kUnsupported, naming the operation.
std::unique_ptr<Graph> translate(const Model& model);

}  // namespace torchlet::nn
