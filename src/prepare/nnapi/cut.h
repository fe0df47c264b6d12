// Which parts of a graph NNAPI takes, for the shapes of an example.
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/nnapi/model_builder.h"
#include "graph/function.h"

namespace torchlet::prepare {

struct CutOptions {
  nnapi::ModelLimits limits;
  // A part of fewer operators that compute tensors does not pay for entering NNAPI.
  size_t least_operators = 1;
};

// A part that NNAPI takes.
struct CutSegment {
  Node* node;                 // prim::Segment
  std::vector<Value> inputs;  // of the example
  nnapi::LoweredSegment lowered;
};

// A reason that is due to others.
inline constexpr char kViewBetween[] = "a view between parts that stay";

struct Cut {
  std::vector<CutSegment> segments;  // in the order of the graph
  // Why operators are in no segment.
  std::unordered_map<const Node*, std::string> reasons;
};

// Puts what NNAPI takes into segments. Parts are cut, the graph runs as it is written with the
// arguments (self first), and what NNAPI refuses when it knows the shapes is cut out, until it
// refuses nothing. `method` is whose graph it is. Errors of the program, which the arguments make.
Cut cut_for_nnapi(Graph& graph, Function& method, const std::vector<Value>& arguments,
                  const CutOptions& options);

// The segments of a cut when its graph is called with other arguments: what they are then called
// with and their models, or nothing of those that are not called or that NNAPI then refuses.
std::vector<std::optional<CutSegment>> lower_again(Graph& graph, Function& method,
                                                   const std::vector<Value>& arguments,
                                                   const Cut& cut,
                                                   const nnapi::ModelLimits& limits);

// Moves the nodes of a segment to where it stands, and destroys it.
void dissolve(Node& segment);

}  // namespace torchlet::prepare
