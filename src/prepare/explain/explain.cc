#include "prepare/explain/explain.h"

#include <torchlet/threads.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "api/loaded_model.h"
#include "device/placement.h"
#include "device/registry.h"
#include "graph/graph.h"
#include "prepare/explain/watch.h"

namespace torchlet::prepare {
namespace {

constexpr size_t kLeastRounds = 5, kMostRounds = 1000;
constexpr int kWarmups = 2;

using NodeIndex = std::unordered_map<const Node*, size_t>;
using Calls = std::vector<std::vector<Value>>;

// A copy of the module, and the graph of its method, which stays as long as this does.
struct Placed {
  Placed(const Module& original, const ExplainOptions& options,
         const std::vector<std::string>& devices, size_t num_off)
      : name_(options.method),
        module_(placed(original, devices, options.left, num_off)),
        method_(module_.get_method(name_)) {}
  const Module& module() const { return module_; }

  void warm_up(const Calls& calls) {
    for (const std::vector<Value>& inputs : calls) method_(inputs);
    for (int i = 0; i < kWarmups; ++i) method_(calls[0]);
    hold();
  }
  double timed(const std::vector<Value>& inputs) const {
    const double begin = event_clock();
    method_(inputs);
    return event_clock() - begin;
  }
  void watched(SegmentsWatch& watch, const std::vector<Value>& inputs) {
    const EventScope scope(&watch);
    watch.begin_run();
    method_(inputs);
    watch.end_run();
    hold();
  }
  const Graph& graph() const { return held_.front()->graph(); }

 private:
  // It is made again if a call changes what it relies on.
  void hold() {
    const Value self = LoadedModel::object_of(module_);
    Function& function = *self.object_ref().type->find_method(name_);
    auto made = LoadedModel::handle_of(module_)->methods.get(function, self);
    if (held_.empty() || held_.back() != made) held_.push_back(std::move(made));
  }

  std::string name_;
  Module module_;
  torchlet::Method method_;
  std::vector<std::shared_ptr<api::OptimizedFunction>> held_;
};

// All nodes, with those of inner blocks behind their owners.
void collect(const Block& block, std::vector<const Node*>& nodes) {
  for (const Node* node : block) {
    nodes.push_back(node);
    for (const Block* inner : node->blocks()) collect(*inner, nodes);
  }
}

// ---- the program ----

// The operators that give a value, through what only passes it on.
class Sources {
 public:
  explicit Sources(const NodeIndex& index) : index_(index) {}

  std::vector<size_t> of(const Node& node) {
    found_.clear();
    seen_.clear();
    for (const SsaValue* input : node.inputs()) add(*input);
    return {found_.begin(), found_.end()};
  }

 private:
  void add(const SsaValue& value) {
    const Node* node = value.node();
    if (!seen_.insert(&value).second) return;
    if (const auto at = index_.find(node); at != index_.end()) {
      found_.insert(at->second);
      return;
    }
    // Of branches, loops and segments, what their blocks give.
    for (const Block* block : node->blocks()) {
      const size_t shift =
          block->outputs().size() - std::min(block->outputs().size(), node->outputs().size());
      if (value.index() + shift < block->outputs().size()) {
        add(*block->outputs()[value.index() + shift]);
      }
    }
    if (!node->blocks().empty()) return;
    for (const SsaValue* input : node->inputs()) add(*input);
  }

  const NodeIndex& index_;
  std::set<size_t> found_;
  std::set<const SsaValue*> seen_;
};

NodeIndex add_operators(const Graph& graph, std::vector<ExplainedOperator>& all) {
  const std::vector<const Node*> nodes = device::tensor_operators(*graph.block());
  NodeIndex index;
  for (const Node* node : nodes) index.emplace(node, index.size());
  Sources sources(index);
  for (const Node* node : nodes) {
    all.push_back({node->kind().str(), device::place_of(*node), sources.of(*node)});
  }
  return index;
}

// ---- the processor in place of the devices ----

// What the processor takes for what a segment computes, by runs with the devices switched off.
class Elsewhere {
 public:
  // The graphs are alike, and cut alike.
  Elsewhere(const Graph& on, const Graph& off) {
    std::vector<const Node*> here, there;
    collect(*on.block(), here);
    collect(*off.block(), there);
    if (here.size() != there.size()) return;
    for (size_t i = 0; i < here.size(); ++i) counterpart_.emplace(here[i], there[i]);
  }

  void add_run(const SegmentsWatch& on, const SegmentsWatch& off) {
    seconds_.resize(on.segments().size());
    for (size_t i = 0; i < on.segments().size(); ++i) {
      const double seconds = of(on.segments()[i], off);
      if (seconds > 0) seconds_[i].push_back(seconds);
    }
  }
  double median(size_t segment) const {
    return segment < seconds_.size() ? times_of(seconds_[segment]).median : 0;
  }

 private:
  double of(const WatchedSegment& segment, const SegmentsWatch& off) const {
    // Of a part the steps, since the processor may compute all parts as one.
    if (segment.is_part || !segment.segment) return sum(segment.operators, off.steps());
    std::vector<const Node*> inside = {segment.segment};
    for (const Block* block : segment.segment->blocks()) collect(*block, inside);
    return sum(inside, off.wholes());
  }
  double sum(const std::vector<const Node*>& nodes,
             const std::unordered_map<const Node*, double>& seconds) const {
    double all = 0;
    for (const Node* node : nodes) {
      const auto there = counterpart_.find(node);
      if (there == counterpart_.end()) continue;
      const auto found = seconds.find(there->second);
      if (found != seconds.end()) all += found->second;
    }
    return all;
  }

  std::unordered_map<const Node*, const Node*> counterpart_;
  std::vector<std::vector<double>> seconds_;
};

// ---- what came of it ----

RunSample median_of(std::vector<RunSample> samples) {
  std::ranges::sort(samples, {}, &RunSample::seconds);
  return samples[samples.size() / 2];
}

ExplainedSegment explained(const WatchedSegment& watched, const NodeIndex& index) {
  ExplainedSegment segment;
  segment.device = watched.device;
  segment.is_part = watched.is_part;
  for (const Node* node : watched.operators) {
    const auto found = index.find(node);
    if (found != index.end()) segment.operators.push_back(found->second);
  }
  std::vector<double> seconds;
  for (const RunSample& sample : watched.samples) seconds.push_back(sample.seconds);
  const RunSample median = median_of(watched.samples);
  segment.time = times_of(std::move(seconds));
  segment.runs = median.runs;
  segment.in = median.in;
  segment.out = median.out;
  segment.compute = segment.time.median - segment.moved();
  segment.on_hardware = median.on_hardware;
  segment.in_driver = median.in_driver;
  segment.bytes = median.bytes;
  return segment;
}

std::vector<ExplainedSegment> explained(const SegmentsWatch& watch, const SegmentsWatch& first,
                                        const Elsewhere& elsewhere, const NodeIndex& index) {
  std::vector<ExplainedSegment> all;
  std::set<const Node*> seen;
  for (size_t i = 0; i < watch.segments().size(); ++i) {
    const WatchedSegment& watched = watch.segments()[i];
    if (watched.samples.empty()) continue;
    all.push_back(explained(watched, index));
    all.back().cpu = elsewhere.median(i);
    if (!watched.segment || !seen.insert(watched.segment).second) continue;
    std::tie(all.back().compiled, all.back().compiling) = first.compilations(watched.segment);
  }
  return all;
}

std::vector<Refusal> refusals_of(const Module& module) {
  std::vector<Refusal> all;
  for (const Placement& placement : module.placement()) {
    if (placement.reason.empty()) continue;
    auto at = std::ranges::find_if(all, [&](const Refusal& refusal) {
      return refusal.device == placement.device && refusal.reason == placement.reason;
    });
    if (at == all.end()) at = all.insert(at, {placement.device, placement.reason, {}});
    auto refused = std::ranges::find_if(at->refused, [&](const Refusal::Refused& known) {
      return known.what == placement.what && known.is_segment == placement.is_segment;
    });
    if (refused == at->refused.end()) {
      refused = at->refused.insert(refused, {placement.what, placement.is_segment, {}});
    }
    refused->places.push_back(placement.place);
  }
  return all;
}

// The first few runs, of which the median's is shown.
class Timelines {
 public:
  void add(const std::vector<TimelineSpan>& timeline) {
    if (all_.size() < kMost && !timeline.empty()) all_.push_back(timeline);
  }
  std::vector<TimelineSpan> median() {
    if (all_.empty()) return {};
    std::ranges::sort(all_, {}, [](const auto& timeline) { return timeline.back().end; });
    return all_[all_.size() / 2];
  }

 private:
  static constexpr size_t kMost = 15;
  std::vector<std::vector<TimelineSpan>> all_;
};

}  // namespace

Explanation explain(const Module& module, const Calls& calls, const ExplainOptions& options) {
  const std::vector<Value>& inputs = calls[0];
  Explanation result;
  result.call = known_call(module, options.method, inputs);
  result.threads = num_threads();
  for (const auto& device : device::make_devices(options.devices, {})) {
    result.devices.push_back({device->name(), device->version()});
  }

  Placed on(module, options, options.devices, 0);
  Placed off(module, options, options.devices, options.devices.size() - 1);
  ExplainOptions alone = options;
  alone.left.clear();
  Placed cpu(module, alone, {kCpu}, 0);
  SegmentsWatch first;
  {
    const EventScope scope(&first);
    on.warm_up(calls);
  }
  off.warm_up({inputs});
  cpu.warm_up({inputs});

  const NodeIndex index = add_operators(on.graph(), result.operators);
  Elsewhere elsewhere(on.graph(), off.graph());
  SegmentsWatch watch_on, watch_off;
  std::vector<double> there, on_cpu;
  Timelines timelines;
  const double begin = event_clock();
  for (size_t i = 0; i < kMostRounds; ++i) {
    const double done = (event_clock() - begin) / options.seconds;
    if (i >= kLeastRounds && done >= 1) break;
    if (options.progress) options.progress("timing segments", std::min(done, 1.0));
    on.watched(watch_on, inputs);
    timelines.add(watch_on.timeline());
    off.watched(watch_off, inputs);
    elsewhere.add_run(watch_on, watch_off);
    there.push_back(on.timed(inputs));
    on_cpu.push_back(cpu.timed(inputs));
  }
  result.whole = times_of(std::move(there));
  result.cpu = times_of(std::move(on_cpu));
  result.timeline = timelines.median();
  result.segments = explained(watch_on, first, elsewhere, index);
  result.refusals = refusals_of(on.module());
  return result;
}

}  // namespace torchlet::prepare
