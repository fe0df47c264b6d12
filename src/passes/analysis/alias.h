// Which values of a graph may share memory, and which memory the graph may write: a conservative,
// flow-insensitive points-to analysis (Andersen's, "Program Analysis and Specialization for the C
// Programming Language", 1994) over the places that a graph can name. Views share the place of
// their base; what containers and objects hold is tracked.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::passes {

class AliasAnalysis {
 public:
  // Valid until the graph changes. With `objects` attributes of known objects are told apart;
  // without it they are "outside", as the arguments are.
  explicit AliasAnalysis(const Graph& graph, KnownObjects* objects = nullptr)
      : AliasAnalysis(graph, objects, true) {}

  // May a write to the one change what is read through the other (inside containers too)?
  bool may_alias(const SsaValue* a, const SsaValue* b) const;
  // May some node of the graph write memory that the value reaches?
  bool is_written(const SsaValue* value) const;
  // The same for the value's own memory, not what it holds: may items be added to a list?
  bool is_content_written(const SsaValue* value) const;
  // May somebody else hold the value's memory when the run is over, or did he before: it comes from
  // the arguments or an object, is returned or kept, or went into a call that is not known?
  bool escapes(const SsaValue* value) const;
  // The same, but for being returned: could a write to it be seen while the graph runs by what was
  // there before, or later by what stays?
  bool is_kept(const SsaValue* value) const;
  // The nodes of this graph that make the memory which the value's own tensor may have; empty if it
  // may also come from elsewhere.
  std::vector<const Node*> makers(const SsaValue* value) const;
  // The nodes that make memory which the value may reach, in itself or inside a container.
  std::vector<const Node*> makers_within(const SsaValue* value) const;
  // What running the graph may change and expose outside.
  const WriteSet& writes() const { return writes_; }

 private:
  using PlaceId = uint32_t;
  using Places = std::vector<PlaceId>;  // sorted
  struct Place {
    const Node* maker = nullptr;   // fresh memory
    const void* memory = nullptr;  // known memory
    Places content;                // what a container or an object holds
    bool written = false, kept = false, returned = false;
  };
  static constexpr PlaceId kOutside = 0;

  AliasAnalysis(const Graph& graph, KnownObjects* objects, bool follow_calls);
  // What a function may write, with all that it calls.
  static WriteSet writes_of(Function& function);
  void block(const Block& block);
  void node(const Node& node);
  void op_node(const Node& node);
  void call(const Node& node);
  void get_attribute(const Node& node);
  void set_attribute(const Node& node);
  void give_up();
  void finish(const Graph& graph);

  PlaceId fresh(const SsaValue* output, uint32_t which = 0);
  Places places_of(const Value& value);
  PlaceId cell_of(const Slot& slot);
  Places places_still_empty(const Value& value);
  PlaceId cell_still_empty(const Slot& slot);
  void fill_places();
  const Places& points_to(const SsaValue* value) const;
  // All places that can be reached from these, themselves included.
  Places reach(const Places& from) const;
  Places reach_of_inputs(const Node& node, bool only_aliased) const;
  void flow(const Places& from, const SsaValue* to);
  void hold(const Places& containers, const Places& items);
  void write(const Places& places);
  void add(Places& to, const Places& more);

  KnownObjects* const objects_;
  const bool follow_calls_;  // else calls in the graph count as if they did nothing
  std::vector<Place> places_;
  std::vector<Places> points_to_;  // by id of the value
  std::unordered_map<const void*, PlaceId> known_memory_;
  std::unordered_map<uint64_t, PlaceId> fresh_;  // by value and number
  std::unordered_map<const Object*, std::vector<PlaceId>> cells_;
  std::vector<std::pair<PlaceId, Value>> unfilled_;  // places and what they hold: fill_places()
  WriteSet writes_;
  std::unordered_map<const Function*, WriteSet> callee_writes_;
  size_t num_entries_ = 0;  // of points_to_ and contents
  bool changed_ = false;
};

}  // namespace torchlet::passes
