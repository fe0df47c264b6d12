// Quantized tensors as arguments and results of a method.
#pragma once

#include <torchlet/quantize.h>
#include <torchlet/value.h>

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/qparams.h"

namespace torchlet::quant {

struct Interface {
  std::vector<QParams> inputs;  // of the arguments behind self
  // Empty if the graph takes and gives quantized tensors alone now; else why not, and the graph is
  // as it was.
  std::string objection;
};

// Has the graph take what it quantizes, and give what it dequantizes last. Its result is a tensor.
Interface take_quantized(Graph& graph);

// Arguments for such a graph: tensors, as it quantized them itself.
std::vector<Value> quantized_arguments(std::span<const Value> arguments,
                                       std::span<const InputQuantization> inputs);

// A method that quantizes its arguments, calls the method `core` with them, and dequantizes the
// result: TorchScript for Draft::define.
std::string wrapper_of(const Graph& core_graph, const std::string& name, const std::string& core,
                       const Interface& interface);

}  // namespace torchlet::quant
