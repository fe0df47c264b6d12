// Where the parts of a model run, and why.
#pragma once

#include <cstddef>
#include <string>

namespace torchlet {

// One decision: a device took a part of the program, or did not.
struct Placement {
  // A segment, which is a run of operators, or a single operator that the reference implementation
  // runs: no segment could take it in, or the device's segment calls it.
  bool is_segment = false;
  std::string what;      // "aten::conv2d"; of a segment the first operator and the last
  std::string place;     // "model.py:57, in features.3.conv"
  std::string device;    // that was asked
  std::string reason;    // why it does not run it; empty if it does
  size_t operators = 1;  // that compute tensors
  size_t times = 0;      // this was decided: for other shapes, or other places alike
  double seconds = 0;    // that compiling took, all together
};

}  // namespace torchlet
