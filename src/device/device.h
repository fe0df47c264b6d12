// What the partition knows of a device: which nodes it takes, and how it prepares a region of them.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"
#include "graph/segment.h"

namespace torchlet::device {

class Device {
 public:
  virtual ~Device() = default;
  virtual const char* name() const = 0;
  // Why this operator cannot run here, whatever the shapes; empty if it can. Only asked of pure
  // nodes (passes/effects.h) that call operators.
  virtual std::string refusal(const Node& node) const = 0;
  // `node` is a prim::Segment whose block holds operators that this device takes, operators of
  // numbers and shapes, all of them pure, and the making and unpacking of lists. The graph outlives
  // the segment.
  virtual std::shared_ptr<Segment> prepare(const Node& node) const = 0;
};

}  // namespace torchlet::device
