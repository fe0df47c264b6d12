// A region of a graph that a device runs as one piece: what a prim::Segment node holds.
#pragma once

#include <torchlet/value.h>

#include <span>

namespace torchlet {

class Segment {
 public:
  virtual ~Segment() = default;
  // Computes the outputs of the node from its inputs. False if the device does not take these
  // inputs; `outputs` are untouched then, and the node's block is to be run instead, which also
  // finds the error if the inputs are wrong. Has no effect but its outputs. Thread-safe.
  virtual bool run(std::span<const Value> inputs, std::span<Value> outputs) = 0;
};

}  // namespace torchlet
