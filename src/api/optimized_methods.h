// The methods of one module tree as they run: each is optimised when it is first called.
#pragma once

#include <torchlet/value.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <vector>

#include "api/survey.h"
#include "device/device.h"
#include "device/partition.h"
#include "device/placement.h"
#include "graph/function.h"
#include "interp/code.h"
#include "passes/pipeline.h"

namespace torchlet::api {

// A method's optimised graph, as a function that the interpreter can run.
class OptimizedFunction final : public Function {
 public:
  OptimizedFunction(Function& original, std::unique_ptr<Graph> graph)
      : original_(original), graph_(std::move(graph)), code_(interp::flatten(*graph_)) {}
  const std::string& qualified_name() const override { return original_.qualified_name(); }
  const Schema& schema() override { return original_.schema(); }
  const Graph& graph() override { return *graph_; }
  const interp::Code& code() const { return code_; }

 private:
  Function& original_;
  std::unique_ptr<Graph> graph_;
  interp::Code code_;
};

// Thread-safe. A method relies on attributes that no method optimised so far changes; when another
// one that does is optimised, which is before it runs, those that relied on them are made again at
// their next call.
class OptimizedMethods {
 public:
  // For segments of the graphs, in this order; `left` as of device::partition().
  explicit OptimizedMethods(std::vector<std::shared_ptr<device::Device>> devices,
                            device::SegmentKeys left = {});
  // Other devices for the same methods, which get() takes by this number; 0 is the constructor's.
  // Before any method is made.
  size_t add_placement(std::vector<std::shared_ptr<device::Device>> devices,
                       device::SegmentKeys left);
  // What the first method will be made of. It goes then; others compile again what they need.
  // Before any method is made.
  void hold(Bodies bodies) { bodies_ = std::move(bodies); }
  // The method for this object; the first of several threads makes it, the others wait.
  std::shared_ptr<OptimizedFunction> get(Function& method, const Value& self, size_t placement = 0);

  // An attribute of a module was set from outside: what relied on it is made again. One that is set
  // again and again (kMaxTimesSet) is not relied on any more, so that setting it costs nothing.
  void attribute_set(const Value& object, size_t attribute);
  static constexpr int kMaxTimesSet = 3;

  const device::PlacementLog& placement() const { return *log_; }

 private:
  struct Entry {
    Value self;  // keeps the address that is the key from being used again
    std::shared_ptr<OptimizedFunction> function;
    passes::ReadSet reads;
  };
  using Key = std::tuple<const Function*, const Object*, size_t>;
  struct Cut {
    std::vector<std::shared_ptr<device::Device>> devices;
    device::SegmentKeys left;
  };

  std::shared_ptr<OptimizedFunction> find(const Key& key) const;
  passes::Optimized optimize(Function& method, const Value& self) const;
  void forget_conflicts();
  passes::WriteSet all_writes() const;

  // A count of sets from outside (Object::outside_sets) of objects that the entries rely on: this
  // model's own, and that of another if a module of it was handed to this one.
  struct Followed {
    std::shared_ptr<std::atomic<uint64_t>> sets;
    uint64_t seen;
  };
  bool is_up_to_date() const;
  void follow(const passes::ReadSet& reads);

  std::vector<Cut> placements_;
  std::shared_ptr<device::PlacementLog> log_ = std::make_shared<device::PlacementLog>();
  std::mutex making_;
  Bodies bodies_;  // of `making_`
  mutable std::shared_mutex mutex_;  // of what follows
  std::map<Key, Entry> entries_;
  passes::WriteSet writes_;  // of all methods in entries_, and of some before
  struct SetFromOutside {
    Value object;
    int times = 0;
  };
  std::map<passes::Slot, SetFromOutside> set_from_outside_;
  std::vector<Followed> followed_;
  std::shared_ptr<std::atomic<uint64_t>> own_sets_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace torchlet::api
