// Nodes that show somebody the values of a graph while it runs.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/function.h"
#include "interp/code.h"
#include "interp/interpreter.h"

namespace torchlet::quant {

// A graph that is run, node by node, for a method of an object. Not thread-safe.
class ProbedGraph {
 public:
  // Called with the number of a probe and its values, from within run().
  using Listener = std::function<void(size_t probe, std::span<const Value> values)>;

  // The method says what the arguments are.
  ProbedGraph(std::unique_ptr<Graph> graph, Function& method, Value self);
  ~ProbedGraph();

  Graph& graph() { return *graph_; }
  // A node behind `after`; the values must be there by then. Before the first run.
  void add_probe(size_t number, Node* after, std::vector<SsaValue*> values);
  Value run(std::span<const Value> arguments, const Listener& listener);

 private:
  struct Probe;
  class Method;

  std::unique_ptr<Graph> graph_;
  std::vector<std::unique_ptr<Probe>> probes_;
  std::unique_ptr<Method> method_;
  Value self_;
  interp::Interpreter interpreter_;
  std::unique_ptr<interp::Code> code_;
};

}  // namespace torchlet::quant
