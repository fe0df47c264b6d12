#include "prepare/tune.h"

#include <torchlet/threads.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "device/device_segment.h"
#include "device/partition.h"
#include "device/registry.h"
#include "graph/event_sink.h"

namespace torchlet::prepare {
namespace {

constexpr size_t kMostDevices = 3;
constexpr int kWarmups = 2;
constexpr size_t kLeastRounds = 5, kMostRounds = 1000;
constexpr double kLeastGain = 0.02;

using Names = std::vector<std::string>;
using Keys = device::SegmentKeys;

double median(std::vector<double> values) { return times_of(std::move(values)).median; }

// The segment of a device that a node lies in, or is; null if there is none.
const Node* segment_around(const Node* node, std::string_view device) {
  for (; node; node = node->owner() ? node->owner()->owner() : nullptr) {
    const auto* segment = dynamic_cast<const device::DeviceSegment*>(node->segment());
    if (segment && segment->device_name() == device) return node;
  }
  return nullptr;
}

// Of one run.
struct Spent {
  double here = 0, elsewhere = 0, copies = 0, conversions = 0;
  size_t bytes = 0;
};

// Hears what its thread spends in the segments of a device: on it, and on others in its place.
class SegmentWatch : public EventSink {
 public:
  explicit SegmentWatch(std::string_view device) : device_(device) {}

  void record(const Event& event) override {
    if (!event.node || event.kernel == kCompileEvent) return;
    const Node* segment = segment_around(event.node, device_);
    if (!segment) return;
    Spent& spent = spent_[segment];
    const double seconds = event.end - event.begin;
    if (event.device != device_) {
      // What ran as a whole, or by itself; steps are part of a whole.
      if (event.kernel == kSegmentEvent || event.device == std::string_view(kReferenceDevice)) {
        spent.elsewhere += seconds;
      }
    } else if (event.kernel == kSegmentEvent) {
      spent.here += seconds;
      spent.bytes += event.bytes;
    } else if (event.kernel == kCopyEvent) {
      spent.copies += seconds;
    } else if (event.kernel == kConvertEvent) {
      spent.conversions += seconds;
    }
  }

  const std::map<const Node*, Spent>& spent() const { return spent_; }

 private:
  std::string_view device_;
  std::map<const Node*, Spent> spent_;
  EventScope scope_{this};
};

// Hears which devices run segments.
class DeviceWatch : public EventSink {
 public:
  void record(const Event& event) override {
    if (event.kernel == kSegmentEvent) devices_.insert(event.device);
  }
  bool heard_all(const Names& names) const {
    return std::ranges::all_of(
        names, [&](const std::string& name) { return name == kCpu || devices_.contains(name); });
  }

 private:
  std::set<std::string, std::less<>> devices_;
  EventScope scope_{this};
};

struct Samples {
  const Node* node = nullptr;
  std::vector<double> here, elsewhere, copies, conversions;
  size_t bytes = 0;
};

void add_run(const torchlet::Method& method, const std::vector<Value>& inputs,
             std::string_view device, std::map<std::string, Samples>& all) {
  const SegmentWatch watch(device);
  method(inputs);
  for (const auto& [node, spent] : watch.spent()) {
    const auto& segment = dynamic_cast<const device::DeviceSegment&>(*node->segment());
    Samples& samples = all[segment.key()];
    samples.node = node;
    if (spent.here > 0) {
      samples.here.push_back(spent.here);
      samples.copies.push_back(spent.copies);
      samples.conversions.push_back(spent.conversions);
      samples.bytes = spent.bytes;
    } else {
      samples.elsewhere.push_back(spent.elsewhere);
    }
  }
}

// Runs `round` until the time is over.
template <typename Round>
void repeat(double seconds, const TuneOptions& options, const std::string& stage,
            const Round& round) {
  const double begin = event_clock();
  for (size_t i = 0; i < kMostRounds; ++i) {
    const double done = (event_clock() - begin) / seconds;
    if (i >= kLeastRounds && done >= 1) return;
    if (options.progress) options.progress(stage, std::min(done, 1.0));
    round();
  }
}

double timed(const torchlet::Method& method, const std::vector<Value>& inputs) {
  const double begin = event_clock();
  method(inputs);
  return event_clock() - begin;
}

// Every order of every choice of the devices, those of fewer first, the processor behind each.
std::vector<Names> orders_of(Names devices) {
  std::vector<Names> orders;
  for (size_t chosen = 1; chosen < size_t{1} << devices.size(); ++chosen) {
    Names order;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (chosen >> i & 1) order.push_back(devices[i]);
    }
    std::ranges::sort(order);
    do {
      orders.push_back(order);
      orders.back().push_back(kCpu);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  std::ranges::stable_sort(orders, {}, &Names::size);
  return orders;
}

std::string shown(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// Segments that are faster on what comes after their devices, level by level: what an earlier
// device leaves makes other segments of the later ones.
Keys slower_segments(const Module& module, const std::vector<Value>& inputs, const Names& order,
                     const TuneOptions& options, std::vector<SegmentTimes>& all) {
  Keys left;
  for (size_t level = 0; level + 1 < order.size(); ++level) {
    for (SegmentTimes& times : time_segments(module, inputs, order, left, level, options)) {
      if (times.here.median >= times.elsewhere.median) left.insert(times.key);
      all.push_back(std::move(times));
    }
  }
  return left;
}

struct Candidate {
  TriedPlacement placement;
  Module module;
  bool is_used = true;  // each of its devices ran something
  std::vector<double> seconds = {};
};

}  // namespace

void check_devices(const Names& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string& name = devices[i];
    TORCHLET_CHECK(name != kCpu && name != kReferenceDevice && name != device::kAutoDevice,
                   "'%s' is no device to be tried", name.c_str());
    TORCHLET_CHECK(std::ranges::count(devices, name) == 1, "'%s' is named twice", name.c_str());
  }
}

AnswerDifference try_device(const Module& module, const std::vector<Value>& inputs,
                            const std::string& device, const TuneOptions& options) {
  constexpr int kRuns = 3;
  const Value exact = placed(module, {kCpu}, {}).get_method(options.method)(inputs);
  AnswerDifference worst{0, std::numeric_limits<double>::infinity(), ""};
  for (int run = 0; run < kRuns; ++run) {
    const Module tried = placed(module, {device, kCpu}, {});
    const torchlet::Method method = tried.get_method(options.method);
    const AnswerDifference found = difference(exact, method(inputs), options.min_sqnr);
    if (!found.problem.empty()) fail(ErrorCode::kRuntime, found.problem);
    worst.max_abs = std::max(worst.max_abs, found.max_abs);
    worst.sqnr = std::min(worst.sqnr, found.sqnr);
    for (int again = 0; again < kWarmups; ++again) method(inputs);
    for (const Placement& placement : tried.placement()) {
      if (placement.device == device && placement.reason.starts_with("it failed: ")) {
        fail(ErrorCode::kRuntime, placement.reason);
      }
    }
  }
  return worst;
}

std::vector<SegmentTimes> time_segments(const Module& module, const std::vector<Value>& inputs,
                                        const Names& devices, const Keys& left, size_t level,
                                        const TuneOptions& options) {
  const std::string& device = devices[level];
  const Module on = placed(module, devices, left, level);
  const Module off = placed(module, devices, left, level + 1);
  const torchlet::Method method_on = on.get_method(options.method);
  const torchlet::Method method_off = off.get_method(options.method);
  for (int i = 0; i < kWarmups; ++i) {
    method_on(inputs);
    method_off(inputs);
  }
  std::map<std::string, Samples> all;
  repeat(options.seconds, options, "timing segments on " + shown(devices), [&] {
    add_run(method_on, inputs, device, all);
    add_run(method_off, inputs, device, all);
  });
  std::vector<SegmentTimes> result;
  for (auto& [key, samples] : all) {
    if (samples.here.empty() || samples.elsewhere.empty()) continue;  // it was refused
    const Placement segment = device::describe_segment(*samples.node);
    result.push_back({key, device, segment.what, segment.place, segment.operators,
                      times_of(samples.here), times_of(samples.elsewhere), median(samples.copies),
                      median(samples.conversions), samples.bytes});
  }
  return result;
}

Tuning tune(const Module& module, const std::vector<Value>& inputs, const TuneOptions& options) {
  check_devices(options.devices);
  TORCHLET_CHECK(options.devices.size() <= kMostDevices,
                 "at most %zu devices are tried besides '%s'; name those that matter", kMostDevices,
                 kCpu);
  Tuning tuning;
  std::vector<Candidate> candidates;
  const auto add = [&](const Names& order, const Keys& left) {
    candidates.push_back({{order, left, {}, {}}, placed(module, order, left)});
  };
  add({kCpu}, {});
  const std::vector<Names> orders = orders_of(options.devices);
  TuneOptions part = options;
  part.seconds = options.seconds / 2 / static_cast<double>(std::max<size_t>(orders.size(), 1));
  for (const Names& order : orders) {
    const size_t before = tuning.segments.size();
    const Keys left = slower_segments(module, inputs, order, part, tuning.segments);
    const size_t found = tuning.segments.size() - before;
    if (found == 0) continue;
    add(order, {});
    if (!left.empty() && left.size() < found) add(order, left);
  }

  const Value exact = candidates[0].module.get_method(options.method)(inputs);
  for (Candidate& candidate : candidates) {
    const torchlet::Method method = candidate.module.get_method(options.method);
    candidate.placement.difference = difference(exact, method(inputs), options.min_sqnr);
    const DeviceWatch watch;
    for (int i = 0; i < kWarmups; ++i) method(inputs);
    candidate.is_used = watch.heard_all(candidate.placement.devices);
  }
  // The same without those that got nothing is another candidate.
  std::erase_if(candidates, [](const Candidate& candidate) { return !candidate.is_used; });
  repeat(options.seconds / 2, options, "timing the whole model", [&] {
    for (Candidate& candidate : candidates) {
      candidate.seconds.push_back(timed(candidate.module.get_method(options.method), inputs));
    }
  });
  for (Candidate& candidate : candidates) {
    candidate.placement.times = times_of(std::move(candidate.seconds));
    tuning.tried.push_back(std::move(candidate.placement));
  }

  const device::RunTimes cpu = tuning.tried[0].times;
  for (size_t i = 1; i < tuning.tried.size(); ++i) {
    const TriedPlacement& tried = tuning.tried[i];
    if (!tried.difference.problem.empty()) continue;
    if (tried.times.min > cpu.min * (1 - kLeastGain)) continue;
    if (tried.times.median > cpu.median * (1 - kLeastGain)) continue;
    // What says the same with fewer words comes first.
    const double best = tuning.tried[tuning.chosen].times.median;
    if (tried.times.median < best * (1 - kLeastGain)) tuning.chosen = i;
  }

  const TriedPlacement& best = tuning.tried[tuning.chosen];
  device::PlacementChoice& choice = tuning.choice;
  KnownCall call = known_call(module, options.method, inputs);
  choice.method = std::move(call.method);
  choice.signature = std::move(call.signature);
  choice.threads = num_threads();
  for (const auto& device : device::make_devices(best.devices, {})) {
    choice.devices.push_back({device->name(), device->version()});
  }
  choice.left = best.left;
  choice.cpu = cpu;
  choice.chosen = best.times;
  return tuning;
}

}  // namespace torchlet::prepare
