// What of a tree of modules the methods that are kept use; the rest need not be written.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/graph.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::prepare {

class UsedAttributes {
 public:
  // `writes` are those of all methods that are kept.
  UsedAttributes(Value self, passes::WriteSet writes)
      : self_(std::move(self)), writes_(std::move(writes)) {}

  // A method of self. An object whose attributes it reads and writes one by one is used by these;
  // one that it hands on (to a call, into a list) is used with all that it holds. Calls of the
  // methods `kept` on self use nothing more: those are added themselves.
  void add(const Graph& graph, const std::unordered_set<const Function*>& kept = {});

  // Is self handed on?
  bool uses_all_of_self() const { return whole_.contains(&self_.object_ref()); }
  bool uses(const passes::Slot& slot) const;
  // The value with nothing but what is used. Objects that lose something are new, of new classes
  // without methods, whose names `new_name` makes of the old ones.
  Value pruned(const Value& value, const std::function<std::string(const std::string&)>& new_name);

 private:
  void use_whole(const Value& value);
  void use(const SsaValue& value, const Value& object, passes::KnownObjects& objects,
           const std::unordered_set<const Function*>& kept);
  Value pruned_object(const Value& value,
                      const std::function<std::string(const std::string&)>& new_name);

  const Value self_;
  const passes::WriteSet writes_;
  std::unordered_set<const void*> whole_;
  std::set<passes::Slot> slots_;
  std::unordered_map<const Object*, Value> made_;
};

}  // namespace torchlet::prepare
