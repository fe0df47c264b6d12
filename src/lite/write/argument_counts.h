// How many arguments the calls of each operator give in a function's code.
#pragma once

#include <unordered_map>

#include "graph/graph.h"
#include "lite/write/code_form.h"

namespace torchlet::lite {

// The mobile runtime fills in the others, so that it runs a file also where the operator has got
// new ones (torch/csrc/jit/runtime/calculate_necessary_args.h). One number stands for all calls of
// an operator, so it is that of the longest.
class ArgumentCounts {
 public:
  ArgumentCounts(const Graph& graph, const CodeForm& form);

  // The inputs of a call that the code loads: the first ones, and `num_out` at the end.
  struct Given {
    size_t num_first = 0, num_out = 0;
    size_t total() const { return num_first + num_out; }
  };
  Given of(const Operator* op) const { return counts_.at(op); }

 private:
  void count(const Block& block);
  Given given(const Node& call) const;

  const CodeForm form_;
  std::unordered_map<const Operator*, Given> counts_;
};

}  // namespace torchlet::lite
