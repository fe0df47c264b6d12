// Where a model says itself that its quantized part begins and ends: PyTorch's QuantStub and
// DeQuantStub, modules that give their input back until the model is quantized.
//
// Inlining would leave nothing of them, so their calls become nodes of two operators that only this
// folder knows: they give their input back, too, and must be gone before a graph is written.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "graph/function.h"

namespace torchlet::quant {

inline const Symbol kQuantStub("quant::stub"), kDeQuantStub("quant::unstub");

// Which graphs are inlined so that stubs leave their nodes. Traced models call stubs without a
// tensor; there a stub concerns the tensor that was made last, or the next argument.
class StubBodies {
 public:
  // What is inlined for the function; null for its own graph. Lives as long as this.
  const Graph* body_of(Function& function);

 private:
  std::unordered_map<const Function*, std::unique_ptr<Graph>> bodies_;  // null: its own
};

bool has_stubs(const Graph& graph);
// The values that come from a QuantStub (from an argument, if there are DeQuantStubs alone), until
// a DeQuantStub takes them.
std::unordered_set<const SsaValue*> values_between_stubs(const Graph& graph);
void remove_stubs(Graph& graph);

}  // namespace torchlet::quant
