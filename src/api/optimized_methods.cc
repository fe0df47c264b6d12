#include "api/optimized_methods.h"

#include <algorithm>

#include "base/pages.h"
#include "base/selection.h"
#include "graph/event_sink.h"
#include "tensor/containers.h"

namespace torchlet::api {

namespace {

// Of Object::outside_sets: taken when a method is made or an attribute is set, for a moment.
std::mutex outside_sets_mutex;

}  // namespace

OptimizedMethods::OptimizedMethods(std::vector<std::shared_ptr<device::Device>> devices,
                                   device::SegmentKeys left)
    : placements_{{std::move(devices), std::move(left)}} {}

size_t OptimizedMethods::add_placement(std::vector<std::shared_ptr<device::Device>> devices,
                                       device::SegmentKeys left) {
  placements_.push_back({std::move(devices), std::move(left)});
  return placements_.size() - 1;
}

std::shared_ptr<OptimizedFunction> OptimizedMethods::find(const Key& key) const {
  const std::shared_lock lock(mutex_);
  if (!is_up_to_date()) return nullptr;
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.function;
}

std::shared_ptr<OptimizedFunction> OptimizedMethods::get(Function& method, const Value& self,
                                                         size_t placement) {
  const Key key(&method, &self.object_ref(), placement);
  if (auto made = find(key)) return made;

  const std::lock_guard making(making_);
  if (auto made = find(key)) return made;
  if (!is_up_to_date()) {
    const std::unique_lock lock(mutex_);
    entries_.clear();
    writes_ = {};
    followed_.clear();
  }
  const double begin = event_clock();
  passes::Optimized optimized = optimize(method, self);
  bodies_ = {};
  const Cut& cut = placements_[placement];
  device::partition(*optimized.graph, cut.devices, log_, cut.left);
  auto made = std::make_shared<OptimizedFunction>(method, std::move(optimized.graph));
  // What is freed by now lies between what stays; weights are packed next.
  if constexpr (selection::kIsWhole) give_back_freed();
  if (EventSink* sink = event_sink()) {
    sink->record({.kernel = kCompileEvent, .begin = begin, .end = event_clock()});
  }

  const std::unique_lock lock(mutex_);
  writes_.merge(optimized.writes);
  forget_conflicts();
  follow(optimized.reads);
  entries_[key] = {self, made, std::move(optimized.reads)};
  return made;
}

passes::Optimized OptimizedMethods::optimize(Function& method, const Value& self) const {
  if constexpr (!selection::kIsWhole) return passes::optimize(method, self, all_writes());
  Bodies used;
  passes::Request request;
  request.body_of = [&](Function& function) {
    used.push_back(function.body());
    return used.back().get();
  };
  return passes::optimize(method, self, all_writes(), request);
}

passes::WriteSet OptimizedMethods::all_writes() const {
  passes::WriteSet all = writes_;
  for (const auto& [slot, set] : set_from_outside_) {
    if (set.times >= kMaxTimesSet) all.slots.insert(slot);
    // The value may be that of another attribute too.
    const auto memory = passes::memory_of(slot.first->slots[slot.second]);
    all.exposed.insert(memory.begin(), memory.end());
  }
  return all;
}

void OptimizedMethods::forget_conflicts() {
  const passes::WriteSet all = all_writes();
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.reads.conflicts(all); });
}

void OptimizedMethods::attribute_set(const Value& object, size_t attribute) {
  const passes::Slot slot(&object.object_ref(), attribute);
  const std::lock_guard making(making_);
  const std::unique_lock lock(mutex_);
  SetFromOutside& set = set_from_outside_[slot];
  set.object = object;
  const bool is_variable = set.times >= kMaxTimesSet;
  if (!is_variable) ++set.times;
  if (is_variable) {
    forget_conflicts();
  } else {
    entries_.clear();
    writes_ = {};
  }
  // For other models that rely on the object.
  const std::lock_guard sets_lock(outside_sets_mutex);
  const auto& sets = slot.first->outside_sets;
  if (!sets) return;
  sets->fetch_add(1, std::memory_order_acq_rel);
  for (Followed& followed : followed_) {
    if (followed.sets == sets) ++followed.seen;
  }
}

bool OptimizedMethods::is_up_to_date() const {
  return std::ranges::all_of(followed_, [](const Followed& followed) {
    return followed.sets->load(std::memory_order_acquire) == followed.seen;
  });
}

void OptimizedMethods::follow(const passes::ReadSet& reads) {
  const std::lock_guard lock(outside_sets_mutex);
  for (const auto& [object, attribute] : reads.slots) {
    auto& sets = const_cast<Object*>(object)->outside_sets;
    if (!sets) sets = own_sets_;
    if (std::ranges::find(followed_, sets, &Followed::sets) == followed_.end()) {
      followed_.push_back({sets, sets->load(std::memory_order_acquire)});
    }
  }
}

}  // namespace torchlet::api
