// Which device runs which part of a model, and why the others do not.
#pragma once

#include <torchlet/placement.h>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace torchlet::device {

// "model.py:57, in features.3.conv"
std::string place_of(const Node& node);

// Those in a block that compute tensors, also those of segments and branches inside, in order.
std::vector<const Node*> tensor_operators(const Block& block);

// What a prim::Segment holds: `what`, `place` and `operators` of a Placement.
Placement describe_segment(const Node& segment);

// Of one model. Places are looked up when they are asked for: the file's records of them are large.
// Thread-safe.
class PlacementLog {
 public:
  // The partition left an operator to later devices.
  void refuse(const Node& node, const char* device, const std::string& reason);
  // A device was asked to compile a segment of so many operators, or failed while it ran one;
  // `reason` is empty if it runs it now.
  void decide(const Node& segment, const char* device, const std::string& reason, double seconds);

  // The same for the calls of these operators.
  void decide(std::span<const Node* const> operators, const char* device, const std::string& reason,
              double seconds);

  std::vector<Placement> all() const;

 private:
  // Programs of others may have any number of places and shapes.
  static constexpr size_t kMost = 10'000;

  // The placement's place is the path of the module alone.
  void add(Placement placement, const SourceRange& range);

  mutable std::mutex mutex_;
  std::vector<Placement> all_;
  std::vector<SourceRange> ranges_;       // of each
  std::map<std::string, size_t> places_;  // by all that tells one from another
};

}  // namespace torchlet::device
