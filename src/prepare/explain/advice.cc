#include "prepare/explain/advice.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "device/partition.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

using Segments = std::vector<size_t>;

std::string ms(double seconds) { return format("%.2f ms", seconds * 1e3); }

// "1 segment", "2 segments"
std::string counted(size_t count, const char* what) {
  return format("%zu %s%s", count, what, count == 1 ? "" : "s");
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  size_t left = names.size();
  for (const std::string& name : names) {
    text += text.empty() ? "" : left == 1 ? " and " : ", ";
    text += name;
    --left;
  }
  return text;
}

class Adviser {
 public:
  Adviser(const Explanation& explained, std::string device)
      : explained_(explained), device_(std::move(device)) {
    for (size_t i = 0; i < all().size(); ++i) {
      if (all()[i].device == device_) mine_.push_back(i);
    }
  }

  std::vector<Advice> advise() {
    if (mine_.empty()) {
      add("leave out", device_ + " runs nothing of this model: leave it out", 0, {});
      return std::move(given_);
    }
    slower_segments();
    splits();
    calls_of_the_driver();
    sizes();
    return std::move(given_);
  }

 private:
  const std::vector<ExplainedSegment>& all() const { return explained_.segments; }

  void add(const char* kind, std::string text, double gain, Segments segments) {
    given_.push_back({kind, device_, std::move(text), gain, std::move(segments)});
  }

  void slower_segments() {
    constexpr double kNotTheSame = 1.02;
    Segments slower;
    double lost = 0;
    for (const size_t i : mine_) {
      const ExplainedSegment& segment = all()[i];
      if (segment.cpu == 0 || segment.time.median <= segment.cpu * kNotTheSame) continue;
      slower.push_back(i);
      lost += segment.time.median - segment.cpu;
    }
    if (slower.empty()) return;
    if (slower.size() == mine_.size()) {
      const std::string which = mine_.size() == 1
                                    ? "its only segment"
                                    : "each of its " + counted(mine_.size(), "segment");
      const std::string text = device_ + " is slower than cpu in " + which + ", by " + ms(lost) +
                               ": leave it out; `torchlet tune` does so for --device auto";
      add("leave out", text, lost, std::move(slower));
    } else {
      const std::string text = format("%zu of the %zu segments of ", slower.size(), mine_.size()) +
                               device_ + " are slower there than on cpu, by " + ms(lost) +
                               ": run `torchlet tune`, and --device auto leaves them to cpu";
      add("tune", text, lost, std::move(slower));
    }
  }

  // The operators of a segment that the device refused, each with its reason.
  void find_refused(const ExplainedSegment& segment, std::map<std::string, std::string>& found) {
    for (const size_t i : segment.operators) {
      const ExplainedOperator& op = explained_.operators[i];
      for (const Refusal& refusal : explained_.refusals) {
        if (refusal.device != device_ || refusal.reason == device::kLeftByTuning) continue;
        for (const Refusal::Refused& refused : refusal.refused) {
          if (refused.is_segment || refused.what != op.name) continue;
          if (std::ranges::find(refused.places, op.place) == refused.places.end()) continue;
          found.emplace(op.name, refusal.reason);
        }
      }
    }
  }

  // What lies between two segments of the device, gathered by the operators that it refused there.
  void splits() {
    struct Split {
      size_t places = 0;
      double moved = 0;
      std::set<size_t> segments;
      std::map<std::string, std::string> reasons;
    };
    std::map<std::set<std::string>, Split> splits;
    for (size_t k = 1; k < mine_.size(); ++k) {
      std::map<std::string, std::string> refused;
      for (size_t i = mine_[k - 1] + 1; i < mine_[k]; ++i) find_refused(all()[i], refused);
      if (refused.empty()) continue;
      std::set<std::string> names;
      for (const auto& [name, reason] : refused) names.insert(name);
      Split& split = splits[names];
      ++split.places;
      split.moved += all()[mine_[k - 1]].out.seconds() + all()[mine_[k]].in.seconds();
      split.segments.insert({mine_[k - 1], mine_[k]});
      split.reasons.merge(refused);
    }
    for (auto& [names, split] : splits) {
      std::set<std::string> reasons;
      for (const auto& [name, reason] : split.reasons) reasons.insert(reason);
      std::string text = listed(names) + (names.size() == 1 ? " splits" : " split") +
                         " the model into " + counted(split.places + 1, "segment") + " on " +
                         device_ + " (" + listed(reasons) + ")";
      if (split.moved > 0) {
        text += ": as one they would save the copies and conversions between them, " +
                ms(split.moved) + " of " + ms(explained_.whole.median);
      }
      add("join", std::move(text), split.moved, {split.segments.begin(), split.segments.end()});
    }
  }

  void calls_of_the_driver() {
    constexpr double kWorthTelling = 0.1;
    double compute = 0, told = 0;
    Segments segments;
    for (const size_t i : mine_) {
      if (all()[i].on_hardware == 0) continue;
      compute += all()[i].compute;
      told += all()[i].on_hardware;
      segments.push_back(i);
    }
    const double around = compute - told;
    if (segments.empty() || around < kWorthTelling * compute) return;
    const std::string text = ms(around) + " of the " + ms(compute) + " that " + device_ +
                             " computes go into calling its driver " +
                             counted(segments.size(), "time") +
                             ", not into computing: it gains by fewer and larger segments";
    add("calls", text, around, std::move(segments));
  }

  void sizes() {
    size_t times = 0;
    double seconds = 0;
    Segments segments;
    for (const size_t i : mine_) {
      if (all()[i].compiled <= 1) continue;
      times = std::max(times, all()[i].compiled);
      seconds += all()[i].compiling;
      segments.push_back(i);
    }
    if (segments.empty()) return;
    const std::string text = counted(segments.size(), "segment") + " of " + device_ +
                             format(" compiled up to %zu times, ", times) + ms(seconds) +
                             " together, because sizes vary: bring inputs to few sizes";
    add("sizes", text, 0, std::move(segments));
  }

  const Explanation& explained_;
  std::string device_;
  Segments mine_;
  std::vector<Advice> given_;
};

// ---- layout ----

bool is_plain_image(const Value& value) {
  if (!value.is_tensor() || !value.tensor_impl() || value.tensor_impl()->sizes.size() != 4) {
    return false;
  }
  const Tensor& tensor = value.to_tensor();
  return tensor.is_contiguous() && !tensor.is_contiguous(MemoryFormat::kChannelsLast);
}

double conversions_of(const Explanation& explained) {
  double seconds = 0;
  for (const ExplainedSegment& segment : explained.segments) {
    seconds += segment.in.conversions + segment.out.conversions;
  }
  return seconds;
}

// Tries what the conversions ask for.
void advise_layout(const Explanation& explained, const Module& module,
                   const std::vector<Value>& inputs, const ExplainOptions& options,
                   std::vector<Advice>& given) {
  constexpr double kWorthTrying = 0.02, kLeastGain = 0.01;
  const double before = conversions_of(explained);
  if (before < kWorthTrying * explained.whole.median) return;
  if (std::ranges::none_of(inputs, is_plain_image)) return;
  std::vector<Value> images = inputs;
  for (Value& input : images) {
    if (is_plain_image(input)) {
      input = Value(input.to_tensor().contiguous(MemoryFormat::kChannelsLast));
    }
  }
  ExplainOptions trial = options;
  trial.seconds = options.seconds / 3;
  const Explanation tried = prepare::explain(module, {images}, trial);
  const double spared = before - conversions_of(tried);
  if (spared < kLeastGain * explained.whole.median) return;
  given.push_back({"layout",
                   "",
                   "conversions take " + ms(before) + " of " + ms(explained.whole.median) +
                       ": with inputs in the memory format channels_last they take " +
                       ms(before - spared) +
                       " (`torchlet convert --to nnapi --nhwc` makes a model that asks for them)",
                   spared,
                   {}});
}

double computing_on(const Explanation& explained, const std::string& device) {
  double seconds = 0;
  for (const ExplainedSegment& segment : explained.segments) {
    if (segment.device == device) seconds += segment.compute;
  }
  return seconds;
}

}  // namespace

std::vector<Advice> advise(const Explanation& explanation, const Module& module,
                           const std::vector<Value>& inputs, const ExplainOptions& options) {
  std::vector<Advice> given;
  for (const device::UsedDevice& device : explanation.devices) {
    if (device.name == kCpu) continue;
    for (Advice& advice : Adviser(explanation, device.name).advise()) {
      given.push_back(std::move(advice));
    }
  }
  advise_layout(explanation, module, inputs, options, given);
  std::ranges::stable_sort(given, std::ranges::greater(), &Advice::gain);
  return given;
}

Advice advise_quantized(const Explanation& real, const Explanation& quantized) {
  Advice advice{"quantize", "", "", real.whole.median - quantized.whole.median, {}};
  advice.text = "quantized to 8-bit integers the model takes " + ms(quantized.whole.median) +
                " instead of " + ms(real.whole.median);
  for (const device::UsedDevice& device : real.devices) {
    const double before = computing_on(real, device.name);
    const double after = computing_on(quantized, device.name);
    if (device.name == kCpu || before == 0 || after == 0) continue;
    advice.text += "; " + device.name + format(" computes it %.1f x as fast", before / after);
  }
  advice.text += ", and cpu alone takes " + ms(quantized.cpu.median);
  if (advice.gain > 0) advice.text += ": see `torchlet quantize`";
  return advice;
}

}  // namespace torchlet::prepare
