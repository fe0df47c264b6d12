#include "device/placement.h"

#include "graph/module_path.h"

namespace torchlet::device {
std::string place_of(const Node& node) {
  std::string place = node.range().empty() ? "" : node.range().where();
  const std::string path = inlined_module_path(node);
  if (!path.empty()) place += (place.empty() ? "in " : ", in ") + path;
  return place;
}

void PlacementLog::refuse(const Node& node, const char* device, const std::string& reason) {
  Placement placement;
  placement.what = node.kind().str();
  placement.place = place_of(node);
  placement.device = device;
  placement.reason = reason;
  add(std::move(placement));
}

namespace {

void collect(const Block& block, std::vector<const Node*>& operators) {
  for (const Node* node : block) {
    if (node->op() && !node->outputs().empty() && node->output()->type()->is(TypeKind::kTensor)) {
      operators.push_back(node);
    }
    for (const Block* inner : node->blocks()) collect(*inner, operators);
  }
}

Placement describe(std::span<const Node* const> operators) {
  Placement placement;
  placement.is_segment = true;
  placement.operators = operators.size();
  if (!operators.empty()) {
    placement.what = operators.front()->kind().str();
    if (operators.size() > 1) placement.what += " to " + operators.back()->kind().str();
    placement.place = place_of(*operators.front());
  }
  return placement;
}

}  // namespace

std::vector<const Node*> tensor_operators(const Block& block) {
  std::vector<const Node*> operators;
  collect(block, operators);
  return operators;
}

Placement describe_segment(const Node& segment) {
  return describe(tensor_operators(*segment.block(0)));
}

void PlacementLog::decide(const Node& segment, const char* device, const std::string& reason,
                          double seconds) {
  decide(describe_segment(segment), device, reason, seconds);
}

void PlacementLog::decide(std::span<const Node* const> operators, const char* device,
                          const std::string& reason, double seconds) {
  decide(describe(operators), device, reason, seconds);
}

void PlacementLog::decide(Placement placement, const char* device, const std::string& reason,
                          double seconds) {
  placement.device = device;
  placement.reason = reason;
  placement.seconds = seconds;
  add(std::move(placement));
}

void PlacementLog::add(Placement placement) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = places_.try_emplace(
      {placement.is_segment, placement.what, placement.place, placement.device, placement.reason},
      all_.size());
  if (is_new) {
    if (all_.size() == kMost) {
      places_.erase(at);
      return;
    }
    all_.push_back(std::move(placement));
    all_.back().times = 1;
    return;
  }
  Placement& known = all_[at->second];
  ++known.times;
  known.seconds += placement.seconds;
}

std::vector<Placement> PlacementLog::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

}  // namespace torchlet::device
