// A graph that runs as a loaded model would run it, against the clock.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "graph/function.h"
#include "interp/code.h"
#include "quant/program.h"

namespace torchlet::quant {

// Not thread-safe.
class TimedGraph {
 public:
  // The graph is one of the program's: it takes the same arguments. What runs is that graph after
  // the passes at load, on the devices of the program's model.
  TimedGraph(std::unique_ptr<Graph> graph, const Program& program);
  ~TimedGraph();

  // Seconds of a whole run; nobody listens. Each run has the limits of a call.
  double run(std::span<const Value> arguments) const;
  // Seconds of the steps of a run, by the node of the graph, as it was given, that a step computes
  // last.
  std::unordered_map<const Node*, double> run_by_step(std::span<const Value> arguments) const;

 private:
  class Method;
  void call(std::span<const Value> arguments) const;

  const Program& program_;
  std::unique_ptr<Graph> given_, graph_;
  std::unique_ptr<Method> method_;
  // Of the given graph. Passes leave a node's calls with the node, and with what takes its place;
  // so each node gets a call of its own.
  std::unordered_map<const InlinedCall*, const Node*> node_of_call_;
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::unique_ptr<interp::Code> code_;
};

}  // namespace torchlet::quant
