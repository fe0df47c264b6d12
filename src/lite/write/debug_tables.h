// What the handles of instructions stand for, filled while bytecode is emitted: the way back of
// lite/debug_info.h.
#pragma once

#include <torchlet/value.h>

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "lite/bytecode.h"

namespace torchlet::lite {

class DebugTables {
 public:
  // The handle of what the node does, for one of the graph of `function`. Nodes of the same place,
  // calls and kind share one.
  int64_t handle_of(const Node& node, const std::string& function);
  // Whether any place in the original Python is known.
  bool knows_places() const { return knows_places_; }
  bool knows_calls() const { return !calls_.empty(); }

  // The content of callstack_debug_map.pkl.
  Value calls() const { return Value::tuple(entries_); }
  // The places that it speaks of, by their tags (script::tagged_debug_record).
  const std::vector<SourceRange>& places() const { return places_; }

 private:
  using Calls = std::pair<size_t, Value>;  // equal ones have the same number

  int64_t tag_of(const SourceRange& place);
  size_t number_of(const Source& source);
  Calls calls_of(const Node& node, const std::string& function);

  bool knows_places_ = false;
  std::vector<SourceRange> places_ = {{}};  // by tag; the first is that of what nothing is known of
  std::map<std::tuple<size_t, uint32_t, uint32_t>, int64_t> tags_;
  std::unordered_map<const Source*, size_t> sources_;
  std::map<std::tuple<std::string, int, std::string>, size_t> sources_by_content_;
  std::unordered_map<std::string, Calls> calls_;
  std::vector<Value> entries_;
  std::map<std::tuple<int64_t, std::string, size_t>, int64_t> handles_;
};

// The content of mobile_debug_handles.pkl.
Value pickled_debug_handles(const Bytecode& bytecode);

}  // namespace torchlet::lite
