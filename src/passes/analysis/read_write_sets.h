// What a program may find and change outside its own run: the objects of the model, their
// attributes, and the memory of tensors and lists that these hold.
//
// Methods are optimised one by one, when they are first called. What a method's graph takes for
// given (ReadSet) and what running it may change (WriteSet) are kept, so that a method which
// relies on what another one changes is made again without doing so (api/optimized_methods.h).
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "tensor/containers.h"

namespace torchlet::passes {

using Slot = std::pair<const Object*, size_t>;

// The identities of all memory that is reachable from a value: storages, lists, dicts, objects.
std::vector<const void*> memory_of(const Value& value);

struct WriteSet {
  bool all = false;  // anything may change
  // Memory may be written that came with the arguments or was kept by an earlier run: all that
  // `exposed` names.
  bool unknown = false;
  std::set<Slot> slots;
  std::set<std::string, std::less<>> names;  // attributes of objects that are not known
  std::set<const void*> memory;
  std::set<const void*> exposed;  // handed out, or kept in an object

  bool empty() const;
  void merge(const WriteSet& other);
  bool writes(const Slot& slot) const;
  bool writes(const void* address) const;
};

struct ReadSet {
  std::set<Slot> slots;          // were read once and for all
  std::set<const void*> memory;  // whose content may be part of the optimised graph
  bool conflicts(const WriteSet& writes) const;
};

// The objects that a graph can name: self, and what its attributes, and dicts in them, hold that
// nobody writes.
class KnownObjects {
 public:
  KnownObjects(Value self, WriteSet writes) : self_(std::move(self)), writes_(std::move(writes)) {}

  // What the value is in every run, now and later, as far as slots go: the memory of a tensor or a
  // list may still be written. Nothing if that is not known. Notes the slots that it read.
  std::optional<Value> known(const SsaValue* value);
  // What the attribute holds in every run. Nothing if somebody writes it; notes that it was read.
  std::optional<Value> held(const Slot& slot);
  // The slot that a GetAttr or SetAttr of a known object means.
  std::optional<Slot> slot(const Node& node);

  const WriteSet& writes() const { return writes_; }
  ReadSet& reads() { return reads_; }

 private:
  Value self_;
  WriteSet writes_;
  ReadSet reads_;
  std::unordered_map<const SsaValue*, Value> known_values_;
};

}  // namespace torchlet::passes
