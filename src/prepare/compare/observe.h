// A method of a model that tells what its nodes compute while it runs.
//
// The values are heard through nodes that are put into the graph: behind a node that gives
// something, or, where nobody writes it, at the end of its block. So what a device runs at once
// stays whole; the value only leaves the segment.
#pragma once

#include <torchlet/module.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "device/device.h"
#include "graph/graph.h"

namespace torchlet::prepare {

class StepSink;

// A tensor that a node of the graph computes. Views, and what gives its input back, are no such
// nodes: they compute nothing.
struct ObservedNode {
  std::string op;           // "aten::conv2d"; "aten::max.dim, result 1" of a further result
  std::string module_path;  // "features.3.conv", may be empty
  std::string place;        // "functional.py:1506", may be empty
  std::string calls;        // that lead there, the nearest first: "activation.py:235 < net.py:57"
  // Of the first time; the method may compute it several times.
  std::string tensor;
  std::vector<int64_t> sizes;
  size_t times = 0, bytes = 0;  // all times together
  // Indices of the nodes that it is computed from, through views and what is not observed.
  std::vector<size_t> inputs;
};

class ObservedMethod {
 public:
  // The method on the devices of the module. With `every_operator` each operator's result can be
  // observed, else what the steps of the devices' plans give. Error kNotFound if there is no such
  // method.
  ObservedMethod(const Module& module, const std::string& method, bool every_operator);
  ~ObservedMethod();

  // Runs the method, and finds the nodes. What it gives is what the method gives unobserved.
  Value survey(const std::vector<Value>& inputs);
  // Those that ran, in the order of the program.
  const std::vector<ObservedNode>& nodes() const { return observed_; }

  // Runs it with these nodes observed: see(i, tensor) hears what nodes()[i] computes, each time.
  // The tensor may change afterwards. Every run begins with the same random numbers, the same
  // inputs, and the model as it was.
  using See = FunctionRef<void(size_t node, const Tensor& tensor)>;
  void run(const std::vector<Value>& inputs, std::span<const size_t> nodes, See see) const;

 private:
  // Output `output` of the node that is number `node` in a walk over the graph.
  struct Candidate {
    size_t node = 0, output = 0;
    bool at_end = false;  // of the block it may be observed, since nobody writes it
    bool is_step = true;  // it ran, and not within a step with others after it
  };

  void find_candidates();
  void find_inputs();
  // The candidates with these numbers are heard by `see`, with their number.
  Value run_candidates(const std::vector<Value>& inputs, std::span<const size_t> candidates,
                       See see, StepSink* steps = nullptr) const;

  std::shared_ptr<LoadedModel> model_;
  Value self_;
  Function* function_;
  bool every_operator_;
  bool changes_model_ = false;
  std::unique_ptr<Graph> graph_;
  std::vector<std::shared_ptr<device::Device>> devices_;
  std::vector<Candidate> candidates_;
  std::vector<ObservedNode> observed_;
  std::vector<size_t> candidate_of_;  // of each in observed_
};

}  // namespace torchlet::prepare
