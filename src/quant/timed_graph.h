// A graph on the devices of its model, node by node against the clock.
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
  // The graph is one of the program's: it takes the same arguments.
  TimedGraph(std::unique_ptr<Graph> graph, const Program& program);
  ~TimedGraph();

  // Seconds of a whole run; nobody listens.
  double run(std::span<const Value> arguments) const;
  // Seconds of the steps of a run, by the node of the graph that a step computes last.
  std::unordered_map<const Node*, double> run_by_step(std::span<const Value> arguments) const;

 private:
  void call(std::span<const Value> arguments) const;

  const Program& program_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::unique_ptr<interp::Code> code_;
};

}  // namespace torchlet::quant
