#include "passes/analysis/alias.h"

#include <torchlet/error.h>

#include <algorithm>
#include <iterator>

#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Of all sets of places together. In a chain of views each may share the memory of all before it,
// so the sets grow by the square of its length; torchvision's detectors have 7,000.
constexpr size_t kMaxEntries = 200'000;

// Adds `more` to `to`, both sorted; false if all of it was there.
bool merge(std::vector<uint32_t>& to, const std::vector<uint32_t>& more) {
  if (std::ranges::includes(to, more)) return false;
  std::vector<uint32_t> merged;
  std::ranges::set_union(to, more, std::back_inserter(merged));
  to = std::move(merged);
  return true;
}

bool may_hold_objects(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kAny:
    case TypeKind::kAnyClass:
    case TypeKind::kUnknown:
      return true;
    default:
      return std::ranges::any_of(type.elements(),
                                 [](const TypePtr& t) { return may_hold_objects(*t); });
  }
}

bool is_container(const Type& type) {
  return type.is(TypeKind::kList) || type.is(TypeKind::kDict) || type.is(TypeKind::kAnyList);
}

}  // namespace

AliasAnalysis::AliasAnalysis(const Graph& graph, KnownObjects* objects, bool follow_calls)
    : objects_(objects), follow_calls_(follow_calls), points_to_(graph.num_values()) {
  places_.push_back({});  // outside
  places_[kOutside].content = {kOutside};
  places_[kOutside].kept = true;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const SsaValue* input = graph.inputs()[i];
    const auto known = objects_ ? objects_->known(input) : std::nullopt;
    if (is_mutable(*input->type())) flow(known ? places_of(*known) : Places{kOutside}, input);
  }
  do {
    changed_ = false;
    block(*graph.block());
  } while (changed_ && num_entries_ <= kMaxEntries);
  if (num_entries_ > kMaxEntries) give_up();
  finish(graph);
}

// Takes everything for memory from outside that somebody writes.
void AliasAnalysis::give_up() {
  places_.resize(1);
  places_[kOutside].content = {kOutside};
  places_[kOutside].written = true;
  for (Places& places : points_to_) places = {kOutside};
  writes_.all = true;
}

// ---- places ----

void AliasAnalysis::add(Places& to, const Places& more) {
  if (num_entries_ > kMaxEntries) return;  // all that is known goes
  const size_t before = to.size();
  if (!merge(to, more)) return;
  num_entries_ += to.size() - before;
  changed_ = true;
}

const AliasAnalysis::Places& AliasAnalysis::points_to(const SsaValue* value) const {
  return points_to_[value->id()];
}

void AliasAnalysis::flow(const Places& from, const SsaValue* to) {
  if (is_mutable(*to->type())) add(points_to_[to->id()], from);
}

void AliasAnalysis::hold(const Places& containers, const Places& items) {
  for (const PlaceId place : containers) add(places_[place].content, items);
}

void AliasAnalysis::write(const Places& places) {
  for (const PlaceId place : places) {
    if (!places_[place].written) places_[place].written = changed_ = true;
    if (place != kOutside) continue;
    for (const PlaceId kept : reach({kOutside})) places_[kept].written = true;
  }
}

AliasAnalysis::Places AliasAnalysis::reach(const Places& from) const {
  Places found = from, open = from;
  while (!open.empty()) {
    const PlaceId at = open.back();
    open.pop_back();
    for (const PlaceId inner : places_[at].content) {
      const auto where = std::ranges::lower_bound(found, inner);
      if (where != found.end() && *where == inner) continue;
      found.insert(where, inner);
      open.push_back(inner);
    }
  }
  return found;
}

AliasAnalysis::PlaceId AliasAnalysis::fresh(const SsaValue* output, uint32_t which) {
  const uint64_t key = (uint64_t{output->id()} << 1) | which;
  const auto [found, is_new] = fresh_.try_emplace(key, static_cast<PlaceId>(places_.size()));
  if (is_new) {
    places_.push_back({});
    places_.back().maker = output->node();
  }
  return found->second;
}

AliasAnalysis::PlaceId AliasAnalysis::cell_still_empty(const Slot& slot) {
  std::vector<PlaceId>& cells = cells_[slot.first];
  if (cells.empty()) cells.resize(slot.first->slots.size(), kNone);
  PlaceId& cell = cells[slot.second];
  if (cell == kNone) {
    cell = static_cast<PlaceId>(places_.size());
    places_.push_back({});
    unfilled_.emplace_back(cell, slot.first->slots[slot.second]);
  }
  return cell;
}

// The places of what exists already. What lists, dicts and objects among it hold is left to
// fill_places(), since a program nests them as deep as it likes.
AliasAnalysis::Places AliasAnalysis::places_still_empty(const Value& value) {
  Places all;
  auto place_at = [&](const void* memory) {
    const auto [found, is_new] =
        known_memory_.try_emplace(memory, static_cast<PlaceId>(places_.size()));
    if (is_new) {
      places_.push_back({});
      places_.back().memory = memory;
    }
    merge(all, {found->second});
    return std::pair(found->second, is_new);
  };
  for_each_part(value, [&](const Value& part) {
    if (part.is_tensor() || part.is_future()) {
      const std::vector<const void*> memory = memory_of(part);
      place_at(memory.empty() ? nullptr : memory[0]);
    } else if (part.is_list()) {
      const auto [place, is_new] = place_at(&part.list_ref());
      if (!is_new) return false;
      for (const Value& item : part.list_ref().items) unfilled_.emplace_back(place, item);
    } else if (part.is_dict()) {
      const auto [place, is_new] = place_at(&part.dict_ref());
      if (!is_new) return false;
      for (const auto& [key, item] : part.dict_ref().items()) unfilled_.emplace_back(place, item);
    } else if (part.is_object()) {
      const Object& object = part.object_ref();
      const auto [place, is_new] = place_at(&object);
      for (size_t i = 0; is_new && i < object.slots.size(); ++i) {
        const PlaceId cell = cell_still_empty({&object, i});
        add(places_[place].content, {cell});
      }
    }
    return part.is_tuple();
  });
  return all;
}

void AliasAnalysis::fill_places() {
  while (!unfilled_.empty()) {
    const auto [place, held] = std::move(unfilled_.back());
    unfilled_.pop_back();
    const Places places = places_still_empty(held);
    add(places_[place].content, places);
  }
}

AliasAnalysis::PlaceId AliasAnalysis::cell_of(const Slot& slot) {
  const PlaceId cell = cell_still_empty(slot);
  fill_places();
  return cell;
}

AliasAnalysis::Places AliasAnalysis::places_of(const Value& value) {
  Places places = places_still_empty(value);
  fill_places();
  return places;
}

// ---- nodes ----

namespace {

// What a node calls; null if it is not known, or no function of the program.
Function* callee_of(const Node& node) {
  if (node.has_attribute("function")) return node.function_attribute("function");
  const ClassType* type = node.inputs().empty() ? nullptr : node.input(0)->type()->as_class();
  if (!type || type->is(TypeKind::kInterface)) return nullptr;
  if (node.kind() == prim::kEnter) return type->find_method("__enter__");
  if (node.kind() == prim::kExit) return type->find_method("__exit__");
  return nullptr;
}

bool is_call(const Node& node) {
  return node.kind() == prim::kCallFunction || node.kind() == prim::kCallMethod ||
         node.kind() == prim::kEnter || node.kind() == prim::kExit;
}

// Objects of C++ classes do not change.
bool calls_custom_class(const Node& node) {
  return node.kind() == prim::kCallMethod && !node.has_attribute("function") &&
         node.input(0)->type()->name().starts_with("__torch__.torch.classes.");
}

// Adds what the block calls; false if something cannot be known.
bool add_callees(const Block& block, std::vector<Function*>& functions) {
  for (const Node* node : block) {
    if (is_call(*node) && !calls_custom_class(*node)) {
      Function* callee = callee_of(*node);
      if (!callee) return false;
      if (std::ranges::find(functions, callee) == functions.end()) functions.push_back(callee);
    }
    for (const Block* inner : node->blocks()) {
      if (!add_callees(*inner, functions)) return false;
    }
  }
  return true;
}

}  // namespace

void AliasAnalysis::block(const Block& block) {
  for (const Node* node : block) this->node(*node);
}

void AliasAnalysis::node(const Node& node) {
  const Symbol kind = node.kind();
  for (const Block* inner : node.blocks()) block(*inner);
  if (node.op()) {
    op_node(node);
  } else if (kind == prim::kConstant) {
    flow(places_of(node.value_attribute("value")), node.output());
  } else if (kind == prim::kIf || kind == prim::kFork) {
    for (const Block* inner : node.blocks()) {
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        flow(points_to(inner->outputs()[i]), node.output(i));
      }
    }
  } else if (kind == prim::kLoop) {
    const Block& body = *node.block(0);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      for (const SsaValue* from : {node.input(i + 2), body.outputs()[i + 1]}) {
        flow(points_to(from), body.inputs()[i + 1]);
        flow(points_to(from), node.output(i));
      }
    }
  } else if (kind == prim::kGetAttr || kind == prim::kModuleContainerIndex) {
    get_attribute(node);
  } else if (kind == prim::kSetAttr) {
    set_attribute(node);
  } else if (kind == prim::kListConstruct || kind == prim::kDictConstruct) {
    const PlaceId made = fresh(node.output());
    flow({made}, node.output());
    for (const SsaValue* input : node.inputs()) hold({made}, points_to(input));
  } else if (kind == prim::kTupleConstruct || kind == prim::kTupleUnpack ||
             kind == prim::kTupleIndex || kind == prim::kUncheckedCast) {
    for (const SsaValue* input : node.inputs()) {
      for (const SsaValue* output : node.outputs()) flow(points_to(input), output);
    }
  } else if (kind == prim::kListUnpack) {
    for (const SsaValue* output : node.outputs()) flow(reach(points_to(node.input(0))), output);
  } else if (kind == prim::kCreateObject) {
    flow({fresh(node.output())}, node.output());
  } else if (kind == prim::kToList) {
    flow({fresh(node.output())}, node.output());
  } else if (is_call(node)) {
    call(node);
  } else {  // an operator that Torchlet does not have raises; the others give plain values
    for (const SsaValue* output : node.outputs()) flow({kOutside}, output);
  }
}

AliasAnalysis::Places AliasAnalysis::reach_of_inputs(const Node& node, bool only_aliased) const {
  Places all;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const bool aliased = node.op() && i < node.op()->schema.arguments.size() &&
                         node.op()->schema.arguments[i].is_aliased;
    if (only_aliased && !aliased) continue;
    merge(all, points_to(node.input(i)));
  }
  return reach(all);
}

void AliasAnalysis::op_node(const Node& node) {
  const Schema& schema = node.op()->schema;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (!writes_input(node, i)) continue;
    const Places& target = points_to(node.input(i));
    write(target);
    if (!is_container(*node.input(i)->type())) continue;
    for (const SsaValue* item : node.inputs()) {  // append, insert, update, ...
      if (item != node.input(i)) hold(target, reach(points_to(item)));
    }
  }
  const bool may_alias = returns_alias(node);
  const bool any_aliased = std::ranges::any_of(schema.arguments, &Argument::is_aliased);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const SsaValue* output = node.output(i);
    if (!is_mutable(*output->type())) continue;
    const Type* declared = i < schema.returns.size() ? schema.returns[i].type.get() : nullptr;
    // t, List[t], Dict[str, t]: holds what the arguments hold.
    const bool generic = !declared || has_free_variables(*declared);
    const bool in_place = i < schema.returns.size() && schema.returns[i].is_written;
    Places from;
    if (may_alias || generic) from = reach_of_inputs(node, may_alias && any_aliased && !generic);
    if (!in_place) {
      flow({fresh(output)}, output);
      if (is_container(*output->type()) || !output->type()->is(TypeKind::kTensor)) {
        const PlaceId inner = fresh(output, 1);
        hold({fresh(output)}, {inner});
        hold({fresh(output)}, from);
      }
    }
    // A container of the arguments' items that the schema does not say to be one of them is new.
    if (may_alias || !generic || !is_container(*output->type())) flow(from, output);
  }
}

void AliasAnalysis::get_attribute(const Node& node) {
  const SsaValue* output = node.output();
  if (!is_mutable(*output->type())) return;
  if (objects_) {
    if (const auto known = objects_->known(output)) return flow(places_of(*known), output);
    if (node.kind() == prim::kGetAttr) {
      if (const auto slot = objects_->slot(node)) {
        flow(places_[cell_of(*slot)].content, output);
        return flow(reach({kOutside}), output);
      }
    }
  }
  const Places held = reach(points_to(node.input(0)));
  flow(held, output);
  if (std::ranges::binary_search(held, kOutside)) flow(reach({kOutside}), output);
  for (const PlaceId place : held) {
    if (places_[place].memory) return flow(reach({kOutside}), output);
  }
}

void AliasAnalysis::set_attribute(const Node& node) {
  const Places& value = points_to(node.input(1));
  const Places& object = points_to(node.input(0));
  hold(object, value);
  const bool is_new = !object.empty() && std::ranges::all_of(object, [&](PlaceId place) {
    return places_[place].maker && places_[place].maker->kind() == prim::kCreateObject;
  });
  if (is_new) return;
  hold({kOutside}, value);
  const auto slot = objects_ ? objects_->slot(node) : std::nullopt;
  if (slot) {
    hold({kOutside}, places_[cell_of(*slot)].content);
    hold({cell_of(*slot)}, value);
    writes_.slots.insert(*slot);
  } else {
    writes_.names.insert(node.string_attribute("name"));
  }
}

WriteSet AliasAnalysis::writes_of(Function& function) {
  WriteSet writes;
  std::vector<Function*> functions = {&function};
  for (size_t i = 0; i < functions.size() && !writes.all; ++i) {
    try {
      const Graph& graph = functions[i]->graph();
      writes.all = !add_callees(*graph.block(), functions);
      writes.merge(AliasAnalysis(graph, nullptr, false).writes());
    } catch (const Error&) {
      writes.all = true;  // it does not compile
    }
  }
  return writes;
}

// A call that was not inlined.
void AliasAnalysis::call(const Node& node) {
  const Places given = reach_of_inputs(node, false);
  hold({kOutside}, given);
  if (follow_calls_ && !calls_custom_class(node)) {
    Function* callee = callee_of(node);
    WriteSet writes;
    writes.all = !callee;
    if (callee) {
      const auto [known, is_new] = callee_writes_.try_emplace(callee);
      if (is_new) known->second = writes_of(*callee);
      writes = known->second;
    }
    if (writes.all || writes.unknown) {
      write(given);
      write({kOutside});
    }
    writes_.merge(writes);
  }
  for (const SsaValue* output : node.outputs()) flow(reach({kOutside}), output);
}

// ---- answers ----

void AliasAnalysis::finish(const Graph& graph) {
  if (places_[kOutside].written) {
    writes_.unknown = true;
    // An argument may be a module of this model, and hold any of its memory.
    const auto& inputs = graph.inputs();
    for (size_t i = objects_ ? 1 : 0; i < inputs.size(); ++i) {
      if (may_hold_objects(*inputs[i]->type())) writes_.all = true;
    }
  }
  Places out = reach({kOutside});
  for (const PlaceId place : out) places_[place].kept = true;
  for (const SsaValue* output : graph.outputs()) {
    for (const PlaceId place : reach(points_to(output))) places_[place].returned = true;
  }
  for (const Place& place : places_) {
    if (!place.memory) continue;
    if (place.written) writes_.memory.insert(place.memory);
    if (place.kept || place.returned) writes_.exposed.insert(place.memory);
  }
}

bool AliasAnalysis::may_alias(const SsaValue* a, const SsaValue* b) const {
  const Places of_a = reach(points_to(a)), of_b = reach(points_to(b));
  Places common;
  std::ranges::set_intersection(of_a, of_b, std::back_inserter(common));
  return !common.empty();
}

bool AliasAnalysis::is_written(const SsaValue* value) const {
  return std::ranges::any_of(reach(points_to(value)),
                             [&](PlaceId place) { return places_[place].written; });
}

bool AliasAnalysis::is_content_written(const SsaValue* value) const {
  return std::ranges::any_of(points_to(value),
                             [&](PlaceId place) { return places_[place].written; });
}

bool AliasAnalysis::escapes(const SsaValue* value) const {
  return std::ranges::any_of(reach(points_to(value)), [&](PlaceId place) {
    const Place& at = places_[place];
    return at.kept || at.returned;
  });
}

bool AliasAnalysis::is_kept(const SsaValue* value) const {
  return std::ranges::any_of(reach(points_to(value)),
                             [&](PlaceId place) { return places_[place].kept; });
}

std::vector<const Node*> AliasAnalysis::makers(const SsaValue* value) const {
  std::vector<const Node*> nodes;
  for (const PlaceId place : points_to(value)) {
    if (!places_[place].maker) return {};
    nodes.push_back(places_[place].maker);
  }
  return nodes;
}

std::vector<const Node*> AliasAnalysis::makers_within(const SsaValue* value) const {
  std::vector<const Node*> nodes;
  for (const PlaceId place : reach(points_to(value))) {
    if (places_[place].maker) nodes.push_back(places_[place].maker);
  }
  return nodes;
}

}  // namespace torchlet::passes
