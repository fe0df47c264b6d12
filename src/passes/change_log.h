// What passes tell of their work.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace torchlet::passes {

class ChangeLog {
 public:
  struct Changes {
    // Of all runs of the pass: of those that left more nodes, how many more; and how many less.
    size_t nodes_added = 0, nodes_removed = 0;
    // "features.0.1 folded into features.0.0", each once, in order.
    std::vector<std::string> notes;
    bool any = false;  // of whatever kind
  };

  // Whose changes the next ones are.
  void begin(std::string_view pass, const Graph& graph);
  void end(const Graph& graph, bool has_changed);
  void note(std::string text);

  const std::map<std::string, Changes, std::less<>>& changes() const { return changes_; }
  // Adds what another log has.
  void merge(const ChangeLog& other);

 private:
  std::map<std::string, Changes, std::less<>> changes_;
  Changes* current_ = nullptr;
  size_t nodes_before_ = 0;
};

// With those of blocks, and without constants, which take no time.
size_t count_operations(const Graph& graph);

// Where a node comes from, for notes: "features.0.1", or "forward" of the root's own method.
std::string place_of(const Node& node);

}  // namespace torchlet::passes
