#include "profile/profiler.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "device/placement.h"
#include "graph/graph.h"
#include "graph/module_path.h"

namespace torchlet::profile {
namespace {

std::string where(const Node& node) { return node.range().empty() ? "" : node.range().where(); }

// The path of the module that holds the operator, if its calls were inlined.
std::string place_of(const Node* node) {
  if (!node) return "";
  if (std::string path = inlined_module_path(*node); !path.empty()) return path;
  return where(*node);
}

bool is_whole(const Event& event) {
  return event.kernel == kSegmentEvent || event.kernel == kPartEvent;
}

// Those that a segment, a part or a run of a device stands for.
std::vector<const Node*> operators_of(const Event& event) {
  if (event.node->segment()) return device::tensor_operators(*event.node->block(0));
  return {event.operators.begin(), event.operators.end()};
}

std::string shape_of(std::span<const int64_t> sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

double total(const Line& line) {
  return std::accumulate(line.seconds.begin(), line.seconds.end(), 0.0);
}

std::string speed(const Line& line, double seconds, double flops, const Peaks& peaks) {
  if (flops == 0 || seconds == 0) return "";
  const double limit = line.is_int8 ? peaks.int8 : peaks.float32;
  return format("%8.1f %4.0f%%", flops / seconds * 1e-9, 100 * flops / seconds / limit);
}

}  // namespace

Profiler::Subject Profiler::subject_of(const Event& event, std::string shape) {
  Subject subject{{event.kernel,
                   event.device,
                   place_of(event.node),
                   std::move(shape),
                   event.flops,
                   event.is_int8,
                   {}},
                  "kernel",
                  event.kernel,
                  "",
                  "",
                  {}};
  if (is_whole(event)) subject.category = "segment";
  if (event.kernel == kCopyEvent || event.kernel == kConvertEvent ||
      event.kernel == kCompileEvent) {
    subject.category = event.kernel;
  }
  if (!event.node) return subject;
  const std::vector<const Node*> operators = operators_of(event);
  for (const Node* node : operators) {
    subject.operators.push_back(node->kind().str() + "  " + place_of(node) + "  " + where(*node));
  }
  const Node& first = operators.empty() ? *event.node : *operators.front();
  if (event.node->op()) subject.op = event.node->kind().str();
  subject.where = where(first);
  if (is_whole(event) && !operators.empty()) {
    subject.name = first.kind().str();
    if (operators.size() > 1) subject.name += " to " + operators.back()->kind().str();
  }
  return subject;
}

void Profiler::record(const Event& event) {
  Key key{event.node, event.kernel, shape_of(event.sizes), event.device};
  const auto [at, is_new] = index_.try_emplace(std::move(key), subjects_.size());
  if (is_new) subjects_.push_back(subject_of(event, at->first.shape));
  records_.push_back(
      {at->second, event.begin, event.end, event.bytes, event.on_hardware, event.in_driver});
}

void Profiler::record_call(double begin, double end) { calls_.emplace_back(begin, end); }

std::vector<Line> Profiler::lines() const {
  std::vector<Line> lines;
  std::vector<size_t> places;
  for (const Subject& subject : subjects_) {
    const bool is_counted = subject.category != std::string_view("segment");
    places.push_back(is_counted ? lines.size() : SIZE_MAX);
    if (is_counted) lines.push_back(subject.line);
  }
  for (const Record& record : records_) {
    const size_t place = places[record.subject];
    if (place != SIZE_MAX) lines[place].seconds.push_back(record.end - record.begin);
  }
  for (Line& line : lines) std::ranges::sort(line.seconds);
  return lines;
}

// Events in microseconds from the first one's begin. Lanes are threads of one process.
class Timeline {
 public:
  explicit Timeline(std::span<const Profiler* const> profilers) {
    for (const Profiler* profiler : profilers) {
      for (const auto& [begin, end] : profiler->calls_) start_ = std::min(start_, begin);
      for (const auto& record : profiler->records_) start_ = std::min(start_, record.begin);
    }
    lane(kProgram);
    for (const Profiler* profiler : profilers) {
      for (const auto& [begin, end] : profiler->calls_) {
        add("call", "call", kProgram, begin, end, nlohmann::json::object());
      }
      for (const auto& record : profiler->records_) {
        add(profiler->subjects_[record.subject], record);
      }
    }
  }

  std::string text() const {
    return nlohmann::json{{"traceEvents", events_}, {"displayTimeUnit", "ms"}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  static constexpr char kProgram[] = "program";

  int lane(const std::string& name) {
    const auto [at, is_new] = lanes_.try_emplace(name, static_cast<int>(lanes_.size()));
    if (is_new) {
      const nlohmann::json metadata = {{"ph", "M"}, {"pid", 0}, {"tid", at->second}};
      for (const auto& [what, key, value] :
           {std::tuple<const char*, const char*, nlohmann::json>{"thread_name", "name", name},
            {"thread_sort_index", "sort_index", at->second}}) {
        nlohmann::json event = metadata;
        event["name"] = what;
        event["args"] = {{key, value}};
        events_.push_back(std::move(event));
      }
    }
    return at->second;
  }

  void add(const std::string& name, const char* category, const std::string& lane_name,
           double begin, double end, nlohmann::json args) {
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"ts", (begin - start_) * 1e6},
                       {"dur", (end - begin) * 1e6},
                       {"pid", 0},
                       {"tid", lane(lane_name)},
                       {"args", std::move(args)}});
  }

  void add(const Profiler::Subject& subject, const Profiler::Record& record) {
    const Line& line = subject.line;
    nlohmann::json args = {{"device", line.device}};
    const auto tell = [&](const char* key, const std::string& text) {
      if (!text.empty()) args[key] = text;
    };
    tell("place", line.place);
    tell("line", subject.where);
    tell("operator", subject.op);
    tell("shape", line.shape);
    if (!subject.operators.empty()) args["operators"] = subject.operators;
    if (record.bytes > 0) args["bytes"] = record.bytes;
    if (record.on_hardware > 0) {
      args["on_hardware_us"] = record.on_hardware * 1e6;
      args["in_driver_us"] = record.in_driver * 1e6;
    }
    // Making a method ready is nobody's.
    const bool is_of_method = subject.category == std::string_view(kCompileEvent) &&
                              subject.where.empty() && line.place.empty();
    add(subject.name, subject.category, is_of_method ? kProgram : line.device, record.begin,
        record.end, args);
    if (record.on_hardware > 0) {
      add("on hardware", "hardware", line.device + " hardware", record.end - record.on_hardware,
          record.end, std::move(args));
    }
  }

  double start_ = std::numeric_limits<double>::infinity();
  std::map<std::string, int> lanes_;
  nlohmann::json events_ = nlohmann::json::array();
};

std::string chrome_trace(std::span<const Profiler* const> profilers) {
  return Timeline(profilers).text();
}

std::string table(const std::vector<Line>& lines, size_t runs, const Peaks& peaks) {
  double all = 0;
  for (const Line& line : lines) all += total(line);
  const auto per_run = [&](double seconds) { return seconds / static_cast<double>(runs); };
  std::string text = format("%9s %6s %8s %5s  %-9s %-24s %-18s %s\n", "median us", "share",
                            "GFLOP/s", "peak", "device", "kernel", "result", "place");
  std::map<std::string, std::pair<double, size_t>> kernels;
  for (const Line& line : lines) {
    auto& [seconds, count] = kernels[line.kernel];
    seconds += total(line);
    count += line.seconds.size();
    text +=
        format("%9.1f %5.1f%% %14s  %-9s %-24s %-18s %s\n", line.median() * 1e6,
               100 * total(line) / all, speed(line, line.median(), line.flops, peaks).c_str(),
               line.device.c_str(), line.kernel.c_str(), line.shape.c_str(), line.place.c_str());
  }
  std::vector<std::pair<std::string, std::pair<double, size_t>>> sorted(kernels.begin(),
                                                                        kernels.end());
  std::ranges::sort(sorted, std::ranges::greater(), [](const auto& k) { return k.second.first; });
  text += format("\n%9s %6s %6s  %s\n", "mean us", "share", "calls", "kernel, each run");
  for (const auto& [kernel, sum] : sorted) {
    text += format("%9.1f %5.1f%% %6.0f  %s\n", per_run(sum.first) * 1e6, 100 * sum.first / all,
                   per_run(static_cast<double>(sum.second)), kernel.c_str());
  }
  return text;
}

}  // namespace torchlet::profile
