#include "device/placement.h"

#include "base/selection.h"
#include "graph/module_path.h"

namespace torchlet::device {
namespace {

std::string place_text(const SourceRange& range, const std::string& path) {
  std::string place = range.empty() ? "" : range.where();
  if (!path.empty()) place += (place.empty() ? "in " : ", in ") + path;
  return place;
}

void collect(const Block& block, std::vector<const Node*>& operators) {
  for (const Node* node : block) {
    if (node->op() && !node->outputs().empty() && node->output()->type()->is(TypeKind::kTensor)) {
      operators.push_back(node);
    }
    for (const Block* inner : node->blocks()) collect(*inner, operators);
  }
}

}  // namespace

std::string place_of(const Node& node) {
  return place_text(node.range(), inlined_module_path(node));
}

std::vector<const Node*> tensor_operators(const Block& block) {
  std::vector<const Node*> operators;
  collect(block, operators);
  return operators;
}

namespace {

// The place is the path of the module alone; the range is that of the first.
Placement about(std::span<const Node* const> operators) {
  Placement placement;
  placement.is_segment = true;
  placement.operators = operators.size();
  if (!operators.empty()) {
    placement.what = operators.front()->kind().str();
    if (operators.size() > 1) placement.what += " to " + operators.back()->kind().str();
    placement.place = inlined_module_path(*operators.front());
  }
  return placement;
}
SourceRange range_of(std::span<const Node* const> operators) {
  return operators.empty() ? SourceRange() : operators.front()->range();
}

std::string key_of(const Placement& placement) {
  std::string key(placement.is_segment, ' ');
  for (const std::string* part :
       {&placement.what, &placement.place, &placement.device, &placement.reason}) {
    key += *part;
    key += '\0';
  }
  return key;
}

}  // namespace

Placement describe_segment(const Node& segment) {
  const std::vector<const Node*> operators = tensor_operators(*segment.block(0));
  Placement placement = about(operators);
  placement.place = place_text(range_of(operators), placement.place);
  return placement;
}

void PlacementLog::refuse(const Node& node, const char* device, const std::string& reason) {
  Placement placement;
  placement.what = node.kind().str();
  placement.place = inlined_module_path(node);
  placement.device = device;
  placement.reason = reason;
  add(std::move(placement), node.range());
}

void PlacementLog::decide(const Node& segment, const char* device, const std::string& reason,
                          double seconds) {
  decide(tensor_operators(*segment.block(0)), device, reason, seconds);
}

void PlacementLog::decide(std::span<const Node* const> operators, const char* device,
                          const std::string& reason, double seconds) {
  Placement placement = about(operators);
  placement.device = device;
  placement.reason = reason;
  placement.seconds = seconds;
  add(std::move(placement), range_of(operators));
}

void PlacementLog::add(Placement placement, const SourceRange& range) {
  if constexpr (!selection::kHasPlaces) return;  // a small build, which nobody asks
  const std::lock_guard lock(mutex_);
  std::string key = key_of(placement);
  for (const uintptr_t part :
       {reinterpret_cast<uintptr_t>(range.source.get()), uintptr_t{range.begin},
        uintptr_t{range.end}}) {
    key += std::to_string(part) + ' ';
  }
  const auto [at, is_new] = places_.try_emplace(std::move(key), all_.size());
  if (is_new) {
    if (all_.size() == kMost) {
      places_.erase(at);
      return;
    }
    all_.push_back(std::move(placement));
    all_.back().times = 1;
    ranges_.push_back(range);
    return;
  }
  Placement& known = all_[at->second];
  ++known.times;
  known.seconds += placement.seconds;
}

std::vector<Placement> PlacementLog::all() const {
  std::vector<Placement> all, result;
  std::vector<SourceRange> ranges;
  {
    const std::lock_guard lock(mutex_);
    all = all_;
    ranges = ranges_;
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].place = place_text(ranges[i], all[i].place);
    const auto [at, is_new] = places.try_emplace(key_of(all[i]), result.size());
    if (is_new) {
      result.push_back(std::move(all[i]));
    } else {
      result[at->second].times += all[i].times;
      result[at->second].seconds += all[i].seconds;
    }
  }
  return result;
}

}  // namespace torchlet::device
