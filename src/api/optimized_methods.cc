#include "api/optimized_methods.h"

#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "graph/event_sink.h"
#include "tensor/containers.h"

namespace torchlet::api {

std::atomic<uint64_t> OptimizedMethods::epoch_ = 0;
std::atomic<bool> OptimizedMethods::modules_are_shared_ = false;

OptimizedMethods::OptimizedMethods() : device_(cpu::make_cpu_device()) {}

std::shared_ptr<OptimizedFunction> OptimizedMethods::find(const Key& key) const {
  const std::shared_lock lock(mutex_);
  if (made_in_ != epoch_.load(std::memory_order_acquire)) return nullptr;
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.function;
}

std::shared_ptr<OptimizedFunction> OptimizedMethods::get(Function& method, const Value& self) {
  const Key key(&method, &self.object_ref());
  if (auto made = find(key)) return made;

  const std::lock_guard making(making_);
  if (auto made = find(key)) return made;
  const uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (made_in_ != epoch) {
    const std::unique_lock lock(mutex_);
    entries_.clear();
    writes_ = {};
    made_in_ = epoch;
  }
  const double begin = event_clock();
  passes::WriteSet writes = writes_;
  writes.merge(outside_);
  passes::Optimized optimized = passes::optimize(method, self, writes);
  device::partition(*optimized.graph, *device_);
  auto made = std::make_shared<OptimizedFunction>(method, std::move(optimized.graph));
  if (EventSink* sink = event_sink()) {
    sink->record({kCompileEvent, nullptr, {}, begin, event_clock(), 0, false});
  }

  const std::unique_lock lock(mutex_);
  writes_.merge(optimized.writes);
  forget_conflicts();
  entries_[key] = {self, made, std::move(optimized.reliance)};
  return made;
}

void OptimizedMethods::forget_conflicts() {
  passes::WriteSet all = writes_;
  all.merge(outside_);
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.reliance.conflicts(all); });
}

void OptimizedMethods::attribute_set(const passes::Slot& slot, const Value& before,
                                     const Value& after) {
  if (after.is_object()) modules_are_shared_ = true;
  const std::lock_guard making(making_);
  const std::unique_lock lock(mutex_);
  // Whatever a program writes through this attribute from now on may be one of these.
  for (const Value* value : {&before, &after}) {
    for (const void* address : passes::memory_of(*value)) outside_.exposed.insert(address);
  }
  const bool is_variable = outside_.slots.contains(slot);
  if (!is_variable && ++times_set_[slot] >= kMaxTimesSet) outside_.slots.insert(slot);
  if (modules_are_shared_) {
    epoch_.fetch_add(1, std::memory_order_acq_rel);
  } else if (is_variable) {
    forget_conflicts();
  } else {
    entries_.clear();
    writes_ = {};
  }
}

}  // namespace torchlet::api
