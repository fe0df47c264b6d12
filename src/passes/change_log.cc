#include "passes/change_log.h"

#include <algorithm>

#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"

namespace torchlet::passes {

void ChangeLog::begin(std::string_view pass, const Graph& graph) {
  current_ = &changes_[std::string(pass)];
  nodes_before_ = count_operations(graph);
}

void ChangeLog::end(const Graph& graph, bool has_changed) {
  current_->any |= has_changed;
  const size_t after = count_operations(graph);
  if (after > nodes_before_) current_->nodes_added += after - nodes_before_;
  if (after < nodes_before_) current_->nodes_removed += nodes_before_ - after;
  current_ = nullptr;
}

void ChangeLog::note(std::string text) {
  if (std::ranges::find(current_->notes, text) == current_->notes.end()) {
    current_->notes.push_back(std::move(text));
  }
}

void ChangeLog::merge(const ChangeLog& other) {
  for (const auto& [pass, theirs] : other.changes_) {
    current_ = &changes_[pass];
    current_->any |= theirs.any;
    current_->nodes_added += theirs.nodes_added;
    current_->nodes_removed += theirs.nodes_removed;
    for (const std::string& text : theirs.notes) note(text);
  }
  current_ = nullptr;
}

size_t count_operations(const Graph& graph) {
  size_t count = 0;
  for_each_node(*graph.block(), [&](const Node& node) { count += node.kind() != prim::kConstant; });
  return count;
}

std::string place_of(const Node& node) {
  const std::string path = inlined_module_path(node);
  return path.empty() ? "the root" : path;
}

}  // namespace torchlet::passes
